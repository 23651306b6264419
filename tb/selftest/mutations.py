# SPDX-License-Identifier: Apache-2.0
"""Helpers that judge a stream of records, and spoil it at one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from models.params import Params
from tb.env.harness.records import Record
from tb.env.scoreboard.scoreboard import Mismatch, Scoreboard
from tb.selftest.streams import PARAMS, Stream
from tb.selftest.work_streams import PARAMS as ENGINE

Records = list[Any]


def judge(
    records: Sequence[Record], allow: tuple[str, ...] = (), block: int = 7, params: Params = PARAMS
) -> Scoreboard:
    """The records, judged by a scoreboard of the core, or of what ``params`` say."""
    board = Scoreboard(params, seed=42)
    for i in range(0, len(records), block):
        board(list(records[i : i + block]))
    board.finish(allow)
    return board


#: What a stream leaves under way that ends in the middle of something.
OPEN_END = ("receives", "reports", "work", "held", "no_doorbells", "no_completions", "no_posts")


def right(stream: Stream, allow: tuple[str, ...] = ()) -> Scoreboard:
    """The scoreboard finds nothing."""
    return judge(stream.records, allow, params=stream.params)


def fails(stream: Stream, match: str, allow: tuple[str, ...] = ()) -> None:
    """It finds what ``match`` says."""
    with pytest.raises(Mismatch, match=match):
        right(stream, allow)


def fails_open(stream: Stream, match: str | None) -> None:
    """It finds what ``match`` says in such a stream, or nothing if that is None."""
    right(stream, OPEN_END) if match is None else fails(stream, match, OPEN_END)


def spoiled(
    stream: Stream, match: str, spoil: Callable[..., object], *which: Any, **to: Any
) -> None:
    """With one change (`change`, `drop`, ... or one of its own) the stream is wrong."""
    records = list(stream.records)
    spoil(records, *which, **to)
    with pytest.raises(Mismatch, match=match):
        judge(records, params=stream.params)


def late_board(lane: str = "takes") -> Scoreboard:
    """A scoreboard of the full engine for which answers ("takes") or verdicts ("access") are
    stalled all the time.
    """
    board = Scoreboard(ENGINE, seed=42)
    getattr(board.engine_checks, lane).stalled(1 << 30)
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


def put(records: Records, i: int, **fields: object) -> None:
    """Replace fields of the record at a place."""
    records[i] = records[i]._replace(**fields)
