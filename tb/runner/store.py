# SPDX-License-Identifier: Apache-2.0
"""Results of runs: the history in .regression/history.db, and the last run as JSON.

Written by the controlling process alone, in one transaction and by renaming: nobody sees half a
result. A run of a part of the tests never touches what a whole run has left.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tb.runner.common import ROOT, SIM_BUILD, RunnerError, write_whole

HISTORY = ROOT / ".regression"


@dataclass(frozen=True)
class Item:
    """What became of one test, check or proof."""

    nodeid: str
    kind: str
    """sim, python, proof, lint, planted, mutant, soak, fault, bench or tour."""
    outcome: str
    """passed, failed, skipped or error."""
    subject: str = ""
    test: str = ""
    """Of simulations: as test_arm.ArmTypeTest."""
    build: str = ""
    sim: str = ""
    seed: int = 0
    cause: str = ""
    """One line."""
    signature: str = ""
    """Equal for failures with one cause."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    sim_ns: float = 0.0
    log: str = ""
    """Relative to the checkout."""
    reproduce: str = ""
    waves: str = ""


@dataclass(frozen=True)
class Run:
    """One call of pytest."""

    started: str
    """UTC, ISO 8601."""
    command: str
    tier: str
    whole: bool
    """Whether everything of the tier has run to its end."""
    revision: str
    dirty: bool
    cores: int
    jobs: int
    cpu_s: float
    wall_s: float
    items: int
    passed: int
    failed: int
    skipped: int
    interrupted: bool = False
    """Whether it has ended before all of its items had."""


_TYPES = {"str": "TEXT", "bool": "INTEGER", "int": "INTEGER", "float": "REAL"}


def _columns(row: type[Run] | type[Item]) -> str:
    return ", ".join(f"{item.name} {_TYPES[str(item.type)]}" for item in fields(row))


_SCHEMA = (
    f"CREATE TABLE IF NOT EXISTS runs(id INTEGER PRIMARY KEY, {_columns(Run)})",
    f"CREATE TABLE IF NOT EXISTS items(run INTEGER, {_columns(Item)})",
    "CREATE TABLE IF NOT EXISTS metrics(run INTEGER, name TEXT, value REAL)",
    "CREATE INDEX IF NOT EXISTS items_of_run ON items(run)",
)


def revision(root: Path = ROOT) -> tuple[str, bool]:
    """(hash of the commit, whether files differ from it or are new where runs read them);
    ("", False) outside of git.
    """
    said = []
    for command in (
        "rev-parse HEAD",
        "status --porcelain --untracked-files=no",
        "ls-files --others --exclude-standard -- hdl tb models formal scripts",
    ):
        try:
            done = subprocess.run(
                ["git", *command.split()], cwd=root, capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return "", False
        said.append(done.stdout.strip())
    return said[0], any(said[1:])


def _insert(table: str, row: Mapping[str, object]) -> tuple[str, list[object]]:
    marks = ", ".join("?" * len(row))
    return f"INSERT INTO {table}({', '.join(row)}) VALUES({marks})", list(row.values())


def save(
    run: Run,
    items: Sequence[Item],
    metrics: Mapping[str, float],
    folder: Path = SIM_BUILD,
    history: Path = HISTORY,
) -> Path:
    """Adds a run to the history, and writes regression.json (of a whole run) or partial.json;
    returns its path. Raises RunnerError if that cannot be done.
    """
    path = folder / ("regression.json" if run.whole else "partial.json")
    data = {"metrics": dict(metrics), "run": asdict(run), "items": [asdict(i) for i in items]}
    try:
        history.mkdir(exist_ok=True)
        with closing(sqlite3.connect(history / "history.db", timeout=60)) as base, base:
            for statement in _SCHEMA:
                base.execute(statement)
            if "interrupted" not in {row[1] for row in base.execute("PRAGMA table_info(runs)")}:
                base.execute("ALTER TABLE runs ADD COLUMN interrupted INTEGER")
            number = base.execute(*_insert("runs", asdict(run))).lastrowid
            for item in items:
                base.execute(*_insert("items", {"run": number, **asdict(item)}))
            for name, value in metrics.items():
                base.execute(*_insert("metrics", {"run": number, "name": name, "value": value}))
        write_whole(path, json.dumps(data, indent=1) + "\n")
    except (OSError, sqlite3.Error) as error:
        raise RunnerError(f"the results of this run could not be written: {error}") from None
    return path
