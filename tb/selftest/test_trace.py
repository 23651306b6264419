# SPDX-License-Identifier: Apache-2.0
"""Traceability after a run: what holds, and each gap."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tb.env.coverage.bins import BINS
from tb.runner.discover import find_modules
from tb.runner.negatives import Fault, load_faults
from tb.runner.proofs import Proof, load_proofs
from tb.runner.testplan import Row, all_tests, load_plan
from tb.runner.trace import matrix, run_trace, trace_gaps

ROWS = [Row("r1", ("A-1",), "what", ("m.One", "m.Two")), Row("r2", ("A-2",), "what", ("m.Two",))]
RESULTS = {"m.One": [True, True], "m.Two": [True]}
FAULT = Fault("f", "what", ("A-1",), "a.v", "x", "y", {"m.One": ""})
BIN = {"g/c": ("A-2",)}


def gaps(
    results: dict[str, list[bool]] | None = None,
    hits: dict[str, int] | None = None,
    faults: list[Fault] | None = None,
    bins: dict[str, tuple[str, ...]] | None = None,
    proofs: tuple[Proof, ...] = (),
) -> list[str]:
    return trace_gaps(
        ROWS,
        RESULTS if results is None else results,
        {"g/c": 3} if hits is None else hits,
        [FAULT] if faults is None else faults,
        proofs,
        BIN if bins is None else bins,
        ["A-1", "A-2"],
    )


def test_complete() -> None:
    assert gaps() == []


@pytest.mark.parametrize("outcome", [[], [True, False]])
def test_test_that_has_not_passed(outcome: list[bool]) -> None:
    assert gaps({"m.One": [True], "m.Two": outcome}) == [
        "requirement A-2: no test of its rows has passed",
        "row r1: m.Two has not passed",
        "row r2: m.Two has not passed",
    ]


def test_bin_that_was_not_hit() -> None:
    assert gaps(hits={}) == ["bin 'g/c' was not hit"]
    assert gaps(hits={"g/c": 0}) == ["bin 'g/c' was not hit"]


@pytest.mark.parametrize(
    "named, why",
    [((), "bin 'g/c' names no requirement"), (("B-1",), "bin 'g/c': no such requirement: B-1")],
)
def test_bin_without_requirement(named: tuple[str, ...], why: str) -> None:
    assert gaps(bins={"g/c": named}) == [why]


def test_fault_of_an_unknown_requirement() -> None:
    fault = Fault("f", "what", ("A-1", "A-9"), "a.v", "x", "y", {"m.One": ""})
    assert gaps(faults=[fault]) == ["fault f: no such requirement: A-9"]


def test_proof_of_an_unknown_requirement() -> None:
    proof = Proof("p", "what", ("A-9",), "m", "f_p", ("a.v",), "pdr", 1)
    assert gaps(proofs=(proof,)) == ["proof p: no such requirement: A-9"]


def test_matrix_is_traced_both_ways() -> None:
    rows, faults = load_plan(), load_faults()
    data = matrix(rows, {}, {}, faults, load_proofs())
    forward, backward = data["requirements"], data["tests"]
    assert isinstance(forward, dict) and isinstance(backward, dict)
    for name, own in forward.items():
        for test, runs in own["tests"].items():
            assert name in backward[test]
            assert runs == [0, 0]
    assert set(backward) == set(all_tests(find_modules()))


def test_run(tmp_path: Path) -> None:
    modules = find_modules()
    passed = {name: [True] for name in all_tests(modules)}
    hits = dict.fromkeys(BINS, 1)
    run = partial(run_trace, modules=modules, every_test=True, complete=True, folder=tmp_path)
    assert run(passed, hits)[1] == []
    assert json.loads((tmp_path / "traceability.json").read_text())["gaps"] == []
    text, gaps = run({name: [False] for name in passed}, {})
    assert len(gaps) > len(BINS) and f"{len(gaps)} gap(s)" in text
    assert "requirement CQ-01: no test of its rows has passed" in gaps


def test_a_tier_may_leave_out_tests_but_no_requirement() -> None:
    rows = [Row("r", ("X",), "d", ("m.A", "m.B")), Row("s", ("Y",), "d", ("m.C",))]

    def gaps(every_test: bool, complete: bool) -> list[str]:
        return trace_gaps(
            rows,
            {"m.A": [True]},
            {},
            [],
            bins={"b": ["X"]},
            scope=["X", "Y"],
            every_test=every_test,
            complete=complete,
        )

    assert len(gaps(True, True)) == 4
    assert gaps(False, True) == [
        "requirement Y: no test of its rows has passed",
        "bin 'b' was not hit",
    ]
    assert gaps(False, False) == []
