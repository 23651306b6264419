# SPDX-License-Identifier: Apache-2.0
"""Proofs that a mutant is equivalent to the design: sequential equivalence of the mutated module
and the original one, first alone, then inside the modules that contain it.

Memories and what else a module contains are cut out and their pins are free (sound: what no
environment can tell apart, no design can); a difference that only shows with free pins is none, so
the next scope takes more of the design. Both copies start in the state that the reset leaves
(registers without one at 0); from there on the reset is a free input.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tb.runner.common import ROOT
from tb.runner.mutate_netlist import Mutation
from tb.runner.mutate_plan import EQUIVALENT, SURVIVED, UNDECIDED
from tb.runner.simulator import execute

Modules = Mapping[str, str]
"""The text of each module of a netlist (RTLIL)."""

# -- the netlist's text ----------------------------------------------------------------------------

_MODULE = re.compile(r"(?:^attribute .*\n)*^module \\(\S+)\n(?:.*\n)*?end\n", re.M)
_INSTANCE = re.compile(r"^\s+cell \\(cde_\w+__\d+) ", re.M)
_STATE = re.compile(r"^(  cell \$(?:\w*ff\w*|mem_v2)) \$(\S+)$", re.M)
_MEMORY = re.compile(r"^  cell \$mem_v2 \\(\S+)\n((?:    .*\n)*)  end\n", re.M)
_AND = """  wire width {width} \\masked${name}
  cell $and \\mask${name}
    parameter \\A_SIGNED 0
    parameter \\A_WIDTH {width}
    parameter \\B_SIGNED 0
    parameter \\B_WIDTH {width}
    parameter \\Y_WIDTH {width}
    connect \\A {data}
    connect \\B {enable}
    connect \\Y \\masked${name}
  end
"""


def split(rtlil: str) -> dict[str, str]:
    """The modules of a netlist, made ready to have their memories cut out: ``expose -evert`` makes
    pins of cells with a name of their own, and what a memory is told to write shall count only
    where an enable is set.
    """
    ready = _MEMORY.sub(_masked, _STATE.sub(r"\1 \\state$\2", rtlil))
    return {match[1]: match[0] for match in _MODULE.finditer(ready)}


def _masked(match: re.Match[str]) -> str:
    name, body = match.groups()
    values = dict(re.findall(r"^    (?:parameter|connect) \\(\S+) (.+)$", body, re.M))
    width = int(values["WIDTH"]) * int(values["WR_PORTS"])
    if not width:
        return match[0]
    data = f"    connect \\WR_DATA {values['WR_DATA']}\n"
    mask = _AND.format(name=name, width=width, data=values["WR_DATA"], enable=values["WR_EN"])
    return mask + match[0].replace(data, f"    connect \\WR_DATA \\masked${name}\n")


def inner_modules(top: str, modules: Modules) -> list[str]:
    """``top`` and all that it contains."""
    found, left = set(), [top]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _INSTANCE.findall(modules[name])
    return sorted(found)


def contents(top: str, modules: Modules) -> str:
    """A netlist of ``top`` and all that it contains."""
    return "".join(modules[name] for name in inner_modules(top, modules))


def parents_of(modules: Modules) -> dict[str, set[str]]:
    """Which modules instantiate each module."""
    found: dict[str, set[str]] = {}
    for name, text in modules.items():
        for inner in _INSTANCE.findall(text):
            found.setdefault(inner, set()).add(name)
    return found


def outer_modules(modules: Modules) -> dict[str, set[str]]:
    """The source modules that each module is a part of."""
    parents = parents_of(modules)

    def outer(module: str) -> set[str]:
        direct = parents.get(module, set())
        return direct.union(*map(outer, direct))

    return {module: {name.partition("__")[0] for name in outer(module)} for module in parents}


# -- scopes ----------------------------------------------------------------------------------------

Scope = tuple[str, ...]
"""A module, and those that are flattened into it: each contains the next one, the last is the one
with the mutant.
"""
#: More parents, and parents of them, are too many for one proof each.
_MOST = (12, 4)


def scopes(module: str, parents: Mapping[str, set[str]]) -> list[list[Scope]]:
    """Attempts, each a list of scopes that must all be proved: the module, each of its parents, the
    parents of these.
    """
    attempts: list[list[Scope]] = [[(module,)]]
    chains = attempts[0]
    for most in _MOST:
        chains = [
            (parent, *chain)
            for chain in chains
            for parent in sorted(parents.get(chain[0], ()))
            if parent.startswith("cde_")
        ]
        if 0 < len(chains) <= most:
            attempts.append(chains)
    return attempts


#: Longer than any value takes to follow the reset.
_RESET_CYCLES = 4


def has_reset(module: str) -> bool:
    """Whether a module has the inputs ``clk`` and ``rst``."""
    pins = re.findall(r"^  wire input \d+ \\(clk|rst)$", module, re.M)
    return sorted(pins) == ["clk", "rst"]


def _script(mutation: Mutation, scope: Scope, base: Path, aiger: Path, reset: bool) -> str:
    """Makes the miter of design and mutant and writes it as AIGER: one output, 1 if they differ."""
    # Initial values of each copy: simulated with the reset and free inputs undefined, then 0 for
    # what is still undefined. Left undefined, the two copies could start in different states.
    start = ["setundef -init -zero"]
    if reset:
        cycles = _RESET_CYCLES
        start.insert(0, f"sim -q -clock clk -reset rst -rstlen {cycles} -n {cycles} -w")
    top = scope[0]
    cut = [
        *(f"flatten t:{module}" for module in scope[1:]),
        *(f"expose -evert {top}/t:cde_*", f"expose -evert {top}/t:$mem_v2"),
    ]

    def copy(side: str, change: list[str]) -> list[str]:
        return [
            f"read_rtlil {base}",
            *change,
            f"hierarchy -top {top}",
            *cut,
            f"hierarchy -top {top}",
            *("opt_clean", *start),
            f"rename {top} {side}",
            f"design -stash {side}",
        ]

    steps = [
        *copy("gold", []),
        *copy("gate", [mutation.command()]),
        *("design -copy-from gold -as gold gold", "design -copy-from gate -as gate gate"),
        *("miter -equiv -flatten gold gate miter", "hierarchy -top miter"),
        *("opt -full", "techmap", "opt", "dffunmap"),
        *("setundef -undriven -zero", "setundef -zero"),
        # Enables and resets come back with opt.
        *("opt -full", "dffunmap", "aigmap", "opt_clean"),
        f"write_aiger -zinit {aiger}",
    ]
    return "\n".join(steps)


# -- tools -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proof:
    """What the search for a proof of equivalence gave."""

    status: str
    """EQUIVALENT, SURVIVED (there is a difference) or UNDECIDED."""
    how: str = ""
    seconds: float = 0.0


def limited(command: Sequence[str], seconds: float, folder: Path) -> tuple[str, float]:
    """Runs a command with a limit on its processor time; returns what it printed until then, and
    its processor time.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        ended = execute(command, folder, os.environ, log, seconds)
        log.seek(0)
        return log.read(), ended.cpu_s


