# SPDX-License-Identifier: Apache-2.0
"""The test plan is complete, and traced after a run; each way of not being so is found."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tb.env.coverage.bins import BINS
from tb.runner.common import RunnerError
from tb.runner.discover import all_tests, find_modules
from tb.runner.finish import merge, missing, write_coverage
from tb.runner.negatives import Fault, load_faults
from tb.runner.proofs import Proof, load_proofs
from tb.runner.testplan import SCOPE, Row, find_gaps, load_plan
from tb.runner.trace import matrix, run_trace, trace_gaps

ALL_BINS = ("*/*",)


def row(name: str = "r", **fields: tuple[str, ...]) -> Row:
    values = {"requirements": SCOPE, "tests": ("m.T",), "coverage": ALL_BINS} | fields
    return Row(id=name, description="what", **values)


# -- the plan itself -----------------------------------------------------------------------------


def test_plan_has_no_gaps() -> None:
    gaps = find_gaps(load_plan(), all_tests(find_modules()))
    assert not gaps, "\n".join(gaps)


def test_scope_is_whole() -> None:
    assert len(SCOPE) == 22 + 5 + 15 + 19 + 12 + 4
    assert {"CQ-01", "CQ-22", "CQ-10a", "CQ-15a", "MW-10e", "ISO-04", "SRQ-19"} <= set(SCOPE)


# -- gaps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows, tests, gap",
    [
        ([row(requirements=SCOPE[1:])], ["m.T"], "requirement CQ-01 has no row"),
        ([row()], ["m.T", "m.New"], "test m.New has no row"),
        ([row(tests=("m.T", "m.Tx"))], ["m.T"], "row r: no such test: m.Tx (nearest: m.T)"),
        ([row(coverage=(*ALL_BINS, "none"))], ["m.T"], "row r: no bin matches 'none'"),
        ([row(coverage=("arm/*",))], ["m.T"], "bin 'beat/pair' has no row"),
        ([row(requirements=(*SCOPE, "CQ-99"))], ["m.T"], "row r: no such requirement: CQ-99"),
        ([row(), row()], ["m.T"], "row r: a second row of this name"),
        ([row(), row("empty", tests=())], ["m.T"], "row empty: no tests"),
    ],
)  # fmt: skip
def test_gap_is_found(rows: list[Row], tests: list[str], gap: str) -> None:
    assert gap in find_gaps(rows, tests)


# -- coverage of a regression --------------------------------------------------------------------


def test_counts_are_merged(tmp_path: Path) -> None:
    counts = [("m.A", {"beat/pair": 2}), ("m.A", {"beat/pair": 3}), ("m.Failed", {})]
    merged = merge([*counts, ("m.B", {"beat/pair": 1, "cause/OK": 4})])
    tests = {"m.A": 5, "m.B": 1}
    assert merged["beat/pair"] == tests and not merged["cause/BURST"]
    data = json.loads(write_coverage(merged, tmp_path).read_text())
    assert data["beat/pair"] == {"requirements": ["CQ-15"], "hits": 6, "tests": tests}
    assert "not hit: cause/BURST (ISO-02)" in missing(merged)
    assert len(missing(merged)) == len(BINS) - 2
    with pytest.raises(RunnerError, match="does not exist: beat/none"):
        merge([("m.A", {"beat/none": 1})])


# -- traceability ----------------------------------------------------------------------------------

ROWS = [Row("r1", ("A-1",), "what", ("m.One", "m.Two")), Row("r2", ("A-2",), "what", ("m.Two",))]
RESULTS = {"m.One": [True, True], "m.Two": [True]}
FAULT = Fault("f", "what", ("A-1",), "a.v", "x", "y", {"m.One": ""})
BIN = {"g/c": ("A-2",)}
NOT_PASSED = [
    "requirement A-2: no test of its rows has passed",
    *("row r1: m.Two has not passed", "row r2: m.Two has not passed"),
]
TIER = {"results": {"m.One": [True]}, "hits": {}, "every_test": False}


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
        # A tier may leave out tests, but no requirement.
        (TIER | {"complete": True}, [NOT_PASSED[0], "bin 'g/c' was not hit"]),
        (TIER | {"complete": False}, []),
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
    odd = set(backward) ^ set(all_tests(find_modules()))
    assert not odd, "\n".join(sorted(odd))


def test_run(tmp_path: Path) -> None:
    modules = find_modules()
    passed = {name: [True] for name in all_tests(modules)}
    hits = dict.fromkeys(BINS, 1)
    run = partial(run_trace, modules=modules, every_test=True, complete=True, folder=tmp_path)
    text, gaps = run(passed, hits)
    assert not gaps, text
    assert json.loads((tmp_path / "traceability.json").read_text())["gaps"] == []
    text, gaps = run({name: [False] for name in passed}, {})
    assert len(gaps) > len(BINS) and f"{len(gaps)} gap(s)" in text
    assert "requirement CQ-01: no test of its rows has passed" in gaps
