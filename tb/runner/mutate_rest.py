# SPDX-License-Identifier: Apache-2.0
"""What the ladder leaves: each run, once for all mutants that it can tell; then a conclusion."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tb.runner.mutate_ladder import EQUIVALENT, KILLED, SURVIVED, Fate, Ladder, Outcome, Proof, Step
from tb.runner.mutate_netlist import Mutation
from tb.runner.mutate_replay import Replay

#: Gaps that need a new stimulus, not a new check.
NEVER = "changes no register and no pin in any test"
UNSEEN = "reaches no output in the tests"


@dataclass(frozen=True)
class Means:
    """How many mutants meet a run."""

    tells: Callable[[Step], Replay]
    """Without a mutant."""
    replay: Callable[[Step, Iterable[int]], Replay]
    run: Callable[[int, Step], Outcome]
    """The test, on a mutant."""
    content: Callable[[Step], str]
    name: Callable[[Step], str]
    """See `Fate.passed` and `Fate.met`."""


@dataclass
class Rest:
    """Mutants by number, and the runs that they meet. Safe among threads."""

    fates: Mapping[int, Fate]
    reaching: Mapping[str, set[int]]
    """Mutants that can reach an output of a top level."""
    ladder: Ladder
    means: Means
    stored: Path
    """What was met; a further run does not repeat it."""
    tests_s: float = 60.0
    """Seconds (without a mutant) of tests that pass although an output differs, of one mutant."""
    replays_s: float = 30.0
    """Processor time of the replays of one mutant in runs that the plan has for it, and as much in
    all others.
    """
    inexact: set[Step] = field(default_factory=set)
    """Runs that the replay without a mutant does not repeat: they are run with each mutant."""
    _tests: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _replays: dict[tuple[int, bool], float] = field(default_factory=lambda: defaultdict(float))
    """Seconds spent."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        lines = self.stored.read_text().splitlines() if self.stored.is_file() else []
        for content, name, passed, met in map(json.loads, lines):
            for numbers, key in ((passed, content), (met, name)):
                for number in set(numbers) & self.fates.keys():
                    fate = self.fates[number]
                    known = fate.passed if key == content else fate.met
                    known += [key] * (key not in known)
        for fate in self.fates.values():
            fate.replays, fate.left, fate.runs = 0, 0, len(fate.met)
            fate.output = fate.output if fate.met else ""

    def order(self, steps: Iterable[Step]) -> list[Step]:
        """Runs that killed most for their time first."""
        return sorted(steps, key=self.ladder.merit, reverse=True)

    def meet(self, step: Step) -> list[int]:
        """Replays a run on all mutants that it can tell and that are left, runs the test on those
        of which an output differs. Returns those that it kills.
        """
        alive = self.reaching[step.top]
        numbers = [n for n, f in self.fates.items() if f.status != KILLED and n in alive]
        if not numbers:
            return []
        told = self.means.tells(step)
        if told.output:
            self.inexact.add(step)
        able = [n for n in numbers if told.output or n in told.told]
        content, name = self.means.content(step), self.means.name(step)
        new = [n for n in able if not {content, name} & {*self.fates[n].passed, *self.fates[n].met}]
        with self._lock:
            for number in able:
                self.fates[number].replays += 1
        outputs = self._replay(step, told, new)
        met = []
        passed = [n for n, output in outputs.items() if not output]
        killed = []
        for number, output in outputs.items():
            fate = self.fates[number]
            if not output or fate.status == KILLED:
                continue
            with self._lock:
                if self._tests[number] >= self.tests_s:
                    fate.left += 1
                    continue
                self._tests[number] += self.ladder.cost[step]
                fate.output = fate.output or output
                fate.runs += 1
            tested = self.means.run(number, step)
            with self._lock:
                fate.spend("tests", tested.seconds)
                if not tested.message:
                    fate.met.append(name)
                    met.append(number)
                elif fate.status != KILLED:
                    self.ladder.learn(fate.mutation, step)
                    fate.kill(step.name, tested.message)
                    killed.append(number)
        with self._lock, self.stored.open("a") as out:
            out.write(json.dumps([content, name, passed, met]) + "\n")
        return killed

    def _replay(self, step: Step, told: Replay, numbers: Sequence[int]) -> dict[int, str]:
        """The first output that differs, or none, of each mutant that has time left."""
        if told.output:
            return dict.fromkeys(numbers, "not replayed")
        planned = {n: self.ladder.planned(self.fates[n].mutation, step) for n in numbers}
        with self._lock:
            late = [n for n, plan in planned.items() if self._replays[n, plan] >= self.replays_s]
            for number in late:
                self.fates[number].left += 1
        chosen = [n for n in numbers if n not in late]
        if not chosen:
            return {}
        found = self.means.replay(step, chosen)
        with self._lock:
            for number, seconds in found.shares.items():
                self._replays[number, planned[number]] += seconds
                self.fates[number].spend("replays", seconds)
            outputs = {n: found.outputs.get(n, "") for n in chosen}
            for number, output in outputs.items():
                if not output:
                    self.fates[number].passed.append(self.means.content(step))
        return outputs


def conclude(fate: Fate, prove: Callable[[Mutation], Proof]) -> None:
    """Of a mutant that no test kills: it survived if an output differed, else a proof is tried
    (once).
    """
    rest = f", {fate.left} left out: limit" if fate.left else ""
    if fate.runs:
        # There is a difference: no proof is needed.
        fate.status = SURVIVED
        fate.by = f"{fate.output} differs; {fate.runs} such run(s) pass{rest}"
        return
    if not fate.proof:
        proof = prove(fate.mutation)
        fate.spend("proofs", proof.seconds)
        fate.proof = (proof.status, proof.how)
    fate.status, fate.by = fate.proof
    if fate.status == EQUIVALENT:
        fate.left = 0
    else:
        seen = f"{UNSEEN} of {fate.replays - fate.left}{rest}" if fate.replays else NEVER
        fate.by = f"{seen}; {fate.by}"


class Watcher:
    """Tells which mutants a run can tell; keeps it in ``folder``."""

    def __init__(
        self, folder: Path, recording: Callable[[Step], Path], watch: Callable[[Step, Path], Replay]
    ) -> None:
        self._folder, self._recording, self._watch = folder, recording, watch
        folder.mkdir(parents=True, exist_ok=True)

    def told(self, step: Step) -> Path:
        """For `Replayer.group`."""
        return self._folder / self._recording(step).with_suffix(".told").name

    def __call__(self, step: Step) -> Replay:
        path = self.told(step)
        known = path.with_suffix(".json")
        if known.is_file():
            output, numbers = json.loads(known.read_text())
            return Replay(0, output, told=frozenset(numbers))
        found = self._watch(step, path)
        known.write_text(json.dumps([found.output, sorted(found.told)]))
        return found
