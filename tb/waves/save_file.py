# SPDX-License-Identifier: Apache-2.0
"""Writes a save file of GTKWave for one run: the signals of tb/waves/carillon.gtkw and, where a
test has failed, a marker at that moment with the failing object on top.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

from tb.runner.builds import BuildConfig
from tb.runner.common import ROOT, RunnerError
from tb.runner.results import Failure
from tb.waves.stories import WINDOW_BIT

FOLDER = ROOT / "tb" / "waves"
SAVE_FILE = FOLDER / "carillon.gtkw"
#: Kinds of objects: the file with their signals.
OBJECTS = {
    "CQ": "object_cq.gtkw",
    "QP": "object_qp.gtkw",
    "SRQ": "object_srq.gtkw",
    "region": "object_key.gtkw",
    "window": "object_key.gtkw",
}
#: Kinds of objects that can be looked at, and the parameters with their numbers; all but CQs are of
#: the full engine alone.
COUNTS = {"CQ": "NUM_CQ", "QP": "NUM_QP", "SRQ": "NUM_SRQ", "window": "NUM_MW"}
_PERIOD_PS = 4000
#: Clock cycles to be seen, and how many of them come before the marker, which a small screen shows.
_SHOWN, _BEFORE = 40, 20
#: Width of the drawn part of the window, in pixels, of [size] and [signals_width] in the template.
_WIDTH = 1200
#: GTKWave's zoom is the logarithm of the time that so many pixels show.
_ZOOM_PIXELS = 200
#: A longer line would make the column of names wider.
_TITLE = 48
_NAMES = 520
_NONE = " -1" * 27
#: Pins that the completion core has, and the full engine has not, as rows of the template.
_CORE_PINS = re.compile(r"^@28\ntb_top\.dut\.s_axis_(?:cpl|rsv)_\w+\n", re.M)
_CLOSED_BEGIN, _CLOSED_END = "@c00200", "@1401200"


def number_of(obj: str, number: int) -> tuple[str, int]:
    """Kind (cq, qp, srq, key) and number of an object as tb/hdl/wave_object.v knows it."""
    kind = "key" if obj in ("region", "window") else obj.lower()
    return kind, number | (WINDOW_BIT if obj == "window" else 0)


def check_objects(config: BuildConfig, looked_at: Mapping[str, int]) -> None:
    """RunnerError if the build does not have what is to be looked at."""
    text = (ROOT / "tb/hdl/tb_top.v").read_text()
    numbers = dict(re.findall(r"parameter (\w+) = (\d+)", text)) | config.parameters
    kinds = list(COUNTS)[: 4 if "FULL" in config.defines else 1]
    counts = {obj: int(numbers[COUNTS[obj]]) for obj in kinds if config.toplevel == "tb_top"}
    has = ", ".join(f"{obj.upper()} 0 to {n - 1}" for obj, n in counts.items() if n)
    for obj, number in looked_at.items():
        if number >= counts.get(obj, 0):
            raise RunnerError(
                f"{obj.upper()}={number}: build {config.name} has {has or 'none of these'}"
            )


def object_argument(failure: Failure | None) -> str:
    """The simulation's argument that names the object (tb/hdl/wave_object.v); "" without one."""
    if failure is None or failure.obj not in OBJECTS or failure.number is None:
        return ""
    return "+wave_{}={}".format(*number_of(failure.obj, failure.number))


def save_file(failure: Failure | None, full: bool) -> str:
    """The text of a save file. ``failure``: where the marker is, and what comes on top; ``full``:
    of the full engine.
    """
    text = SAVE_FILE.read_text()
    if full:
        text = _CORE_PINS.sub("", text)
    if failure is None:
        return text
    # GTKWave does not start where less is left than the window shows. Where the bench told nothing,
    # the simulation has ended at once.
    before = _BEFORE if failure.cycle >= 0 else _SHOWN + 2
    start = max(0, failure.time_ps - before * _PERIOD_PS)
    zoom = -math.log2(_SHOWN * _PERIOD_PS * _ZOOM_PIXELS / _WIDTH)
    text = re.sub(r"^\[timestart\].*$", f"[timestart] {start}", text, flags=re.M)
    text = re.sub(r"^\[signals_width\].*$", f"[signals_width] {_NAMES}", text, flags=re.M)
    text = re.sub(r"^\*.*$", f"*{zoom:.6f} {failure.time_ps}{_NONE}", text, flags=re.M)
    # From the first line on that describes a signal.
    first = re.search(r"^@", text, re.M)
    assert first, f"{SAVE_FILE.name} has no signals"
    head, rows = text[: first.start()], text[first.start() :]
    title = failure.cause.partition("): ")[0] + ")" * ("): " in failure.cause)
    title = textwrap.shorten(title, _TITLE, placeholder=" ...")
    top = ["@200", f"-{title}"]
    if object_argument(failure):
        top += ["@28", "tb_top.clk", "@24", "+{cycle} tb_top.cycle[31:0]"]
        top += (FOLDER / OBJECTS[failure.obj]).read_text().splitlines()
        rows = "\n".join([_CLOSED_BEGIN, "-All interfaces", rows.strip(), _CLOSED_END])
        rows += "\n-All interfaces\n"
    return head + "\n".join(top) + "\n" + rows


def write_save_file(wave: Path, failure: Failure | None, full: bool) -> Path:
    """Writes it next to the waves, with their name."""
    path = wave.with_suffix(".gtkw")
    path.write_text(save_file(failure, full))
    return path
