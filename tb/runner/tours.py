# SPDX-License-Identifier: Apache-2.0
"""The report over transition tours: transitions driven into the RTL out of transitions reachable in
the models' graphs (docs/tours.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tb.runner.common import SIM_BUILD, RunnerError
from tb.runner.discover import TOURS, Job, find_modules, select_jobs
from tb.tours.catalogue import NAMES, explored
from tb.tours.graph import Graph, TourError
from tb.tours.report import Row, rows

HEADER = ("model", "states", "reachable", "driven", "%")


def job_file(job: Job, folder: Path = SIM_BUILD) -> Path:
    """Where a job writes what it has driven."""
    return folder / "tours" / f"{job.sim}-{job.build}-{job.name}-s{job.seed}.json"


def collect(
    jobs: Iterable[Job],
    folder: Path = SIM_BUILD,
    names: Iterable[str] = NAMES,
    graph_of: Callable[[str], Graph] = explored,
) -> list[Row]:
    """One row for each graph that these jobs drove, for every graph if they are all there are."""
    jobs = list(jobs)
    paths = [path for path in (job_file(job, folder) for job in jobs) if path.is_file()]
    driven = {json.loads(path.read_text())["graph"] for path in paths}
    every = {job.name for job in select_jobs(find_modules(), [TOURS])}
    complete = every <= {job.name for job in jobs}
    graphs: Mapping[str, Graph] = {n: graph_of(n) for n in names if complete or n in driven}
    if unknown := driven - graphs.keys():
        raise RunnerError(f"tours: {min(unknown)}: not in the catalogue")
    try:
        return rows(paths, graphs)
    except TourError as error:
        raise RunnerError(f"tours: {error}") from None


def totals(found: Sequence[Row]) -> list[Row]:
    """One row for each model, named by the part of the graphs' names ahead of the colon."""
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
    path.write_text(json.dumps(data, indent=1) + "\n")
    return path


def gaps(found: Sequence[Row]) -> list[str]:
    """Graphs of which not every transition was driven, in sentences."""
    return [
        f"{row.graph}: {row.reachable - row.driven} of {row.reachable} transitions not driven, "
        f"such as {row.missing}"
        for row in found
        if row.driven != row.reachable or not row.reachable
    ]
