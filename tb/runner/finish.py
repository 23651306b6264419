# SPDX-License-Identifier: Apache-2.0
"""Checks at the end of a run over all of its simulations: coverage, tours, traceability."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tb.runner import faults, tours
from tb.runner.code_coverage import load
from tb.runner.code_report import assess, judge_coverage
from tb.runner.common import RunnerError, relative
from tb.runner.coverage import merge, missing, summary, write_coverage
from tb.runner.discover import Job, find_modules, select_jobs
from tb.runner.regress import Result, job_folder, table
from tb.runner.results import FAILED, PASSED, Verdict
from tb.runner.tiers import check_tiers, quick_is_complete
from tb.runner.trace import run_trace


@dataclass(frozen=True)
class SimRun:
    """A simulation that has run."""

    job: Job
    passed: bool
    counts: Mapping[str, int] = field(default_factory=dict)
    """Hits of bins; in the campaign of faults what was observed."""
    cause: str = ""


@dataclass(frozen=True)
class Check:
    """One check over all simulations; without ``problem`` it has passed."""

    name: str
    kind: str
    problem: str
    seconds: float
    reproduce: str


def conclude(tier: str, runs: Sequence[SimRun]) -> tuple[list[Check], list[str]]:
    """The checks of a run, and lines to be shown. What a partial run covers is told, and written
    nowhere.
    """
    checks: list[Check] = []
    words: list[str] = []
    if not runs:
        return checks, words
    start = time.process_time()

    def checked(name: str, kind: str, problem: str, reproduce: str) -> None:
        nonlocal start
        now = time.process_time()
        checks.append(Check(name, kind, problem, now - start, reproduce))
        start = now

    command = "make sim FULL=1" if tier in ("full", "nightly") else "make sim"
    try:
        merged = merge((run.job.name, run.counts) for run in runs)
        words.append(summary(merged))
        lines, problem = _tours([run.job for run in runs])
        words += lines
        if lines:
            checked("tours", "tour", problem, "make tours")
        if tier == "partial":
            return checks, words
        write_coverage(merged)
        outcomes: dict[str, list[bool]] = {}
        for run in runs:
            outcomes.setdefault(run.job.name, []).append(run.passed)
        modules = find_modules()
        check_tiers(job.id for job in select_jobs(modules))
        full = tier in ("full", "nightly")
        must_hit = full or quick_is_complete()
        if must_hit:
            checked("functional coverage", "sim", "\n".join(missing(merged)), command)
        hits = {name: found.hits for name, found in merged.items()}
        text, gaps = run_trace(outcomes, hits, modules, every_test=full, complete=must_hit)
        words.append(text)
        checked("traceability", "lint", "\n".join(gaps), command)
    except RunnerError as error:
        checked("results of the regression", "lint", str(error), command)
    return checks, words


def _tours(jobs: Sequence[Job]) -> tuple[list[str], str]:
    """Table of what tours have driven, if all have run; what is wrong with it."""
    found = tours.collect(jobs)
    if not found:
        return [], ""
    path = tours.write(found)
    rows = [tours.cells(row) for row in [*found, *tours.totals(found)]]
    lines = [
        f"transitions of the models' graphs driven into the RTL: {relative(path)}",
        table(tours.HEADER, rows, right=(1, 2, 3, 4)),
    ]
    return lines, "\n".join(tours.gaps(found))


def conclude_coverage(runs: Sequence[SimRun], *, whole: bool) -> tuple[list[Check], list[str]]:
    """Judges code coverage: of a run of everything every gap is a failure."""
    start = time.process_time()
    failed = sum(not run.passed for run in runs)
    try:
        if failed:
            raise RunnerError(
                f"{failed} simulation(s) failed: what they reached counts for nothing"
            )
        coverage = load([run.job for run in runs])
        gaps = judge_coverage(coverage, assess(coverage), complete=whole)
        problem = "\n".join(gaps) if whole else ""
    except RunnerError as error:
        problem = str(error)
    seconds = time.process_time() - start
    return [Check("code coverage", "sim", problem, seconds, "make coverage")], []


def conclude_faults(
    runs: Sequence[SimRun], patterns: Sequence[str]
) -> tuple[list[Check], list[str]]:
    """One check for each row of the campaign of external faults."""
    modules = find_modules()
    rows = faults.choose(faults.load_rows(modules), patterns)
    known = {}
    for run in runs:
        verdict = Verdict(PASSED if run.passed else FAILED, run.cause)
        result = Result(run.job, verdict, 0.0, 0.0, job_folder(run.job) / "sim.log")
        known[run.job] = result, dict(run.counts)
    outcomes = faults.conclude(rows, modules, known)
    checks = [
        Check(o.row.id, "fault", "\n".join(o.problems), 0.0, f"make faults FAULT={o.row.id}")
        for o in outcomes
    ]
    return checks, [faults.report(outcomes)]
