# SPDX-License-Identifier: Apache-2.0
"""Code coverage of a run with --code-coverage: what is missing, and who hit what; waivers
(tb/coverage_waivers.yaml) of points that need not be hit, with reasons.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tb.runner.code_coverage import FOLDER, KINDS, LEFT_OUT, Coverage, Point, hits_file, load
from tb.runner.common import HDL, ROOT, SIM_BUILD, RunnerError, relative, write_whole
from tb.runner.discover import Job, find_modules, select_jobs
from tb.runner.listed import parse, read_list
from tb.runner.regress import table
from tb.runner.tiers import read_tiers

# -- waivers ---------------------------------------------------------------------------------------

WAIVERS_YAML = ROOT / "tb" / "coverage_waivers.yaml"


@dataclass(frozen=True)
class Waiver:
    """``points``: a regular expression for the whole label of a point of ``kind`` in ``file``."""

    file: str
    """A file of hdl/; a regular expression, too."""
    kind: str
    points: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.kind}: {self.points}"


def load_waivers(path: Path = WAIVERS_YAML) -> list[Waiver]:
    where = relative(path)
    waivers = [parse(Waiver, entry, where) for entry in read_list(path, "waivers", empty=True)]
    for waiver in waivers:
        if not waiver.reason.strip() or waiver.kind not in KINDS:
            text = f"needs a reason, and one of the kinds {', '.join(KINDS)}"
            raise RunnerError(f"{where}: {waiver}: {text}")
        try:
            re.compile(waiver.file), re.compile(waiver.points)
        except re.error as error:
            raise RunnerError(f"{where}: {waiver}: {error}") from None
    return waivers


@cache
def _source(path: Path) -> tuple[str, ...]:
    return tuple(line.strip() for line in path.read_text().splitlines())


def label(point: Point, hdl: Path = HDL) -> str:
    """What waivers match: the text of the source line, without its number, which changes with every
    edit; for a branch its side before it, as in ``else: text``.
    """
    source = _source(next(hdl.rglob(point.file)))
    text = source[point.line - 1] if 0 < point.line <= len(source) else ""
    return f"{point.name}: {text}" if point.name else text


def apply_waivers(
    points: Mapping[Point, bool], waivers: Sequence[Waiver], hdl: Path = HDL
) -> tuple[dict[Point, str], list[str]]:
    """(reasons of the points that are waived, what is wrong with the waivers). A waiver cannot rot:
    one that matches no point, or a point that was hit, is itself a gap.
    """
    known = {point: label(point, hdl) for point in points}
    waived: dict[Point, str] = {}
    gaps: list[str] = []
    for waiver in waivers:
        pattern = re.compile(waiver.points)
        matched = [
            point
            for point, text in known.items()
            if re.fullmatch(waiver.file, point.file)
            and (point.kind == waiver.kind and pattern.fullmatch(text))
        ]
        hit = [point for point in matched if points[point]]
        if not matched:
            gaps.append(f"waiver matches nothing: {waiver}")
        if hit:
            more = f" and {len(hit) - 1} more" if len(hit) > 1 else ""
            gaps.append(f"waiver of a point that was hit ({hit[0]}{more}): {waiver}")
        waived.update((point, waiver.reason) for point in matched if not points[point])
    return waived, gaps


STATES = ("hit", "waived", "missing")
OUT = SIM_BUILD / "code_coverage.json"


def jobs_to_measure(patterns: Sequence[str] = ()) -> list[Job]:
    """Jobs of the tier `full`, or those that ``patterns`` name, on Verilator, but for builds that
    are left out.
    """
    jobs = select_jobs(find_modules(), patterns, sim="verilator")
    later = frozenset() if patterns else read_tiers().nightly
    return [job for job in jobs if job.build not in LEFT_OUT and job.id not in later]


@dataclass(frozen=True)
class Verdicts:
    """What became of each point."""

    hit: Mapping[Point, bool]
    """All points, in order."""
    waived: Mapping[Point, str]
    """With the waiver's reason."""
    gaps: Sequence[str] = ()
    """What is wrong with the waivers."""

    def state(self, point: Point) -> str:
        if self.hit[point]:
            return "hit"
        return "waived" if point in self.waived else "missing"

    def missing(self) -> list[Point]:
        return [point for point in self.hit if self.state(point) == "missing"]

    def counts(self) -> dict[tuple[str, str], Counter[str]]:
        """Points in each state, by file and kind."""
        found: dict[tuple[str, str], Counter[str]] = {}
        for point in self.hit:
            found.setdefault((point.file, point.kind), Counter())[self.state(point)] += 1
        return found


