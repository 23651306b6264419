# SPDX-License-Identifier: Apache-2.0
"""Checks at the end of a run over all of its simulations: coverage, tours, traceability."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tb.env.coverage.bins import BINS
from tb.runner import faults
from tb.runner.code_coverage import load
from tb.runner.code_report import assess, judge_coverage
from tb.runner.common import SIM_BUILD, RunnerError, relative, write_whole
from tb.runner.discover import TOURS, Job, find_modules, select_jobs
from tb.runner.regress import SimRun, table, tour_file
from tb.runner.tiers import check_tiers, read_tiers
from tb.runner.trace import run_trace
from tb.tours.catalogue import NAMES, explored
from tb.tours.graph import Graph, TourError
from tb.tours.report import Row, rows

# -- transitions driven into the RTL, out of those reachable in the models' graphs (docs/tours.md) -

HEADER = ("model", "states", "reachable", "driven", "%")


def collect(
    jobs: Iterable[Job],
    file_of: Callable[[Job], Path] = tour_file,
    names: Iterable[str] = NAMES,
    graph_of: Callable[[str], Graph] = explored,
) -> list[Row]:
    """One row for each graph, if every tour is among these jobs; else none."""
    jobs = list(jobs)
    every = {job.name for job in select_jobs(find_modules(), [TOURS])}
    if not every <= {job.name for job in jobs}:
        return []
    paths = [path for path in map(file_of, jobs) if path.is_file()]
    driven = {data["graph"] for path in paths for data in json.loads(path.read_text())}
    graphs: Mapping[str, Graph] = {name: graph_of(name) for name in names}
    if unknown := driven - graphs.keys():
        raise RunnerError(f"tours: {min(unknown)}: not in the catalogue")
    try:
        return rows(paths, graphs)
    except TourError as error:
        raise RunnerError(f"tours: {error}") from None


def cells(row: Row) -> tuple[str, ...]:
    """A row of the printed table. 100 % is written only where nothing is missing."""
    percent = 100.0 if row.driven == row.reachable > 0 else min(row.percent, 99.99)
    return (row.graph, f"{row.states:,}", f"{row.reachable:,}", f"{row.driven:,}", f"{percent:.4g}")


def write_tours(found: Sequence[Row], folder: Path = SIM_BUILD) -> Path:
    """tours.json."""
    path = folder / "tours.json"
    data = [
        {
            "graph": row.graph,
            "states": row.states,
            "transitions_reachable": row.reachable,
            "transitions_driven": row.driven,
            "percent": round(row.percent, 4),
            "missing": row.missing,
        }
        for row in found
    ]
    write_whole(path, json.dumps(data, indent=1) + "\n")
    return path


def tour_gaps(found: Sequence[Row]) -> list[str]:
    """Graphs of which not every transition was driven, in sentences."""
    return [
        f"{row.graph}: {row.reachable - row.driven} of {row.reachable} transitions not driven, "
        f"such as {row.missing}"
        for row in found
        if row.driven != row.reachable or not row.reachable
    ]


# -- functional coverage ---------------------------------------------------------------------------


Hits = Mapping[str, Counter[str]]
"""Of each bin, by test."""


def merge(counts: Iterable[tuple[str, Mapping[str, int]]]) -> Hits:
    """Hits of all jobs, each given as (test, hits by bin)."""
    merged: Hits = {name: Counter() for name in BINS}
    for test, hits in counts:
        for name, count in hits.items():
            if name not in merged:
                raise RunnerError(f"{test}: hits of a bin that does not exist: {name}")
            merged[name][test] += count
    return merged


def write_coverage(merged: Hits, folder: Path = SIM_BUILD) -> Path:
    """coverage.json: bin, requirements, hits, and the tests that hit it."""
    path = folder / "coverage.json"
    data = {
        name: {"requirements": BINS[name], "hits": found.total(), "tests": found}
        for name, found in merged.items()
    }
    write_whole(path, json.dumps(data, indent=1) + "\n")
    return path


def missing(merged: Hits) -> list[str]:
    """A sentence for each bin that nobody hit."""
    left = [name for name, found in merged.items() if not found.total()]
    return [f"not hit: {name} ({', '.join(BINS[name])})" for name in left]


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
        hit = len(merged) - len(missing(merged))
        if hit or tier != "partial":  # of one that failed nothing counts
            words.append(f"functional coverage: {hit} of {len(merged)} bins hit")
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
        must_hit = full or read_tiers().complete
        if must_hit:
            checked("functional coverage", "sim", "\n".join(missing(merged)), command)
        hits = {name: found.total() for name, found in merged.items()}
        text, gaps = run_trace(outcomes, hits, modules, every_test=full, complete=must_hit)
        words.append(text)
        checked("traceability", "lint", "\n".join(gaps), command)
    except RunnerError as error:
        checked("results of the regression", "lint", str(error), command)
    return checks, words


def _tours(jobs: Sequence[Job]) -> tuple[list[str], str]:
    """Table of what tours have driven, if all have run; what is wrong with it."""
    found = collect(jobs)
    if not found:
        return [], ""
    path = write_tours(found)
    rows = [cells(row) for row in found]
    lines = [
        f"transitions of the models' graphs driven into the RTL: {relative(path)}",
        table(HEADER, rows, right=(1, 2, 3, 4)),
    ]
    return lines, "\n".join(tour_gaps(found))


def conclude_coverage(runs: Sequence[SimRun], *, whole: bool) -> Check:
    """Judges code coverage: of a run of everything every gap is a failure."""
    start = time.process_time()
    failed = sum(not run.passed for run in runs)
    problem = f"{failed} simulation(s) failed: what they reached counts for nothing"
    try:
        if not failed:
            coverage = load([run.job for run in runs])
            gaps = judge_coverage(coverage, assess(coverage), complete=whole)
            problem = "\n".join(gaps) if whole else ""
    except RunnerError as error:
        problem = str(error)
    return Check("code coverage", "sim", problem, time.process_time() - start, "make coverage")


def conclude_faults(runs: Sequence[SimRun], patterns: Sequence[str]) -> tuple[list[Check], str]:
    """One check for each row of the campaign of external faults; the table."""
    modules = find_modules()
    rows = faults.choose(faults.load_rows(modules), patterns)
    outcomes = faults.conclude(rows, modules, runs)
    checks = [
        Check(o.row.id, "fault", "\n".join(o.problems), 0.0, f"make faults FAULT={o.row.id}")
        for o in outcomes
    ]
    return checks, faults.report(outcomes)
