# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/walk_of_a_window.md: ``make walk``.

Records the waves of test_window_walk, reads them with pywellen, and writes one SVG for each step
into docs/waves/. A column is a clock cycle in which something happens; cycles in which nothing does
are left out, and the numbers above count them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path

import pywellen

from tb.env import defs
from tb.waves.stories import ps_per_step

ROOT = Path(__file__).resolve().parent.parent
_TEST, _BUILD = "WindowWalkTest", "engine"
_WAVE = ROOT / "sim_build" / "waves" / f"{_TEST}-{_BUILD}-s1.fst"
_JOBS = ROOT / "sim_build" / "jobs"
_OUT = ROOT / "docs" / "waves"
_STEP = re.compile(r"walk (\w+): (\d+) to (\d+) ps")
_PERIOD = 4000  # ps
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


_ROWS = (
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


def _events(wave: _Wave, begin: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Cycle, row and text of everything that happens."""
    for cycle in range((end - begin) // _PERIOD):
        time = begin + cycle * _PERIOD + _PERIOD * 3 // 4
        for number, row in enumerate(_ROWS):
            if wave.value(row.when, time):
                yield cycle, number, row.text(partial(wave.at, time))


def _draw(title: str, wave: _Wave, begin: int, end: int) -> str:
    events = list(_events(wave, begin, end))
    last_command = [e for e in events if e[1] == 0][-1:]
    # Of a command only the word that starts it.
    events = [e for e in events if e[1] != 0] + last_command
    if last_command:
        cycle, row, text = last_command[0]
        events[-1] = cycle, row, _name("Cmd", int(text, 16))
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
        out.append(f'<text class="n" x="8" y="{low - 4}">{_ROWS[row].name}</text>')
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


def main() -> int:
    """Records and draws everything."""
    name = f"test_window_walk.{_TEST}"
    command = [sys.executable, "-m", "tb.runner", "waves"]
    subprocess.run([*command, "--test", name, "--build", _BUILD], cwd=ROOT, check=True)
    logs = sorted(_JOBS.rglob(f"{name}*/sim.log"), key=lambda path: path.stat().st_mtime)
    steps = _STEP.findall(logs[-1].read_text())
    wave = _Wave(_WAVE)
    _OUT.mkdir(exist_ok=True)
    for number, (step, begin, end) in enumerate(steps, 1):
        path = _OUT / f"walk_{number}_{step}.svg"
        path.write_text(_draw(step, wave, int(begin), int(end)))
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