def assess(
    coverage: Coverage, waivers: Sequence[Waiver] | None = None, hdl: Path = HDL
) -> Verdicts:
    """``waivers``: instead of those of the project."""
    points = coverage.points()
    return Verdicts(
        points, *apply_waivers(points, load_waivers() if waivers is None else waivers, hdl)
    )


def _percent(count: Counter[str]) -> str:
    """Of what has to be hit. 100 only when nothing is missing."""
    wanted = count["hit"] + count["missing"]
    if not wanted:
        return "-"
    return "100" if not count["missing"] else f"{1000 * count['hit'] // wanted / 10:.1f}"


def summarize(verdicts: Verdicts) -> str:
    """A row for each file: percentages by kind; points that are waived, missing."""
    counts = verdicts.counts()
    files = list(dict.fromkeys(file for file, _ in counts))
    rows = []
    for name, chosen in [*((file, [file]) for file in files), ("total", files)]:
        own = [
            sum((counts.get((file, kind), Counter()) for file in chosen), Counter())
            for kind in KINDS
        ]
        whole = sum(own, Counter())
        numbers = (whole.total(), *(whole[state] for state in STATES))
        rows.append((name.removesuffix(".v"), *map(_percent, own), *map(str, numbers)))
    header = ("module", *(f"{kind} %" for kind in KINDS), "points", *STATES)
    return table(header, rows, range(1, len(header)))


def write_report(coverage: Coverage, verdicts: Verdicts, out: Path = OUT) -> None:
    """code_coverage.json: counts by file and kind; missing and waived points; all with the
    tests that hit them; whether every job that is to be measured was."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for (file, kind), own in verdicts.counts().items():
        counts.setdefault(file, {})[kind] = {state: own[state] for state in STATES}
    reasons: dict[str, list[Point]] = {}
    for point, reason in verdicts.waived.items():
        reasons.setdefault(reason, []).append(point)
    measured = {job for jobs in coverage.jobs.values() for job in jobs}
    data = {
        "whole": measured >= set(jobs_to_measure()),
        "counts": counts,
        "missing": [str(point) for point in verdicts.missing()],
        "waived": {
            reason: [str(point) for point in sorted(own)] for reason, own in reasons.items()
        },
        "tests": {
            f"{point} {point.column}" if point.kind == "branch" else str(point): tests
            for point in verdicts.hit
            if (tests := coverage.tests_of(point))
        },
    }
    write_whole(out, json.dumps(data, indent=1) + "\n")


def judge_coverage(
    coverage: Coverage, verdicts: Verdicts, out: Path = OUT, complete: bool = True
) -> list[str]:
    """Print the table, write the report, and return every gap. What a part of the regression
    leaves open is not printed: see the report."""
    write_report(coverage, verdicts, out)
    missing = [str(point) for point in verdicts.missing()]
    print(f"\n{summarize(verdicts)}\n")
    if complete:
        for text in missing:
            print(f"  missing: {text}")
        for text in verdicts.gaps:
            print(f"  {text}")
    counts = sum(verdicts.counts().values(), Counter())
    print(
        f"\ncode coverage: {counts.total()} points, {counts['hit']} hit, "
        f"{counts['waived']} waived, {counts['missing']} missing; {len(verdicts.gaps)} gap(s) of "
        f"the waivers; {relative(out)}",
        flush=True,
    )
    return [*missing, *verdicts.gaps]


def discard(jobs: Iterable[Job], *, whole: bool, folder: Path = FOLDER) -> None:
    """Remove what an earlier run left: a part of the tests renews its own."""
    if whole:
        shutil.rmtree(folder, ignore_errors=True)
    for job in jobs:
        hits_file(job, folder).unlink(missing_ok=True)


def run_coverage(patterns: Sequence[str]) -> int:
    """Judges what the last runs left."""
    coverage = load(jobs_to_measure(patterns))
    gaps = judge_coverage(coverage, assess(coverage), complete=not patterns)
    return 1 if gaps and not patterns else 0
