# SPDX-License-Identifier: Apache-2.0
"""The campaign of external faults: tb/tests/campaigns/faults.yaml says what is wrong around the
engine, what must come of it, and which tests show it. Prints a table and writes
sim_build/faults.json.
"""

from __future__ import annotations

import fnmatch
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tb.env.harness.facts import VARIABLE as FACTS
from tb.runner.builds import BuildConfig
from tb.runner.common import ROOT, SIM_BUILD, RunnerError, write_whole
from tb.runner.discover import Job, Module, all_tests, select_jobs
from tb.runner.listed import parse, read_all
from tb.runner.regress import COVERAGE, Result, SimRun, job_folder, run_job, table
from tb.runner.results import FAILED, PASSED
from tb.runner.simulator import Execute

FAULTS_YAML = ROOT / "tb" / "tests" / "campaigns" / "faults.yaml"
OUT = SIM_BUILD / "faults.json"
#: First seed: LONG_SEED of tb/tests/common/soaking.py.
FIRST_SEED = 1000
#: Processor time of one run.
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
    runs: tuple[SimRun, ...]

    @property
    def counts(self) -> Counter[str]:
        """What all runs together have observed."""
        total: Counter[str] = Counter()
        for run in self.runs:
            for name, count in run.counts.items():
                most = max(total[name], count)
                total[name] = most if name in _LARGEST else total[name] + count
        return total

    @property
    def problems(self) -> list[str]:
        """Failed runs, and faults that were not there."""
        failed = [f"{run.job.reproduce()}: {run.cause}" for run in self.runs if not run.passed]
        if failed or not self.runs:
            return failed or ["nothing ran"]
        seen = [(name, self.counts[name], least) for name, least in self.row.seen.items()]
        return [f"only {n} {name} observed, not {least}" for name, n, least in seen if n < least]

    @property
    def observed(self) -> str:
        """For the table."""
        if self.problems:
            return "; ".join(self.problems)
        names = dict.fromkeys([*self.row.seen, "completions"])
        seen = ", ".join(f"{self.counts[name]:,} {name.replace('_', ' ')}" for name in names)
        return f"contained in {len(self.runs)} run(s): {seen}, 0 mismatches"

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
                {"reproduce": r.job.reproduce(), "status": "passed" if r.passed else "failed"}
                for r in self.runs
            ],
        }


# -- the list --------------------------------------------------------------------------------------


def _row(data: object, where: str, known: Iterable[str]) -> Row:
    row = parse(Row, data, where)
    where = f"{where}: {row.id}"
    for test in row.tests:
        if test not in known:
            raise RunnerError(f"{where}: no such test: {test} (write module.Test)")
    if not row.tests or not row.seen or min(row.seeds, *row.seen.values()) < 1:
        raise RunnerError(f"{where}: `tests` and `seen` have entries; numbers and `seeds` from 1")
    return row


def load_rows(modules: Sequence[Module], path: Path = FAULTS_YAML) -> list[Row]:
    """Reads tb/tests/campaigns/faults.yaml; every way of being wrong is an error."""
    known = all_tests(modules)
    return read_all(path, "faults", lambda entry, where: _row(entry, where, known))


def choose(rows: Sequence[Row], patterns: Sequence[str]) -> list[Row]:
    """Those whose names match one of the patterns; without patterns all."""
    wanted = patterns or ["*"]
    return [row for row in rows if any(fnmatch.fnmatchcase(row.id, p) for p in wanted)]


def jobs_of(row: Row, modules: Sequence[Module]) -> list[Job]:
    """Every test of the row on each of its builds with each seed."""
    seeds = range(FIRST_SEED, FIRST_SEED + row.seeds)
    return select_jobs(modules, row.tests, tuple(seeds), "verilator")


# -- running ---------------------------------------------------------------------------------------


def run_of(job: Job, config: BuildConfig, hosts: Execute | None) -> tuple[Result, dict[str, int]]:
    """One run, and the numbers that it has observed."""
    config = replace(config, timeout_s=TIMEOUT_S)
    path = job_folder(job) / "facts.json"
    result = run_job(job, config, extra_env={COVERAGE: "", FACTS: str(path)}, hosts=hosts)
    return result, json.loads(path.read_text()) if result.verdict.ok else {}


def conclude(
    rows: Sequence[Row], modules: Sequence[Module], runs: Sequence[SimRun]
) -> list[Outcome]:
    """What the runs together say of each row; writes faults.json."""
    outcomes = []
    for row in rows:
        jobs = set(jobs_of(row, modules))
        outcomes.append(Outcome(row, tuple(run for run in runs if run.job in jobs)))
    write_whole(OUT, json.dumps([outcome.as_json() for outcome in outcomes], indent=1) + "\n")
    return outcomes


def report(outcomes: Sequence[Outcome]) -> str:
    """The table."""
    rows = [
        (o.row.id, o.row.contained, o.observed, FAILED if o.problems else PASSED) for o in outcomes
    ]
    return table(("fault", "expected containment", "observed", "result"), rows)
