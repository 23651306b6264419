# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/walks.md and docs/walk_of_a_window.md: ``make walk``.

Records the waves of a test for each walk, reads them with pywellen, and writes one SVG for each
step into docs/waves/. A column is a clock cycle in which something happens; cycles in which nothing
does are left out, and the numbers above count them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path

import pywellen

from tb.env import defs
from tb.waves.stories import ps_per_step

ROOT = Path(__file__).resolve().parent.parent
_WAVES = ROOT / "sim_build" / "waves"
_JOBS = ROOT / "sim_build" / "jobs"
_OUT = ROOT / "docs" / "waves"
_STEP = re.compile(r"walk (\w+): (\d+) to (\d+) ps")
_PERIOD = 4000  # ps
_LATE = 1 << 50  # after the end of every run
_ROW, _LEFT, _CHAR = 30, 130, 7.0
_STYLE = (
    "text{font:11px monospace;fill:#222}.n{font-weight:bold}.c{fill:#777}"
    ".w{fill:none;stroke:#1f5fa8;stroke-width:1.5}.b{fill:#dbe8f7;stroke:#1f5fa8}"
    ".g{stroke:#e4e4e4}"
)

#: Value of a signal of wave_decode at the moment that is looked at, by its name in there.
_Read = Callable[[str], int]


@dataclass(frozen=True)
class _Row:
    name: str
    when: str
    text: Callable[[_Read], str]


def _name(enum: str, value: int) -> str:
    return str(getattr(defs, enum)(value).name)


def _key_step(read: _Read) -> str:
    op = _name("TraceOp", read("trace_8.op") & 0xFF)
    if op == "KEY_COMMAND":
        return _name("Cmd", read("trace_8.command") & 0xFF)
    status = read("trace_8.status") & 0xFF
    peer = " by the peer" if read("trace_8.by") & 1 else ""
    return f"{op}{peer}{f' {status:#x}' if status else ''} {read('trace_8.key'):#x}"


def _check(read: _Read) -> str:
    return f"QP {read('trace_9.qp')}: {_name('Verdict', read('trace_9.verdict') & 0xF)}"


def _entry(read: _Read) -> str:
    if read("w_is_eqe"):
        return "event"
    half = "cqe_high" if read("w_high") else "cqe_low"
    return f"{_name('CqeType', read(f'{half}.kind'))} {read(f'{half}.status'):#x}"


def _code(file: str, value: int) -> str:
    """Name of a code in a filter file of GTKWave."""
    lines = (ROOT / "tb" / "waves" / f"{file}.flt").read_text().splitlines()
    names = dict(line.split(" ", 1) for line in lines)
    return names.get(str(value), str(value))


def _write(read: _Read) -> str:
    register = _code("page_register", read("db_register"))
    arm = read("db_arm_type")
    index = f" {read('db_cons')}" if register == "CQ_DB" else ""
    return register + index + ("" if arm >> 4 else f", arm {_code('arm_request', arm)}")


def _cq_step(lane: str) -> Callable[[_Read], str]:
    def text(read: _Read) -> str:
        called = ", calls back" if read(f"{lane}.called") else ""
        return f"{_code('trace_op', read(f'{lane}.op'))} CQ {read(f'{lane}.cq')}{called}"

    return text


def _posted(read: _Read) -> str:
    step = _code("trace_op", read("trace_3.op"))
    held = read("trace_3.tail") - read("trace_3.released")
    return f"{step}, {held} held"


def _buffer(read: _Read) -> str:
    if read("trace_5.not_ready"):
        return "none left"
    left = read("trace_5.tail") - read("trace_5.head")
    event = ", event" if read("trace_5.watermark_event") else ""
    return f"{_code('trace_op', read('trace_5.op'))}, {left} left{event}"


def _receive_post(read: _Read) -> str:
    return f"{_code('trace_op', read('trace_6.op'))}, tail {read('trace_6.tail')}"


