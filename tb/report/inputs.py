# SPDX-License-Identifier: Apache-2.0
"""The files that the report is made from, read so that none of them can stop it.

A file that is missing or unreadable has a ``problem`` and the command that makes it anew.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

#: What a file of another form than expected raises where it is used.
SHAPE_ERRORS = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)


@dataclass(frozen=True)
class Source:
    """A file of results. ``command`` makes it."""

    name: str
    file: str
    command: str
    what: str


SOURCES = (
    Source("regression", "regression.json", "make sim", "last whole run"),
    Source("partial", "partial.json", "make sim TEST=…", "last partial run"),
    Source("coverage", "coverage.json", "make sim", "functional coverage"),
    Source("traceability", "traceability.json", "make sim", "requirements traced both ways"),
    Source("code_coverage", "code_coverage.json", "make coverage", "code coverage of hdl/"),
    Source("mutation", "mutation.json", "make mutate COUNT=1000 SEED=1", "mutants of the design"),
    Source("formal", "formal.json", "make formal", "proofs"),
    Source("negatives", "negatives.json", "make negatives", "planted faults"),
    Source("tours", "tours.json", "make tours", "transition tours"),
    Source("faults", "faults.json", "make faults", "faults around the engine"),
    Source("soak", "soak.json", "make soak", "soak campaign"),
    Source("bench", "bench.json", "make bench", "rates at the pins"),
    Source("bench_tb", "bench_tb.json", "make bench-tb", "speed of the bench itself"),
    Source("synth", "synth.json", "make synth", "clock and area after synthesis"),
)
HISTORY = Source("history", ".regression/history.db", "make sim", "history of runs")


@dataclass(frozen=True)
class Loaded:
    """A file's content, or what is wrong with it."""

    source: Source
    data: Any = None
    problem: str = ""
    time: datetime | None = None
    """When it was written, UTC."""

    @property
    def ok(self) -> bool:
        return not self.problem


@dataclass
class Inputs:
    """All there is. ``root``: the checkout, which paths in results are relative to."""

    root: Path
    results: Path
    files: dict[str, Loaded] = field(default_factory=dict)
    plan: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Rows of the test plan, by requirement."""

    @property
    def hdl(self) -> Path:
        return self.root / "hdl"

    def source_files(self) -> dict[str, Path]:
        """Verilog of hdl/ by each name that results may use: with folder, and without."""
        paths = sorted(path for path in self.hdl.rglob("*") if path.suffix in (".v", ".vh"))
        found = {path.name: path for path in paths}
        return found | {path.relative_to(self.hdl).as_posix(): path for path in paths}


def load_file(path: Path, source: Source) -> Loaded:
    try:
        time = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return Loaded(source, json.loads(path.read_text(encoding="utf-8")), time=time)
    except FileNotFoundError:
        return Loaded(source, problem="is not there")
    except (OSError, ValueError, RecursionError) as error:
        return Loaded(source, problem=f"cannot be read: {one_line(error, 200)}")


def load_history(path: Path) -> Loaded:
    """The last 200 runs, oldest first, their metrics, and how often each test failed."""
    if not path.is_file():
        return Loaded(HISTORY, problem="is not there")
    last = "(SELECT id FROM runs ORDER BY id DESC LIMIT 200)"
    failing = "outcome IN ('failed', 'error')"
    queries = {
        "runs": f"SELECT * FROM runs WHERE id IN {last} ORDER BY id",
        "metrics": f"SELECT run, name, value FROM metrics WHERE run IN {last} ORDER BY run",
        "failing": (
            "SELECT test, nodeid, COUNT(DISTINCT run) AS runs, COUNT(*) AS items, MAX(run) AS last,"
            f" cause FROM items WHERE {failing} AND run IN {last}"
            " GROUP BY COALESCE(NULLIF(test, ''), nodeid) ORDER BY runs DESC, last DESC LIMIT 30"
        ),
    }
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as base:
            base.row_factory = sqlite3.Row
            data = {
                name: [dict(row) for row in base.execute(query)] for name, query in queries.items()
            }
        # Numbers of a run that was interrupted are those of no run.
        left_out = {run["id"] for run in data["runs"] if run.get("interrupted")}
        data["metrics"] = [row for row in data["metrics"] if row["run"] not in left_out]
        return Loaded(HISTORY, data, time=datetime.fromtimestamp(path.stat().st_mtime, UTC))
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        return Loaded(HISTORY, problem=f"cannot be read: {one_line(error, 200)}")


def load_plan(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Rows of the test plan by requirement; none if it cannot be read, for they only explain."""
    import yaml

    found: dict[str, list[dict[str, Any]]] = {}
    try:
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))["rows"]:
            for requirement in row["requirements"]:
                found.setdefault(str(requirement), []).append(row)
    except (OSError, yaml.YAMLError, *SHAPE_ERRORS):
        return {}
    return found


def load_inputs(root: Path, results: Path) -> Inputs:
    files = {s.name: load_file(results / s.file, s) for s in SOURCES}
    files["history"] = load_history(root / HISTORY.file)
    return Inputs(root, results, files, load_plan(root / "docs" / "testplan.yaml"))


# -- values ----------------------------------------------------------------------------------------


def one_line(value: object, limit: int = 0) -> str:
    """As one line of text; ``limit``: at most so many characters."""
    text = " ".join(str("" if value is None else value).split())
    return text if not limit or len(text) <= limit else text[: limit - 1] + "…"


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: Any) -> float:
    """A number that can be added; 0 for what is none."""
    try:
        return float(value) if is_number(value) and math.isfinite(value) else 0.0
    except OverflowError:
        return 0.0


def numbers(data: object) -> dict[str, float]:
    """The numbers of a mapping."""
    items = data.items() if isinstance(data, Mapping) else ()
    return {str(name): number(value) for name, value in items if is_number(value)}


def strings(data: Any) -> list[str]:
    """A list of texts; a lone text is one."""
    return [data] if isinstance(data, str) else [str(value) for value in data or ()]
