# SPDX-License-Identifier: Apache-2.0
"""Traceability after a run: what holds, and each gap."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tb.env.coverage.bins import BINS
from tb.runner.discover import all_tests, find_modules
from tb.runner.negatives import Fault, load_faults
from tb.runner.proofs import Proof, load_proofs
from tb.runner.testplan import Row, load_plan
from tb.runner.trace import matrix, run_trace, trace_gaps

ROWS = [Row("r1", ("A-1",), "what", ("m.One", "m.Two")), Row("r2", ("A-2",), "what", ("m.Two",))]
RESULTS = {"m.One": [True, True], "m.Two": [True]}
FAULT = Fault("f", "what", ("A-1",), "a.v", "x", "y", {"m.One": ""})
BIN = {"g/c": ("A-2",)}
NOT_PASSED = [
    "requirement A-2: no test of its rows has passed",
    *("row r1: m.Two has not passed", "row r2: m.Two has not passed"),
]


def gaps(**given: Any) -> list[str]:
    values: dict[str, Any] = {"results": RESULTS, "hits": {"g/c": 3}, "faults": [FAULT]}
    values |= {"proofs": (), "bins": BIN, "scope": ["A-1", "A-2"]} | given
    return trace_gaps(ROWS, **values)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, []),
        ({"results": {**RESULTS, "m.Two": []}}, NOT_PASSED),
        ({"results": {**RESULTS, "m.Two": [True, False]}}, NOT_PASSED),
        ({"hits": {}}, ["bin 'g/c' was not hit"]),
        ({"hits": {"g/c": 0}}, ["bin 'g/c' was not hit"]),
        ({"bins": {"g/c": ()}}, ["bin 'g/c' names no requirement"]),
        ({"bins": {"g/c": ("B-1",)}}, ["bin 'g/c': no such requirement: B-1"]),
        (
            {"faults": [replace(FAULT, requirements=("A-1", "A-9"))]},
            ["fault f: no such requirement: A-9"],
        ),
        (
            {"proofs": (Proof("p", "what", ("A-9",), "m", "f_p", ("a.v",), "pdr", 1),)},
            ["proof p: no such requirement: A-9"],
        ),
    ],
)
def test_gaps(given: dict[str, Any], wanted: list[str]) -> None:
    assert gaps(**given) == wanted


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
        run = partial(trace_gaps, every_test=every_test, complete=complete)
        return run(rows, {"m.A": [True]}, {}, [], bins={"b": ["X"]}, scope=["X", "Y"])

    assert len(gaps(True, True)) == 4
    left = ["requirement Y: no test of its rows has passed", "bin 'b' was not hit"]
    assert gaps(False, True) == left
    assert gaps(False, False) == []
