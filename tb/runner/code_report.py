# SPDX-License-Identifier: Apache-2.0
"""Code coverage of a run with --code-coverage: what is missing, and who hit what."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tb.runner.builds import load_builds
from tb.runner.code_coverage import FOLDER, KINDS, LEFT_OUT, Coverage, Point, hits_file, load
from tb.runner.code_waivers import WAIVERS_YAML, Waiver, apply_waivers, load_waivers
from tb.runner.common import HDL, SIM_BUILD, RunnerError, cpu_count, relative, write_whole
from tb.runner.discover import Job, find_modules, select_jobs
from tb.runner.regress import table
from tb.runner.tied import find_constants, tied_points

STATES = ("hit", "tied", "waived", "missing")
OUT = SIM_BUILD / "code_coverage.json"
_BIT = re.compile(r"(.*?)\[(\d+)\] (0->1|1->0)")


def jobs_to_measure(patterns: Sequence[str] = ()) -> list[Job]:
    """Jobs of the regression on Verilator, but for builds that are left out."""
    jobs = select_jobs(find_modules(), patterns, sim="verilator")
    return [job for job in jobs if job.build not in LEFT_OUT]


@dataclass(frozen=True)
class Verdicts:
    """What became of each point."""

    hit: Mapping[Point, bool]
    """All points, in order."""
    tied: Set[Point]
    waived: Mapping[Point, str]
    """With the waiver's reason."""
    gaps: Sequence[str] = ()
    """What is wrong with the waivers."""

    def state(self, point: Point) -> str:
        if self.hit[point]:
            return "hit"
        return "tied" if point in self.tied else "waived" if point in self.waived else "missing"

    def missing(self) -> list[Point]:
        return [point for point in self.hit if self.state(point) == "missing"]

    def counts(self) -> dict[tuple[str, str], Counter[str]]:
        """Points in each state, by file and kind."""
        found: dict[tuple[str, str], Counter[str]] = {}
        for point in self.hit:
            found.setdefault((point.file, point.kind), Counter())[self.state(point)] += 1
        return found


def decide(
    points: Mapping[Point, bool], tied: Set[Point], waivers: Sequence[Waiver], hdl: Path = HDL
) -> Verdicts:
    # What is tied needs no waiver: one that names nothing else is of no use.
    free = {point: hit for point, hit in points.items() if point not in tied}
    waived, gaps = apply_waivers(free, waivers, hdl)
    return Verdicts(points, tied, waived, gaps)


def _percent(count: Counter[str]) -> str:
    """Of what has to be hit. 100 only when nothing is missing."""
    wanted = count["hit"] + count["missing"]
    if not wanted:
        return "-"
    return "100" if not count["missing"] else f"{1000 * count['hit'] // wanted / 10:.1f}"


def summarize(verdicts: Verdicts) -> str:
    """A row for each file: percentages by kind; points that are tied, waived, missing."""
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


def fold(points: Sequence[Point]) -> list[str]:
    """Points in words, the bits of a signal together: `cde_x.v:9 toggle data[7:4,0] 0->1`."""
    found: dict[tuple[Point, str, str], list[int]] = {}
    for point in points:
        match = _BIT.fullmatch(point.name) if point.kind == "toggle" else None
        if match:
            key = Point(point.file, point.line, point.kind), match[1], match[3]
            found.setdefault(key, []).append(int(match[2]))
        else:
            found[point, "", ""] = []
    texts = []
    for (point, signal, edge), bits in found.items():
        if not bits:
            texts.append(str(point))
            continue
        ranges: list[list[int]] = []
        for bit in sorted(bits, reverse=True):
            if ranges and ranges[-1][1] == bit + 1:
                ranges[-1][1] = bit
            else:
                ranges.append([bit, bit])
        parts = ",".join(f"{high}:{low}" if high != low else f"{high}" for high, low in ranges)
        texts.append(f"{point} {signal}[{parts}] {edge}")
    return texts


