# SPDX-License-Identifier: Apache-2.0
"""Code coverage of hdl/: what Verilator counted in each job, merged over jobs and builds.

A coverage build has counters for tens of thousands of points. A list names each, in a line::

    \\x01<key>\\x02<value>\\x01<key>\\x02<value>...

Keys: f file, l line, n column, page (v_branch or v_line, then the module with its
parameters), o comment, S lines of a block (``18,20-22``). A job leaves one bit for each
of these lines (``tb/hdl/coverage_counts.h``); the list is kept once for each build (``collect``).

A point is independent of instance, parameters and build: it is hit when any job hit it anywhere.

- ``line``: a source line that is executed or evaluated, hit when a block that it belongs to was;
- ``branch``: one side of an if, of a case or of a conditional expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from pathlib import Path

from tb.runner.common import HDL, SIM_BUILD, RunnerError, empty, locked, relative
from tb.runner.discover import Job

FOLDER = SIM_BUILD / "code_coverage"
KINDS = ("line", "branch")

_FIELD = re.compile("\x01([^\x02]+)\x02([^\x01]*)")

#: Builds whose jobs are not measured: the completion core with wider numbers, and the engine
#: with foreign models in place of the bench.
LEFT_OUT = ("largest", "interop")


@dataclass(frozen=True, order=True)
class Point:
    """One thing to be hit. ``name``: for a line nothing, for a branch its side (if, else,
    cond_then, ...). ``column`` tells branches of a line apart."""

    file: str
    """A file of hdl/, without folder."""
    line: int
    kind: str
    name: str = ""
    column: int = 0

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return " ".join(filter(None, [self.place, self.kind, self.name]))


# -- points of Verilator ---------------------------------------------------------------------------


def _lines(text: str) -> list[int]:
    """``18,20-22`` as numbers."""
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def points_of(key: str, hdl: Path = HDL) -> list[Point]:
    """The points that one of Verilator's points represents; none if it is not of the design."""
    fields = dict(_FIELD.findall(key))
    try:
        path, line = Path(fields["f"]), int(fields["l"])
        kind = fields["page"].partition("/")[0].removeprefix("v_")
        comment = fields.get("o", "")
    except (KeyError, ValueError):
        raise RunnerError(f"not a point of Verilator's coverage: {key!r}") from None
    if hdl not in path.parents:
        return []
    file = path.name
    lines = [Point(file, number, "line") for number in _lines(fields.get("S", ""))]
    if kind == "line":
        return lines
    if kind == "branch":
        return [Point(file, line, "branch", comment, int(fields.get("n", 0))), *lines]
    raise RunnerError(f"{file}:{line}: unknown kind of coverage: {kind}")


# -- jobs ------------------------------------------------------------------------------------------


def _names(build: str, folder: Path) -> Path:
    return folder / build / "points"


def hits_file(job: Job, folder: Path = FOLDER) -> Path:
    """One bit for each point of the job's build: hit or not."""
    return folder / job.build / f"{job.name}-s{job.seed}.hits"


def _is_set(bits: bytes, numbers: Iterable[int]) -> bool:
    return len(bits) > 0 and any(bits[n >> 3] >> (n & 7) & 1 for n in numbers)


def collect(job: Job, dat: Path, points: Path, folder: Path = FOLDER) -> None:
    """Keep the bits that a job has left in ``dat``; ``points`` lists what they represent. Of
    another design nothing is kept.
    """
    out, names = hits_file(job, folder), _names(job.build, folder)
    # Jobs of one build end at the same time.
    with locked(out.parent):
        out.unlink(missing_ok=True)
        if not dat.is_file():
            return
        listed = points.read_text()
        if not names.is_file() or names.read_text() != listed:
            empty(out.parent)
            names.write_text(listed)
        if dat.stat().st_size != (listed.count("\n") + 7) // 8:
            raise RunnerError(f"{relative(dat)}: not of the points in {relative(points)}")
        out.write_bytes(dat.read_bytes())


@dataclass
class Coverage:
    """Points of all builds, and which jobs hit them."""

    numbers: dict[str, dict[Point, list[int]]] = field(default_factory=dict)
    """By build: the numbers of the bits that represent a point."""
    jobs: dict[str, dict[Job, bytes]] = field(default_factory=dict)
    """By build: the bits of each job."""

    def points(self) -> dict[Point, bool]:
        """Each point, and whether any job hit it."""
        found: dict[Point, bool] = {}
        for build, numbers in self.numbers.items():
            jobs = self.jobs[build].values()
            union = reduce(or_, (int.from_bytes(bits, "little") for bits in jobs), 0)
            merged = union.to_bytes(max(map(len, jobs), default=0), "little")
            for point, own in numbers.items():
                found[point] = found.get(point, False) or _is_set(merged, own)
        return dict(sorted(found.items()))

    def tests_of(self, point: Point) -> list[str]:
        """Tests that hit a point."""
        tests = {
            job.name
            for build, numbers in self.numbers.items()
            if point in numbers
            for job, bits in self.jobs[build].items()
            if _is_set(bits, numbers[point])
        }
        return sorted(tests)


def load(jobs: Sequence[Job], folder: Path = FOLDER, hdl: Path = HDL) -> Coverage:
    """What these jobs left. A job without coverage is an error."""
    coverage = Coverage()
    for job in jobs:
        path = hits_file(job, folder)
        if not path.is_file():
            raise RunnerError(f"no code coverage of {job.id}; run 'make coverage'")
        coverage.jobs.setdefault(job.build, {})[job] = path.read_bytes()
    for build in coverage.jobs:
        numbers = coverage.numbers[build] = {}
        for number, key in enumerate(_names(build, folder).read_text().splitlines()):
            for point in points_of(key, hdl):
                numbers.setdefault(point, []).append(number)
    return coverage
