# SPDX-License-Identifier: Apache-2.0
"""Bits of the design that are constant: synthesis finds them, so that nobody has to list them.

With the parameters of a build, Yosys flattens the design and propagates constants; a bit that is 0
or 1 after that cannot toggle in that build (bits above a width that parameters give, fixed fields,
unused bits of wide words). Undefined bits do not count as constant. What a test bench happens to
drive is not known to Yosys: inputs of the top level are free.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from tb.runner.builds import BuildConfig
from tb.runner.code_coverage import Point, fields_of, points_of
from tb.runner.common import INCLUDES, ROOT, RunnerError, hdl_files, relative
from tb.runner.lint import declared_parameters

#: Where the bench has the top level of the design.
DUT = "tb_top.dut"
_NAME = re.compile(r"(.+)\[(\d+)\]")


class Constants:
    """Constant bits of one build, by hierarchical name of the signal below the top level."""

    def __init__(self, signals: Mapping[str, frozenset[int]]) -> None:
        self._signals = signals
        """Each signal; those without a constant bit, too."""
        self._instances: dict[str, list[str]] = {}

    @cached_property
    def _paths(self) -> list[str]:
        return sorted({name.rpartition(".")[0] for name in self._signals})

    def _matching(self, instance: str) -> list[str]:
        """Instances that Verilator's name stands for: it merges those of one module into a name
        with ``*`` for what differs."""
        if instance not in self._instances:
            pattern = re.compile(re.escape(instance).replace(r"\*", ".*"))
            self._instances[instance] = [path for path in self._paths if pattern.fullmatch(path)]
        return self._instances[instance]

    def has(self, instance: str, signal: str) -> bool:
        """Whether this bit (``name`` or ``name[3]``) is constant in all instances of that name."""
        match = _NAME.fullmatch(signal)
        name, bit = (match[1], int(match[2])) if match else (signal, 0)
        path = instance.removeprefix(DUT).removeprefix(".")
        names = [f"{p}.{name}" if p else name for p in self._matching(path)]
        known = [self._signals[n] for n in names if n in self._signals]
        return bool(known) and all(bit in bits for bits in known)


def read_netlist(text: str, top: str) -> Constants:
    """What Yosys' JSON says of a flat design."""
    signals = {}
    for name, net in json.loads(text)["modules"][top]["netnames"].items():
        offset = net.get("offset", 0)
        bits = {offset + number for number, bit in enumerate(net["bits"]) if bit in ("0", "1")}
        signals[name] = frozenset(bits)
    return Constants(signals)


def find_constants(config: BuildConfig, folder: Path) -> Constants:
    """Run Yosys on the design as this build has it. ``folder``: for its files."""
    top = "cde_top" if "FULL" in config.defines else "cde_cpl_top"
    known = declared_parameters((ROOT / "hdl" / f"{top}.v").read_text())
    values = [f"-chparam {key} {value}" for key, value in config.parameters.items() if key in known]
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{config.name}.netlist.json"
    steps = (
        " ".join(
            ["read_verilog", *(f"-I{folder}" for folder in INCLUDES), *map(relative, hdl_files())]
        ),
        " ".join(["hierarchy", "-check", "-top", top, *values]),
        "proc",
        "flatten",
        # Not -full: that would choose values for undefined bits.
        "opt -fine",
        f"write_json {relative(out)}",
    )
    out.unlink(missing_ok=True)
    command = [str(ROOT / "scripts" / "bin" / "yosys"), "-q", "-p", "; ".join(steps)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode or not out.is_file():
        said = (done.stdout + done.stderr)[-2000:]
        raise RunnerError(f"Yosys failed on the design of build {config.name}: {said}")
    constants = read_netlist(out.read_text(), top)
    out.unlink()
    return constants


def tied_points(
    missing: Iterable[Point],
    builds: Mapping[str, Iterable[str]],
    constants: Mapping[str, Constants],
    hdl: Path,
) -> set[Point]:
    """Those toggles of ``missing`` whose bit is constant in every build and instance that has it.

    ``builds``: the keys of Verilator's points by build (``code_coverage``).
    """
    left = {point for point in missing if point.kind == "toggle"}
    for build, keys in builds.items():
        for key in keys:
            for point in points_of(key, hdl):
                if point not in left:
                    continue
                if not constants[build].has(fields_of(key)["h"], point.name.split()[0]):
                    left.discard(point)
    return left
