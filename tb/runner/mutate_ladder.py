# SPDX-License-Identifier: Apache-2.0
"""The ladder (tb/tests/campaigns/mutate.yaml): which runs a mutant meets in which order, and what
becomes of it.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from typing import Any

import yaml

from tb.runner.common import ROOT, RunnerError, relative
from tb.runner.discover import Module, matches, short_name
from tb.runner.mutate_netlist import Mutation

MUTATE_YAML = ROOT / "tb" / "tests" / "campaigns" / "mutate.yaml"

SPENT = ("replays", "tests", "proofs")
KILLED, EQUIVALENT, UNDECIDED, SURVIVED = "killed", "equivalent", "undecided", "survived"


@dataclass(frozen=True)
class Design:
    """A top level under mutation."""

    top: str
    build: str
    tests_of: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What tb/tests/campaigns/mutate.yaml says."""

    designs: tuple[Design, ...]
    seeds: dict[str, int]
    """Seeds of the tests that match a pattern; one of every other test."""
    without: dict[str, str]
    first: dict[str, list[str]] = field(default_factory=dict)
    """Tests (patterns) that some mutants meet in turns with all others: those of modules or of
    some of their wires (patterns of ``module`` or ``module.wire``), before these those of modules
    that are part of others (``outer/module``).
    """


@dataclass(frozen=True)
class Step:
    """One test with one seed on one top level."""

    top: str
    test: str
    """tb.tests.test_x.TestX"""
    seed: int

    @property
    def name(self) -> str:
        return f"{short_name(self.test)} seed {self.seed}"


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
    status: str
    by: str = ""
    """The test that killed it, or the proof."""
    message: str = ""
    replays: int = 0
    """Recorded runs that were replayed; in the end those of them that can tell the mutant."""
    runs: int = 0
    """Those of them in which an output differs: the test was run."""
    output: str = ""
    """The first output that was seen to differ."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Processor time, by SPENT."""
    passed: list[str] = field(default_factory=list)
    """Digests of the recordings in which no output differed."""
    met: list[str] = field(default_factory=list)
    """Names (with a digest) of the runs in which one did, and the test passed."""
    proof: tuple[str, str] | None = None
    """Status of the proof that was tried, and how it came about."""
    left: int = 0
    """Runs that were left out because of a limit."""

    def kill(self, by: str, message: str) -> None:
        self.status, self.by, self.message = KILLED, by, message
        self.passed, self.met, self.left = [], [], 0

    def spend(self, what: str, seconds: float) -> None:
        self.seconds[what] = round(self.seconds.get(what, 0.0) + seconds, 3)


def load_plan(path: Path = MUTATE_YAML) -> Plan:
    """A file that has another form is an error."""
    where = relative(path)
    try:
        data = yaml.safe_load(path.read_text())
        designs = tuple(
            Design(str(top), str(entry["build"]), tuple(entry["tests_of"]))
            for top, entry in data["designs"].items()
        )
        seeds = {str(k): int(v) for k, v in (data.get("seeds") or {}).items()}
        without = {str(k): str(v) for k, v in (data.get("without") or {}).items()}
        first = {str(k): [str(t) for t in v] for k, v in (data.get("first") or {}).items()}
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise RunnerError(f"{where}: {type(error).__name__}: {error}") from None
    if not designs or min(seeds.values(), default=1) < 1:
        raise RunnerError(f"{where}: needs designs, and at least one seed of each test")
    return Plan(designs, seeds, without, first)


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
        for design in plan.designs:
            if set(design.tests_of) & set(module.builds):
                name = f"{module.module}.{test}"
                steps += [Step(design.top, name, seed) for seed in seeds]
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
        """The best first: those that the plan has for the module, in turns with the others, each
        getting half of the time; among them by kills for the time, those in the same module with
        the same parameters before all others, those in the same source file next.
        """
        early = self._planned(mutation)
        with self._lock:

            def worth(step: Step) -> tuple[bool, bool, float]:
                kills = 1 + self._kills["", step]
                kills += 10 * self._kills[mutation.source_module, step]
                kills += 1000 * self._kills["=" + mutation.module, step]
                late = [not _matches(step, tests) for tests in early]
                return late[0], late[1], -kills / max(self.cost[step], 0.01)

            rated = sorted((worth(step), number, step) for number, step in enumerate(steps))
        planned = [step for (a, b, _), _, step in rated if not (a and b)]
        others = [step for (a, b, _), _, step in rated if a and b]
        return list(self._in_turns(planned, others))

    def _planned(self, mutation: Mutation) -> tuple[list[str], list[str]]:
        """Tests that the plan has for the mutant: by what is around its module, by its module."""
        module, wire = mutation.source_module, mutation.wire.lstrip("\\")
        places = [f"{outer}/{module}" for outer in self.around.get(mutation.module, ())]

        def named(names: Sequence[str]) -> list[str]:
            found = [p for p in self.first if any(fnmatch(name, p) for name in names)]
            return [test for pattern in found for test in self.first[pattern]]

        return named(places), named((module, f"{module}.{wire}"))

    def planned(self, mutation: Mutation, step: Step) -> bool:
        """Whether the plan has the step for the mutant."""
        return any(_matches(step, tests) for tests in self._planned(mutation))

    def merit(self, step: Step) -> float:
        """Kills for the time, of all mutants."""
        with self._lock:
            return (1 + self._kills["", step]) / max(self.cost[step], 0.01)

    def _in_turns(self, first: Sequence[Step], second: Sequence[Step]) -> Iterator[Step]:
        """Both, one from the one that has taken less time so far, or as much."""
        spent = [0.0, 0.0]
        left = [deque(first), deque(second)]
        while any(left):
            turn = not left[0] or (bool(left[1]) and spent[1] < spent[0])
            step = left[turn].popleft()
            spent[turn] += self.cost[step]
            yield step

    def learn(self, mutation: Mutation, step: Step) -> None:
        with self._lock:
            for where in ("", mutation.source_module, "=" + mutation.module):
                self._kills[where, step] += 1


