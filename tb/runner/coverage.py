# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of a regression: merges what each job counted, and tells what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tb.env.coverage.bins import BINS
from tb.runner.common import SIM_BUILD, RunnerError, write_whole
from tb.runner.regress import COVERAGE as VARIABLE

__all__ = ["VARIABLE", "Bin", "merge", "missing", "summary", "write_coverage"]


@dataclass
class Bin:
    """Hits of one bin, by test."""

    hits: int = 0
    tests: dict[str, int] = field(default_factory=dict)


def merge(counts: Iterable[tuple[str, Mapping[str, int]]]) -> dict[str, Bin]:
    """Hits of all jobs, each given as (test, hits by bin)."""
    merged = {name: Bin() for name in BINS}
    for test, hits in counts:
        for name, count in hits.items():
            if name not in merged:
                raise RunnerError(f"{test}: hits of a bin that does not exist: {name}")
            merged[name].hits += count
            merged[name].tests[test] = merged[name].tests.get(test, 0) + count
    return merged


def write_coverage(merged: Mapping[str, Bin], folder: Path = SIM_BUILD) -> Path:
    """coverage.json: bin, requirements, hits, and the tests that hit it."""
    path = folder / "coverage.json"
    data = {
        name: {"requirements": BINS[name], "hits": found.hits, "tests": found.tests}
        for name, found in merged.items()
    }
    write_whole(path, json.dumps(data, indent=1) + "\n")
    return path


def missing(merged: Mapping[str, Bin]) -> list[str]:
    """A sentence for each bin that nobody hit."""
    return [
        f"not hit: {name} ({', '.join(BINS[name])})"
        for name, found in merged.items()
        if not found.hits
    ]


def summary(merged: Mapping[str, Bin]) -> str:
    """One line."""
    hit = sum(found.hits > 0 for found in merged.values())
    return f"functional coverage: {hit} of {len(merged)} bins hit"
