# SPDX-License-Identifier: Apache-2.0
"""The test plan is complete, and each way of not being so is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb.env.coverage.bins import BINS
from tb.runner.common import RunnerError
from tb.runner.discover import all_tests, find_modules
from tb.runner.finish import Bin, merge, missing, summary, write_coverage
from tb.runner.testplan import SCOPE, Row, find_gaps, load_plan

ALL_BINS = ("*/*",)


def row(name: str = "r", **fields: tuple[str, ...]) -> Row:
    values = {"requirements": SCOPE, "tests": ("m.T",), "coverage": ALL_BINS} | fields
    return Row(id=name, description="what", **values)


# -- the plan itself -----------------------------------------------------------------------------


def test_plan_has_no_gaps() -> None:
    assert find_gaps(load_plan(), all_tests(find_modules())) == []


def test_scope_is_whole() -> None:
    assert len(SCOPE) == 22 + 2 + 5 + 15 + 19 + 12
    assert {"CQ-01", "CQ-22", "CQ-10a", "CQ-11a", "ISO-01", "ISO-04", "SRQ-19"} <= set(SCOPE)


# -- gaps ----------------------------------------------------------------------------------------


def test_complete_plan() -> None:
    assert find_gaps([row()], ["m.T"]) == []


@pytest.mark.parametrize(
    "rows, tests, gap",
    [
        ([row(requirements=SCOPE[1:])], ["m.T"], "requirement CQ-01 has no row"),
        ([row()], ["m.T", "m.New"], "test m.New has no row"),
        ([row(tests=("m.T", "m.Gone"))], ["m.T"], "row r: no such test: m.Gone"),
        ([row(coverage=(*ALL_BINS, "none"))], ["m.T"], "row r: no bin matches 'none'"),
        ([row(coverage=("arm/*",))], ["m.T"], "bin 'beat/pair' has no row"),
        ([row(requirements=(*SCOPE, "CQ-99"))], ["m.T"], "row r: no such requirement: CQ-99"),
        ([row(), row()], ["m.T"], "row r: a second row of this name"),
        ([row(), row("empty", tests=())], ["m.T"], "row empty: no tests"),
    ],
)  # fmt: skip
def test_gap_is_found(rows: list[Row], tests: list[str], gap: str) -> None:
    assert gap in find_gaps(rows, tests)


def test_malformed_plan(tmp_path: Path) -> None:
    path = tmp_path / "testplan.yaml"
    path.write_text("rows: [{id: a, requirements: [CQ-01], description: ''}]")
    with pytest.raises(RunnerError, match="a: needs requirements and description"):
        load_plan(path)


# -- coverage of a regression --------------------------------------------------------------------


def test_counts_are_merged(tmp_path: Path) -> None:
    counts = [("m.A", {"beat/pair": 2}), ("m.A", {"beat/pair": 3}), ("m.Failed", {})]
    merged = merge([*counts, ("m.B", {"beat/pair": 1, "cause/OK": 4})])
    tests = {"m.A": 5, "m.B": 1}
    assert merged["beat/pair"] == Bin(6, tests)
    assert merged["cause/BURST"].hits == 0
    data = json.loads(write_coverage(merged, tmp_path).read_text())
    assert data["beat/pair"] == {"requirements": ["CQ-15"], "hits": 6, "tests": tests}
    assert summary(merged) == f"functional coverage: 2 of {len(BINS)} bins hit"
    assert "not hit: cause/BURST (ISO-02)" in missing(merged)
    assert len(missing(merged)) == len(BINS) - 2


def test_unknown_bin_of_a_job() -> None:
    with pytest.raises(RunnerError, match="does not exist: beat/none"):
        merge([("m.A", {"beat/none": 1})])
