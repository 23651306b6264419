# SPDX-License-Identifier: Apache-2.0
"""Waivers of code coverage (tb/coverage_waivers.yaml): points that need not be hit, with reasons.

A waiver cannot rot: one that matches no point, or a point that was hit, is itself a gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tb.runner.code_coverage import KINDS, Point
from tb.runner.common import HDL, ROOT, RunnerError, relative
from tb.runner.listed import parse, read_list

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
    entries = read_list(path, "waivers", empty=True)
    waivers = []
    for entry in entries:
        waiver = parse(Waiver, entry, where)
        if not waiver.reason.strip():
            raise RunnerError(f"{where}: {waiver}: no reason")
        if waiver.kind not in KINDS:
            raise RunnerError(f"{where}: kinds are {', '.join(KINDS)}, not {waiver.kind}")
        for pattern in (waiver.file, waiver.points):
            try:
                re.compile(pattern)
            except re.error as error:
                raise RunnerError(f"{where}: {pattern!r}: {error}") from None
        waivers.append(waiver)
    return waivers


@cache
def _source(path: Path) -> tuple[str, ...]:
    return tuple(line.strip() for line in path.read_text().splitlines())


def label(point: Point, number: int = 0, hdl: Path = HDL) -> str:
    """What waivers match: the text of the source line, without its number, which changes with every
    edit; branches: ``else: text``, or, when the line has several of that name, the ``number`` of
    this one from the left: ``cond_then 2: text``.
    """
    source = _source(next(hdl.rglob(point.file)))
    text = source[point.line - 1] if 0 < point.line <= len(source) else ""
    name = f"{point.name} {number}" if number else point.name
    return f"{name}: {text}" if name else text


def labels(points: Iterable[Point], hdl: Path = HDL) -> dict[Point, str]:
    """The label of each point."""
    alike: dict[tuple[str, int, str], list[int]] = {}
    points = list(points)
    for point in points:
        if point.kind == "branch":
            alike.setdefault((point.file, point.line, point.name), []).append(point.column)
    found = {}
    for point in points:
        columns = alike.get((point.file, point.line, point.name), [])
        several = point.kind == "branch" and len(columns) > 1
        number = sorted(columns).index(point.column) + 1 if several else 0
        found[point] = label(point, number, hdl)
    return found


def apply_waivers(
    points: Mapping[Point, bool], waivers: Sequence[Waiver], hdl: Path = HDL
) -> tuple[dict[Point, str], list[str]]:
    """(reasons of the points that are waived, what is wrong with the waivers)."""
    known: dict[str, list[tuple[Point, str]]] = {}
    for point, text in labels(points, hdl).items():
        known.setdefault(point.file, []).append((point, text))
    waived: dict[Point, str] = {}
    gaps: list[str] = []
    for waiver in waivers:
        pattern = re.compile(waiver.points)
        matched = [
            point
            for file, own in known.items()
            if re.fullmatch(waiver.file, file)
            for point, text in own
            if point.kind == waiver.kind and pattern.fullmatch(text)
        ]
        hit = [point for point in matched if points[point]]
        if not matched:
            gaps.append(f"waiver matches nothing: {waiver}")
        if hit:
            more = f" and {len(hit) - 1} more" if len(hit) > 1 else ""
            gaps.append(f"waiver of a point that was hit ({hit[0]}{more}): {waiver}")
        waived.update((point, waiver.reason) for point in matched if not points[point])
    return waived, gaps