def _matches(step: Step, tests: Iterable[str]) -> bool:
    test = short_name(step.test)
    return any(fnmatch(test, pattern) for pattern in tests)


@dataclass(frozen=True)
class Limits:
    """What one mutant may cost that nothing kills."""

    tests_s: float = float("inf")
    """Seconds (without a mutant) of tests that pass although an output differs."""
    replays_s: float = float("inf")
    """Processor time of replays in which none does."""
    proof_s: float = float("inf")
    """Processor time of a proof."""


@dataclass(frozen=True)
class Means:
    """How a mutant meets what may kill it."""

    replay: Callable[[Step], Outcome]
    run: Callable[[Step], Outcome]
    prove: Callable[[Mutation, float], Proof]
    """With a limit of its processor time."""
    content: Callable[[Step], str]
    name: Callable[[Step], str]
    """See `Fate.passed` and `Fate.met`."""


def climb(
    mutation: Mutation, steps: Iterable[Step], ladder: Ladder, means: Means, limits: Limits
) -> Fate:
    """Replays the steps, runs those in which an output differs until one fails; a proof for what
    reaches no output. What is neither killed nor proved stays undecided.
    """
    fate = Fate(mutation, UNDECIDED, "limit")
    tests_s, replays_s = limits.tests_s, limits.replays_s
    left = deque(ladder.order(mutation, steps))
    while left and tests_s > 0 and replays_s > 0:
        step = left.popleft()
        replayed = means.replay(step)
        fate.spend("replays", replayed.seconds)
        fate.replays += 1
        if not replayed.message:
            fate.passed.append(means.content(step))
            replays_s -= replayed.seconds
            continue
        fate.output = fate.output or replayed.message
        fate.runs += 1
        tests_s -= ladder.cost[step]
        tested = means.run(step)
        fate.spend("tests", tested.seconds)
        if tested.message:
            ladder.learn(mutation, step)
            fate.kill(step.name, tested.message)
            return fate
        fate.met.append(means.name(step))
    fate.left = len(left)
    if not fate.runs:
        proof = means.prove(mutation, limits.proof_s)
        fate.spend("proofs", proof.seconds)
        if proof.status == EQUIVALENT:
            fate.status, fate.by, fate.left = EQUIVALENT, proof.how, 0
    return fate


def summary(fates: Sequence[Fate]) -> dict[str, Any]:
    """The numbers of sim_build/mutation.json."""
    count = Counter(fate.status for fate in fates)
    return {
        "total": len(fates),
        **{status: count[status] for status in (KILLED, EQUIVALENT, UNDECIDED, SURVIVED)},
    }
