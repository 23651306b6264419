# SPDX-License-Identifier: Apache-2.0
"""The ladder (tb/mutate.yaml): which tests a mutant meets in which order, what becomes of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tb.runner.common import ROOT, RunnerError, relative
from tb.runner.discover import Module, matches
from tb.runner.mutate_netlist import Mutation

MUTATE_YAML = ROOT / "tb" / "mutate.yaml"

#: A gap that needs a new stimulus, not a new check.
NEVER = "changes no value in any test"
KILLED, EQUIVALENT, UNDECIDED, SURVIVED = "killed", "equivalent", "undecided", "survived"


@dataclass(frozen=True)
class Design:
    """A top level under mutation."""

    top: str
    build: str
    tests_of: tuple[str, ...]


@dataclass(frozen=True)
class Rung:
    name: str
    tests: tuple[str, ...]
    """Patterns; empty for the rung that has the rest."""
    seeds: int


@dataclass(frozen=True)
class Plan:
    """What tb/mutate.yaml says."""

    designs: tuple[Design, ...]
    rungs: tuple[Rung, ...]
    without: dict[str, str]


@dataclass(frozen=True)
class Step:
    """One test with one seed on one top level."""

    rung: int
    top: str
    test: str
    """tb.tests.test_x.TestX"""
    seed: int

    @property
    def name(self) -> str:
        return f"{self.test.removeprefix('tb.tests.')} seed {self.seed}"


@dataclass(frozen=True)
class Proof:
    """What the search for a proof of equivalence gave."""

    status: str
    """EQUIVALENT, SURVIVED (there is a difference) or UNDECIDED."""
    how: str = ""


@dataclass
class Fate:
    """What became of a mutant."""

    mutation: Mutation
    status: str
    by: str = ""
    """The test that killed it, or the proof."""
    message: str = ""
    runs: int = 0
    seconds: float = 0.0


def load_plan(path: Path = MUTATE_YAML) -> Plan:
    """A file that has another form is an error."""
    where = relative(path)
    try:
        data = yaml.safe_load(path.read_text())
        designs = tuple(
            Design(str(top), str(entry["build"]), tuple(entry["tests_of"]))
            for top, entry in data["designs"].items()
        )
        rungs = tuple(
            Rung(str(e["name"]), tuple(e.get("tests", ())), int(e["seeds"])) for e in data["ladder"]
        )
        without = {str(k): str(v) for k, v in (data.get("without") or {}).items()}
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise RunnerError(f"{where}: {type(error).__name__}: {error}") from None
    if not designs or sum(not rung.tests for rung in rungs) != 1:
        raise RunnerError(f"{where}: needs designs, and exactly one rung without `tests`")
    return Plan(designs, rungs, without)


def make_steps(plan: Plan, modules: Sequence[Module]) -> list[Step]:
    """All steps. A pattern that matches nothing is an error."""
    every = [(m, test) for m in modules for test in m.tests]
    for pattern in [*plan.without, *(p for rung in plan.rungs for p in rung.tests)]:
        if not any(matches(pattern, m, test) for m, test in every):
            raise RunnerError(f"{relative(MUTATE_YAML)}: no test matches {pattern}")
    rest = next(n for n, rung in enumerate(plan.rungs) if not rung.tests)
    steps = []
    for module, test in every:
        if any(matches(pattern, module, test) for pattern in plan.without):
            continue
        number = next(
            (n for n, r in enumerate(plan.rungs) if any(matches(p, module, test) for p in r.tests)),
            rest,
        )
        seeds = module.test_seeds.get(test, module.seeds)[: plan.rungs[number].seeds]
        for design in plan.designs:
            if set(design.tests_of) & set(module.builds):
                name = f"{module.module}.{test}"
                steps += [Step(number, design.top, name, seed) for seed in seeds]
    return steps


@dataclass
class Ladder:
    """Orders the steps; learns which tests kill mutants of which modules. Safe among threads."""

    cost: Mapping[Step, float]
    """Seconds of each step without a mutant."""
    rest: int
    """The rung before which a proof is tried: the first slow one."""
    _kills: Counter[tuple[str, Step]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def order(self, module: str, steps: Iterable[Step]) -> list[Step]:
        """The best first: by rung, then by kills for the time."""
        with self._lock:

            def worth(step: Step) -> tuple[int, float]:
                kills = 1 + self._kills["", step] + 10 * self._kills[module, step]
                return step.rung, -kills / max(self.cost.get(step, 1.0), 0.01)

            return sorted(steps, key=worth)

    def learn(self, module: str, step: Step) -> None:
        with self._lock:
            self._kills[module, step] += 1
            self._kills["", step] += 1


def climb(
    mutation: Mutation,
    steps: Iterable[Step],
    ladder: Ladder,
    run: Callable[[Step], tuple[bool, str] | None],
    prove: Callable[[Mutation], Proof],
    earlier: int = 0,
) -> Fate:
    """Runs the steps until one fails. ``run`` tells whether the test passed, and its error; None if
    the mutant changes no value in it. ``earlier``: runs that the mutant has passed before.

    The proof comes before the slow rungs: an equivalent mutant need not climb them.
    """
    fate = Fate(mutation, SURVIVED, runs=earlier)
    module = mutation.source_module
    left = set(steps)
    proof: Proof | None = None
    while left:
        step = ladder.order(module, left)[0]
        if step.rung >= ladder.rest and proof is None:
            proof = prove(mutation)
            if proof.status == EQUIVALENT:
                break
        left.remove(step)
        answer = run(step)
        if answer is None:
            continue
        passed, message = answer
        fate.runs += 1
        if not passed:
            ladder.learn(module, step)
            fate.status, fate.by, fate.message = KILLED, step.name, message
            return fate
    proof = proof or prove(mutation)
    fate.status, fate.by = proof.status, proof.how
    if not fate.runs and fate.status != EQUIVALENT:
        fate.by = f"{NEVER}; {fate.by}"
    return fate


def summary(fates: Sequence[Fate]) -> dict[str, Any]:
    """The numbers of sim_build/mutation.json."""
    count = Counter(fate.status for fate in fates)
    return {
        "total": len(fates),
        **{status: count[status] for status in (KILLED, EQUIVALENT, UNDECIDED, SURVIVED)},
    }
