# SPDX-License-Identifier: Apache-2.0
"""Every field of every kind of record that the scoreboard judges counts: a right stream of records,
and one value of one record wrong, or one record missing, or twice there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tb.env.harness.records import Record, Trace
from tb.env.scoreboard.explain import op_name
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.engine_streams import EngineStream
from tb.selftest.mutations import judge, right
from tb.selftest.streams import Stream

STREAMS: dict[str, Callable[[], Stream]] = {
    "completions": lambda: Stream().standard(),
    "posts": lambda: EngineStream().all_verbs(),
    "receives": lambda: EngineStream().all_receives(),
    "keys": lambda: EngineStream().all_windows(),
    "two entries": lambda: EngineStream().all_windows(two=True),
}

#: What may be otherwise in these streams, and why.
HARMLESS = {
    "Command start": "says when the command can have begun at the earliest",
    "Command args": "that the command does not use",
    "DoorbellRequest size": "larger than the word that is written",
    "Completion keep": "without the second of two completions: one more is refused",
    "Completion twice": "refused for want of a credit",
    "Completion silent": "of a completion that failed",
    "MemResponse twice": "a stray, which is counted",
    "Interrupt missing": "merged with the one behind it",
    "DoneReport twice": "refused, and logged",
    "ConnReport twice": "nothing is left to disconnect",
    "RecvDone twice": "refused, and logged",
    "Trace 6 RECV_SIZE old": "of an object that is created",
    "Trace 8 KEY_COMMAND old": "of an object that is created",
    "Trace 5 WATERMARK old": "fields of a QP in the state of an SRQ",
    "Trace 5 WATERMARK new": "the same",
}

#: The highest bit of fields that have fewer than 32.
TOP = {"lane": 3, "resp": 1, "event_status": 1, "keep": 1, "silent": 1}


def kind_of(record: Record) -> str:
    """Records of one kind are judged alike."""
    if type(record) is Trace:
        return f"Trace {record.lane} {op_name(record.op)}"
    return type(record).__name__


def values(field: str, value: Any) -> Iterator[Any]:
    """Wrong values for a field: its lowest and its highest bit turned over."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, tuple):
        for i, one in enumerate(value):
            yield (*value[:i], one ^ 1, *value[i + 1 :])
    else:
        yield value ^ 1
        yield value ^ 1 << TOP.get(field, 31)


def spoiled(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    """The stream with one thing wrong, and what that is: the first record of each kind."""
    seen: set[str] = set()
    for i, record in enumerate(records):
        kind = kind_of(record)
        if kind in seen:
            continue
        seen.add(kind)
        front, behind = records[:i], records[i + 1 :]
        yield f"{kind} missing", [*front, *behind]
        yield f"{kind} twice", [*front, record, record, *behind]
        for field in record._fields:
            if field == "cycle":
                continue
            for value in values(field, getattr(record, field)):
                yield f"{kind} {field}", [*front, record._replace(**{field: value}), *behind]


@pytest.mark.parametrize("name", STREAMS)
def test_right_stream(name: str) -> None:
    """However it is cut into blocks."""
    stream = STREAMS[name]()
    for block in (1, 3, 1000):
        judged = judge(stream.records, block=block, params=stream.params).judged
        assert judged == len(stream.records)


@pytest.mark.parametrize("name", STREAMS)
def test_everything_counts(name: str) -> None:
    stream = STREAMS[name]()
    right(stream)
    for what, wrong in spoiled(stream.records):
        if what not in HARMLESS:
            with pytest.raises(Mismatch):
                judge(wrong, params=stream.params)
                pytest.fail(f"{what} does not count")