def write_report(coverage: Coverage, verdicts: Verdicts, out: Path = OUT) -> None:
    """code_coverage.json: counts by file and kind; missing, tied and waived points; lines and
    branches with the tests that hit them (toggles: `--point`)."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for (file, kind), own in verdicts.counts().items():
        counts.setdefault(file, {})[kind] = {state: own[state] for state in STATES}
    reasons: dict[str, list[Point]] = {}
    for point, reason in verdicts.waived.items():
        reasons.setdefault(reason, []).append(point)
    data = {
        "counts": counts,
        "missing": fold(verdicts.missing()),
        "waived": {reason: fold(sorted(own)) for reason, own in reasons.items()},
        "tied": fold([point for point in verdicts.hit if verdicts.state(point) == "tied"]),
        "tests": {
            f"{point} {point.column}" if point.kind == "branch" else str(point): tests
            for point in verdicts.hit
            if point.kind != "toggle" and (tests := coverage.tests_of(point))
        },
    }
    write_whole(out, json.dumps(data, indent=1) + "\n")


def show_point(coverage: Coverage, verdicts: Verdicts, wanted: str) -> int:
    """Which tests hit the points of a place (``cde_take.v:210``), or of a signal
    (``cde_take.v:free``)."""
    file, _, rest = wanted.partition(":")

    def is_wanted(point: Point) -> bool:
        if point.file != file:
            return False
        signal = re.split(r"[\[ ]", point.name)[0] if point.kind == "toggle" else ""
        return str(point.line) == rest or signal == rest

    chosen = [point for point in verdicts.hit if is_wanted(point)]
    if not chosen:
        raise RunnerError(f"no point at {wanted}; name file:line or file:signal of hdl/")
    for point in chosen:
        tests, state = coverage.tests_of(point), verdicts.state(point)
        if tests:
            print(f"{point}: {len(tests)} test(s): {', '.join(tests)}")
        else:
            print(
                f"{point}: {state}" + (f": {verdicts.waived[point]}" if state == "waived" else "")
            )
    return 0


def judge_coverage(
    coverage: Coverage, verdicts: Verdicts, out: Path = OUT, complete: bool = True
) -> list[str]:
    """Print the table, write the report, and return every gap. What a part of the regression
    leaves open is not printed: see the report."""
    write_report(coverage, verdicts, out)
    points = verdicts.missing()
    missing = fold(points)
    print(f"\n{summarize(verdicts)}\n")
    if complete:
        for text in missing:
            print(f"  missing: {text}")
        for text in verdicts.gaps:
            print(f"  {text}")
    counts = sum(verdicts.counts().values(), Counter())
    print(
        f"\ncode coverage: {counts.total()} points, {counts['hit']} hit, {counts['tied']} tied, "
        f"{counts['waived']} waived, {counts['missing']} missing; {len(verdicts.gaps)} gap(s) of "
        f"the waivers; {relative(out)}",
        flush=True,
    )
    return [*missing, *verdicts.gaps]


def assess(coverage: Coverage, processes: int, waivers: Path = WAIVERS_YAML) -> Verdicts:
    """With the constants of the builds that were measured."""
    points = coverage.points()
    builds = load_builds()
    with ThreadPoolExecutor(max_workers=processes) as pool:
        found = pool.map(lambda name: find_constants(builds[name], FOLDER), coverage.keys)
        constants = dict(zip(coverage.keys, found, strict=True))
    missing = [point for point, hit in points.items() if not hit]
    tied = tied_points(missing, coverage.keys, constants, HDL)
    return decide(points, tied, load_waivers(waivers))


def discard(jobs: Iterable[Job], *, whole: bool, folder: Path = FOLDER) -> None:
    """Remove what an earlier run left: a part of the tests renews its own."""
    if whole:
        shutil.rmtree(folder, ignore_errors=True)
    for job in jobs:
        hits_file(job, folder).unlink(missing_ok=True)


def run_coverage(patterns: Sequence[str], point: str = "") -> int:
    """Judges what the last runs left; ``point``: says which tests hit that point instead."""
    jobs = jobs_to_measure(patterns)
    if point:
        jobs = [job for job in jobs if hits_file(job).is_file()]
        if not jobs:
            raise RunnerError("no code coverage yet; run 'make coverage' without POINT")
    coverage = load(jobs)
    verdicts = assess(coverage, cpu_count())
    if point:
        return show_point(coverage, verdicts, point)
    gaps = judge_coverage(coverage, verdicts, complete=not patterns)
    return 1 if gaps and not patterns else 0
