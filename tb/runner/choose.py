# SPDX-License-Identifier: Apache-2.0
"""Chooses the tiers (tb/tiers.yaml) from what runs have recorded: processor time, bins, lines and
branches of each job.

- ``quick``: on ``BUILDS`` the smoke tests, each test that is cheap, and jobs that with them hit
  each bin, line and branch that any job on these builds hits, and pass a test of each requirement.
- ``nightly``: jobs that add nothing to the cheapest job of each test: no bin, line or
  branch. The tier ``full`` is everything else.

Greedy weighted set cover (most new elements per second first), without what later ones made
redundant. The result depends on the records alone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import yaml

from tb.runner.code_coverage import load
from tb.runner.code_report import jobs_to_measure
from tb.runner.common import RunnerError, relative, write_whole
from tb.runner.discover import Job, find_modules, select_jobs
from tb.runner.regress import job_folder
from tb.runner.testplan import load_plan
from tb.runner.tiers import TIERS_YAML, Costs

#: Of the tier `quick`.
BUILDS = ("default", "engine", "engine_small")
#: What starting a simulation costs, in seconds: two short jobs are dearer than one.
_START_S = 0.05
#: A job that takes no longer is quick whatever it hits: many a fault is in the order of things that
#: each by itself another test hits, too.
_CHEAP_S = 0.7


@dataclass(frozen=True)
class Record:
    """What is known of one job; ``hits`` has a bit for each bin, line, branch and requirement."""

    job: Job
    cost: float
    hits: int


def _union(records: Iterable[Record]) -> int:
    return reduce(or_, (record.hits for record in records), 0)


def _twice(records: Iterable[Record]) -> int:
    """What at least two of them hit."""
    once = twice = 0
    for record in records:
        twice |= once & record.hits
        once |= record.hits
    return twice


def cover(records: Sequence[Record], wanted: int, kept: Iterable[Record] = ()) -> list[Record]:
    """Records that hit all of ``wanted`` that any of them does, with those that are ``kept``."""
    chosen = [*kept]
    needed = {*chosen}
    left = wanted & _union(records) & ~_union(chosen)
    while left:
        best = max(records, key=lambda r: (r.hits & left).bit_count() / (r.cost + _START_S))
        chosen.append(best)
        left &= ~best.hits
    # The dearest go first, if all others hit what they hit.
    for record in sorted(chosen, key=lambda record: -record.cost):
        if record not in needed and not wanted & record.hits & ~_twice(chosen):
            chosen.remove(record)
    return chosen


def _cheapest(records: Iterable[Record]) -> dict[str, Record]:
    """Of each test."""
    first: dict[str, Record] = {}
    for record in sorted(records, key=lambda record: (record.cost, str(record.job))):
        first.setdefault(record.job.name, record)
    return first


def choose_quick(records: Sequence[Record], smoke: Collection[str]) -> tuple[list[Record], int]:
    """The jobs, and how many elements their builds do not reach. ``smoke``: tests that are in
    whatever they hit.
    """
    own = [record for record in records if record.job.build in BUILDS]
    first = _cheapest(own)
    kept = [r for name, r in first.items() if name in smoke or r.cost <= _CHEAP_S]
    chosen = cover(own, _union(own), kept)
    return chosen, (_union(records) & ~_union(own)).bit_count()


def choose_nightly(records: Sequence[Record]) -> list[Record]:
    """Jobs that the tier `full` can do without: it has each test at least once."""
    kept = {*cover(records, _union(records), _cheapest(records).values())}
    return [record for record in records if record not in kept]


# -- records ---------------------------------------------------------------------------------------


def read_records(jobs: Sequence[Job]) -> list[Record]:
    """Of the last run of `make coverage` with all tests."""
    costs = Costs()
    coverage = load(jobs)
    numbers: dict[object, int] = {}
    required: defaultdict[str, list[str]] = defaultdict(list)
    for row in load_plan():
        for test in row.tests:
            required[test] += [f"requirement {name}" for name in row.requirements]
    records = []
    for build, points in coverage.numbers.items():
        own = [(numbers.setdefault(p, len(numbers)), n) for p, n in points.items()]
        for job, bits in coverage.jobs[build].items():
            found = 0
            for element, where in own:
                if any(bits[n >> 3] >> (n & 7) & 1 for n in where):
                    found |= 1 << element
            for name in [*(n for n, hits in _bins(job).items() if hits), *required[job.name]]:
                found |= 1 << numbers.setdefault(name, len(numbers))
            records.append(Record(job, costs.of(job.id) or 1.0, found))
    return records


def _bins(job: Job) -> dict[str, int]:
    path = job_folder(job) / "coverage.json"
    if path.with_name("failure.json").is_file():  # of a test that is meant to fail
        return {}
    if not path.is_file():
        raise RunnerError(f"{relative(path)}: no such file; run 'make coverage'")
    found: dict[str, int] = json.loads(path.read_text())
    return found


def write_tiers(quick: Sequence[Record], nightly: Sequence[Record]) -> None:
    """The comment at its head stays, and what was nightly: it was not measured again."""
    head = "".join(
        f"{line}\n" for line in TIERS_YAML.read_text().splitlines() if line.startswith("#")
    )
    data = yaml.safe_load(TIERS_YAML.read_text())
    # Jobs on Icarus have no code coverage: which of them are quick is written by hand.
    icarus = [job for job in data["quick"] if "-icarus-" in job]
    data["quick"] = sorted({*(r.job.id for r in quick), *icarus})
    old = {*data["nightly"]} & {job.id for job in select_jobs(find_modules())}
    data["nightly"] = sorted((old | {r.job.id for r in nightly}) - {*data["quick"]})
    write_whole(TIERS_YAML, head + yaml.safe_dump(data, width=200, sort_keys=False))


def run_choose() -> int:
    """`make tiers`."""
    jobs = jobs_to_measure()
    smoke = sorted(job.name for job in jobs if "Smoke" in job.test)
    records = read_records(jobs)
    quick, missing = choose_quick(records, smoke)
    nightly = choose_nightly(records)
    write_tiers(quick, nightly)
    full = sum(record.cost for record in records) - sum(record.cost for record in nightly)
    print(
        f"quick: {len(quick)} jobs, {sum(r.cost for r in quick):.0f} s of processor time, "
        f"{missing} element(s) out of reach of its builds\n"
        f"full: {len(records) - len(nightly)} jobs, {full:.0f} s"
    )
    return 1 if missing else 0
