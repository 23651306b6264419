# SPDX-License-Identifier: Apache-2.0
"""Helpers that judge a stream of records, and spoil it at one place."""

from __future__ import annotations

from typing import Any

from tb.env.harness.records import Record
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.selftest.streams import PARAMS

Records = list[Any]
EVENT_ID = PARAMS.num_cq + 1


def judge(records: list[Record], allow: tuple[str, ...] = (), block: int = 7) -> Scoreboard:
    board = Scoreboard(PARAMS, seed=42)
    for i in range(0, len(records), block):
        board(records[i : i + block])
    board.finish(allow)
    return board


def index(records: Records, kind: type, number: int = 0, **fields: object) -> int:
    found = [
        i
        for i, r in enumerate(records)
        if type(r) is kind and all(getattr(r, k) == v for k, v in fields.items())
    ]
    return found[number]


def change(records: Records, kind: type, number: int = 0, /, *, to: Any, **fields: object) -> None:
    """Replace fields of one record; a callable gets the old value."""
    i = index(records, kind, number, **fields)
    old = records[i]
    records[i] = old._replace(
        **{k: v(getattr(old, k)) if callable(v) else v for k, v in to.items()}
    )


def drop(records: Records, kind: type, number: int = 0, **fields: object) -> Record:
    return records.pop(index(records, kind, number, **fields))


def double(records: Records, kind: type, number: int = 0, **fields: object) -> None:
    i = index(records, kind, number, **fields)
    records.insert(i, records[i])


def swap(records: Records, one: int, two: int) -> None:
    """Exchange two records in their cycles."""
    a, b = records[one], records[two]
    records[one], records[two] = b._replace(cycle=a.cycle), a._replace(cycle=b.cycle)
