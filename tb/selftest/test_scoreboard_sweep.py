# SPDX-License-Identifier: Apache-2.0
"""Every field of every kind of record that the scoreboard judges counts: a right stream of records,
and one value of one record wrong, or one record missing, or twice there. Results and outputs count
of every command, and every answer, of each outcome that the streams have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pytest

from tb.env.harness.records import (
    AccessVerdict,
    Command,
    CreditAnswer,
    DoorbellResponse,
    Record,
    ScatterAnswer,
    Trace,
)
from tb.env.scoreboard.explain import op_name
from tb.env.scoreboard.scoreboard import ALLOWANCES, Mismatch, Scoreboard
from tb.selftest.mutations import fails, judge, right
from tb.selftest.right_streams import STREAMS
from tb.selftest.streams import Stream

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


def outcome_of(record: Record) -> tuple[int, ...]:
    """What a command or an answer tells; nothing for other records."""
    match record:
        case Command():
            return record.code, record.result
        case DoorbellResponse():
            return (record.cause,)
        case ScatterAnswer():
            return (record.user & 0xFFFF,)
        case CreditAnswer():
            return (int(record.granted),)
        case AccessVerdict():
            return (record.data >> 16,)
    return ()


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


def with_one_wrong(
    records: Sequence[Record], i: int, fields: Sequence[str]
) -> Iterator[tuple[str, list[Record]]]:
    """The stream with a wrong value in one record, and what that is."""
    record, front, behind = records[i], records[:i], records[i + 1 :]
    for field in fields:
        for value in values(field, getattr(record, field)):
            wrong = record._replace(**{field: value})
            yield f"{kind_of(record)} {field}", [*front, wrong, *behind]


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
        yield from with_one_wrong(records, i, [name for name in record._fields if name != "cycle"])


@cache
def outcomes() -> dict[tuple[object, ...], tuple[str, int]]:
    """Of each outcome the first stream that has it, and its place there."""
    found: dict[tuple[object, ...], tuple[str, int]] = {}
    for name, make in STREAMS.items():
        for i, record in enumerate(make().records):
            if outcome := outcome_of(record):
                found.setdefault((type(record), *outcome), (name, i))
    return found


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
    cases = list(spoiled(stream.records))
    for place, i in outcomes().values():
        record = stream.records[i] if place == name else None
        if record is not None:
            fields = ("result", "outs") if type(record) is Command else record._fields[1:]
            cases += with_one_wrong(stream.records, i, fields)
    for what, wrong in cases:
        if what not in HARMLESS:
            with pytest.raises(Mismatch):
                judge(wrong, params=stream.params)
                pytest.fail(f"{what} does not count")


# -- streams that are cut short --------------------------------------------------------------------

#: What may be under way after some record, and the allowance that excuses it at the end.
LEFT = {
    "QP #: never completed: tag": "",
    "QP #: never flushed: buffer": "",
    "QP #: never retired: request": "",
    "QP #: still connected, after the event of cycle": "",
    "QP #: still connected, after the failure of cycle": "",
    "QP #: still not in error, after the LENGTH_ERROR of cycle": "",
    "QP #: still not in error, after the failing receive of cycle": "",
    "QP #: still not in error, after the failing report of cycle": "",
    "QP #: token not invalidated of buffer": "",
    "answers without a step:": "",
    "lost: the completion of cycle": "",
    "no step for the event answer of CQ": "",
    "removed, but still connected: QP": "",
    "no answer to the credit request of cycle": "credits",
    "no answer to the doorbell of cycle": "doorbells",
    "QP #: requests held:": "held",
    "no interrupt of EQ": "interrupts",
    "no watermark interrupt of SRQ": "interrupts",
    "event entry not answered, of CQ": "memory",
    "event entry not written again, of CQ": "memory",
    "never written: entry": "memory",
    "no event entry for the callback of CQ": "memory",
    "overflows not told:": "memory",
    "writes without an answer:": "memory",
    "QP #: not reported: tag": "receives",
    "QP #: not reported: request": "reports",
    "QP #: no answer to the take of cycle": "scatter",
    "no answer to the receive request of cycle": "scatter",
    "QP #: not terminated:": "terms",
    "no verdict for the check of cycle": "verdicts",
    "QP #: beat not taken: request": "work",
    "QP #: not indicated: request": "work",
}


def test_what_is_left_after_each_record() -> None:
    found: dict[str, str] = {}
    for make in STREAMS.values():
        stream = make()
        board = Scoreboard(stream.params)
        for record in stream.records:
            board([record])
            for left in (left for check in board.checks.all for left in check.left()):
                found[re.sub(r"\d+", "#", left.text)] = left.held
    assert found == LEFT


def test_what_is_left_is_told_at_the_end() -> None:
    stream = Stream().ready()
    stream.placed()
    for allow in ((), ("no_doorbells", "interrupts")):
        fails(stream, "at the end: never written: entry 0", ("no_doorbells", *allow))
    stream.doorbell(0)
    right(stream, ("memory",))


#: What is told when nothing comes any more after some record.
LATE = (
    "held requests are too old",
    "waits for its beat",
    "still connected, after the event",
    "still connected, after the failure",
    "MW-09: still connected, removed",
    "still not in error, after the LENGTH_ERROR",
    "still not in error, after the failing receive",
    "no answer to the request",
    "no verdict for the check",
    "callback due since",
    "CREATE without a command",
    "STOP without a command",
    "RECV_SIZE without a command",
)


def test_what_does_not_come() -> None:
    told = []
    for make in STREAMS.values():
        stream, seen = make(), set[str]()
        for i, record in enumerate(stream.records):
            kind = kind_of(record)
            if i and (kind not in seen or "QP_STATE" in kind):
                board = Scoreboard(stream.params)
                try:
                    board(stream.records[:i])
                    board.finish(ALLOWANCES, now=stream.records[i - 1].cycle + 1000)
                except Mismatch as wrong:
                    told.append(str(wrong).splitlines()[0])
            seen.add(kind)
    assert [late for late in LATE if not any(late in text for text in told)] == []
