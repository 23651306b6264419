# SPDX-License-Identifier: Apache-2.0
"""The campaign of faults: its rows fit the tests; a failed run fails it, and so does a fault that
was not there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tb.runner.common import RunnerError
from tb.runner.discover import Job, Module, find_modules
from tb.runner.faults import FIRST_SEED, Outcome, Row, choose, jobs_of, load_rows, report
from tb.runner.regress import SimRun
from tb.runner.results import FAILED, PASSED
from tb.tests.common import soaking

MODULES = [Module("tb.tests.test_m", "test_m", ("One",), builds=("a", "b"))]
ROW = Row("r", "a fault", "nothing", ("test_m.One",), 2, {"refused": 10})
TEXT = (
    "faults: [{id: r, fault: f, contained: c, tests: [test_m.One], seeds: 1, seen: {refused: 1}}]"
)


JOB = Job("tb.tests.test_m", "test_m", "One", 1000, "a", "verilator")


def test_rows_fit_the_tests() -> None:
    modules = find_modules()
    rows = load_rows(modules)
    for row in rows:
        assert jobs_of(row, modules), row.id
    assert FIRST_SEED == soaking.LONG_SEED
    (writes,) = choose(rows, ["random-host-writes"])
    assert writes.seen["random_writes"] >= 1_000_000
    assert writes.seeds * 50_000 >= 1_000_000


def test_jobs_are_all_builds_and_seeds() -> None:
    jobs = jobs_of(ROW, MODULES)
    assert sorted((job.build, job.seed) for job in jobs) == [
        (build, seed) for build in ("a", "b") for seed in (1000, 1001)
    ]


@pytest.mark.parametrize(
    "old, new, why",
    [
        ("test_m.One", "test_m.Two", "no such test"),
        ("seeds: 1", "seeds: 0", "`seeds`"),
        ("refused: 1", "refused: 0", "`seen`"),
        ("{refused: 1}", "{}", "`seen`"),
        ("tests: [test_m.One]", "tests: []", "`tests`"),
    ],
)
def test_malformed_list(tmp_path: Path, old: str, new: str, why: str) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text(TEXT)
    assert [row.id for row in load_rows(MODULES, path)] == ["r"]
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(RunnerError, match=why):
        load_rows(MODULES, path)


@pytest.mark.parametrize(
    "passed, refused, problem",
    [
        ((True, True), 5, ""),
        ((True, False), 5, "make sim TEST=test_m.One SEED=1000 BUILD=a: differs"),
        ((True,), 9, "only 9 refused observed, not 10"),
        ((), 10, "nothing ran"),
    ],
)
def test_outcome(passed: tuple[bool, ...], refused: int, problem: str) -> None:
    counts = {"refused": refused, "completions": 5, "longest_delay": 7}
    outcome = Outcome(ROW, tuple(SimRun(JOB, ok, counts, "" if ok else "differs") for ok in passed))
    assert "; ".join(outcome.problems) == problem
    data = outcome.as_json()
    assert data["pass"] is not bool(problem)
    assert {"fault", "expected containment", "observed"} <= set(data)
    assert (FAILED if problem else PASSED) in report([outcome])
    if not problem:
        assert "10 refused, 10 completions" in outcome.observed
        assert outcome.counts["longest_delay"] == 7
