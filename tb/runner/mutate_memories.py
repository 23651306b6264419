# SPDX-License-Identifier: Apache-2.0
"""Mutants of the memories meet the memories' own bench (tb/memories/memory_exact.v, Icarus), as it
is in the regression: with the width, the addresses and the code that the netlist's memory has.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from tb.runner.common import ROOT, RunnerError, relative
from tb.runner.mutate_ladder import Outcome
from tb.runner.mutate_wrap import SELECT

BENCH = ROOT / "tb" / "memories" / "memory_exact.v"
NAME = "memory_exact"

_MODULE = re.compile(r"^module (\S+?)\s*\((.*?)^endmodule", re.M | re.S)
_INSTANCE = re.compile(r"^  (cde_\S+) \\?\S+ *\($", re.M)
_MEMORY = re.compile(r"cde_ram(_2w)?__\d+$")
_TIMEOUT_S = 600.0


def parts(text: str) -> dict[str, str]:
    """Name and text of each module of a netlist."""
    return dict(_MODULE.findall(text))


def contained(modules: Mapping[str, str]) -> dict[str, str]:
    """For each module that is a memory, or a part of one, the smallest memory that has it."""
    found: dict[str, str] = {}

    def visit(module: str, memory: str) -> None:
        found.setdefault(module, memory)
        for inner in _INSTANCE.findall(modules[module]):
            if inner in modules:
                visit(inner, memory)

    memories = [name for name in modules if _MEMORY.match(name)]
    for memory in sorted(memories, key=lambda name: (len(modules[name]), name)):
        visit(memory, memory)
    return {**found, **{memory: memory for memory in memories}}


def _width(text: str, declared: str) -> int:
    """Bits of a port or register of a module's text; 0 if there is none."""
    ranged = re.search(rf"^  {declared}", text, re.M)
    if not ranged:
        return 0
    bits = re.search(r"\[(\d+):0\]", ranged.group(0))
    return int(bits.group(1)) + 1 if bits else 1


def settings(memory: str, text: str) -> list[str]:
    """Options of iverilog that fit the bench to a memory of the netlist."""
    two = memory.startswith("cde_ram_2w")
    port = "0" if two else ""
    width = _width(text, rf"input (?:\[\d+:0\] )?wdata{port};")
    stored = _width(text, rf"reg (?:\[\d+:0\] )?{'bank0' if two else 'mem'} \[")
    values = {
        "W": width,
        "AW": _width(text, rf"input (?:\[\d+:0\] )?waddr{port};"),
        "ECC": int(stored != width),
        "FORWARD": int(two or "fwd_q" in text),
    }
    if not all((width, stored, values["AW"])):
        raise RunnerError(f"{memory}: the netlist has no memory of the form that {NAME} knows")
    select = _width(text, rf"input (?:\[\d+:0\] )?{SELECT};")
    defines = [f"DUT={memory}", "EDGE=posedge"]
    defines += ["TWO"] if two else []
    defines += [f"MUTANTS={select}"] if select else []
    return [*(f"-D{d}" for d in defines), *(f"-P{NAME}.{k}={v}" for k, v in values.items())]


class Memories:
    """The bench of every memory of a netlist. Safe among threads."""

    def __init__(self, netlist: Path, folder: Path) -> None:
        self._netlist, self._folder = netlist, folder
        folder.mkdir(parents=True, exist_ok=True)
        self._modules = parts(netlist.read_text())
        self._memory = contained(self._modules)
        self._locks: dict[str, threading.Lock] = {m: threading.Lock() for m in self._memory}
        self._built: set[str] = set()

    def has(self, module: str) -> bool:
        return module in self._memory

    def run(self, number: int, module: str) -> Outcome:
        """The mutant in the smallest memory that has its module. A bench that fails without a
        mutant is an error. Its time is that on the clock: Icarus waits for nothing.
        """
        memory = self._memory[module]
        program = self._folder / memory
        with self._locks[memory]:
            if memory not in self._built:
                self._build(memory, program)
                if problem := self._simulate(program, 0):
                    raise RunnerError(f"{NAME} of {memory} fails without a mutant: {problem}")
                self._built.add(memory)
        start = time.monotonic()
        problem = self._simulate(program, number)
        return Outcome(problem, time.monotonic() - start)

    def _build(self, memory: str, program: Path) -> None:
        command = ["iverilog", "-g2005", "-I", str(ROOT / "hdl"), "-s", NAME, "-o", str(program)]
        command += settings(memory, self._modules[memory])
        done = subprocess.run(
            [*command, str(BENCH), str(self._netlist)], capture_output=True, text=True
        )
        if done.returncode:
            raise RunnerError(f"{relative(BENCH)} for {memory}: {done.stderr.strip()[:500]}")

    def _simulate(self, program: Path, number: int) -> str:
        """What is wrong; nothing if the bench passes."""
        command = ["vvp", "-n", str(program), f"+mutant={number}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return "does not end"
        if done.stdout.rstrip().endswith("passed"):
            return ""
        return (done.stdout + done.stderr).strip()[:200] or f"status {done.returncode}"
