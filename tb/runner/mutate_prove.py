# SPDX-License-Identifier: Apache-2.0
"""Proofs that a mutant is equivalent to the design: sequential equivalence of the mutated module
and the original one, first alone, then inside the modules that contain it.

What a module contains is cut out and its pins are free (sound: what no environment can tell apart,
no design can), and first its memories, too; a difference that only shows with free pins is none, so
the next scope takes more of the design. Both copies start in the state that the reset leaves
(registers without one at 0); from there on the reset is a free input.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tb.runner import cluster
from tb.runner.common import ROOT
from tb.runner.mutate_ladder import EQUIVALENT, SURVIVED, UNDECIDED, Proof
from tb.runner.mutate_netlist import Mutation
from tb.runner.mutate_state import named, ready


@dataclass(frozen=True)
class Scope:
    """What takes part: ``top`` with the modules of ``inside`` flattened into it."""

    top: str
    inside: tuple[str, ...] = ()
    whole: bool = False
    """All that ``top`` contains takes part; no module is cut."""
    memories: bool = True
    """Memories take part, as registers; else they are cut."""

    @property
    def name(self) -> str:
        cut = "" if self.memories else " without its memories"
        return f"{'all of ' if self.whole else ''}{self.top.partition('__')[0]}{cut}"


def split(rtlil: str) -> dict[str, str]:
    """The text of each module of a netlist, with its attributes."""
    found: dict[str, str] = {}
    lines: list[str] = []
    module = ""
    for line in rtlil.splitlines():
        lines.append(line)
        if match := re.match(r"module \\(\S+)", line):
            module = match.group(1)
        elif line == "end" and module:
            found[module] = "\n".join([*lines, ""])
            lines, module = [], ""
    return found


def contents(top: str, modules: Mapping[str, str]) -> str:
    """A netlist of ``top`` and all that it contains."""
    wanted, left = {top}, [top]
    while left:
        cells = re.findall(r"^\s+cell \\(\S+) ", modules[left.pop()], re.M)
        left += sorted(set(cells) & modules.keys() - wanted)
        wanted |= set(left)
    return "".join(modules[name] for name in sorted(wanted))


def parents_of(rtlil: str) -> dict[str, set[str]]:
    """Which modules instantiate each module, from the text of a netlist."""
    found: dict[str, set[str]] = {}
    module = ""
    for line in rtlil.splitlines():
        if match := re.match(r"module \\(\S+)", line):
            module = match.group(1)
        elif match := re.match(r"\s+cell \\(cde_\w+__\d+) ", line):
            found.setdefault(match.group(1), set()).add(module)
    return found


def outer_modules(rtlil: str) -> dict[str, set[str]]:
    """The source modules that each module of a netlist is a part of, from its text."""
    parents = parents_of(rtlil)

    def outer(module: str) -> set[str]:
        direct = parents.get(module, set())
        return direct.union(*map(outer, direct))

    return {module: {name.partition("__")[0] for name in outer(module)} for module in parents}


def resettable(rtlil: str) -> set[str]:
    """The modules with the inputs ``clk`` and ``rst``, from the text of a netlist."""
    ports: dict[str, set[str]] = {}
    module = ""
    for line in rtlil.splitlines():
        if match := re.match(r"module \\(\S+)", line):
            module = match.group(1)
        elif match := re.match(r"\s+wire input \d+ \\(clk|rst)$", line):
            ports.setdefault(module, set()).add(match.group(1))
    return {module for module, found in ports.items() if found == {"clk", "rst"}}


#: More are too many for one proof each.
_PARENTS, _GRANDPARENTS = 12, 4


def scopes(module: str, parents: dict[str, set[str]]) -> list[list[Scope]]:
    """Attempts, each a list of scopes that must all be proved: the module with its contents cut
    out, each of its parents, the module with its contents, the parents of its parents.
    """
    attempts = [[Scope(module)]]
    chains: list[tuple[str, ...]] = [(module,)]
    for generation in range(2):
        chains = [
            (parent, *chain)
            for chain in chains
            for parent in sorted(parents.get(chain[0], ()))
            if parent.startswith("cde_")
        ]
        if 0 < len(chains) <= (_GRANDPARENTS if generation else _PARENTS):
            attempts.append([Scope(chain[0], chain[1:]) for chain in chains])
        if not generation:
            attempts.append([Scope(module, whole=True)])
    return attempts


#: Longer than any value takes to follow the reset.
_RESET_CYCLES = 4


def _script(mutation: Mutation, scope: Scope, base: Path, aiger: Path, reset: bool) -> str:
    """Makes the miter of design and mutant and writes it as AIGER: one output, 1 if they differ."""
    # Initial values of each copy: simulated with the reset and free inputs undefined, then 0 for
    # what is still undefined. Left undefined, the two copies could start in different states.
    start = ["setundef -init -zero"]
    if reset:
        cycles = _RESET_CYCLES
        start.insert(0, f"sim -q -clock clk -reset rst -rstlen {cycles} -n {cycles} -w")
    if scope.whole:
        cut = ["flatten"]
    else:
        cut = [f"flatten t:{module}" for module in scope.inside]
        cut += [f"expose -evert {scope.top}/t:cde_*"]
    if not scope.memories:
        cut += [f"expose -evert {scope.top}/t:$mem_v2"]

    def copy(side: str, change: list[str]) -> list[str]:
        return [
            f"read_rtlil {base}",
            *change,
            f"hierarchy -top {scope.top}",
            *cut,
            f"hierarchy -top {scope.top}",
            "memory_map",
            "opt_clean",
            *start,
            f"rename {scope.top} {side}",
            f"design -stash {side}",
        ]

    steps = [
        *copy("gold", []),
        *copy("gate", [mutation.command(None, 0)]),
        "design -copy-from gold -as gold gold",
        "design -copy-from gate -as gate gate",
        "miter -equiv -flatten gold gate miter",
        "hierarchy -top miter",
        "opt -full",
        "techmap",
        "opt",
        "dffunmap",
        "setundef -undriven -zero",
        "setundef -zero",
        # Enables and resets come back with opt.
        "opt -full",
        "dffunmap",
        "aigmap",
        "opt_clean",
        f"write_aiger -zinit {aiger}",
    ]
    return "\n".join(steps)


def limited(command: Sequence[str], seconds: float, folder: Path) -> tuple[str, float]:
    """Runs a command with a limit on its processor time (which other work on the machine does not
    use up); returns what it printed until then, and its processor time. On a cluster a worker runs
    it.
    """
    return cluster.call(_limited, command, seconds, folder)


def _limited(command: Sequence[str], seconds: float, folder: Path) -> tuple[str, float]:
    shell = f'ulimit -t {max(int(seconds), 1)}; exec "$@"'
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            ["sh", "-c", shell, "sh", *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
        out.seek(0)
        return out.read().decode(errors="replace"), used.ru_utime + used.ru_stime


_SEARCH_CYCLES = 12
_NO_STATUS = "Status = -1  Frames = -1\n"
_STATUS = re.compile(r"Status = (-?\d+) +Frames = (-?\d+)")


def read_abc(text: str) -> Proof:
    """The verdict in ABC's output: the first ``print_status`` that is not undecided (-1)."""
    for (status, frames), how in zip(_STATUS.findall(text), _METHODS, strict=False):
        if status == "0":
            return Proof(SURVIVED, f"differs after {max(int(frames), 0) + 1} cycles")
        if status == "1":
            return Proof(EQUIVALENT, how)
    return Proof(UNDECIDED, "time limit")


