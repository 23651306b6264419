# SPDX-License-Identifier: Apache-2.0
"""Mutants: lists of mutations, the ladder, results; and that a gap in the tests shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tb.runner.common import RunnerError
from tb.runner.discover import Module, find_modules
from tb.runner.mutate_ladder import (
    EQUIVALENT,
    KILLED,
    STATES,
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
from tb.runner.mutate_netlist import parse_list, parse_mutation
from tb.runner.mutate_report import read_fates, report, write_fate, write_report

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
PLAN = Plan({"top": Design("default", ("small",))}, {"test_m.Two": 2})
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
    assert found.command("-ctrl mutsel 10 5 ") == (
        "mutate -ctrl mutsel 10 5 -mode cnot0 -module cde_cq__1 -cell in_fifo -port push_data "
        "-portbit 62 -ctrlbit 306"
    )
    assert MUTATION.what == "A[0] of logic_not stuck at 1"
    assert (MUTATION.line, MUTATION.source_module) == ("hdl/lib/cde_fifo.v:60", "cde_fifo")
    # The Yosys command names the cell as the list did.
    assert r"-cell $logic_not$hdl/lib/cde_fifo.v:60$15386 -port \A" in MUTATION.command()
    # Pins without a function are left out.
    clock = OPERATOR.replace(r"\A", r"\CLK")
    wired = OPERATOR + r" -wire clk -wirebit 0"
    read = OPERATOR.replace(r"\A", r"\RD_EN")
    assert parse_list("\n".join([clock, wired, read, OPERATOR, ""])) == [MUTATION]


# -- the ladder ------------------------------------------------------------------------------------


def test_plan_fits_the_tests() -> None:
    plan = load_plan()
    steps = make_steps(plan, find_modules())
    assert len(set(steps)) == len(steps)
    assert {step.top for step in steps} == set(plan.designs)
    assert max(step.job.seed for step in steps) > 1


def test_steps() -> None:
    assert [s.name for s in make_steps(PLAN, MODULES)] == [
        "test_m.One seed 3",
        "test_m.Two seed 3",
        "test_m.Two seed 4",
        "test_n.Three seed 1",
    ]
    with pytest.raises(RunnerError, match="no test matches test_x"):
        make_steps(Plan(PLAN.designs, {}, {"test_x": ""}), MODULES)


STEPS = make_steps(PLAN, MODULES)
ONE, TWO, FOUR, THREE = (step.name for step in STEPS)
ENDLESS = Limits(1e9, 1e9, 60.0)


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

    def prove(self, seconds: float) -> Proof:
        self.log.append(f"proof {seconds:g}")
        assert self.proof
        return self.proof

    def climb(self, *stages: Limits, steps: Sequence[Step] = STEPS) -> Fate:
        means = Means(self.replay, self.run, self.prove)
        return climb(MUTATION, steps, ladder(), means, stages or [ENDLESS])


def test_tests_run_where_an_output_differs_until_one_fails() -> None:
    bench = Bench([TWO, FOUR, THREE], FOUR)
    fate = bench.climb()
    assert (fate.status, fate.by, fate.message) == (KILLED, FOUR, "wrong")
    assert bench.log == [f"replay {ONE}", f"replay {TWO}", TWO, f"replay {FOUR}", FOUR]
    assert (fate.replays, fate.runs, fate.output) == (3, 2, "m_axi_wdata[3]")
    assert fate.seconds == {"replays": 0.75, "tests": 4.0}


UNSEEN, PROVED = Proof(UNDECIDED, "time limit"), Proof(EQUIVALENT, "pdr")
LEFT = "2 left out: limit"


@pytest.mark.parametrize(
    ("bench", "limits", "status", "by", "counts"),
    [
        # A difference that no test notices needs no proof.
        (Bench([ONE, THREE]), ENDLESS, SURVIVED, "m_axi_wdata[3] differs; 2 such", (4, 2)),
        # Tests in vain have a limit: they take 1 s, 2 s, then 3 s; so have replays.
        (
            Bench([ONE, TWO, FOUR, THREE]),
            Limits(2.5, 9, 9),
            SURVIVED,
            f"run(s) pass, {LEFT}",
            (2, 2),
        ),
        (Bench(proof=UNSEEN), Limits(9, 0.5, 9), UNDECIDED, f"in 2 tests, {LEFT}; time", (2, 0)),
        # A proof for what reaches no output.
        (Bench(proof=Proof(SURVIVED, "differs")), ENDLESS, SURVIVED, "in 4 tests; differs", (4, 0)),
        (Bench(proof=PROVED), Limits(9, 0.5, 9), EQUIVALENT, "pdr", (2, 0)),
    ],
)
def test_what_becomes_of_a_mutant(
    bench: Bench, limits: Limits, status: str, by: str, counts: tuple[int, int]
) -> None:
    fate = bench.climb(limits)
    assert (fate.status, fate.replays, fate.runs) == (status, *counts) and by in fate.by
    assert any(line.startswith("proof") for line in bench.log) == (bench.proof is not None)


def test_stages_go_on_where_the_last_one_ended() -> None:
    bench = Bench([THREE], THREE, UNSEEN)
    fate = bench.climb(Limits(9, 0.5, 4.0), ENDLESS)
    replays = [f"replay {name}" for name in (ONE, TWO, FOUR, THREE)]
    assert bench.log == [*replays[:2], "proof 4", *replays[2:], THREE]
    assert (fate.status, fate.by) == (KILLED, THREE)
    bench = Bench(proof=PROVED)
    assert bench.climb(ENDLESS, ENDLESS, steps=[]).status == EQUIVALENT
    assert bench.log == ["proof 60"]


# -- results ---------------------------------------------------------------------------------------

FATES = [
    Fate(MUTATION, KILLED, "test_m.One seed 3", "wrong", 2, 1, "m_axi_awaddr[3]", {"tests": 0.5}),
    Fate(parse_mutation(LINE), SURVIVED, "differs after 3 cycles (cde_cq)", runs=4),
    Fate(parse_mutation(LINE), EQUIVALENT, "pdr (cde_cq)"),
    Fate(parse_mutation(LINE), UNDECIDED, "time limit"),
]


def test_results_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with path.open("w") as out:
        for number, fate in enumerate(FATES):
            write_fate(out, number, fate, "key")
        out.write('{"cut')
    assert list(read_fates(path)) == [(n, fate, "key") for n, fate in enumerate(FATES)]
    assert list(read_fates(tmp_path / "none")) == []


def test_report_names_what_is_left(tmp_path: Path) -> None:
    text = report(FATES)
    assert "survived: cde_cq hdl/cq/cde_cq.v:25" in text and "undecided: cde_cq" in text
    assert "4: 1 killed, 1 equivalent, 1 undecided, 1 survived; kill rate 33.3 %" in text
    assert Counter(line.split()[0] for line in text.splitlines() if line)["cde_cq"] == 1
    path = tmp_path / "mutation.json"
    write_report(FATES, path, {"seed": 1})
    data = json.loads(path.read_text())
    assert {key: data[key] for key in ("total", *STATES)} == summary(FATES)
    (entry,) = data["survivors"]
    assert (entry["module"], entry["source"]) == ("cde_cq", "hdl/cq/cde_cq.v:25")
    assert entry["command"] == FATES[1].mutation.command()
    assert [len(data[key]) for key in ("undecided_mutants", "equivalent_mutants")] == [1, 1]
