# SPDX-License-Identifier: Apache-2.0
"""What becomes of mutants that the ladder leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tb.runner.mutate_ladder import (
    EQUIVALENT,
    KILLED,
    SURVIVED,
    UNDECIDED,
    Fate,
    Ladder,
    Outcome,
    Proof,
    Step,
)
from tb.runner.mutate_netlist import Mutation
from tb.runner.mutate_replay import Replay
from tb.runner.mutate_rest import Means, Rest, Watcher, conclude

A, B, C = (Step("top", f"tb.tests.test_m.{name}", 1) for name in "ABC")
MUTATION = Mutation("inv", "cde_fifo__1", "\\mem", "\\A", 0)


class Bench:
    """Runs by name: mutants that they can tell, those that reach an output, those that fail."""

    def __init__(
        self,
        told: Mapping[str, set[int]],
        reach: Mapping[str, set[int]] | None = None,
        fail: Mapping[str, set[int]] | None = None,
        inexact: str = "",
    ) -> None:
        self.told, self.reach, self.fail, self.inexact = told, reach or {}, fail or {}, inexact
        self.log: list[str] = []

    def tells(self, step: Step) -> Replay:
        name = step.test[-1]
        return Replay(9, "x" * (name == self.inexact), told=frozenset(self.told.get(name, ())))

    def replay(self, step: Step, numbers: Iterable[int]) -> Replay:
        name = step.test[-1]
        self.log.append(f"{name} {sorted(numbers)}")
        return Replay(
            9,
            "",
            9.0,
            outputs={n: f"out[{n}]" for n in numbers if n in self.reach.get(name, ())},
            shares=dict.fromkeys(numbers, 2.0),
        )

    def run(self, number: int, step: Step) -> Outcome:
        name = step.test[-1]
        self.log.append(f"{name} runs {number}")
        return Outcome("wrong" if number in self.fail.get(name, ()) else "", 3.0)

    def rest(self, fates: dict[int, Fate], stored: Path, cost: float = 1.0) -> Rest:
        means = Means(self.tells, self.replay, self.run, "of {0.test}".format, "{0.test}".format)
        ladder = Ladder(dict.fromkeys((A, B, C), cost))
        return Rest(fates, {"top": {1, 2, 3}}, ladder, means, stored)


def fates(*numbers: int) -> dict[int, Fate]:
    return {number: Fate(MUTATION, UNDECIDED, "limit", left=7) for number in numbers}


def test_each_run_meets_those_that_it_can_tell(tmp_path: Path) -> None:
    bench = Bench({"A": {1, 2, 4}, "B": {1, 2, 3}}, {"A": {2}, "B": {2, 3}}, {"A": {2}})
    found = fates(1, 2, 3, 4)
    rest = bench.rest(found, tmp_path / "met")
    assert [rest.meet(step) for step in (A, B, C)] == [[2], [], []]
    # Mutant 4 has no way to an output.
    assert bench.log == ["A [1, 2]", "A runs 2", "B [1, 3]", "B runs 3"]
    assert (found[2].status, found[2].by, found[2].message) == (KILLED, "test_m.A seed 1", "wrong")
    assert [found[n].replays for n in (1, 3, 4)] == [2, 1, 0]
    assert (found[1].passed, found[1].met) == (["of tb.tests.test_m.A", "of tb.tests.test_m.B"], [])
    assert (found[3].passed, found[3].met) == ([], ["tb.tests.test_m.B"])
    assert (found[3].runs, found[3].output, found[3].left) == (1, "out[3]", 0)
    assert found[1].seconds == {"replays": 4.0} and found[3].seconds["tests"] == 3.0
    # What killed most comes first.
    assert rest.order([B, C, A])[0] == A


def test_further_run_does_not_repeat_what_was_met(tmp_path: Path) -> None:
    first = Bench({"A": {1, 2}, "B": {1}}, {"A": {2}})
    rest = first.rest(fates(1, 2), tmp_path / "met")
    rest.meet(A)
    again, found = Bench(first.told, first.reach), fates(1, 2)
    rest = again.rest(found, tmp_path / "met")
    for step in (A, B):
        rest.meet(step)
    assert again.log == ["B [1]"]
    assert [found[n].replays for n in (1, 2)] == [2, 1] and found[2].runs == 1


def test_tests_in_vain_have_a_limit(tmp_path: Path) -> None:
    every = {"A": {1}, "B": {1}, "C": {1}}
    bench, found = Bench(every, every), fates(1)
    rest = bench.rest(found, tmp_path / "met", 40.0)
    for step in (A, B, C):
        rest.meet(step)
    assert bench.log[-1] == "C [1]" and (found[1].runs, found[1].left) == (2, 1)
    conclude(found[1], lambda _: pytest.fail("no proof is needed"))
    assert found[1].status == SURVIVED
    assert found[1].by == "out[1] differs; 2 such run(s) pass, 1 left out: limit"


def test_replays_have_a_limit_apart_from_those_that_are_planned(tmp_path: Path) -> None:
    bench, found = Bench({name: {1} for name in "ABC"}), fates(1)
    rest = bench.rest(found, tmp_path / "met")
    rest.replays_s = 2.0
    rest.ladder.first = {"cde_fifo": ["test_m.C"]}
    for step in (A, B, C):
        rest.meet(step)
    assert bench.log == ["A [1]", "C [1]"] and found[1].left == 1
    conclude(found[1], lambda _: Proof(UNDECIDED, "time limit"))
    assert found[1].by == "reaches no output in the tests of 2, 1 left out: limit; time limit"


def test_run_that_is_not_repeated_is_run(tmp_path: Path) -> None:
    bench, found = Bench({}, inexact="B", fail={"B": {2}}), fates(1, 2)
    rest = bench.rest(found, tmp_path / "met")
    assert rest.meet(B) == [2] and rest.inexact == {B}
    assert bench.log == ["B runs 1", "B runs 2"] and found[1].output == "not replayed"


@pytest.mark.parametrize("status", [SURVIVED, UNDECIDED, EQUIVALENT])
def test_proof_for_what_reaches_no_output(status: str) -> None:
    fate = Fate(MUTATION, UNDECIDED, replays=4)
    conclude(fate, lambda _: Proof(status, "differs after 3 cycles", 2.0))
    assert (fate.status, fate.seconds) == (status, {"proofs": 2.0})
    if status == EQUIVALENT:
        assert fate.by == "differs after 3 cycles"
        return
    assert fate.by == "reaches no output in the tests of 4; differs after 3 cycles"
    # A proof is tried once.
    fate.replays = 0
    conclude(fate, lambda _: pytest.fail("again"))
    assert fate.by == "changes no register and no pin in any test; differs after 3 cycles"


def test_what_a_run_can_tell_is_kept(tmp_path: Path) -> None:
    asked: list[Path] = []

    def watch(step: Step, path: Path) -> Replay:
        asked.append(path)
        return Replay(9, "x" if step == B else "", told=frozenset({3, 5}))

    for _ in range(2):
        watcher = Watcher(tmp_path / "told", lambda step: Path(f"{step.test[-1]}.rec"), watch)
        assert (watcher(A).told, watcher(A).output, watcher(B).output) == ({3, 5}, "", "x")
    assert asked == [tmp_path / "told" / f"{name}.told" for name in "AB"]
