# SPDX-License-Identifier: Apache-2.0
"""Which runs a mutant meets, in which order (tb/tests/campaigns/mutate.yaml), and its fate."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from tb.runner.common import ROOT, RunnerError, relative, write_whole
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
    """Of a test or bench: why it failed, "" if it passed."""

    message: str
    seconds: float = 0.0


@dataclass
class Fate:
    """What became of a mutant."""

    status: str = UNDECIDED
    by: str = ""
    """The test that killed it, or the proof."""
    message: str = ""
    runs: int = 0
    """Tests that it met."""
    seconds: float = 0.0
    """Processor time."""

    def meets(self, name: str, outcome: Outcome) -> bool:
        """One more test or bench; whether it kills."""
        self.runs += 1
        self.seconds += outcome.seconds
        if outcome.message:
            self.status, self.by, self.message = KILLED, name, outcome.message
        return bool(outcome.message)


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


class Order:
    """Orders the steps; learns which tests kill mutants of which modules."""

    def __init__(
        self,
        cost: Mapping[Step, float],
        first: Mapping[str, Sequence[str]],
        around: Mapping[str, Iterable[str]],
    ) -> None:
        """``cost``: seconds; ``first``: as in `Plan`; ``around``: source modules that each
        elaborated module is a part of.
        """
        self._cost, self._first, self._around = cost, first, around
        self._kills: Counter[tuple[str, str]] = Counter()

    def of(self, mutation: Mutation, tops: Iterable[str]) -> list[Step]:
        """Those first that killed most for their time. Mutants of the same source module count ten
        times, those with the same parameters, and what the plan says, a hundred times.
        """
        planned = self._planned(mutation)
        where = {"": 1, mutation.source_module: 10, mutation.module: 100}

        def worth(step: Step) -> float:
            kills = 1 + sum(n * self._kills[place, step.name] for place, n in where.items())
            kills += 100 * any(fnmatchcase(step.job.name, pattern) for pattern in planned)
            return -kills / max(self._cost[step], 0.01)

        return sorted((step for step in self._cost if step.top in tops), key=worth)

    def _planned(self, mutation: Mutation) -> list[str]:
        """Tests that the plan has for the mutant."""
        module = mutation.source_module
        names = [module, f"{module}.{mutation.wire.lstrip(chr(92))}"]
        names += [f"{outer}/{module}" for outer in self._around.get(mutation.module, ())]
        found = [p for p in self._first if any(fnmatchcase(name, p) for name in names)]
        return [test for pattern in found for test in self._first[pattern]]

    def learn(self, mutation: Mutation, killer: str) -> None:
        for where in ("", mutation.source_module, mutation.module):
            self._kills[where, killer] += 1


class Alone:
    """How each test and bench ends without a mutant: run once, before the first mutant meets it,
    and kept in ``folder``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Outcome] = {}

    def of(self, name: str, run: Callable[[], Outcome]) -> Outcome:
        if name not in self._known:
            path = self._folder / f"{name}.json"
            if not path.is_file():
                outcome = run()
                write_whole(path, json.dumps([outcome.message, outcome.seconds]))
            self._known[name] = Outcome(*json.loads(path.read_text()))
        return self._known[name]

    def failing(self) -> dict[str, str]:
        """What tells nothing of mutants, and why."""
        found = {path.stem: json.loads(path.read_text()) for path in self._folder.glob("*.json")}
        return {name: message for name, (message, _) in sorted(found.items()) if message}

    def again(self) -> None:
        """What has failed is run once more when it is asked for."""
        for name in self.failing():
            (self._folder / f"{name}.json").unlink()
