# SPDX-License-Identifier: Apache-2.0
"""The campaign of external faults: tb/tests/campaigns/faults.yaml says what is wrong around the
engine, what must come of it, and which tests show it. Prints a table and writes
sim_build/faults.json.
"""

from __future__ import annotations

import fnmatch
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tb.env.harness.facts import VARIABLE as FACTS
from tb.runner.builds import BuildConfig
from tb.runner.common import ROOT, SIM_BUILD, RunnerError, nearest, write_whole
from tb.runner.coverage import VARIABLE as COVERAGE
from tb.runner.discover import Job, Module, select_jobs
from tb.runner.listed import parse, read_all
from tb.runner.regress import Result, job_folder, run_job, table
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
    results: tuple[Result, ...]
    counts: Counter[str]

    @property
    def problems(self) -> list[str]:
        """Failed runs, and faults that were not there."""
        bad = [result for result in self.results if not result.verdict.ok]
        found = [f"{result.job.reproduce()}: {result.verdict.message}" for result in bad]
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
    known = {f"{m.short}.{test}" for m in modules for test in m.tests}
    return read_all(path, "faults", lambda entry, where: _row(entry, where, known))


def choose(rows: Sequence[Row], patterns: Sequence[str]) -> list[Row]:
    """Those whose names match one of the patterns; without patterns all."""
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(row.id, pattern) for row in rows):
            known = [row.id for row in rows]
            raise RunnerError(f"FAULT={pattern}: no such fault{nearest(pattern, known)}")
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


def run_of(job: Job, config: BuildConfig, hosts: Execute | None) -> tuple[Result, dict[str, int]]:
    """One run, and the numbers that it has observed."""
    config = replace(config, timeout_s=TIMEOUT_S)
    path = job_folder(job) / "facts.json"
    result = run_job(job, config, extra_env={COVERAGE: "", FACTS: str(path)}, hosts=hosts)
    return result, json.loads(path.read_text()) if result.verdict.ok else {}


def conclude(
    rows: Sequence[Row],
    modules: Sequence[Module],
    runs: Mapping[Job, tuple[Result, dict[str, int]]],
    out: Path = OUT,
) -> list[Outcome]:
    """What the runs together say of each row; writes faults.json."""
    outcomes = []
    for row in rows:
        own = [runs[job] for job in jobs_of(row, modules) if job in runs]
        total: Counter[str] = Counter()
        for _, counts in own:
            add(total, counts)
        outcomes.append(Outcome(row, tuple(result for result, _ in own), total))
    write_whole(out, json.dumps([outcome.as_json() for outcome in outcomes], indent=1) + "\n")
    return outcomes


def report(outcomes: Sequence[Outcome]) -> str:
    """The table."""
    rows = [
        (o.row.id, o.row.contained, o.observed, FAILED if o.problems else PASSED) for o in outcomes
    ]
    return table(("fault", "expected containment", "observed", "result"), rows)
