# SPDX-License-Identifier: Apache-2.0
"""Mutants of the leaves (memories, FIFO, arbiter) meet the bench of their module (tb/tests/lib,
Icarus), with the parameters that the netlist's module has.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tb.runner.common import INCLUDES, ROOT, RunnerError, relative
from tb.runner.mutate_ladder import Outcome
from tb.runner.mutate_prove import inner_modules

BENCHES = ROOT / "tb" / "tests" / "lib"

_FUNCTION = re.compile(r"^  function (?:\[\d+:0\] )?\\(\$\S+) ?;", re.M)
_NAME = re.compile(r"\\(\$\S+)")
_PARAMETER = re.compile(r"^  parameter \\(\w+) (?:\d+')?(\d+)$", re.M)
_TIMEOUT_S = 600.0
#: Of a bench: the first as it is in the regression, more for what is neither killed nor proved.
SEEDS = (1, 2, 3)


def for_icarus(text: str) -> str:
    """The netlist, in which no function has a name that Icarus takes for one of the system."""
    functions = set(_FUNCTION.findall(text))
    return _NAME.sub(lambda m: rf"\function_{m[1]}" if m[1] in functions else m[0], text)


@dataclass(frozen=True, eq=False)
class ModuleBench:
    """A bench, the modules that it is of, and its parameters by the names that these have there."""

    name: str
    modules: str
    parameters: Mapping[str, str]
    parts: bool = False
    """Mutants of the modules inside meet it, too."""

    def has(self, module: str) -> bool:
        return re.fullmatch(rf"({self.modules})__\d+", module) is not None

    @property
    def path(self) -> Path:
        return BENCHES / f"{self.name}.v"

    def settings(self, module: str, text: str, select: int) -> list[str]:
        """Options of iverilog. ``text``: of the module (RTLIL); ``select``: bits of the input that
        chooses a mutant.
        """
        given = dict(_PARAMETER.findall(text))
        values = {own: given[name] for name, own in self.parameters.items() if name in given}
        values |= {"READ": "3"} if module.startswith("cde_ctx") else {}
        values |= {"DIRECT": "1"} if module.startswith("cde_ram_direct") else {}
        return [
            *(f"-DDUT={module}", "-DEDGE=posedge", f"-DMUTANTS={select}"),
            *(["-DTWO"] if "_2w__" in module else []),
            *(f"-P{self.name}.{name}={value}" for name, value in values.items()),
        ]

    def places(self, modules: Mapping[str, str]) -> dict[str, str]:
        """For each module that the bench is of, or that is a part of one, the smallest one that has
        it (it itself if the bench is of it).
        """
        own = sorted(filter(self.has, modules), key=lambda name: (len(modules[name]), name))
        found: dict[str, str] = {}
        for module in reversed(own):
            found |= dict.fromkeys(inner_modules(module, modules) if self.parts else (), module)
        return {**found, **{module: module for module in own}}


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


ALL = (
    ModuleBench(
        "memory_exact",
        "cde_ram(_2w|_direct)?|cde_ctx(_2w)?",
        _same("W", "AW", "ECC", "STEPS"),
        parts=True,
    ),
    ModuleBench("node_exact", "cde_mem_node", _same("AW")),
    ModuleBench("fifo_exact", "cde_fifo", {**_same("W", "BYPASS"), "DEPTH_LOG2": "LOG2"}),
    ModuleBench("arbiter_exact", "cde_arbiter", _same("QP_W")),
)


@dataclass(frozen=True)
class _Place:
    bench: ModuleBench
    module: str

    def __str__(self) -> str:
        return f"{self.bench.name} of {self.module}"


class ModuleBenches:
    """The benches of a netlist's ``modules`` (RTLIL). Safe among threads."""

    def __init__(
        self, netlist: Path, modules: Mapping[str, str], select: int, folder: Path
    ) -> None:
        self._netlist, self._folder, self._select = folder / "netlist.v", folder, select
        folder.mkdir(parents=True, exist_ok=True)
        self._netlist.write_text(for_icarus(netlist.read_text()))
        self._modules = modules
        self._places: dict[str, list[_Place]] = {}
        for bench in ALL:
            for module, outer in bench.places(modules).items():
                self._places.setdefault(module, []).append(_Place(bench, outer))
        places = {place for found in self._places.values() for place in found}
        self._locks: dict[_Place, threading.Lock] = {place: threading.Lock() for place in places}
        self._passed: set[tuple[_Place, int]] = set()
        """Seeds with which a bench was seen to pass without a mutant; 0: it is built."""
        self.left_out: dict[str, str] = {}
        """Benches that cannot be built, or fail without a mutant: they tell nothing. With why."""

    def has(self, module: str) -> bool:
        return module in self._places

    def run(self, number: int, module: str, seed: int = SEEDS[0]) -> tuple[str, Outcome]:
        """Which bench tells the mutant with this seed, "" if none, and what it says. Times are
        those on the clock: Icarus waits for nothing.
        """
        seconds = 0.0
        for place in self._places[module]:
            with self._locks[place]:
                if not self._usable(place, seed):
                    continue
            start = time.monotonic()
            problem = self._simulate(place, number, seed)
            seconds += time.monotonic() - start
            if problem:
                name = place.bench.name + (f" seed {seed}" if seed != SEEDS[0] else "")
                return name, Outcome(problem, seconds)
        return "", Outcome("", seconds)

    def _usable(self, place: _Place, seed: int) -> bool:
        """The bench is built, and passes without a mutant."""
        if str(place) in self.left_out:
            return False
        try:
            if (place, 0) not in self._passed:
                self._build(place)
                self._passed.add((place, 0))
            if (place, seed) not in self._passed:
                if problem := self._simulate(place, 0, seed):
                    text = f"fails without a mutant: seed {seed}: {problem}"
                    raise RunnerError(f"{place} {text}")
                self._passed.add((place, seed))
        except RunnerError as error:
            self.left_out[str(place)] = str(error)
            return False
        return True

    def _program(self, place: _Place) -> Path:
        return self._folder / f"{place.bench.name}-{place.module}"

    def _build(self, place: _Place) -> None:
        bench, module = place.bench, place.module
        include = [*(f"-I{ROOT / folder}" for folder in INCLUDES), "-I", str(BENCHES)]
        command = [
            *("iverilog", "-g2005", *include, "-s", bench.name, "-o", str(self._program(place))),
            *bench.settings(module, self._modules[module], self._select),
            *(str(bench.path), str(self._netlist)),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            text = done.stderr.strip()[:500]
            raise RunnerError(f"{relative(bench.path)} for {module}: {text}")

    def _simulate(self, place: _Place, number: int, seed: int) -> str:
        """What is wrong; nothing if the bench passes."""
        command = ["vvp", "-n", str(self._program(place)), f"+mutant={number}", f"+seed={seed}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return "does not end"
        if done.stdout.rstrip().endswith("passed"):
            return ""
        return (done.stdout + done.stderr).strip()[:200] or f"status {done.returncode}"
