# SPDX-License-Identifier: Apache-2.0
"""The campaign of external faults: tb/tests/campaigns/faults.yaml says what is wrong around the
engine, what must come of it, and which tests show it. Prints a table and writes
sim_build/faults.json.
"""

from __future__ import annotations

import fnmatch
import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import yaml

from tb.env.harness.facts import VARIABLE as FACTS
from tb.runner.builds import BuildConfig
from tb.runner.common import ROOT, SIM_BUILD, RunnerError, cpu_count, relative
from tb.runner.coverage import VARIABLE as COVERAGE
from tb.runner.discover import Job, Module, find_modules, select_jobs
from tb.runner.parallel import run_parts
from tb.runner.regress import Result, build_all, run_job, table
from tb.runner.results import FAILED, PASSED

FAULTS_YAML = ROOT / "tb" / "tests" / "campaigns" / "faults.yaml"
OUT = SIM_BUILD / "faults.json"
#: First seed: LONG_SEED of tb/tests/common/soaking.py.
FIRST_SEED = 1000
TIMEOUT_S = 1800.0

#: Numbers of which the largest counts, not the sum over the runs.
_LARGEST = ("longest_delay", "memories_upset", "stalled_cycles", "stalled_sinks")


@dataclass(frozen=True)
class Row:
    """A fault, what must come of it, and the tests that show it."""

    id: str
    fault: str
    contained: str
    tests: tuple[str, ...]
    seeds: int
    seen: dict[str, int]
    """Least numbers that all runs together must have observed."""


@dataclass(frozen=True)
class Outcome:
    """What became of a row; without ``problems`` the fault was there and was contained."""

    row: Row
    results: tuple[Result, ...]
    counts: Counter[str]

    @property
    def problems(self) -> list[str]:
        """Failed runs, and faults that were not there."""
        found = [f"{r.job.reproduce()}: {r.verdict.message}" for r in self.results if not _ok(r)]
        if not self.results:
            found.append("nothing ran")
        if not found:
            found = [
                f"only {self.counts[name]} {name} observed, not {least}"
                for name, least in self.row.seen.items()
                if self.counts[name] < least
            ]
        return found

    @property
    def observed(self) -> str:
        """For the table."""
        if self.problems:
            return "; ".join(self.problems)
        names = [*self.row.seen, *(n for n in ("completions",) if n not in self.row.seen)]
        seen = ", ".join(f"{self.counts[name]:,} {name.replace('_', ' ')}" for name in names)
        return f"contained in {len(self.results)} run(s): {seen}, 0 mismatches"

    def as_json(self) -> dict[str, Any]:
        """One entry of faults.json."""
        return {
            "id": self.row.id,
            "fault": self.row.fault,
            "expected containment": self.row.contained,
            "observed": self.observed,
            "pass": not self.problems,
            "counts": dict(sorted(self.counts.items())),
            "runs": [
                {"reproduce": r.job.reproduce(), "status": r.verdict.status.lower()}
                for r in self.results
            ],
        }


def _ok(result: Result) -> bool:
    return result.verdict.ok


# -- the list --------------------------------------------------------------------------------------


def _row(data: object, where: str, known: Iterable[str]) -> Row:
    keys = [item.name for item in fields(Row)]
    if not isinstance(data, dict) or set(data) != set(keys):
        raise RunnerError(f"{where}: a fault has exactly the keys {', '.join(keys)}: {data!r}")
    where = f"{where}: {data['id']}"
    tests, seeds, seen = data["tests"], data["seeds"], data["seen"]
    if not isinstance(tests, list) or not tests:
        raise RunnerError(f"{where}: `tests` must be a list")
    for test in tests:
        if test not in known:
            raise RunnerError(f"{where}: no such test: {test} (write module.Test)")
    if not isinstance(seeds, int) or seeds < 1:
        raise RunnerError(f"{where}: `seeds` must be a number from 1")
    numbers = isinstance(seen, dict) and all(isinstance(n, int) and n > 0 for n in seen.values())
    if not numbers or not seen:
        raise RunnerError(f"{where}: `seen` must name at least one number from 1")
    return Row(**{**data, "tests": tuple(tests), "seen": dict(seen)})


