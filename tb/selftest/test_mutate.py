# SPDX-License-Identifier: Apache-2.0
"""Mutants: lists of mutations, the ladder, proofs, results; and that a gap in the tests shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tb.runner.common import RunnerError
from tb.runner.discover import Module, find_modules
from tb.runner.mutate_ladder import (
    EQUIVALENT,
    KILLED,
    SURVIVED,
    UNDECIDED,
    Design,
    Fate,
    Ladder,
    Limits,
    Means,
    Outcome,
    Plan,
    Proof,
    Step,
    climb,
    load_plan,
    make_steps,
    summary,
)
from tb.runner.mutate_netlist import (
    Mutation,
    parse_list,
    parse_mutation,
    root_source,
    shares,
    width_of,
)
from tb.runner.mutate_replay import Replay
from tb.runner.mutate_report import read_fates, report, write_fate, write_report
from tb.runner.mutate_rest import Means as RestMeans
from tb.runner.mutate_rest import Rest, Watcher, conclude

LINE = (
    "mutate -mode cnot0 -module cde_cq__1 -cell in_fifo -port push_data -portbit 62 -ctrlbit 306 "
    "-wire s_axis_cpl_tdata -wirebit 62 -src hdl/cq/cde_cq.v:25.30-25.46 "
    "-src hdl/cq/cde_cq.v:113.56-123.6"
)
OPERATOR = (
    r"mutate -mode const1 -module cde_fifo__3 -cell $logic_not$hdl/lib/cde_fifo.v:60$15386 "
    r"-port \A -portbit 0 -src hdl/lib/cde_fifo.v:60.118-60.122"
)
MUTATION = parse_mutation(OPERATOR)
PLAN = Plan((Design("top", "default", ("small",)),), {"test_m.Two": 2}, {})
MODULES = [
    Module("tb.tests.test_m", "test_m", ("One", "Two"), builds=("small",), seeds=(3, 4, 5)),
    Module("tb.tests.test_n", "test_n", ("Three",), builds=("small", "other")),
    Module("tb.tests.test_o", "test_o", ("Four",), builds=("other",)),
]


# -- lists of mutations ----------------------------------------------------------------------------


def test_mutations() -> None:
    found = parse_mutation(LINE)
    assert (found.mode, found.source_module, found.portbit, found.line) == (
        *("cnot0", "cde_cq", 62),
        "hdl/cq/cde_cq.v:25",
    )
    what = "push_data[62] of in_fifo (s_axis_cpl_tdata[62]) inverted while bit 306 is 0"
    assert found.what == what
    assert found.command(5, 10) == (
        "mutate -ctrl mutsel 10 5 -mode cnot0 -module cde_cq__1 -cell in_fifo -port push_data "
        "-portbit 62 -ctrlbit 306"
    )
    assert MUTATION.what == "A[0] of logic_not stuck at 1"
    assert (MUTATION.line, MUTATION.source_module) == ("hdl/lib/cde_fifo.v:60", "cde_fifo")
    # The Yosys command names the cell as the list did.
    assert r"-cell $logic_not$hdl/lib/cde_fifo.v:60$15386 -port \A" in MUTATION.command(None, 0)
    # Pins without a function are left out.
    clock = OPERATOR.replace(r"\A", r"\CLK")
    wired = OPERATOR + r" -wire clk -wirebit 0"
    read = OPERATOR.replace(r"\A", r"\RD_EN")
    assert parse_list("\n".join([clock, wired, read, OPERATOR, ""])) == [MUTATION]


@pytest.mark.parametrize(
    "text",
    [
        "read_verilog x.v",
        "mutate -mode inv -module m -cell c -port p",
        "mutate -mode inv -module m -cell c -port p -portbit",
        "mutate -mode odd -module m -cell c -port p -portbit 1",
        "mutate -new 1 -mode inv -module m -cell c -port p -portbit 1",
    ],
)
def test_other_lines_are_errors(text: str) -> None:
    with pytest.raises(RunnerError, match="mutation"):
        parse_mutation(text)


def test_every_module_has_a_share() -> None:
    cells = {"large": 400, "small": 4, "wires": 0}
    share = shares(cells, 100)
    assert sum(share.values()) == 100
    assert share["large"] > share["small"] > share["wires"] > 0
    assert sum(shares(cells, 2).values()) == 2
    assert [width_of(count) for count in (1, 3, 4, 1000)] == [1, 2, 3, 10]


# -- the ladder ------------------------------------------------------------------------------------


def test_plan_fits_the_tests() -> None:
    plan = load_plan()
    steps = make_steps(plan, find_modules())
    assert len(set(steps)) == len(steps)
    assert {step.top for step in steps} == {design.top for design in plan.designs}
    assert max(step.seed for step in steps) > 1


def test_steps() -> None:
    assert [s.name for s in make_steps(PLAN, MODULES)] == [
        "test_m.One seed 3",
        "test_m.Two seed 3",
        "test_m.Two seed 4",
        "test_n.Three seed 1",
    ]
    with pytest.raises(RunnerError, match="no test matches test_x"):
        make_steps(Plan(PLAN.designs, {}, {"test_x": ""}), MODULES)


@pytest.mark.parametrize("text", ["", "designs: {t: {build: b}}"])
def test_bad_plan(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mutate.yaml"
    path.write_text(text)
    with pytest.raises(RunnerError, match=r"mutate\.yaml"):
        load_plan(path)


STEPS = make_steps(PLAN, MODULES)


def ladder() -> Ladder:
    return Ladder({step: 1.0 + number for number, step in enumerate(STEPS)})


class Bench:
    """Runs with a difference at an output, tests that fail, as told; proofs."""

    def __init__(
        self, differing: Sequence[str] = (), failing: str = "", proof: Proof | None = None
    ) -> None:
        self.differing = differing
        self.failing = failing
        self.proof = proof
        self.log: list[str] = []

    def replay(self, step: Step) -> Outcome:
        self.log.append(f"replay {step.name}")
        return Outcome("m_axi_wdata[3]" if step.name in self.differing else "", 0.25)

    def run(self, step: Step) -> Outcome:
        self.log.append(step.name)
        return Outcome("wrong" if step.name == self.failing else "", 2.0)

    def prove(self, _: Mutation, seconds: float) -> Proof:
        self.log.append("proof")
        assert seconds >= 4.0
        assert self.proof
        return self.proof

    def climb(
        self,
        steps: Sequence[Step] = STEPS,
        limits: Limits = Limits(),  # noqa: B008
    ) -> Fate:
        means = Means(self.replay, self.run, self.prove, "of {0.name}".format, "{0.name}".format)
        return climb(MUTATION, steps, ladder(), means, limits)


ONE, TWO, FOUR, THREE = (step.name for step in STEPS)


def test_tests_run_where_an_output_differs_until_one_fails() -> None:
    bench = Bench([TWO, FOUR, THREE], FOUR)
    fate = bench.climb()
    assert (fate.status, fate.by, fate.message) == (KILLED, FOUR, "wrong")
    assert bench.log == [f"replay {ONE}", f"replay {TWO}", TWO, f"replay {FOUR}", FOUR]
    assert (fate.replays, fate.runs, fate.output) == (3, 2, "m_axi_wdata[3]")
    assert (fate.passed, fate.met) == ([], [])
    assert fate.seconds == {"replays": 0.75, "tests": 4.0}


@pytest.mark.parametrize(
    ("bench", "limits", "status", "counts"),
    [
        # A difference that no test notices needs no proof.
        (Bench([ONE, THREE]), {}, UNDECIDED, (4, 2, 0)),
        # Tests in vain have a limit: they take 1 s, 2 s, then 3 s; so have replays.
        (Bench([ONE, TWO, FOUR, THREE]), {"tests_s": 2.5}, UNDECIDED, (2, 2, 2)),
        (Bench(proof=Proof(UNDECIDED)), {"replays_s": 0.5}, UNDECIDED, (2, 0, 2)),
        # A proof for what reaches no output.
        (Bench(proof=Proof(SURVIVED, "differs")), {}, UNDECIDED, (4, 0, 0)),
        (Bench(proof=Proof(UNDECIDED, "differs")), {}, UNDECIDED, (4, 0, 0)),
        (Bench(proof=Proof(EQUIVALENT)), {"replays_s": 0.5, "proof_s": 4.0}, EQUIVALENT, (2, 0, 0)),
    ],
)
def test_what_becomes_of_a_mutant(
    bench: Bench, limits: dict[str, float], status: str, counts: tuple[int, int, int]
) -> None:
    fate = bench.climb(limits=Limits(**limits))
    assert (fate.status, fate.replays, fate.runs, fate.left) == (status, *counts)
    assert bench.log.count("proof") == (bench.proof is not None) and fate.proof is None
    if bench.differing == [ONE, THREE]:
        assert (fate.passed, fate.met) == ([f"of {TWO}", f"of {FOUR}"], [ONE, THREE])


def test_equivalent_mutant() -> None:
    bench = Bench(proof=Proof(EQUIVALENT, "no path"))
    fate = bench.climb([])
    assert (fate.status, fate.by) == (EQUIVALENT, "no path") and bench.log == ["proof"]


def test_ladder_learns() -> None:
    found = ladder()
    first, two3, two4, slow = STEPS
    other = replace(MUTATION, module="cde_other__1")
    same = replace(MUTATION, module="cde_fifo__9")
    assert found.order(MUTATION, reversed(STEPS)) == STEPS
    found.learn(MUTATION, two4)
    assert found.order(same, STEPS) == [two4, first, two3, slow]
    # Less of what killed mutants of other modules.
    assert found.order(other, STEPS) == [first, two4, two3, slow]
    # With the same parameters it counts more than the time.
    found = Ladder({step: 0.01 if step != slow else 9.0 for step in STEPS})
    found.learn(MUTATION, slow)
    assert found.order(MUTATION, STEPS)[0] == slow
    assert found.order(same, STEPS)[-1] == slow


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        ({"cde_f*": ["test_n.Three"]}, [3, 0, 1, 2]),
        # In turns with the others, each with half of the time.
        ({"cde_fifo": ["test_m.Two"]}, [1, 0, 3, 2]),
        # By a module around it, by the wire.
        ({"cde_[ax]*/cde_f*": ["test_m.Two"], "cde_f*": ["test_n.Three"]}, [1, 0, 2, 3]),
        ({"cde_y/cde_f*": ["test_m.Two"]}, [0, 1, 2, 3]),
        ({"*.mem*": ["test_n.*"]}, [3, 0, 1, 2]),
    ],
)
def test_tests_of_a_module_come_first(first: dict[str, list[str]], wanted: list[int]) -> None:
    found = Ladder(ladder().cost, first, {MUTATION.module: {"cde_arm", "cde_x"}})
    mutation = replace(MUTATION, wire="\\mem_i")
    assert [STEPS.index(step) for step in found.order(mutation, STEPS)] == wanted
    assert found.order(replace(MUTATION, module="cde_z__1"), STEPS) == STEPS


# -- results ---------------------------------------------------------------------------------------

FATES = [
    Fate(MUTATION, KILLED, "test_m.One seed 3", "wrong", 2, 1, "m_axi_awaddr[3]", {"tests": 0.5}),
    Fate(parse_mutation(LINE), SURVIVED, "differs after 3 cycles (cde_cq)", runs=4),
    Fate(parse_mutation(LINE), EQUIVALENT, "pdr (cde_cq)"),
    Fate(parse_mutation(LINE), UNDECIDED, "time limit", passed=["3f"], met=["a-1"], left=2),
]
FATES[-1].proof = ("a", "b")


def test_results_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with path.open("w") as out:
        for fate in FATES:
            write_fate(out, fate, "key")
        out.write('{"cut')
    assert list(read_fates(path)) == [(fate, "key") for fate in FATES]
    assert list(read_fates(tmp_path / "none")) == []


def test_report_names_what_is_left(tmp_path: Path) -> None:
    text = report(FATES)
    assert "survived: cde_cq hdl/cq/cde_cq.v:25" in text and "undecided: cde_cq" in text
    assert "4: 1 killed, 1 equivalent, 1 undecided, 1 survived; kill rate 33.3 %" in text
    assert Counter(line.split()[0] for line in text.splitlines() if line)["cde_cq"] == 1
    path = tmp_path / "mutation.json"
    write_report(FATES, path, {"seed": 1})
    data = json.loads(path.read_text())
    states = ("total", KILLED, EQUIVALENT, UNDECIDED, SURVIVED)
    assert {key: data[key] for key in states} == summary(FATES)
    (entry,) = data["survivors"]
    assert (entry["module"], entry["source"]) == ("cde_cq", "hdl/cq/cde_cq.v:25")
    assert entry["command"] == FATES[1].mutation.command(None, 0)
    assert [len(data[key]) for key in ("undecided_mutants", "equivalent_mutants")] == [1, 1]


def test_root_has_every_top() -> None:
    from tb.runner.builds import load_builds

    builds = load_builds()
    text = root_source({"cde_top": builds["engine_mutants"], "cde_cpl_top": builds["default"]})
    assert ".NUM_MW(4)" in text and "cde_cpl_top u_cde_cpl_top ();" in text


# -- what becomes of mutants that the ladder leaves ------------------------------------------------


A, B, C = (Step("top", f"tb.tests.test_m.{name}", 1) for name in "ABC")
FIFO_BIT = Mutation("inv", "cde_fifo__1", "\\mem", "\\A", 0)


class Runs:
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
        outputs = {n: f"out[{n}]" for n in numbers if n in self.reach.get(name, ())}
        return Replay(9, "", 9.0, outputs=outputs, shares=dict.fromkeys(numbers, 2.0))

    def run(self, number: int, step: Step) -> Outcome:
        name = step.test[-1]
        self.log.append(f"{name} runs {number}")
        return Outcome("wrong" if number in self.fail.get(name, ()) else "", 3.0)

    def rest(self, fates: dict[int, Fate], stored: Path, cost: float = 1.0) -> Rest:
        means = RestMeans(
            self.tells, self.replay, self.run, "of {0.test}".format, "{0.test}".format
        )
        ladder = Ladder(dict.fromkeys((A, B, C), cost))
        return Rest(fates, {"top": {1, 2, 3}}, ladder, means, stored)


def fates(*numbers: int) -> dict[int, Fate]:
    return {number: Fate(FIFO_BIT, UNDECIDED, "limit", left=7) for number in numbers}


def test_each_run_meets_those_that_it_can_tell(tmp_path: Path) -> None:
    bench = Runs({"A": {1, 2, 4}, "B": {1, 2, 3}}, {"A": {2}, "B": {2, 3}}, {"A": {2}})
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
    first = Runs({"A": {1, 2}, "B": {1}}, {"A": {2}})
    rest = first.rest(fates(1, 2), tmp_path / "met")
    rest.meet(A)
    again, found = Runs(first.told, first.reach), fates(1, 2)
    rest = again.rest(found, tmp_path / "met")
    for step in (A, B):
        rest.meet(step)
    assert again.log == ["B [1]"]
    assert [found[n].replays for n in (1, 2)] == [2, 1] and found[2].runs == 1


def test_runs_in_vain_have_a_limit(tmp_path: Path) -> None:
    every = {"A": {1}, "B": {1}, "C": {1}}
    bench, found = Runs(every, every), fates(1)
    rest = bench.rest(found, tmp_path / "met", 40.0)
    for step in (A, B, C):
        rest.meet(step)
    assert bench.log[-1] == "C [1]" and (found[1].runs, found[1].left) == (2, 1)
    conclude(found[1], lambda _: pytest.fail("no proof is needed"))
    assert found[1].status == SURVIVED
    assert found[1].by == "out[1] differs; 2 such run(s) pass, 1 left out: limit"


def test_replays_have_a_limit_apart_from_those_that_are_planned(tmp_path: Path) -> None:
    bench, found = Runs({name: {1} for name in "ABC"}), fates(1)
    rest = bench.rest(found, tmp_path / "met")
    rest.replays_s = 2.0
    rest.ladder.first = {"cde_fifo": ["test_m.C"]}
    for step in (A, B, C):
        rest.meet(step)
    assert bench.log == ["A [1]", "C [1]"] and found[1].left == 1
    conclude(found[1], lambda _: Proof(UNDECIDED, "time limit"))
    assert found[1].by == "reaches no output in the tests of 2, 1 left out: limit; time limit"


def test_run_that_is_not_repeated_is_run(tmp_path: Path) -> None:
    bench, found = Runs({}, inexact="B", fail={"B": {2}}), fates(1, 2)
    rest = bench.rest(found, tmp_path / "met")
    assert rest.meet(B) == [2] and rest.inexact == {B}
    assert bench.log == ["B runs 1", "B runs 2"] and found[1].output == "not replayed"


@pytest.mark.parametrize("status", [SURVIVED, UNDECIDED, EQUIVALENT])
def test_proof_for_what_reaches_no_output(status: str) -> None:
    fate = Fate(FIFO_BIT, UNDECIDED, replays=4)
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
