# SPDX-License-Identifier: Apache-2.0
"""`make coverage`: runs the regression with code coverage, and says what is missing."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tb.runner.code_coverage import FOLDER, KINDS, Coverage, Point, load
from tb.runner.code_waivers import WAIVERS_YAML, apply_waivers, load_waivers
from tb.runner.common import SIM_BUILD, RunnerError, cpu_count, relative
from tb.runner.discover import Job, find_modules, select_jobs
from tb.runner.regress import build_all, report, run_jobs, table, write_results

OUT = SIM_BUILD / "code_coverage.json"
#: Builds whose jobs are not measured: this one is the completion core with wider numbers.
LEFT_OUT = ("largest",)
_BIT = re.compile(r"(.*?)\[(\d+)\] (0->1|1->0)")


def jobs_to_measure(patterns: Sequence[str] = ()) -> list[Job]:
    """Jobs of the regression on Verilator, but for builds that are left out."""
    jobs = select_jobs(find_modules(), patterns, sim="verilator")
    return [job for job in jobs if job.build not in LEFT_OUT]


def _percent(hit: int, waived: int, total: int) -> str:
    """Of what has to be hit. 100 only when nothing is missing."""
    wanted = total - waived
    if not wanted:
        return "-"
    return "100" if hit == wanted else f"{int(1000 * hit / wanted) / 10:.1f}"


def summarize(points: Mapping[Point, bool], waived: Mapping[Point, str]) -> str:
    """A row for each file: percentages by kind, waived and missing points."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for point, hit in points.items():
        state = "hit" if hit else "waived" if point in waived else "missing"
        for file in (point.file.removesuffix(".v"), "total"):
            counts.setdefault((file, point.kind), Counter())[state] += 1
    files = [*dict.fromkeys(point.file.removesuffix(".v") for point in points), "total"]
    rows = []
    for file in files:
        own = [counts.get((file, kind), Counter()) for kind in KINDS]
        cells = [_percent(c["hit"], c["waived"], c.total()) for c in own]
        sums = [sum(c[state] for c in own) for state in ("hit", "waived", "missing")]
        rows.append((file, *cells, *(f"{n}" for n in (sum(sums), *sums[1:]))))
    header = ("module", *(f"{kind} %" for kind in KINDS), "points", "waived", "missing")
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


def write_report(
    coverage: Coverage, points: Mapping[Point, bool], waived: Mapping[Point, str], out: Path = OUT
) -> None:
    """code_coverage.json: counts by file and kind, missing and waived points; lines and branches
    with the tests that hit them (toggles: `--point`)."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for point, hit in points.items():
        state = "hit" if hit else "waived" if point in waived else "missing"
        own = counts.setdefault(point.file, {}).setdefault(
            point.kind, {"hit": 0, "waived": 0, "missing": 0}
        )
        own[state] += 1
    reasons: dict[str, list[Point]] = {}
    for point, reason in waived.items():
        reasons.setdefault(reason, []).append(point)
    data = {
        "counts": counts,
        "missing": fold([p for p, hit in points.items() if not hit and p not in waived]),
        "waived": {reason: fold(sorted(own)) for reason, own in reasons.items()},
        "tests": {
            f"{p} {p.column}" if p.kind == "branch" else str(p): coverage.tests_of(p)
            for p, hit in points.items()
            if hit and p.kind != "toggle"
        },
    }
    out.write_text(json.dumps(data, indent=1) + "\n")


def closure(points: Mapping[Point, bool], waived: Mapping[Point, str]) -> list[str]:
    """Points that are neither hit nor waived, in words."""
    return fold([point for point, hit in points.items() if not hit and point not in waived])


def show_point(coverage: Coverage, wanted: str) -> int:
    """Which tests hit the points of a place (``cde_take.v:210``), or of a signal
    (``cde_take.v:free``)."""
    file, _, rest = wanted.partition(":")

    def is_wanted(point: Point) -> bool:
        if point.file != file:
            return False
        signal = re.split(r"[\[ ]", point.name)[0] if point.kind == "toggle" else ""
        return str(point.line) == rest or signal == rest

    points = coverage.points()
    chosen = {point: hit for point, hit in points.items() if is_wanted(point)}
    if not chosen:
        raise RunnerError(f"no point at {wanted}; name file:line or file:signal of hdl/")
    waived, _ = apply_waivers(points, load_waivers())
    for point, hit in chosen.items():
        tests = coverage.tests_of(point)
        if hit:
            print(f"{point}: {len(tests)} test(s): {', '.join(tests)}")
        else:
            print(f"{point}: " + (f"waived: {waived[point]}" if point in waived else "MISSING"))
    return 0


def judge_coverage(coverage: Coverage, out: Path = OUT, waivers: Path = WAIVERS_YAML) -> list[str]:
    """Print the table, write the report, and return every gap."""
    points = coverage.points()
    waived, gaps = apply_waivers(points, load_waivers(waivers))
    write_report(coverage, points, waived, out)
    missing = closure(points, waived)
    print(f"\n{summarize(points, waived)}")
    for text in missing:
        print(f"  missing: {text}")
    for text in gaps:
        print(f"  {text}")
    hit = sum(points.values())
    left = len(points) - hit - len(waived)
    print(
        f"\ncode coverage: {hit} of {len(points)} points hit, {len(waived)} waived, "
        f"{left} missing, {len(gaps)} gap(s) of the waivers; {relative(out)}",
        flush=True,
    )
    return missing + gaps


def run_coverage(
    patterns: Sequence[str], processes: int | None, point: str = "", again: bool = False
) -> int:
    """Measure and judge. ``again``: judge what the last run left, without simulating."""
    jobs = jobs_to_measure(patterns)
    if point:
        return show_point(load(jobs), point)
    if not again:
        OUT.unlink(missing_ok=True)
        shutil.rmtree(FOLDER, ignore_errors=True)
        builds = build_all(jobs, coverage=True)
        processes = processes or cpu_count()
        print(f"{len(jobs)} simulation job(s), {processes} at a time", flush=True)
        results = run_jobs(jobs, builds, processes)
        write_results(results, FOLDER)
        failed = [result for result in results if not result.verdict.ok]
        if failed:
            print(f"\n{report(failed)}")
            raise RunnerError(f"{len(failed)} job(s) failed: their coverage counts for nothing")
    return 1 if judge_coverage(load(jobs)) else 0
