# SPDX-License-Identifier: Apache-2.0
"""Mutants of the leaves (memories, FIFO, arbiter) meet the bench of their module (tb/tests/lib,
Icarus), with the parameters that the netlist's module has.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tb.runner.common import INCLUDES, ROOT, RunnerError, locked, relative, write_whole
from tb.runner.mutate_plan import Alone, Outcome
from tb.runner.mutate_prove import inner_modules, limited

BENCHES = ROOT / "tb" / "tests" / "lib"

_FUNCTION = re.compile(r"^  function (?:\[\d+:0\] )?\\(\$\S+) ?;", re.M)
_NAME = re.compile(r"\\(\$\S+)")
_PARAMETER = re.compile(r"^  parameter \\(\w+) (?:\d+')?(\d+)$", re.M)
#: Processor time of a bench; bits of the widest memory's word: 448 bits take longer than that.
_LIMIT_S, _WIDEST = 600.0, 200
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

    def settings(self, module: str, text: str, select: int) -> list[str]:
        """Options of iverilog. ``text``: of the module (RTLIL); ``select``: bits of the input that
        chooses a mutant.
        """
        given = dict(_PARAMETER.findall(text))
        values = {own: given[name] for name, own in self.parameters.items() if name in given}
        values |= {"READ": "3"} if module.startswith("cde_ctx") else {}
        return [
            *(f"-DDUT={module}", f"-DMUTANTS={select}"),
            *(["-DTWO"] if "_2w__" in module else []),
            *(f"-P{self.name}.{name}={value}" for name, value in values.items()),
        ]

    def places(self, modules: Mapping[str, str]) -> dict[str, str]:
        """For each module that the bench is of, or that is a part of one, the smallest one that has
        it (it itself if the bench is of it).
        """
        own = [name for name in modules if re.fullmatch(rf"({self.modules})__\d+", name)]
        if self.parts:  # memories: neither of wide words, nor of those that answer a cycle late
            has = {name: dict(_PARAMETER.findall(modules[name])) for name in own}
            own = [name for name in own if int(has[name].get("W", "0")) <= _WIDEST]
            own = [name for name in own if has[name].get("LATE", "0") == "0"]
        own.sort(key=lambda name: (len(modules[name]), name))
        found: dict[str, str] = {}
        for module in reversed(own):
            found |= dict.fromkeys(inner_modules(module, modules) if self.parts else (), module)
        return {**found, **{module: module for module in own}}


ALL = (
    ModuleBench(
        *("memory_exact", "cde_ram|cde_ctx(_2w)?"),
        {"W": "W", "AW": "AW", "ECC": "ECC", "STEPS": "STEPS"},
        parts=True,
    ),
    ModuleBench("node_exact", "cde_mem_node", {"AW": "AW"}),
    ModuleBench("fifo_exact", "cde_fifo", {"W": "W", "BYPASS": "BYPASS", "DEPTH_LOG2": "LOG2"}),
    ModuleBench("arbiter_exact", "cde_arbiter", {"QP_W": "QP_W"}),
)


class ModuleBenches:
    """The benches of a netlist's ``modules`` (RTLIL)."""

    def __init__(
        self, netlist: Path, modules: Mapping[str, str], select: int, alone: Alone, folder: Path
    ) -> None:
        self._netlist, self._folder, self._select = folder / "netlist.v", folder, select
        write_whole(self._netlist, for_icarus(netlist.read_text()))
        self._modules, self._alone = modules, alone
        self._places = [(bench, bench.places(modules)) for bench in ALL]

    def meet(self, number: int, module: str, seed: int) -> Iterator[tuple[str, Outcome]]:
        """Each bench that passes without a mutant, and what it says of this one."""
        for bench, places in self._places:
            if module in places:
                program = self._build(bench, places[module])
                name = f"{program.name} seed {seed}"
                alone = self._alone.of(name, partial(self._simulate, program, 0, seed))
                if not alone.message:
                    yield f"{bench.name} seed {seed}", self._simulate(program, number, seed)

    def _build(self, bench: ModuleBench, module: str) -> Path:
        program = self._folder / f"{bench.name}-{module}"
        source = BENCHES / f"{bench.name}.v"
        with locked(self._folder):
            if program.is_file():
                return program
            include = [*(f"-I{ROOT / folder}" for folder in INCLUDES), "-I", str(BENCHES)]
            command = [
                *("iverilog", "-g2005", *include, "-s", bench.name, "-o", str(program)),
                *bench.settings(module, self._modules[module], self._select),
                *(str(source), str(self._netlist)),
            ]
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RunnerError(f"{relative(source)} for {module}: {done.stderr.strip()[:500]}")
        return program

    def _simulate(self, program: Path, number: int, seed: int) -> Outcome:
        command = ["vvp", "-n", str(program), f"+mutant={number}", f"+seed={seed}"]
        said, cpu_s = limited(command, _LIMIT_S, self._folder)
        passed = said.rstrip().endswith("passed")
        return Outcome("" if passed else said.strip()[:200] or "does not end", cpu_s)
