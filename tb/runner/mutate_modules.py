# SPDX-License-Identifier: Apache-2.0
"""Mutants of the leaves (memories, FIFO, arbiter) meet the bench of their module (tb/tests/lib,
Icarus), with the parameters that the netlist's module has.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tb.runner.common import INCLUDES, ROOT, RunnerError, relative
from tb.runner.mutate_ladder import Outcome
from tb.runner.mutate_wrap import SELECT

BENCHES = ROOT / "tb" / "tests" / "lib"

_MODULE = re.compile(r"^module (\S+?)\s*\((.*?)^endmodule", re.M | re.S)
_INSTANCE = re.compile(r"^  (cde_\S+) \\?\S+ *\($", re.M)
_FUNCTION = re.compile(r"^  function (?:\[\d+:0\] )?\\(\$\S+) ?;", re.M)
_NAME = re.compile(r"\\(\$\S+)")
_COPIES = re.compile(r"^  assign (\\\S+ |\w+ ?)\[\d+:1\]  ?= \{ \1\[0\](?:, \1\[0\])* \};\n", re.M)
_TIMEOUT_S = 600.0
#: Of a bench: the first as it is in the regression, more for what is neither killed nor proved.
SEEDS = (1, 2, 3)

Values = dict[str, int]


def parts(text: str) -> dict[str, str]:
    """Name and text of each module of a netlist."""
    return dict(_MODULE.findall(text))


def for_icarus(text: str) -> str:
    """The netlist, in which no function has a name that Icarus takes for one of the system, and
    no vector's lowest bit is copied to all others if nobody looks at those: Icarus would look at
    all copies again for each of them.
    """
    functions = set(_FUNCTION.findall(text))
    text = "".join(
        _without_copies(part) for part in re.split(r"(?<=^endmodule\n)", text, flags=re.M)
    )
    return _NAME.sub(lambda m: rf"\function_{m[1]}" if m[1] in functions else m[0], text)


def _without_copies(module: str) -> str:
    """The text of a module without copies of a bit that nobody looks at."""

    def copies(match: re.Match[str]) -> str:
        name = match[1].strip()
        end = r"(?=\s)" if name.startswith("\\") else r"(?!\w)"
        rest = re.sub(r"^  wire .*\n", "", module.replace(match[0], ""), flags=re.M)
        used = re.search(rf"(?<![\w\\]){re.escape(name)}{end}(?! ?\[0\])", rest)
        return match[0] if used else ""

    return _COPIES.sub(copies, module)


def width(text: str, name: str, kind: str = "(?:in|out)put") -> int:
    """Bits of a port (or of what else is declared, ``kind``) in a module's text; 0 if absent."""
    found = re.search(rf"^  {kind} (?:\[(\d+):0\] )?{name}(?:;| \[)", text, re.M)
    return int(found.group(1) or 0) + 1 if found else 0


def _memory(module: str, text: str) -> list[Values]:
    two = "_2w__" in module
    port = "0" if two else ""
    stored = width(text, f"put_code{port}", "wire") or width(text, "mem", "reg")
    values = {
        "W": width(text, f"wdata{port}"),
        "AW": width(text, f"waddr{port}"),
        "ECC": int(stored != width(text, f"wdata{port}")),
        "READ": 3 if module.startswith("cde_ctx") else 1,
        "DIRECT": int(module.startswith("cde_ram_direct")),
    }
    if not (stored and values["W"] and values["AW"]):
        return []
    steps = (0, 3, 4) if module.startswith("cde_ctx") else (0,)
    return [{**values, "STEPS": count} for count in steps]


def _fifo(_: str, text: str) -> list[Values]:
    values = {"W": width(text, "push_data"), "LOG2": width(text, "level") - 1}
    return [{**values, "BYPASS": bypass} for bypass in (0, 1)] if all(values.values()) else []


def _of_widths(**ports: str) -> Callable[[str, str], list[Values]]:
    """Parameters that are widths of ports, by the names of both."""

    def values(_: str, text: str) -> list[Values]:
        found = {parameter: width(text, port) for parameter, port in ports.items()}
        return [found] if all(found.values()) else []

    return values


@dataclass(frozen=True)
class ModuleBench:
    """A bench, the modules that it is of, and its parameters for one of them: all that may be
    meant, since a netlist does not tell each; the bench passes with those that are.
    """

    name: str
    module: str
    values: Callable[[str, str], Sequence[Values]]
    parts: str = ""
    """Modules inside such a one, whose mutants meet it too."""

    def has(self, module: str) -> bool:
        return re.fullmatch(rf"({self.module})__\d+", module) is not None

    def has_part(self, module: str) -> bool:
        return re.fullmatch(rf"({self.parts})__\d+", module) is not None

    @property
    def path(self) -> Path:
        return BENCHES / f"{self.name}.v"

    def settings(self, module: str, text: str) -> list[list[str]]:
        """Options of iverilog, those of each choice of the parameters."""
        choices = self.values(module, text)
        if not choices:
            raise RunnerError(
                f"{module}: the netlist has no module of the form that {self.name} knows"
            )
        defines = [f"-DDUT={module}", "-DEDGE=posedge"]
        defines += ["-DTWO"] if "_2w__" in module else []
        select = width(text, SELECT)
        defines += [f"-DMUTANTS={select}"] if select else []
        return [[*defines, *(f"-P{self.name}.{k}={v}" for k, v in c.items())] for c in choices]


