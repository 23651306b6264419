# SPDX-License-Identifier: Apache-2.0
"""Builds simulations side by side and runs jobs: what the regression and all campaigns share."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path

from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.code_coverage import collect
from tb.runner.common import SIM_BUILD, RunnerError, cpu_count, empty, locked
from tb.runner.discover import Job
from tb.runner.results import FAILURE_FILE, TIMEOUT, Verdict, first_error, judge
from tb.runner.simulator import COVERAGE_POINTS, Execute, build, kill_all, simulate

#: Environment variables that tell a job where to write its counts, what it has driven, and what
#: ended it; how many cycles it goes on then.
COVERAGE, TOUR = "CARILLON_COVERAGE_OUT", "CARILLON_TOUR_OUT"
FAILURE, AFTER_FAILURE = "CARILLON_FAILURE_OUT", "CARILLON_AFTER_FAILURE"
#: Clock cycles in the waves after a failure: more than a window shows after the marker.
CYCLES_AFTER = 100
#: Seconds between two lines on builds that take long.
_TELL_S = 15.0


@dataclass(frozen=True)
class Result:
    """A job and what became of it."""

    job: Job
    verdict: Verdict
    wall_s: float
    log: Path
    cpu_s: float = 0.0
    """Processor time of the simulation."""
    bins: dict[str, int] = field(default_factory=dict)
    """Hits of the bins of functional coverage; empty if the test failed."""


@dataclass(frozen=True)
class SimRun:
    """A simulation that has run, as far as checks over all of them ask."""

    job: Job
    passed: bool
    counts: Mapping[str, int] = field(default_factory=dict)
    """Hits of bins; in the campaign of faults what was observed."""
    cause: str = ""


def job_filter(job: Job) -> str:
    """Exactly this test (with all sets of a parametrized one), not others that end alike."""
    return f"^{re.escape(job.module)}\\.{re.escape(job.test)}(/.*)?$"


def job_folder(job: Job) -> Path:
    """Where a job runs and leaves its log."""
    return SIM_BUILD / "jobs" / f"{job.sim}-{job.build}" / f"{job.name}-s{job.seed}"


def tour_file(job: Job) -> Path:
    """Where a job writes which transitions it has driven."""
    return job_folder(job) / "tour.json"


# -- builds ----------------------------------------------------------------------------------------


def make_builds(
    wanted: Sequence[tuple[BuildConfig, str]],
    waves: bool = False,
    told: Callable[[str], None] = print,
) -> dict[tuple[str, str], str]:
    """Builds (configuration, simulator) side by side, which share the cores; ``told`` gets lines on
    how far they are. Returns the errors of those that failed, by (simulator, build). However it
    ends, nothing that it started is left running.
    """
    errors: dict[tuple[str, str], str] = {}
    start = time.monotonic()
    side = max(1, min(len(wanted), cpu_count()))
    processes = max(2, cpu_count() // side)
    pool = ThreadPoolExecutor(max_workers=side)
    running: dict[Future[bool], tuple[str, str]] = {}
    try:
        for config, sim in wanted:
            running[pool.submit(build, config, sim, waves, processes)] = sim, config.name
        left = set(running)
        while left:
            done, left = wait(left, _TELL_S, return_when="FIRST_COMPLETED")
            seconds = f"{time.monotonic() - start:.0f} s"
            if not done:
                told(f"builds after {seconds}: {len(left)} of {len(wanted)} are not ready")
            for future in done:
                sim, name = running[future]
                try:
                    if future.result():
                        told(f"build {name} ({sim}): built after {seconds}")
                except (RunnerError, OSError) as error:
                    errors[sim, name] = str(error)
                    told(f"build {name} ({sim}): FAILED after {seconds}")
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        # Not by wait(): what was cancelled before it began is never done for it.
        while not all(future.done() for future in running):
            kill_all()  # again, for one may just have started its next command
            time.sleep(0.2)
        raise
    pool.shutdown()
    return errors


def build_all(jobs: Sequence[Job], fast: bool = False) -> dict[str, BuildConfig]:
    """Build what the jobs need; raises RunnerError if one of the builds fails."""
    builds = load_builds()
    wanted = []
    for sim, name in dict.fromkeys((job.sim, job.build) for job in jobs):
        config = get_build(builds, name, sim)
        builds[name] = replace(config, fast=fast or config.fast)
        wanted.append((builds[name], sim))
    for error in make_builds(wanted, told=lambda line: print(line, flush=True)).values():
        raise RunnerError(error)
    return builds


# -- jobs ------------------------------------------------------------------------------------------


def run_job(
    job: Job,
    config: BuildConfig,
    waves: Path | None = None,
    extra_env: dict[str, str] | None = None,
    pattern: str | None = None,
    hosts: Execute | None = None,
) -> Result:
    """Run one job in a folder of its own; never raises for a failing test. ``hosts``: as for
    ``simulate``.
    """
    folder = job_folder(job)
    log, counts = folder / "sim.log", folder / "coverage.json"
    with locked(folder):
        empty(folder)
        start = time.monotonic()
        ended = simulate(
            config,
            job.sim,
            config.folder(job.sim, waves is not None),
            folder,
            job.module,
            pattern or job_filter(job),
            job.seed,
            waves,
            {
                COVERAGE: str(counts),
                TOUR: str(tour_file(job)),
                FAILURE: str(folder / FAILURE_FILE),
                AFTER_FAILURE: str(CYCLES_AFTER if waves else 0),
                **(extra_env or {}),
            },
            hosts,
        )
        if ended.timeout:
            cause = first_error(log)
            verdict = Verdict(
                TIMEOUT,
                f"stopped after {ended.cpu_s:.0f} s of processor time and "
                f"{time.monotonic() - start:.0f} s of wall time (hanging test? else raise "
                f"timeout_s of build {config.name} in tb/builds.yaml, or TIMEOUT=)"
                + (f"; first error: {cause}" if cause else ""),
            )
        else:
            verdict = judge(folder / "results.xml", log, ended.status)
        if config.coverage and verdict.ok:
            points = config.folder(job.sim, waves is not None) / COVERAGE_POINTS
            collect(job, folder / "coverage.dat", points)
        bins = json.loads(counts.read_text()) if verdict.ok and counts.is_file() else {}
        wall = time.monotonic() - start
    return Result(job, verdict, wall, log, ended.cpu_s, bins)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), "  ".join("-" * w for w in widths), *map(line, rows)])
