# SPDX-License-Identifier: Apache-2.0
"""The report over transition tours: transitions driven into the RTL out of transitions reachable in
the models' graphs (docs/tours.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tb.runner.common import SIM_BUILD, RunnerError, write_whole
from tb.runner.discover import TOURS, Job, find_modules, select_jobs
from tb.runner.regress import tour_file
from tb.tours.catalogue import NAMES, explored
from tb.tours.graph import Graph, TourError
from tb.tours.report import Row, rows

HEADER = ("model", "states", "reachable", "driven", "%")


def collect(
    jobs: Iterable[Job],
    file_of: Callable[[Job], Path] = tour_file,
    names: Iterable[str] = NAMES,
    graph_of: Callable[[str], Graph] = explored,
) -> list[Row]:
    """One row for each graph, if every tour is among these jobs; else none."""
    jobs = list(jobs)
    every = {job.name for job in select_jobs(find_modules(), [TOURS])}
    if not every <= {job.name for job in jobs}:
        return []
    paths = [path for path in map(file_of, jobs) if path.is_file()]
    driven = {json.loads(path.read_text())["graph"] for path in paths}
    graphs: Mapping[str, Graph] = {name: graph_of(name) for name in names}
    if unknown := driven - graphs.keys():
        raise RunnerError(f"tours: {min(unknown)}: not in the catalogue")
    try:
        return rows(paths, graphs)
    except TourError as error:
        raise RunnerError(f"tours: {error}") from None


def totals(found: Sequence[Row]) -> list[Row]:
    """One row for each model, named by the part of the graphs' names before the colon."""
    models: dict[str, list[Row]] = {}
    for row in found:
        models.setdefault(row.graph.split(":")[0], []).append(row)
    return [
        Row(
            model,
            sum(row.states for row in group),
            sum(row.reachable for row in group),
            sum(row.driven for row in group),
            next((row.missing for row in group if row.missing), ""),
        )
        for model, group in models.items()
    ]


def cells(row: Row) -> tuple[str, ...]:
    """A row of the printed table. 100 % is written only where nothing is missing."""
    percent = 100.0 if row.driven == row.reachable > 0 else min(row.percent, 99.99)
    return (row.graph, f"{row.states:,}", f"{row.reachable:,}", f"{row.driven:,}", f"{percent:.4g}")


def write(found: Sequence[Row], folder: Path = SIM_BUILD) -> Path:
    """tours.json."""
    path = folder / "tours.json"
    data = [
        {
            "graph": row.graph,
            "states": row.states,
            "transitions_reachable": row.reachable,
            "transitions_driven": row.driven,
            "percent": round(row.percent, 4),
            "missing": row.missing,
        }
        for row in found
    ]
    write_whole(path, json.dumps(data, indent=1) + "\n")
    return path


def gaps(found: Sequence[Row]) -> list[str]:
    """Graphs of which not every transition was driven, in sentences."""
    return [
        f"{row.graph}: {row.reachable - row.driven} of {row.reachable} transitions not driven, "
        f"such as {row.missing}"
        for row in found
        if row.driven != row.reachable or not row.reachable
    ]