_WRITE = _Row("page write", "db_w", _write)
_RESULT = _Row("its answer", "db_b", lambda r: _code("cause", r("db_cause")))
_ENTRY = _Row("memory write", "mem_w", _entry)
_CALLS = (
    _Row("publication", "trace_valid[1]", _cq_step("trace_1")),
    _Row("doorbell side", "trace_valid[2]", _cq_step("trace_2")),
)
_ARM_ROWS = (
    _WRITE,
    _RESULT,
    _Row("completion", "cpl", lambda r: f"CQ {r('cpl_0_cq')}"),
    _ENTRY,
    _Row("its response", "mem_b", lambda r: "event" if r("b_is_eqe") else "entry"),
    *_CALLS,
)
_CHAIN_ROWS = (
    _WRITE,
    _RESULT,
    _Row("posting", "trace_valid[3]", _posted),
    _Row(
        "request",
        "work",
        lambda r: _code("opcode", r("request.opcode")) + (", last" if r("request.ends") else ""),
    ),
    _Row("report", "done", lambda r: "done"),  # noqa: ARG005
    _Row("retired", "trace_valid[4]", lambda r: f"status {r('trace_4.status')}"),
    _ENTRY,
)
_RECEIVE_ROWS = (
    _WRITE,
    _RESULT,
    _Row("posting", "trace_valid[6]", _receive_post),
    _Row("message", "rreq", lambda r: f"QP {r('arrival.qp')}, {r('arrival.length')} bytes"),
    _Row("buffer", "trace_valid[5]", _buffer),
    _Row("answer", "scatter", lambda r: _code("scatter", r("answer.code"))),
    _Row("report", "rdone", lambda r: f"QP {r('recv_report.qp')}"),
    _ENTRY,
)
_WINDOW_ROWS = (
    _Row("command", "ctl_w", lambda r: f"{r('ctl_wdata'):#x}"),
    _Row("post", "db_w", lambda r: f"page {r('db_page')} {r('db_register') & 0xFFF:#x}"),
    _Row(
        "request",
        "work",
        lambda r: f"QP {r('request.qp')}: {_name('Opcode', r('request.opcode') & 0xFF)}",
    ),
    _Row("check", "trace_valid[9]", _check),
    _Row("message", "rreq", lambda r: f"QP {r('arrival.qp')} token {r('arrival.token'):#x}"),
    _Row("answer", "scatter", lambda r: _name("Scatter", r("answer.code") & 0xF)),
    _Row("key", "trace_valid[8]", _key_step),
    _Row(
        "report",
        "rdone",
        lambda r: f"QP {r('recv_report.qp')}: status {r('recv_report.status') & 0xFF}",
    ),
    _Row("memory write", "mem_w", _entry),
)