#: The search for a difference can meet all states there are; register correspondence leaves little
#: to property directed reachability, which does not take what has no registers (left).
_METHODS = ("all states", "scorr and pdr", "scorr and sat")
#: Commands that give these verdicts, each with its share of the time.
_SCRIPTS = (
    (f"bmc3 -F {_SEARCH_CYCLES}; print_status", 0.25),
    ("lcorr; &get; &scorr; &put; pdr; print_status; prove; print_status", 0.75),
)


def _abc(aiger: Path, seconds: float) -> tuple[Proof, float]:
    """The verdict and its processor time."""
    text, spent = "", 0.0
    for commands, share in _SCRIPTS:
        # ABC's own limits are of wall-clock time.
        script = f"read_aiger {aiger.name}; strash; {commands}"
        said, used = limited(["yosys-abc", "-c", script], share * seconds, aiger.parent)
        text += said if _STATUS.search(said) else _NO_STATUS
        spent += used
        if (proof := read_abc(text)).status != UNDECIDED:
            break
    aiger.with_suffix(".abc.log").write_text(text)
    return proof, spent


#: Of the time of a mutant, for an attempt without memories.
_CUT_SHARE = 0.1


@dataclass
class Prover:
    """Proofs on one netlist."""

    base: Path
    """base.il"""
    folder: Path
    seconds: float
    """Processor time for all scopes of a mutant."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        text = self.base.read_text()
        self._parents, self._resettable = parents_of(text), resettable(text)
        self._modules = {True: split(text), False: split(ready(text))}
        """With and without memories that can be cut."""

    def _try(
        self, mutation: Mutation, scope: Scope, name: str, seconds: float
    ) -> tuple[Proof, float]:
        aiger = self.folder / f"{name}.aig"
        aiger.unlink(missing_ok=True)
        script = self.folder / f"{name}.ys"
        reset = scope.top in self._resettable
        # Reading the whole design would take longer than most proofs.
        part = self.folder / f"{name}.il"
        modules = self._modules[scope.memories]
        part.write_text(contents(scope.top, modules))
        mutation = named(mutation, modules)
        script.write_text(_script(mutation, scope, part, aiger, reset))
        text, spent = limited(["yosys", "-q", "-p", f"script {script}"], seconds, ROOT)
        if not aiger.is_file() or not aiger.stat().st_size:
            error = next((line for line in text.splitlines() if "ERROR" in line), "time limit")
            return Proof(UNDECIDED, error), spent
        proof, used = _abc(aiger, seconds)
        return proof, spent + used

    def __call__(self, mutation: Mutation, name: str, seconds: float = float("inf")) -> Proof:
        """Tries the scopes in turn. ``name``: of the files it leaves. ``seconds``: a lower limit
        of processor time.
        """
        left = limit = min(self.seconds, seconds)
        last = Proof(UNDECIDED, "no scope")
        attempts = scopes(mutation.module, self._parents)
        for number, (attempt, memories) in enumerate(itertools.product(attempts, (False, True))):
            proof = last
            if not memories and not any(map(self._has_memory, attempt)):
                continue
            for part, scope in enumerate(attempt):
                if left <= 0:
                    how = f"{last.how}; wider scopes: time limit"
                    return Proof(UNDECIDED, how, limit - left)
                most = left if memories else min(left, _CUT_SHARE * limit)
                tried = replace(scope, memories=memories)
                found, spent = self._try(mutation, tried, f"{name}-{number}-{part}", most)
                left -= spent
                proof = Proof(found.status, f"{found.how} ({tried.name})", limit - left)
                if found.status != EQUIVALENT:
                    break
            if proof.status == EQUIVALENT:
                return proof
            last = proof
        return last

    def _has_memory(self, scope: Scope) -> bool:
        """Beside those that are cut with the modules that hold them."""
        modules = self._modules[True]
        if scope.whole:
            return " cell $mem_v2 " in contents(scope.top, modules)
        return any(" cell $mem_v2 " in modules[name] for name in (scope.top, *scope.inside))