_STATUS = re.compile(r"Status = (-?\d+) +Frames = (-?\d+)")
_SEARCH_CYCLES = 12
#: Commands of ABC, their share of the time, and what each verdict (of ``print_status``) tells if it
#: is a proof. The search for a difference can meet all states there are; register correspondence
#: leaves little to property directed reachability, which does not take what has no registers.
_SCRIPTS = (
    (f"bmc3 -F {_SEARCH_CYCLES}; print_status", 0.25, ("all states",)),
    (
        "lcorr; &get; &scorr; &put; pdr; print_status; prove; print_status",
        *(0.75, ("scorr and pdr", "scorr and sat")),
    ),
)


def read_abc(text: str, methods: Sequence[str]) -> Proof:
    """The verdict in ABC's output: the first one that is not undecided (-1)."""
    for (status, frames), how in zip(_STATUS.findall(text), methods, strict=False):
        if status == "0":
            return Proof(SURVIVED, f"differs after {max(int(frames), 0) + 1} cycles")
        if status == "1":
            return Proof(EQUIVALENT, how)
    return Proof(UNDECIDED, "time limit")


def _abc(aiger: Path, seconds: float) -> Proof:
    spent = 0.0
    for commands, share, methods in _SCRIPTS:
        # ABC's own limits are of wall-clock time.
        script = f"read_aiger {aiger.name}; strash; {commands}"
        said, used = limited(["yosys-abc", "-c", script], share * seconds, aiger.parent)
        spent += used
        proof = read_abc(said, methods)
        if proof.status != UNDECIDED:
            break
    return replace(proof, seconds=spent)


# -- proofs ----------------------------------------------------------------------------------------


class Prover:
    """Proofs on one netlist, ``base``."""

    def __init__(self, base: Path, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.modules = split(base.read_text())
        self._parents = parents_of(self.modules)

    def _try(self, mutation: Mutation, scope: Scope, name: str, seconds: float) -> Proof:
        aiger, script, part = (self._folder / f"{name}.{kind}" for kind in ("aig", "ys", "il"))
        aiger.unlink(missing_ok=True)
        # Reading the whole design would take longer than most proofs.
        part.write_text(contents(scope[0], self.modules))
        cell = f"\\state{mutation.cell}"
        if f" {cell}\n" in self.modules[mutation.module]:
            mutation = replace(mutation, cell=cell)
        reset = has_reset(self.modules[scope[0]])
        script.write_text(_script(mutation, scope, part, aiger, reset))
        text, spent = limited(["yosys", "-q", "-p", f"script {script}"], seconds, ROOT)
        if not aiger.is_file() or not aiger.stat().st_size:
            error = next((line for line in text.splitlines() if "ERROR" in line), "time limit")
            return Proof(UNDECIDED, error, spent)
        proof = _abc(aiger, seconds)
        return replace(proof, seconds=spent + proof.seconds)

    def __call__(self, mutation: Mutation, name: str, seconds: float) -> Proof:
        """Tries the scopes in turn. ``name``: of the files it leaves. ``seconds``: of processor
        time, for all of them.
        """
        left, proof = seconds, Proof(UNDECIDED, "no scope")
        for attempt in scopes(mutation.module, self._parents):
            for scope in attempt:
                if left <= 0:
                    return Proof(UNDECIDED, f"{proof.how}; wider scopes: time limit", seconds)
                tried = self._try(mutation, scope, name, left)
                left -= tried.seconds
                how = f"{tried.how} ({scope[0].partition('__')[0]})"
                proof = replace(tried, how=how, seconds=seconds - left)
                if proof.status != EQUIVALENT:
                    break
            if proof.status == EQUIVALENT:
                break
        return proof