class _Wave:
    """The recorded signals of wave_decode."""

    def __init__(self, path: Path) -> None:
        wave = pywellen.Waveform(str(path))
        found = {var.full_name: var for var in wave.all_vars()}
        top = next(name for name in found if name.endswith(".trace_8.op"))
        self._scope = top.removesuffix("trace_8.op")
        self._vars = found
        self._unit = ps_per_step(wave)
        cycle = next(var for name, var in found.items() if name.endswith("tb_top.cycle"))
        self.end = int(cycle.signal.value_at(_LATE)) * _PERIOD

    def at(self, time: int, name: str) -> int:
        """The same, time first."""
        return self.value(name, time)

    def value(self, name: str, time: int) -> int:
        """Of a signal, or of one bit of it, at a time in ps."""
        base, _, bit = name.partition("[")
        signal = self._vars[self._scope + base].signal
        value = signal.value_at(time // self._unit)
        number = int(value, 2) if isinstance(value, str) else int(value or 0)
        return number >> int(bit[:-1]) & 1 if bit else number


@dataclass(frozen=True)
class _Walk:
    """``steps``: row and number, from 1, of the first and the last event of each step; none where
    the test logs its own.
    """

    name: str
    test: str
    build: str
    rows: tuple[_Row, ...]
    steps: Mapping[str, tuple[str, int, str, int]] = field(default_factory=dict)


_ARM = {
    "armed": ("page write", 1, "its answer", 1),
    "called": ("completion", 1, "doorbell side", 3),
    "returned": ("page write", 2, "its answer", 3),
}
_CHAIN = {
    "held": ("page write", 1, "its answer", 2),
    "released": ("page write", 3, "request", 3),
    "completed": ("report", 1, "its answer", 4),
    "refused": ("page write", 7, "memory write", 5),
}
_RECEIVE = {
    "posted": ("page write", 4, "its answer", 5),
    "taken": ("message", 1, "answer", 2),
    "last": ("message", 4, "answer", 5),
    "completed": ("report", 1, "its answer", 7),
}
_WALKS = (
    _Walk("walk", "test_window_walk.WindowWalkTest", "engine", _WINDOW_ROWS),
    _Walk("arm", "test_smoke.SmokeTest", "default", _ARM_ROWS, _ARM),
    _Walk("chain", "test_examples.DeferredChainTest", "engine_small", _CHAIN_ROWS, _CHAIN),
    _Walk("receive", "test_receive_smoke.SharedQueueSmokeTest", "engine", _RECEIVE_ROWS, _RECEIVE),
)
#: Cycle, row and text of something that happens.
_Event = tuple[int, int, str]


def _events(wave: _Wave, rows: Sequence[_Row], begin: int, end: int) -> Iterator[_Event]:
    """Everything that happens between two times."""
    for cycle in range((end - begin) // _PERIOD):
        time = begin + cycle * _PERIOD + _PERIOD * 3 // 4
        for number, row in enumerate(rows):
            if wave.value(row.when, time):
                yield cycle, number, row.text(partial(wave.at, time))


def _between(walk: _Walk, events: Sequence[_Event], step: str) -> list[_Event]:
    """The events of a step."""
    first, number, last, end = walk.steps[step]

    def cycle(name: str, count: int) -> int:
        return [when for when, row, _ in events if walk.rows[row].name == name][count - 1]

    return [event for event in events if cycle(first, number) <= event[0] <= cycle(last, end)]


def _last_command(events: Sequence[_Event]) -> list[_Event]:
    """Of a command only the word that starts it."""
    last = [event for event in events if event[1] == 0][-1:]
    named = [(cycle, row, _name("Cmd", int(text, 16))) for cycle, row, text in last]
    return [event for event in events if event[1] != 0] + named


def _draw(title: str, all_rows: Sequence[_Row], events: Sequence[_Event]) -> str:
    cycles = sorted({cycle for cycle, _, _ in events})
    rows = sorted({row for _, row, _ in events})
    widths = [max(len(t) for c, _, t in events if c == cycle) * _CHAR + 14 for cycle in cycles]
    edges = [_LEFT + sum(widths[:n]) + 10 * n for n in range(len(cycles) + 1)]
    width, height = edges[-1] + 10, 40 + _ROW * len(rows) + 8
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}">',
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect width="{width:.0f}" height="{height}" fill="#fff"/>',
        '<text class="c" x="8" y="22">cycle</text>',
    ]
    for n, cycle in enumerate(cycles):
        out.append(f'<text class="c" x="{edges[n] + 4:.0f}" y="22">{cycle - cycles[0]}</text>')
        out.append(
            f'<line class="g" x1="{edges[n]:.0f}" y1="28" x2="{edges[n]:.0f}" y2="{height - 6}"/>'
        )
    for place, row in enumerate(rows):
        low = 40 + _ROW * (place + 1) - 8
        path = [f"M{_LEFT} {low}"]
        out.append(f'<text class="n" x="8" y="{low - 4}">{all_rows[row].name}</text>')
        for n, cycle in enumerate(cycles):
            for text in [t for c, r, t in events if (c, r) == (cycle, row)]:
                left, right = edges[n], edges[n] + widths[n]
                path.append(f"H{left:.0f}V{low - 20}H{right:.0f}V{low}")
                out.append(
                    f'<rect class="b" x="{left:.0f}" y="{low - 20}" width="{widths[n]:.0f}" '
                    f'height="20"/><text x="{left + 6:.0f}" y="{low - 6}">{escape(text)}</text>'
                )
        out.append(f'<path class="w" d="{" ".join(path)}H{width - 10:.0f}"/>')
    return "\n".join([*out, "</svg>"]) + "\n"


def _steps(walk: _Walk) -> Iterator[tuple[str, list[_Event]]]:
    """Records a walk; name and events of each of its steps."""
    command = [sys.executable, "-m", "tb.runner", "waves", "--test", walk.test]
    subprocess.run([*command, "--build", walk.build, "--seed", "1"], cwd=ROOT, check=True)
    wave = _Wave(_WAVES / f"{walk.test.partition('.')[2]}-{walk.build}-verilator-s1.fst")
    logs = sorted(_JOBS.rglob(f"{walk.test}*/sim.log"), key=lambda path: path.stat().st_mtime)
    told = _STEP.findall(logs[-1].read_text())
    for step, begin, end in told:
        yield step, _last_command(list(_events(wave, walk.rows, int(begin), int(end))))
    if not told:
        events = list(_events(wave, walk.rows, 0, wave.end))
        for name in walk.steps:
            yield name, _between(walk, events, name)


def main() -> int:
    """Records and draws everything."""
    _OUT.mkdir(exist_ok=True)
    for walk in _WALKS:
        for number, (step, events) in enumerate(_steps(walk), 1):
            path = _OUT / f"{walk.name}_{number}_{step}.svg"
            path.write_text(_draw(step, walk.rows, events))
            print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