def load_rows(modules: Sequence[Module], path: Path = FAULTS_YAML) -> list[Row]:
    """Reads tb/tests/campaigns/faults.yaml; every way of being wrong is an error."""
    where = relative(path)
    try:
        data = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise RunnerError(f"{where}: {error}") from None
    entries = data.get("faults") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not entries:
        raise RunnerError(f"{where}: must have a list `faults`")
    known = {f"{m.short}.{test}" for m in modules for test in m.tests}
    rows = [_row(entry, where, known) for entry in entries]
    names = [row.id for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise RunnerError(f"{where}: {name}: a second fault of this name")
    return rows


def choose(rows: Sequence[Row], patterns: Sequence[str]) -> list[Row]:
    """Those whose names match one of the patterns; without patterns all."""
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(row.id, pattern) for row in rows):
            known = ", ".join(row.id for row in rows)
            raise RunnerError(f"FAULT={pattern} matches no fault; known: {known}")
    wanted = patterns or ["*"]
    return [row for row in rows if any(fnmatch.fnmatchcase(row.id, p) for p in wanted)]


def jobs_of(row: Row, modules: Sequence[Module]) -> list[Job]:
    """Every test of the row on each of its builds with each seed."""
    seeds = range(FIRST_SEED, FIRST_SEED + row.seeds)
    return select_jobs(modules, row.tests, tuple(seeds), "verilator")


# -- running ---------------------------------------------------------------------------------------


def add(total: Counter[str], counts: dict[str, int]) -> None:
    """Numbers of one more run."""
    for name, count in counts.items():
        total[name] = max(total[name], count) if name in _LARGEST else total[name] + count


def _run(job: Job, config: BuildConfig) -> tuple[Result, dict[str, int]]:
    path = SIM_BUILD / "faults" / f"{job.build}-{job.name}-s{job.seed}.json"
    path.unlink(missing_ok=True)
    result = run_job(job, config, extra_env={COVERAGE: "", FACTS: str(path)})
    return result, json.loads(path.read_text()) if result.verdict.ok else {}


def report(outcomes: Sequence[Outcome]) -> str:
    """The table."""
    rows = [
        (o.row.id, o.row.contained, o.observed, FAILED if o.problems else PASSED) for o in outcomes
    ]
    return table(("fault", "expected containment", "observed", "result"), rows)


def run_faults(patterns: Sequence[str] = (), processes: int | None = None) -> int:
    """`make faults`: 0 if every fault was there and was contained."""
    modules = find_modules()
    rows = choose(load_rows(modules), patterns)
    # Results of an earlier run must not be taken for those of a run that was cut short.
    OUT.unlink(missing_ok=True)
    jobs = {row.id: jobs_of(row, modules) for row in rows}
    every = list(dict.fromkeys(job for some in jobs.values() for job in some))
    builds = build_all(every)
    builds = {name: replace(config, timeout_s=TIMEOUT_S) for name, config in builds.items()}
    print(f"{len(rows)} fault(s), {len(every)} run(s)", flush=True)
    start = time.monotonic()

    def told(outcome: tuple[Result, dict[str, int]], _left: int, elapsed: float) -> str:
        result = outcome[0]
        return (
            f"{result.verdict.status:<7} {result.job.name} [{result.job.build}] "
            f"seed {result.job.seed}, {result.wall_s:.1f} s ({elapsed:.0f} s elapsed)"
        )

    ran = run_parts(lambda job: _run(job, builds[job.build]), every, processes or cpu_count(), told)
    done = dict(zip(every, ran, strict=True))
    outcomes = []
    for row in rows:
        total: Counter[str] = Counter()
        for job in jobs[row.id]:
            add(total, done[job][1])
        outcomes.append(Outcome(row, tuple(done[job][0] for job in jobs[row.id]), total))
    OUT.write_text(json.dumps([outcome.as_json() for outcome in outcomes], indent=1) + "\n")
    print(f"\n{report(outcomes)}")
    bad = sum(bool(outcome.problems) for outcome in outcomes)
    print(
        f"\nfaults: {len(outcomes) - bad} of {len(outcomes)} contained in "
        f"{time.monotonic() - start:.0f} s; written to {relative(OUT)}"
    )
    return 1 if bad else 0
