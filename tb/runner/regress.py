# SPDX-License-Identifier: Apache-2.0
"""Runs a list of jobs in parallel processes and reports on them."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from tb.runner import tours
from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.code_coverage import collect
from tb.runner.common import SIM_BUILD, cpu_count, locked, relative
from tb.runner.coverage import VARIABLE, job_file, merge, summary, write_coverage
from tb.runner.discover import Job, find_modules, select_jobs
from tb.runner.fork_host import JobHosts
from tb.runner.parallel import run_parts
from tb.runner.results import FAILED, PASSED, TIMEOUT, Verdict, first_error, judge
from tb.runner.simulator import COVERAGE_POINTS, Execute, TimedOutError, build, simulate
from tb.runner.testplan import write_plan
from tb.tours.report import VARIABLE as TOUR_VARIABLE


@dataclass(frozen=True)
class Result:
    """A job and what became of it."""

    job: Job
    verdict: Verdict
    wall_s: float
    clock_ns: float
    log: Path

    @property
    def cycles_per_s(self) -> float:
        seconds = self.verdict.run_s or self.wall_s
        return self.verdict.sim_ns / self.clock_ns / seconds if seconds else 0.0


def job_filter(job: Job) -> str:
    """Exactly this test (with all sets of a parametrized one), not others that end alike."""
    return f"^{re.escape(job.module)}\\.{re.escape(job.test)}(/.*)?$"


def build_all(
    jobs: Sequence[Job], waves: bool = False, fast: bool = False, coverage: bool = False
) -> dict[str, BuildConfig]:
    """Build what the jobs need, one after the other (each build uses all cores)."""
    builds = load_builds()
    for sim, name in dict.fromkeys((job.sim, job.build) for job in jobs):
        config = get_build(builds, name, sim)
        config = builds[name] = replace(config, fast=fast or config.fast, coverage=coverage)
        start = time.monotonic()
        state = "built" if build(config, sim, waves) else "up to date"
        seconds = time.monotonic() - start
        folder = relative(config.folder(sim, waves))
        print(f"build {name} ({sim}): {state}, {seconds:.1f} s, {folder}", flush=True)
    return builds


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
    folder = SIM_BUILD / "jobs" / f"{job.sim}-{job.build}" / f"{job.name}-s{job.seed}"
    log = folder / "sim.log"
    with locked(folder):
        for old in folder.iterdir():
            if old.name != ".lock":
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        coverage = job_file(job)
        coverage.unlink(missing_ok=True)
        driven = tours.job_file(job)
        driven.unlink(missing_ok=True)
        start = time.monotonic()
        try:
            exit_code = simulate(
                config,
                job.sim,
                config.folder(job.sim, waves is not None),
                folder,
                job.module,
                pattern or job_filter(job),
                job.seed,
                waves,
                {
                    # Situations are counted by the regression proper.
                    VARIABLE: "" if config.coverage else str(coverage),
                    TOUR_VARIABLE: str(driven),
                    **(extra_env or {}),
                },
                hosts,
            )
            verdict = judge(folder / "results.xml", log, exit_code)
            if config.coverage:
                points = config.folder(job.sim, waves is not None) / COVERAGE_POINTS
                collect(job, folder / "coverage.dat", points)
        except TimedOutError:
            cause = first_error(log)
            verdict = Verdict(
                TIMEOUT,
                f"stopped after {config.timeout_s:g} s of wall time (hanging test? else raise "
                f"timeout_s of build {config.name} in tb/builds.yaml, or TIMEOUT=)"
                + (f"; first error: {cause}" if cause else ""),
            )
        wall = time.monotonic() - start
    return Result(job, verdict, wall, config.clock_ns, log)


def _progress(result: Result, left: int, elapsed: float) -> str:
    job = result.job
    extra = "" if job.build == "default" else f" [{job.build}]"
    extra += "" if job.sim == "verilator" else f" [{job.sim}]"
    return (
        f"{result.verdict.status:<7} {job.name}{extra} seed {job.seed}, {result.wall_s:.1f} s "
        f"({left} left, {elapsed:.0f} s elapsed)"
    )


def run_jobs(jobs: Sequence[Job], builds: dict[str, BuildConfig], processes: int) -> list[Result]:
    """All jobs, in parallel; results in the order of the jobs."""
    with JobHosts([job.module for job in jobs], SIM_BUILD / "hosts") as hosts:
        return run_parts(
            lambda job: run_job(job, builds[job.build], hosts=hosts.execute),
            jobs,
            processes,
            _progress,
        )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), "  ".join("-" * w for w in widths), *map(line, rows)])


def report(results: Sequence[Result]) -> str:
    rows = [
        (
            r.job.name,
            r.job.build,
            r.job.sim,
            str(r.job.seed),
            r.verdict.status,
            f"{r.verdict.sim_ns:,.0f}",
            f"{r.wall_s:.1f}",
            f"{r.cycles_per_s:,.0f}",
        )
        for r in results
    ]
    header = ("test", "build", "simulator", "seed", "status", "simulated ns", "wall s", "cycles/s")
    text = table(header, rows, right=(3, 5, 6, 7))
    for result in results:
        if not result.verdict.ok:
            text += (
                f"\n\n{result.verdict.status}: {result.job.reproduce()}"
                f"\n  {result.verdict.message}\n  log: {relative(result.log)}"
            )
    return text


def write_results(results: Sequence[Result], folder: Path = SIM_BUILD) -> None:
    """results.json and a JUnit results.xml for other tools."""
    folder.mkdir(parents=True, exist_ok=True)
    data = [
        {
            "module": r.job.module,
            "test": r.job.test,
            "seed": r.job.seed,
            "build": r.job.build,
            "simulator": r.job.sim,
            "status": r.verdict.status.lower().replace(" ", "_"),
            "message": r.verdict.message,
            "sim_ns": r.verdict.sim_ns,
            "wall_s": round(r.wall_s, 3),
            "cycles_per_s": round(r.cycles_per_s),
            "log": relative(r.log),
            "reproduce": r.job.reproduce(),
        }
        for r in results
    ]
    (folder / "results.json").write_text(json.dumps(data, indent=1) + "\n")
    failed = [r for r in results if r.verdict.status in (FAILED, TIMEOUT)]
    not_run = [r for r in results if not r.verdict.ok and r not in failed]
    suite = ElementTree.Element(
        "testsuite",
        name="carillon",
        tests=str(len(results)),
        failures=str(len(failed)),
        errors=str(len(not_run)),
        time=f"{sum(r.wall_s for r in results):.3f}",
    )
    for r in results:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=r.job.module,
            name=f"{r.job.test}[{r.job.sim}-{r.job.build}-seed{r.job.seed}]",
            time=f"{r.wall_s:.3f}",
        )
        if not r.verdict.ok:
            kind = "failure" if r in failed else "error"
            node = ElementTree.SubElement(case, kind, message=r.verdict.message)
            node.text = f"{r.job.reproduce()}\n{relative(r.log)}"
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.ElementTree(root).write(folder / "results.xml", encoding="utf-8")


def tell_coverage(results: Sequence[Result]) -> None:
    """coverage.json, testplan.md, and what they say in short."""
    modules = find_modules()
    complete = {job.name for job in select_jobs(modules)} <= {r.job.name for r in results}
    merged = merge([r.job for r in results])
    write_coverage(merged)
    outcomes: dict[str, list[bool]] = {}
    for result in results:
        outcomes.setdefault(result.job.name, []).append(result.verdict.ok)
    path, gaps = write_plan(outcomes, merged, modules)
    print(f"\n{summary(merged, complete)}")
    print(f"test plan: {len(gaps)} gap(s); with results: {relative(path)}", flush=True)


def tell_tours(results: Sequence[Result]) -> list[str]:
    """tours.json and the table of transitions, if tours have run; what was not driven."""
    found = tours.collect([result.job for result in results])
    if not found:
        return []
    path = tours.write(found)
    lines = [*found, *tours.totals(found)]
    print(f"\ntransitions of the models' graphs driven into the RTL: {relative(path)}")
    print(table(tours.HEADER, [tours.cells(row) for row in lines], right=(1, 2, 3, 4)))
    missing = tours.gaps(found)
    for text in missing:
        print(f"FAILED: {text}")
    return missing


def regression(
    jobs: Sequence[Job], processes: int | None = None, timeout_s: float | None = None
) -> tuple[list[Result], list[str]]:
    """Build, run, report: what `make sim` does. The results, and the tours that are incomplete."""
    # Results of an earlier run must not be taken for those of a run that was cut short.
    for name in ("results.json", "results.xml", "tours.json"):
        (SIM_BUILD / name).unlink(missing_ok=True)
    builds = build_all(jobs)
    if timeout_s:
        builds = {name: replace(config, timeout_s=timeout_s) for name, config in builds.items()}
    processes = processes or cpu_count()
    print(f"{len(jobs)} simulation job(s), {processes} at a time", flush=True)
    results = run_jobs(jobs, builds, processes)
    write_results(results)
    print(f"\n{report(results)}")
    tell_coverage(results)
    missing = tell_tours(results)
    passed = sum(r.verdict.status == PASSED for r in results)
    print(f"\nsimulation: {passed} of {len(results)} job(s) passed", flush=True)
    return results, missing
