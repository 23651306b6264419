# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of a regression: merges what each job counted, and tells what is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tb.env.coverage.bins import BINS
from tb.runner.common import SIM_BUILD, RunnerError
from tb.runner.discover import Job

#: Tells a job where to write its counts.
VARIABLE = "CARILLON_COVERAGE_OUT"


@dataclass
class Bin:
    """Hits of one bin, by test."""

    hits: int = 0
    tests: dict[str, int] = field(default_factory=dict)


def job_file(job: Job, folder: Path = SIM_BUILD) -> Path:
    """Where a job writes its counts."""
    return folder / "coverage" / f"{job.sim}-{job.build}-{job.name}-s{job.seed}.json"


def merge(jobs: Sequence[Job], folder: Path = SIM_BUILD) -> dict[str, Bin]:
    """Counts of all jobs; a job that failed has written none."""
    merged = {name: Bin() for name in BINS}
    for job in jobs:
        path = job_file(job, folder)
        if not path.is_file():
            continue
        for name, hits in json.loads(path.read_text()).items():
            if name not in merged:
                raise RunnerError(f"{path.name}: hits of a bin that does not exist: {name}")
            merged[name].hits += hits
            tests = merged[name].tests
            tests[job.name] = tests.get(job.name, 0) + hits
    return merged


def write_coverage(merged: Mapping[str, Bin], folder: Path = SIM_BUILD) -> Path:
    """coverage.json: bin, requirements, hits, and the tests that hit it."""
    path = folder / "coverage.json"
    data = {
        name: {"requirements": BINS[name], "hits": found.hits, "tests": found.tests}
        for name, found in merged.items()
    }
    path.write_text(json.dumps(data, indent=1) + "\n")
    return path


def summary(merged: Mapping[str, Bin], complete: bool = True) -> str:
    """One line, and for a complete regression the bins that nobody hit."""
    missing = [name for name, found in merged.items() if not found.hits]
    text = f"coverage: {len(merged) - len(missing)} of {len(merged)} bins hit"
    if not complete:
        return text + " (by a part of the regression)"
    return "\n".join([text, *(f"  not hit: {name} ({', '.join(BINS[name])})" for name in missing)])
