# SPDX-License-Identifier: Apache-2.0
"""The ladder (tb/tests/campaigns/mutate.yaml): which runs a mutant meets in which order, and what
becomes of it.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from tb.runner.common import ROOT, RunnerError, relative
from tb.runner.discover import Job, Module, matches
from tb.runner.listed import parse, read_yaml
from tb.runner.mutate_netlist import Mutation

MUTATE_YAML = ROOT / "tb" / "tests" / "campaigns" / "mutate.yaml"

KILLED, EQUIVALENT, UNDECIDED, SURVIVED = "killed", "equivalent", "undecided", "survived"
STATES = (KILLED, EQUIVALENT, UNDECIDED, SURVIVED)


@dataclass(frozen=True)
class Design:
    """A top level under mutation."""

    build: str
    tests_of: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What tb/tests/campaigns/mutate.yaml says."""

    designs: dict[str, Design]
    """By top level."""
    seeds: dict[str, int] = field(default_factory=dict)
    """Seeds of the tests that match a pattern; one of every other test."""
    without: dict[str, str] = field(default_factory=dict)
    first: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Tests (patterns) that some mutants meet early: those of modules or of some of their wires
    (patterns of ``module`` or ``module.wire``), or of modules in others (``outer/module``).
    """


@dataclass(frozen=True)
class Step:
    """One test with one seed on one top level."""

    top: str
    job: Job

    @property
    def name(self) -> str:
        return f"{self.job.name} seed {self.job.seed}"


@dataclass(frozen=True)
class Outcome:
    """Of a test (``message``: why it failed, "" if it passed) or a replay (which output differs
    first, "" if none does).
    """

    message: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Proof:
    """What the search for a proof of equivalence gave."""

    status: str
    """EQUIVALENT, SURVIVED (there is a difference) or UNDECIDED."""
    how: str = ""
    seconds: float = 0.0


@dataclass
class Fate:
    """What became of a mutant."""

    mutation: Mutation
    status: str = UNDECIDED
    by: str = ""
    """The test that killed it, or the proof."""
    message: str = ""
    replays: int = 0
    """Recorded runs that were replayed."""
    runs: int = 0
    """Those of them in which an output differs: the test was run."""
    output: str = ""
    """The first output that was seen to differ."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Processor time of replays, tests and proofs."""

    def kill(self, by: str, message: str) -> None:
        self.status, self.by, self.message = KILLED, by, message

    def spend(self, what: str, seconds: float) -> None:
        self.seconds[what] = round(self.seconds.get(what, 0.0) + seconds, 3)


def load_plan(path: Path = MUTATE_YAML) -> Plan:
    """A file that has another form is an error."""
    plan = parse(Plan, read_yaml(path), relative(path))
    if not plan.designs or min(plan.seeds.values(), default=1) < 1:
        raise RunnerError(f"{relative(path)}: needs designs, and at least one seed of each test")
    return plan


def make_steps(plan: Plan, modules: Sequence[Module]) -> list[Step]:
    """All steps. A pattern that matches nothing is an error."""
    every = [(m, test) for m in modules for test in m.tests]
    for pattern in [*plan.without, *plan.seeds, *itertools.chain(*plan.first.values())]:
        if not any(matches(pattern, m, test) for m, test in every):
            raise RunnerError(f"{relative(MUTATE_YAML)}: no test matches {pattern}")
    steps = []
    for module, test in every:
        if any(matches(pattern, module, test) for pattern in plan.without):
            continue
        count = next((n for p, n in plan.seeds.items() if matches(p, module, test)), 1)
        seeds = module.test_seeds.get(test, module.seeds)[:count]
        for top, design in plan.designs.items():
            if set(design.tests_of) & set(module.builds):
                names = (module.module, module.short, test)
                steps += [Step(top, Job(*names, s, design.build, "verilator")) for s in seeds]
    return steps


