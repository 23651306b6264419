# SPDX-License-Identifier: Apache-2.0
"""The file of a recorded run: lines of JSON, compressed by gzip. docs/replay.md has its form."""

from __future__ import annotations

import atexit
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

from models.params import Params
from tb.env.harness.records import Access, Asked, Record

FORMAT = "carillon-records"
VERSION = 3
#: JSON of other languages keeps integers below this one exactly.
_EXACT = 1 << 53


class Header(NamedTuple):
    """First line: where the records come from."""

    seed: int = 0
    test: str = ""
    build: str = ""


class Life(NamedTuple):
    """The engine has come out of a reset: number of its life, and its parameters."""

    number: int
    params: Params


class Block(NamedTuple):
    """Records in their order. ``commanding``: a mailbox command is under way; ``stalled``: cycles
    up to which the channels of these names were stalled.
    """

    commanding: bool
    stalled: dict[str, int]
    records: list[Record]


class End(NamedTuple):
    """All is quiet: nothing may be left but what ``allow`` names."""

    allow: tuple[str, ...]
    cycle: int


class Waited(NamedTuple):
    """Channels on which a stall kept somebody waiting (for the coverage)."""

    blocked: tuple[str, ...]
    withheld: tuple[str, ...]


Event = Life | Asked | Access | Block | End | Waited

_KINDS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Record)}


class FileError(Exception):
    """It is not a file of records, or not one of this version."""


# -- values ----------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """An integer that not every reader keeps exactly is a string of hexadecimal digits."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, int) and value >= _EXACT:
        return f"{value:x}"
    return value


def _value(plain: Any) -> Any:
    if isinstance(plain, str):
        return int(plain, 16)
    if isinstance(plain, list):
        return tuple(map(_value, plain))
    return plain


def _columns(records: list[Record]) -> tuple[list[int], dict[str, Any]]:
    """Number of the kind of each record, and by kind the values of each field."""
    by_kind: dict[type, list[Record]] = {}
    for record in records:
        by_kind.setdefault(type(record), []).append(record)
    numbers = {kind: number for number, kind in enumerate(by_kind)}
    fields = {
        kind.__name__: [list(map(_plain, column)) for column in zip(*rows, strict=True)]
        for kind, rows in by_kind.items()
    }
    return [numbers[type(record)] for record in records], fields


def _column(plain: list[Any]) -> list[Any]:
    types = set(map(type, plain))
    if list in types:
        return list(zip(*map(_column, map(list, zip(*plain, strict=True))), strict=True))
    if str in types:
        return [int(value, 16) if type(value) is str else value for value in plain]
    return plain


def _records(order: list[int], fields: dict[str, list[list[Any]]]) -> list[Record]:
    kinds = []
    for name, columns in fields.items():
        if name not in _KINDS:
            raise ValueError(f"no kind of record is named {name!r}; there are {', '.join(_KINDS)}")
        kind = _KINDS[name]
        if len(columns) != len(kind._fields):
            raise ValueError(f"{name} has the fields {', '.join(kind._fields)}")
        rows = zip(*map(_column, columns), strict=True)
        kinds.append(map(partial(tuple.__new__, kind), rows))
    records = list(map(next, map(kinds.__getitem__, order)))
    if len(records) != len(order) or any(True for kind in kinds for _ in kind):
        raise ValueError("not as many records as the order says")
    return records


# -- lines -----------------------------------------------------------------------------------------


def _line(event: Event) -> list[Any]:
    match event:
        case Life():
            return ["life", event.number, asdict(event.params)]
        case Block():
            return ["block", event.commanding, event.stalled, *_columns(event.records)]
        case Asked():
            return ["asked", *map(_plain, event)]
        case Access():
            return ["access", *map(_plain, event)]
        case End():
            return ["end", event.allow, event.cycle]
        case Waited():
            return ["waited", event.blocked, event.withheld]


#: By the first word of a line: its other values, and what it becomes.
_EVENTS: dict[str, tuple[tuple[str, ...], Callable[..., Event]]] = {
    "life": (Life._fields, lambda number, params: Life(number, Params(**params))),
    "block": (
        ("commanding", "stalled", "order", "fields"),
        lambda commanding, stalled, order, fields: Block(
            commanding, stalled, _records(order, fields)
        ),
    ),
    "asked": (Asked._fields, lambda *plain: Asked(*map(_value, plain))),
    "access": (Access._fields, lambda *plain: Access(*map(_value, plain))),
    "end": (End._fields, lambda allow, cycle: End(tuple(allow), cycle)),
    "waited": (
        Waited._fields,
        lambda blocked, withheld: Waited(tuple(blocked), tuple(withheld)),
    ),
}


def _event(line: Any) -> Event:
    """Raises ``ValueError`` with what is wrong, in words of docs/replay.md."""
    if not isinstance(line, list) or not line or line[0] not in list(_EVENTS):
        raise ValueError(f"not a list that begins with one of {', '.join(_EVENTS)}")
    names, make = _EVENTS[line[0]]
    if len(line) - 1 != len(names):
        raise ValueError(f"`{line[0]}` has the values {', '.join(names)}")
    try:
        return make(*line[1:])
    except (TypeError, KeyError, IndexError, AttributeError):
        text = f"a value of `{line[0]}` is of another kind than docs/replay.md says"
        raise ValueError(text) from None


class Writer:
    """Writes a file, event by event. It is whole when it is closed, at the end of the process at
    the latest: a run that fails can be judged again up to its failure.
    """

    def __init__(self, out: str | Path, header: Header) -> None:
        path = Path(out)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = gzip.open(path, "wt", compresslevel=3, encoding="ascii")  # noqa: SIM115
        atexit.register(self.close)
        self._put({"format": FORMAT, "version": VERSION, **header._asdict()})

    def _put(self, line: object) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def write(self, event: Event) -> None:
        """One more event."""
        self._put(_line(event))

    def close(self) -> None:
        """The run is over."""
        self._file.close()


def read(path: Path) -> tuple[Header, Iterator[Event]]:
    """The header, and the events one after another. Raises :class:`FileError`."""
    lines = _lines(path)
    try:
        head: Any = next(lines, (1, {}))[1]
        found = head["format"], head["version"]
    except (TypeError, KeyError):
        raise FileError(f"{path}: not a file of records") from None
    if found != (FORMAT, VERSION):
        raise FileError(f"{path}: {found[0]} {found[1]}, not {FORMAT} {VERSION}")
    header = Header(**{name: head[name] for name in Header._fields if name in head})

    def events() -> Iterator[Event]:
        for number, line in lines:
            try:
                yield _event(line)
            except ValueError as error:
                raise FileError(f"{path}, line {number}: {error}") from None

    return header, events()


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    number = 0
    try:
        with gzip.open(path, "rt", encoding="ascii") as file:
            for number, line in enumerate(file, 1):
                yield number, json.loads(line)
    except ValueError:
        where = (
            f"{path}, line {number}: not JSON" if number > 1 else f"{path}: not a file of records"
        )
        raise FileError(where) from None
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{path}: {error}") from None
