# SPDX-License-Identifier: Apache-2.0
"""YAML files that are lists of entries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import yaml

from tb.runner.common import RunnerError, relative

Entry = TypeVar("Entry")


def read_list(path: Path, key: str, empty: bool = False) -> list[Any]:
    """The list ``key`` of a file; ``empty``: it may be so."""
    try:
        data = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise RunnerError(f"{relative(path)}: {error}") from None
    entries = data.get(key) if isinstance(data, dict) else None
    if not isinstance(entries, list) or not (entries or empty):
        raise RunnerError(f"{relative(path)}: must have a list `{key}`")
    return entries


def read_all(place: Path, key: str, parse: Callable[[object, str], Entry]) -> list[Entry]:
    """Entries of a file, or of all below a folder; two of one name are an error, and none."""
    found: dict[str, Entry] = {}
    for path in sorted(place.rglob("*.yaml")) if place.is_dir() else [place]:
        where = relative(path)
        for data in read_list(path, key):
            entry = parse(data, where)
            if found.setdefault(data["id"], entry) is not entry:
                raise RunnerError(f"{where}: {data['id']}: a second entry of this name")
    if not found:
        raise RunnerError(f"{relative(place)}: no file with `{key}`")
    return list(found.values())