@dataclass
class Ladder:
    """Orders the steps; learns which tests kill mutants of which modules. Safe among threads."""

    cost: Mapping[Step, float]
    """Seconds of each step without a mutant."""
    first: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """As in `Plan`."""
    around: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """Source modules that each elaborated module is a part of."""
    _kills: Counter[tuple[str, Step]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def order(self, mutation: Mutation, steps: Iterable[Step]) -> list[Step]:
        """Those first that killed most for their time. Mutants of the same source module count ten
        times, those with the same parameters, and what the plan says, a hundred times.
        """
        planned = self._planned(mutation)
        where = {"": 1, mutation.source_module: 10, "=" + mutation.module: 100}

        def worth(step: Step) -> float:
            kills = 1 + sum(weight * self._kills[place, step] for place, weight in where.items())
            kills += 100 * any(fnmatchcase(step.job.name, pattern) for pattern in planned)
            return -kills / max(self.cost[step], 0.01)

        with self._lock:
            return sorted(steps, key=worth)

    def _planned(self, mutation: Mutation) -> list[str]:
        """Tests that the plan has for the mutant."""
        module = mutation.source_module
        names = [module, f"{module}.{mutation.wire.lstrip(chr(92))}"]
        names += [f"{outer}/{module}" for outer in self.around.get(mutation.module, ())]
        found = [p for p in self.first if any(fnmatchcase(name, p) for name in names)]
        return [test for pattern in found for test in self.first[pattern]]

    def learn(self, mutation: Mutation, step: Step) -> None:
        with self._lock:
            for where in ("", mutation.source_module, "=" + mutation.module):
                self._kills[where, step] += 1


@dataclass(frozen=True)
class Limits:
    """What one mutant may cost that nothing kills, in seconds."""

    tests_s: float
    """Processor time (without a mutant) of tests that pass although an output differs."""
    replays_s: float
    """Processor time of replays in which none does."""
    proof_s: float
    """Processor time of a proof."""


@dataclass(frozen=True)
class Means:
    """How a mutant meets what may kill it."""

    replay: Callable[[Step], Outcome]
    run: Callable[[Step], Outcome]
    prove: Callable[[float], Proof]
    """With a limit of its processor time."""


def climb(
    mutation: Mutation,
    steps: Iterable[Step],
    ladder: Ladder,
    means: Means,
    stages: Iterable[Limits],
) -> Fate:
    """Replays the steps, runs those in which an output differs until one fails; then a proof for
    what reaches no output. Each stage goes on with the steps that the one before has left.
    """
    fate = Fate(mutation)
    left = deque(ladder.order(mutation, steps))
    for limits in stages:
        if _meet(fate, left, ladder, means, limits):
            break
        rest = f", {len(left)} left out: limit" if left else ""
        if fate.runs:
            # There is a difference: no proof is needed.
            fate.status = SURVIVED
            fate.by = f"{fate.output} differs; {fate.runs} such run(s) pass{rest}"
            continue
        proof = means.prove(limits.proof_s)
        fate.spend("proofs", proof.seconds)
        fate.status, fate.by = proof.status, proof.how
        if fate.status == EQUIVALENT:
            break
        fate.by = f"reaches no output in {fate.replays} tests{rest}; {proof.how}"
    return fate


def _meet(fate: Fate, left: deque[Step], ladder: Ladder, means: Means, limits: Limits) -> bool:
    """Takes steps from those that are left; returns whether one has killed."""
    tests_s, replays_s = limits.tests_s, limits.replays_s
    while left and tests_s > 0 and replays_s > 0:
        step = left.popleft()
        replayed = means.replay(step)
        fate.spend("replays", replayed.seconds)
        fate.replays += 1
        if not replayed.message:
            replays_s -= replayed.seconds
            continue
        fate.output = fate.output or replayed.message
        fate.runs += 1
        tests_s -= ladder.cost[step]
        tested = means.run(step)
        fate.spend("tests", tested.seconds)
        if tested.message:
            ladder.learn(fate.mutation, step)
            fate.kill(step.name, tested.message)
            return True
    return False


def summary(fates: Sequence[Fate]) -> dict[str, int]:
    """The numbers of sim_build/mutation.json."""
    count = Counter(fate.status for fate in fates)
    return {"total": len(fates), **{status: count[status] for status in STATES}}
