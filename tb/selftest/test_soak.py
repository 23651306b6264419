# SPDX-License-Identifier: Apache-2.0
"""Campaigns. Soak: the mix fits the tests, seeds repeat, a stop loses nothing, mismatches show.
Faults around the engine: rows fit the tests; a failed run fails one, and so does an absent fault.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tb.env.defs import TraceOp
from tb.env.harness import records as rec
from tb.env.harness.facts import Facts
from tb.env.harness.records import MemResponse, MemWrite, Record, Trace
from tb.runner import soak as module
from tb.runner.builds import BuildConfig, load_builds
from tb.runner.common import SIM_BUILD
from tb.runner.discover import Job, Module, find_modules
from tb.runner.faults import FIRST_SEED, Outcome, Row, choose, jobs_of, load_rows, report
from tb.runner.regress import Result, SimRun
from tb.runner.results import FAILED, PASSED, Verdict
from tb.runner.soak import Campaign, Part, chunk, load, load_mix, soak
from tb.tests.common import soaking

MODULES = [Module("tb.tests.test_m", "test_m", ("One", "Two"), builds=("a", "b"))]
MIX = [Part("test_m.One", ("a", "b"), 2), Part("test_m.*", ("b",), 1)]
BUILDS = {"a": BuildConfig("a"), "b": BuildConfig("b")}


def make(number: int) -> Job:
    return chunk(7, number, MIX, MODULES)


def result(job: Job, status: str = PASSED) -> Result:
    log = SIM_BUILD / "sim.log"
    return Result(job, Verdict(status, "" if status == PASSED else "differs"), 2.0, log)


def runs(bad: Callable[[Job], bool] = lambda _: False) -> module.Runner:
    def run(job: Job, _: BuildConfig) -> tuple[Result, dict[str, int]]:
        if bad(job):
            return result(job, FAILED), {}
        return result(job), {"completions": 10, "records": 70}

    return run


# -- the mix ---------------------------------------------------------------------------------------


def test_the_mix_fits_the_tests() -> None:
    modules = find_modules()
    mix = load_mix(modules)
    builds = {build for part in mix for build in part.builds}
    assert builds <= set(load_builds())
    kinds = {test for part in mix for test in part.tests(modules)}
    for name in ("post", "receive", "windows"):
        assert any(f"test_{name}_life" in kind for kind in kinds), name
    for number in range(40):
        assert chunk(3, number, mix, modules).seed >= soaking.LONG_SEED


def test_chunks_repeat_and_differ() -> None:
    jobs = [make(number) for number in range(12)]
    assert jobs == [make(number) for number in range(12)]
    assert len({job.seed for job in jobs}) == 12
    assert [job.build for job in jobs[:6]] == ["a", "b", "b", "a", "b", "b"]
    assert chunk(8, 0, MIX, MODULES).seed != jobs[0].seed
    assert f"make sim TEST=test_m.One SEED={jobs[0].seed} BUILD=a" == jobs[0].reproduce()


# -- running ---------------------------------------------------------------------------------------


def test_runs_until_the_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign, out = Campaign(7), tmp_path / "soak.json"
    assert soak(campaign, 55, make, BUILDS, 2, runs(), [out])
    assert campaign.completions >= 55
    assert campaign.failures == []
    data = json.loads(out.read_text())
    assert data["completions"] == campaign.completions == sum(data["builds"].values())
    assert data["mismatches"] == 0
    assert data["seeds"] == [make(n).seed for n in data["chunks"]]
    assert data["resume"] == "make soak N=55 SEED=7"
    assert "completions/s" in capsys.readouterr().out


def test_a_mismatch_is_told_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = make(1)
    campaign, out = Campaign(7), tmp_path / "soak.json"
    assert soak(campaign, 40, make, BUILDS, 1, runs(lambda j: j == bad), [out])
    assert [failure["chunk"] for failure in campaign.failures] == [1]
    assert campaign.completions == 40
    assert bad.reproduce() in capsys.readouterr().out
    assert json.loads(out.read_text())["mismatches"] == 1


def test_a_stop_loses_nothing(tmp_path: Path) -> None:
    out, ran = tmp_path / "soak.json", []

    def run(job: Job, config: BuildConfig) -> tuple[Result, dict[str, int]]:
        ran.append(job)
        if len(ran) == 4:
            raise KeyboardInterrupt
        return runs()(job, config)

    assert not soak(Campaign(7), 100, make, BUILDS, 1, run, [out])
    left = load(7, "", out)
    assert (left.completions, left.chunks, left.failures) == (30, [0, 1, 2], [])
    ran = [job for job in ran if job != make(3)] + [make(0)]
    assert soak(left, 50, make, BUILDS, 1, run, [out])
    assert ran[4:] == [make(3), make(4)] and left.completions == 50


def test_chunks_that_still_run_count(tmp_path: Path) -> None:
    campaign, out = Campaign(7), tmp_path / "soak.json"
    reached = threading.Event()

    def run(job: Job, config: BuildConfig) -> tuple[Result, dict[str, int]]:
        if job != make(0):
            reached.set()
            return runs()(job, config)
        assert reached.wait(10)
        time.sleep(0.2)
        return result(job, FAILED), {}

    assert soak(campaign, 10, make, BUILDS, 2, run, [out])
    assert [failure["chunk"] for failure in campaign.failures] == [0]
    assert json.loads(out.read_text())["mismatches"] == 1


def test_another_seed_mix_or_source_begins_anew(tmp_path: Path) -> None:
    mix = "fingerprint"
    out = tmp_path / "soak.json"
    soak(Campaign(7, mix), 20, make, BUILDS, 1, runs(), [out])
    found = [load(7, mix, out), load(8, mix, out), load(7, "other", out)]
    assert [campaign.completions for campaign in found] == [20, 0, 0]
    out.write_text("{")
    assert load(7, mix, out).completions == 0


# -- numbers of a run ------------------------------------------------------------------------------


def test_facts_count(tmp_path: Path) -> None:
    facts = Facts()
    records: list[Record] = [
        *(Trace(1, 1, op, 0, False, 0, 2, 0, 0) for op in (TraceOp.PUBLISH, TraceOp.CQ_ERROR)),
        *(MemWrite(1, cq, 0, 0, 0) for cq in (0, 0, 1)),
        *(MemResponse(2, 0, 0), MemResponse(3, 0, 3)),
        *(rec.DoorbellResponse(4, 0, 0, 0), rec.DoorbellResponse(5, 0, 2, 9)),
        rec.DoneReport(6, 0),
    ]
    facts(records)
    told = {"completions": 2, "error_responses": 1, "writes": 2, "refused": 1, "reports": 1}
    told |= {"records": 10, "longest_delay": 2}
    assert {name: facts.counts[name] for name in told} == told
    # After a reset nothing from before it is answered.
    facts([MemWrite(0, 1, 0, 0, 0), MemResponse(9, 1, 0), MemResponse(900, 1, 0)])
    assert facts.counts["longest_delay"] == 9
    facts.write(tmp_path / "a" / "facts.json")
    assert json.loads((tmp_path / "a" / "facts.json").read_text())["completions"] == 2


# -- faults around the engine ----------------------------------------------------------------------

ROW = Row("r", "a fault", "nothing", ("test_m.One",), 2, {"refused": 10})
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