MEMORY = ModuleBench(
    "memory_exact", "cde_ram(_2w|_direct)?|cde_ctx(_2w)?", _memory, parts=r"cde_\w+"
)
ALL = (
    MEMORY,
    ModuleBench("node_exact", "cde_mem_node", _of_widths(AW="clear_addr")),
    ModuleBench("fifo_exact", "cde_fifo", _fifo),
    ModuleBench("arbiter_exact", "cde_arbiter", _of_widths(QP_W="offer_qp")),
)


def contained(modules: Mapping[str, str], bench: ModuleBench) -> dict[str, str]:
    """For each module that a bench is of, or that is a part of one, the smallest one that has it
    (it itself if the bench is of it).
    """
    found: dict[str, str] = {}

    def visit(module: str, outer: str) -> None:
        found.setdefault(module, outer)
        for inner in _INSTANCE.findall(modules[module]):
            if inner in modules and bench.has_part(inner):
                visit(inner, outer)

    own = [name for name in modules if bench.has(name)]
    for module in sorted(own, key=lambda name: (len(modules[name]), name)):
        visit(module, module)
    return {**found, **{module: module for module in own}}


@dataclass(frozen=True)
class _Place:
    bench: ModuleBench
    module: str

    def __str__(self) -> str:
        return f"{self.bench.name} of {self.module}"


def _fails(place: _Place, how: str) -> str:
    return f"{place} fails without a mutant: {how}"


class ModuleBenches:
    """The benches of a netlist's modules. Safe among threads."""

    def __init__(self, netlist: Path, folder: Path) -> None:
        self._netlist, self._folder = folder / "netlist.v", folder
        folder.mkdir(parents=True, exist_ok=True)
        text = netlist.read_text()
        self._netlist.write_text(for_icarus(text))
        self._modules = parts(text)
        self._places: dict[str, list[_Place]] = {}
        for bench in ALL:
            for module, outer in contained(self._modules, bench).items():
                self._places.setdefault(module, []).append(_Place(bench, outer))
        places = {place for found in self._places.values() for place in found}
        self._locks: dict[_Place, threading.Lock] = {place: threading.Lock() for place in places}
        self._passed: dict[_Place, set[int]] = {place: set() for place in places}
        """Seeds with which a bench was seen to pass without a mutant."""
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
            program = self._folder / f"{place.bench.name}-{place.module}"
            with self._locks[place]:
                if not self._usable(place, program, seed):
                    continue
            start = time.monotonic()
            problem = self._simulate(program, number, seed)
            seconds += time.monotonic() - start
            if problem:
                name = place.bench.name + (f" seed {seed}" if seed != SEEDS[0] else "")
                return name, Outcome(problem, seconds)
        return "", Outcome("", seconds)

    def _usable(self, place: _Place, program: Path, seed: int) -> bool:
        """The bench is built, and passes without a mutant."""
        if str(place) in self.left_out:
            return False
        passed = self._passed[place]
        try:
            if not passed:
                self._build(place, program)
                passed.add(SEEDS[0])
            if seed not in passed:
                if problem := self._simulate(program, 0, seed):
                    raise RunnerError(_fails(place, f"seed {seed}: {problem}"))
                passed.add(seed)
        except RunnerError as error:
            self.left_out[str(place)] = str(error)
            return False
        return True

    def _build(self, place: _Place, program: Path) -> None:
        bench, module = place.bench, place.module
        include = [*(f"-I{ROOT / folder}" for folder in INCLUDES), "-I", str(BENCHES)]
        command = ["iverilog", "-g2005", *include, "-s", bench.name]
        problems = []
        for settings in bench.settings(module, self._modules[module]):
            done = subprocess.run(
                [*command, "-o", str(program), *settings, str(bench.path), str(self._netlist)],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                text = done.stderr.strip()[:500]
                raise RunnerError(f"{relative(bench.path)} for {module}: {text}")
            problem = self._simulate(program, 0)
            if not problem:
                return
            problems.append(problem)
        raise RunnerError(_fails(place, "; ".join(problems)))

    def _simulate(self, program: Path, number: int, seed: int = SEEDS[0]) -> str:
        """What is wrong; nothing if the bench passes."""
        command = ["vvp", "-n", str(program), f"+mutant={number}", f"+seed={seed}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return "does not end"
        if done.stdout.rstrip().endswith("passed"):
            return ""
        return (done.stdout + done.stderr).strip()[:200] or f"status {done.returncode}"
