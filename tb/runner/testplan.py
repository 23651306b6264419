# SPDX-License-Identifier: Apache-2.0
"""The test plan (docs/testplan.yaml): checks that it is complete. Results of its rows are in the
report (`make report`).
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tb.env.coverage.bins import BINS
from tb.runner.common import ROOT, RunnerError, nearest, relative
from tb.runner.listed import parse, read_list

PLAN = ROOT / "docs" / "testplan.yaml"

#: Requirements that this core answers for. Here and not in the plan, so that no row can be lost
#: together with its requirement.
SCOPE = (
    *(f"CQ-{number:02}" for number in range(1, 23)),
    *(f"DF-{number:02}" for number in range(1, 16)),
    *(f"SRQ-{number:02}" for number in range(1, 20)),
    *(f"MW-{number:02}" for number in range(1, 13)),
    *("CQ-10a", "CQ-11a", "CQ-15a", "MW-10e", "ISO-01", "ISO-02", "ISO-03", "ISO-04", "ISO-05"),
)


@dataclass(frozen=True)
class Row:
    """One test point. ``coverage`` are patterns of bins."""

    id: str
    requirements: tuple[str, ...]
    description: str
    tests: tuple[str, ...] = ()
    coverage: tuple[str, ...] = ()

    def bins(self) -> list[str]:
        """The bins that its patterns name."""
        return [name for name in BINS if any(_matches(name, p) for p in self.coverage)]


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatch.fnmatchcase(name, pattern)


def load_plan(path: Path = PLAN) -> list[Row]:
    """The rows. A file that has another form is an error."""
    rows = [parse(Row, entry, relative(path)) for entry in read_list(path, "rows")]
    for row in rows:
        if not row.requirements or not row.description:
            raise RunnerError(f"{relative(path)}: {row.id}: needs requirements and description")
    return rows


def find_gaps(rows: Sequence[Row], tests: Iterable[str], scope: Iterable[str] = SCOPE) -> list[str]:
    """What is wrong with the plan, in sentences; empty if it is complete.

    ``tests``: all tests there are, as ``module.test``.
    """
    known, scope = set(tests), list(scope)
    shown = {name for row in rows for name in row.requirements}
    planned = {test for row in rows for test in row.tests}
    covered = {name for row in rows for name in row.bins()}
    gaps = [f"requirement {name} has no row" for name in scope if name not in shown]
    gaps += [f"test {name} has no row" for name in sorted(known - planned)]
    gaps += [f"bin {name!r} has no row" for name in BINS if name not in covered]
    count = Counter(row.id for row in rows)
    for row in rows:
        unknown = [f"no such requirement: {name}" for name in row.requirements if name not in scope]
        unknown += [f"no such test: {t}{nearest(t, known)}" for t in row.tests if t not in known]
        for pattern in row.coverage:
            if not any(_matches(name, pattern) for name in BINS):
                unknown.append(f"no bin matches {pattern!r}")
        unknown += ["a second row of this name"] * (count[row.id] > 1)
        gaps += [f"row {row.id}: {text}" for text in unknown + ["no tests"] * (not row.tests)]
    return gaps
