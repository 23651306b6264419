# SPDX-License-Identifier: Apache-2.0
"""YAML files, and those that are lists of entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import yaml

from tb.runner.common import RunnerError, relative

Entry = TypeVar("Entry")


def read_yaml(path: Path) -> Any:
    """What a file holds."""
    try:
        return yaml.safe_load(path.read_text())
    except OSError as error:
        raise RunnerError(f"{relative(path)}: {error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RunnerError(f"{relative(path)}: not valid YAML: {error}") from None


def read_list(path: Path, key: str, empty: bool = False) -> list[Any]:
    """The list ``key`` of a file; ``empty``: it may be so."""
    data = read_yaml(path)
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


def parse(kind: type[Entry], data: object, where: str) -> Entry:
    """An entry as a dataclass: its fields are the keys, those with a default may be left out;
    lists become tuples. Raises RunnerError for other keys, and for values of other types.
    """
    known = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]
    needed = {n for n, i in known.items() if i.default is MISSING and i.default_factory is MISSING}
    if not isinstance(data, dict) or not needed <= data.keys() <= known.keys():
        raise RunnerError(f"{where}: an entry has the keys {', '.join(known)}, not {data!r}")
    where = f"{where}: {data['id']}" if "id" in data else where
    types = get_type_hints(kind)
    return kind(**{k: _value(v, types[k], f"{where}: `{k}`") for k, v in data.items()})


def _value(value: Any, form: Any, where: str) -> Any:
    """A value of the type that an annotation names."""
    outer, parts = get_origin(form), get_args(form)
    if form is Any:
        return value
    if form is float and type(value) is int:
        return float(value)
    if is_dataclass(form):
        return parse(form, value, where)  # type: ignore[arg-type]
    if outer is tuple and isinstance(value, list):
        return tuple(_value(one, parts[0], where) for one in value)
    if outer is dict and isinstance(value, dict):
        return {_value(k, parts[0], where): _value(v, parts[1], where) for k, v in value.items()}
    if type(value) is not form:
        name = {tuple: "a list", dict: "a mapping"}.get(outer) or form.__name__
        raise RunnerError(f"{where} must be {name}, not {value!r}")
    return value
