# SPDX-License-Identifier: Apache-2.0
"""One view for each story: what GTKWave (.gtkw) and Surfer (.sucl) show of it on a screen."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

#: Most rows of a view, titles included.
ROWS = 40
_TOP = "tb_top.u_wave."
_PIN = "tb_top.dut."
#: Bit 11 of the number of a window's key (docs/windows.md).
WINDOW_BIT = 0x800
_PERIOD_PS = 4000
#: Clock cycles before the first step, which a post is on its way to, and after the last one; shown
#: at most; looked at for steps.
_AROUND, _SHOWN, _LOOKED_AT = 12, 160, 100_000
_WIDTH, _ZOOM_PIXELS = 1200, 200
_HEAD = """[timestart] {start}
[size] 1800 1000
[pos] -1 -1
*{zoom:.6f} {marker}{none}
[sst_width] 0
[signals_width] 330
[sst_expanded] 0
[sst_vpaned_height] 300
"""
_NONE = " -1" * 27
#: GTKWave's flags: a title, one bit, decimal, hexadecimal, names from a file.
_FLAGS = {"title": "@200", "b": "@28", "d": "@24", "h": "@22"}
_NAMED = "@2024"


@dataclass(frozen=True)
class Story:
    """``rows``: titles, and signals as "label | signal | b, d, h or a filter file". ``spans``: what
    changes with its steps. ``shown``: most clock cycles on a screen.
    """

    title: str
    rows: tuple[str, ...]
    spans: tuple[str, ...]
    shown: int = _SHOWN


def _handshake(port: str, *channels: str) -> tuple[str, ...]:
    return tuple(
        f"{port} {c}{end} | {_PIN}{port}_{c}{end} | b"
        for c in channels
        for end in ("valid", "ready")
    )


def _slots(what: str, label: str) -> tuple[str, ...]:
    return tuple(f"{label} {k} | {_TOP}story.slot[{k}].{what}[5:0] | stage" for k in range(4))


_DOORBELL = (
    f"register | {_TOP}db_register[12:0] | page_register",
    f"page write | {_PIN}s_axi_wvalid | b",
    f"page answer | {_PIN}s_axi_bvalid | b",
    f"answer | {_TOP}db_cause[8:0] | cause",
)
_MEMORY = (
    f"memory write | {_PIN}m_axi_wvalid | b",
    f"EQEs in it | {_TOP}w_eqes[2:0] | d",
    f"memory response | {_PIN}m_axi_bvalid | b",
    f"interrupt | {_PIN}m_axis_irq_tvalid | b",
)
_CQ = (
    "CQ {cq}",
    f"callback | {_TOP}story.arm[5:0] | stage",
    f"life | {_TOP}obj.cq.now.life[2:0] | life",
    f"status | {_TOP}obj.cq.now.status[2:0] | cq_status",
    f"armed for | {_TOP}obj.cq.now.arm_type[2:0] | arm_type",
    f"callback due | {_TOP}obj.cq.now.due | b",
    f"EQE under way | {_TOP}obj.cq.now.event_pending | b",
    f"in callback | {_TOP}obj.cq.now.in_callback | b",
    f"prod | {_TOP}obj.cq.now.prod[15:0] | d",
    f"cons | {_TOP}obj.cq.now.cons[15:0] | d",
    f"mark | {_TOP}obj.cq.now.mark[15:0] | d",
)
_STATE = (f"QP state | {_TOP}obj.qp_post.state[4:0] | qp_state",)
STORIES: Mapping[str, Story] = {
    "arm": Story(
        "arm and callback of CQ {cq}",
        (
            *("Pins", *_DOORBELL, f"arm for | {_TOP}db_arm_type[4:0] | arm_request", *_MEMORY),
            *_CQ,
            *("Steps of all CQs", f"publishes | {_TOP}trace_1.valid | b"),
            *(f"step | {_TOP}trace_1.op[8:0] | trace_op", f"of CQ | {_TOP}trace_1.cq[15:0] | d"),
            *(f"host step | {_TOP}trace_2.valid | b", f"step 2 | {_TOP}trace_2.op[8:0] | trace_op"),
            *("Requests of QP {qp}", *_slots("request", "request")),
        ),
        ("story.arm",),
    ),
    "chain": Story(
        "deferred chain of QP {qp}",
        (
            *("Pins", *_DOORBELL, f"work | {_PIN}m_axis_work_tvalid | b"),
            *(f"request | {_TOP}request.opcode[8:0] | opcode", f"last | {_TOP}request.ends | b"),
            *(f"report | {_PIN}s_axis_done_tvalid | b", *_MEMORY),
            *("QP {qp}", *_STATE, f"step | {_TOP}obj.qp_post.valid | b"),
            f"post | {_TOP}obj.qp_post.opcode[8:0] | opcode",
            f"inline result | {_TOP}obj.qp_post.cause[8:0] | cause",
            f"tail | {_TOP}obj.qp_post.tail[15:0] | d",
            f"released | {_TOP}obj.qp_post.released[15:0] | d",
            *(f"retires | {_TOP}obj.qp_retire.valid | b",),
            f"status | {_TOP}obj.qp_retire.status[8:0] | cqe_status",
            f"retired | {_TOP}obj.qp_retire.retired[15:0] | d",
            *("Requests", *_slots("request", "request")),
            *("CQ {cq}", f"callback | {_TOP}story.arm[5:0] | stage"),
            f"prod | {_TOP}obj.cq.now.prod[15:0] | d",
        ),
        tuple(f"story.slot[{k}].request" for k in range(4)),
    ),
    "receive": Story(
        "receives of SRQ {srq}",
        (
            *("Pins", *_DOORBELL, f"message | {_PIN}s_axis_rreq_tvalid | b"),
            *(
                f"for QP | {_TOP}arrival.qp[15:0] | d",
                f"answered | {_PIN}m_axis_scatter_tvalid | b",
            ),
            *(f"scatter | {_TOP}answer.code[4:0] | scatter", f"tag | {_TOP}answer.tag[15:0] | d"),
            *(f"report | {_PIN}s_axis_rdone_tvalid | b", *_MEMORY),
            *("SRQ {srq}", f"receive post | {_TOP}obj.srq_post.valid | b"),
            f"inline result | {_TOP}obj.srq_post.cause[8:0] | cause",
            f"tail | {_TOP}obj.srq_post.tail[15:0] | d",
            f"takes | {_TOP}obj.srq_take.valid | b",
            f"not ready | {_TOP}obj.srq_take.not_ready | b",
            f"head | {_TOP}obj.srq_take.head[15:0] | d",
            f"watermark event | {_TOP}obj.srq_take.watermark_event | b",
            *("Messages", *_slots("message", "message")),
            *("CQ {cq}", f"callback | {_TOP}story.arm[5:0] | stage"),
            f"prod | {_TOP}obj.cq.now.prod[15:0] | d",
        ),
        tuple(f"story.slot[{k}].message" for k in range(4)),
    ),
    "window": Story(
        "life of {object}",
        (
            *("Pins", *_DOORBELL, f"command | {_TOP}command[8:0] | command"),
            *(f"result | {_TOP}result[8:0] | result", f"work | {_PIN}m_axis_work_tvalid | b"),
            *(f"request | {_TOP}request.opcode[8:0] | opcode",),
            *(
                f"check | {_PIN}s_axis_check_tvalid | b",
                f"verdict | {_PIN}m_axis_verdict_tvalid | b",
            ),
            *("Key", f"life | {_TOP}story.window[5:0] | stage", f"step | {_TOP}obj.key.valid | b"),
            f"operation | {_TOP}obj.key.op[8:0] | trace_op",
            f"key | {_TOP}obj.key.key[31:0] | h",
            f"bound to QP | {_TOP}obj.key.bound_to[15:0] | d",
            f"rights | {_TOP}obj.key.rights[2:0] | h",
            f"region | {_TOP}obj.key.region[11:0] | d",
            f"status | {_TOP}obj.key.status[8:0] | cqe_status",
            f"verdict of a check | {_TOP}obj.key.verdict[4:0] | verdict",
            *("Requests of QP {qp}", *_slots("request", "request"), *_MEMORY),
        ),
        ("story.window",),
        shown=4000,
    ),
    "axi": Story(
        "AXI ports",
        (
            *("Doorbell pages", *_handshake("s_axi", "aw", "w", "b", "ar", "r")),
            *(_DOORBELL[0], _DOORBELL[3]),
            *("Control", *_handshake("s_axil", "aw", "w", "b", "ar", "r")),
            f"command | {_TOP}command[8:0] | command",
            *("Host memory", *_handshake("m_axi", "aw", "w", "b"), _MEMORY[1]),
            *(f"address | {_PIN}m_axi_awaddr[63:0] | h", f"id queue | {_TOP}aw_queue[15:0] | d"),
            f"bresp, with bvalid | {_PIN}m_axi_bresp[1:0] | h",
        ),
        ("dut.s_axi_awvalid", "dut.m_axi_awvalid", "dut.m_axi_bvalid"),
    ),
}
#: Stories of the full engine alone.
FULL = ("chain", "receive", "window")


def gtkw(story: Story, numbers: Mapping[str, int], begin: int, end: int, marker: int) -> str:
    """A save file; times in ps. ``marker``: -1 for none."""
    zoom = -math.log2(max(end - begin, 1) * _ZOOM_PIXELS / _WIDTH)
    lines = [_HEAD.format(start=begin, zoom=zoom, marker=marker, none=_NONE).rstrip()]
    lines += ["@200", f"-{_title(story, numbers)}", "@28", "tb_top.clk"]
    lines += ["@24", "+{cycle} tb_top.cycle[31:0]"]
    for label, signal, how in _split(story, numbers):
        if not signal:
            lines += [_FLAGS["title"], f"-{label}"]
        elif how in _FLAGS:
            lines += [_FLAGS[how], f"+{{{label}}} {signal}"]
        else:
            lines += [_NAMED, f"^1 tb/waves/{how}.flt", f"+{{{label}}} {signal}"]
    return "\n".join(lines) + "\n"


def sucl(story: Story, numbers: Mapping[str, int], at_ps: int) -> str:
    """Commands of Surfer, with the cursor at a time. It shows codes as numbers; a name is one word
    there.
    """
    lines = ["divider_add " + _title(story, numbers).replace(" ", "_")]
    lines += ["variable_add tb_top.clk", "variable_add tb_top.cycle"]
    for label, signal, _ in _split(story, numbers):
        name = re.sub(r"\[\d+:\d+\]$", "", signal)
        one_word = label.replace(" ", "_")
        lines.append(f"variable_add {name}" if signal else f"divider_add {one_word}")
    return "\n".join([*lines, f"cursor_set {at_ps}"]) + "\n"


def _split(story: Story, numbers: Mapping[str, int]) -> Iterator[tuple[str, str, str]]:
    for row in story.rows:
        label, _, rest = row.partition(" | ")
        signal, _, how = rest.partition(" | ")
        yield label.format(**numbers), signal, how


def _title(story: Story, numbers: Mapping[str, int]) -> str:
    key = numbers["key"]
    object_ = f"window {key - WINDOW_BIT}" if key & WINDOW_BIT else f"region {key}"
    return story.title.format(object=object_, **numbers)


def span(wave: Path, story: Story, end_ps: int) -> tuple[int, int]:
    """Begin and end of what a view opens on, in ps: where most steps of the story fit on a screen.
    The beginning of the run where pywellen is not installed, or nothing has happened.
    """
    everything = 0, min(end_ps, _SHOWN * 4 * _PERIOD_PS)
    try:
        import pywellen
    except ImportError:
        return everything
    found = pywellen.Waveform(str(wave))
    names = {var.full_name.partition("tb_top.")[2]: var for var in found.all_vars()}
    step = round(_PERIOD_PS / ps_per_step(found))
    signals = [
        names[name].signal
        for one in story.spans
        for name in (one, f"u_wave.{one}")
        if name in names
    ]
    steps: list[int] = []
    latest: list[object] = []
    for cycle in range(min(end_ps // _PERIOD_PS, _LOOKED_AT)):
        values = [signal.value_at(cycle * step + step * 3 // 4) for signal in signals]
        if latest and values != latest:
            steps.append(cycle)
        latest = values
    if not steps:
        return everything
    within = {first: [n for n in steps if 0 <= n - first < story.shown] for first in steps}
    first = max(steps, key=lambda n: len(within[n]))
    return max(0, first - _AROUND) * _PERIOD_PS, (within[first][-1] + _AROUND) * _PERIOD_PS


def ps_per_step(wave: object) -> int:
    """Of a Waveform of pywellen."""
    scale = wave.timescale  # type: ignore[attr-defined]
    units = {"ps": 1, "ns": 1000, "us": 1_000_000}
    return int(scale.factor) * units[str(scale.unit).rsplit(".", maxsplit=1)[-1].lower()[:2]]


def write_stories(
    wave: Path, numbers: Mapping[str, int], end_ps: int, failed_ps: int = -1, full: bool = True
) -> list[Path]:
    """The views of a run, next to its waves. ``failed_ps``: the first mismatch, -1 without one."""
    written = []
    for name, story in STORIES.items():
        if name in FULL and not full:
            continue
        begin, end = span(wave, story, end_ps) if failed_ps < 0 else (0, 0)
        if failed_ps >= 0:
            end = failed_ps + 60 * _PERIOD_PS
            begin = max(0, failed_ps - _SHOWN // 2 * _PERIOD_PS)
        path = wave.with_name(f"{wave.stem}-{name}.gtkw")
        path.write_text(gtkw(story, numbers, begin, end, failed_ps))
        path.with_suffix(".sucl").write_text(sucl(story, numbers, max(begin, failed_ps)))
        written.append(path)
    return written
