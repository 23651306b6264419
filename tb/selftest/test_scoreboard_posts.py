# SPDX-License-Identifier: Apache-2.0
"""Each check of the full engine's scoreboard is shown to fail: a right stream of records, and one
thing wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models import codes
from models.codes import Cause, TraceOp
from tb.env.harness.records import (
    Command,
    Completion,
    CreditAnswer,
    DoneReport,
    DoorbellRequest,
    DoorbellResponse,
    MemWrite,
    TermRequest,
    Trace,
    WorkBeat,
)
from tb.env.scoreboard.scoreboard import ScoreboardError
from tb.selftest.mutations import Records, change, double, drop, index
from tb.selftest.post_streams import PAGE, PostStream, judge_posts

POST, STATE, RETIRE = TraceOp.POST, TraceOp.QP_STATE, TraceOp.RETIRE
QUERY = {"code": int(codes.Command.QUERY_QP)}


def portal(records: Records, number: int = 0) -> int:
    """Place of a write to a send portal."""
    found = [
        i
        for i, r in enumerate(records)
        if type(r) is DoorbellRequest and r.addr == PAGE * 4096 and r.size == 6
    ]
    return found[number]


def answer(records: Records, number: int = 0) -> int:
    """Place of the answer to it."""
    start = portal(records, number)
    return next(i for i in range(start, len(records)) if type(records[i]) is DoorbellResponse)


def failing(records: Records) -> int:
    """Place of the report of a failure."""
    return next(i for i, r in enumerate(records) if type(r) is DoneReport and r.data >> 32)


def put(records: Records, i: int, **fields: object) -> None:
    records[i] = records[i]._replace(**fields)


def out(records: Records, number: int, bits: int) -> None:
    """Another output of QUERY_QP."""
    i = index(records, Command, **QUERY)
    outs = list(records[i].outs)
    outs[number] ^= bits
    put(records, i, outs=tuple(outs))


def test_right_stream() -> None:
    records = PostStream().all_verbs().records
    board = judge_posts(records)
    assert board.judged == len(records) == board.checked()
    assert (board.accepted, board.completed) == (12, 12)
    for block in (1, 3, 1000):
        judge_posts(records, block=block)


def test_error_tells_where_and_what() -> None:
    records: Records = PostStream().all_verbs().records
    change(records, Trace, op=RETIRE, to={"new": lambda v: v | 1 << 16})
    with pytest.raises(ScoreboardError) as caught:
        judge_posts(records)
    text = str(caught.value)
    assert "seed 42: QP 0: state after the step" in text
    assert "RETIRE 0x0: retired 1, failed 1" in text
    assert "POST 0x100: CONNECTED, tail 1, released 1" in text  # history


MUTATIONS: dict[str, tuple[Callable[[Records], object], str]] = {
    # -- posts
    "accepted without a step": (
        lambda r: drop(r, Trace, op=POST),
        "without a step|not indicated|is held",
    ),
    "step of no post": (lambda r: r.pop(portal(r)), "nobody wrote"),
    "two steps": (
        lambda r: double(r, Trace, op=POST),
        "nobody wrote|before the step",
    ),
    "wrong answer": (lambda r: put(r, answer(r), cause=0x14, resp=2), "cause 0x14, expected"),
    "answer with another ID": (lambda r: put(r, answer(r), axi_id=6), "answered with ID"),
    "answer without SLVERR": (lambda r: put(r, answer(r), resp=2), "response 2 with cause 0"),
    "step with another cause": (
        lambda r: change(r, Trace, op=POST, to={"operand": lambda v: v | 0x13}),
        "post with cause 0x13, right would be: OK",
    ),
    "step of another opcode": (
        lambda r: change(r, Trace, op=POST, to={"operand": lambda v: v ^ 0x200}),
        "nobody wrote",
    ),
    "wrong tail": (
        lambda r: change(r, Trace, op=POST, to={"new": lambda v: v + (1 << 16)}),
        "after the step",
    ),
    "not released": (
        lambda r: change(r, Trace, op=POST, to={"new": lambda v: v - (1 << 32)}),
        "after the step",
    ),
    "retired from the future": (
        lambda r: change(r, Trace, op=POST, to={"new": lambda v: v + (1 << 48)}),
        "DF-12",
    ),
    "held and not released by a failure": (
        lambda r: change(r, Trace, op=POST, operand=0x511, to={"new": lambda v: v - (2 << 32)}),
        "after the step",
    ),
    "bad post accepted": (
        lambda r: change(r, Trace, op=POST, operand=0x630F, to={"operand": 0x6300}),
        "right would be: BAD_OPCODE",
    ),
    "refused with a step, answered as foreign": (
        lambda r: put(r, answer(r), cause=0x0E, resp=2),
        "expected",
    ),
    "foreign post with another cause": (
        lambda r: change(r, DoorbellResponse, cause=0x0E, to={"cause": 0x09}),
        "without a step; right would be: NO_QP",
    ),
    "post through another page accepted": (
        lambda r: change(r, DoorbellResponse, cause=0x09, to={"cause": 0, "resp": 0}),
        "without a step; right would be: NOT_OWNER",
    ),
    # -- work
    "wrong post indicated": (
        lambda r: change(r, WorkBeat, to={"data": lambda v: v ^ 1 << 100}),
        "work beat data",
    ),
    "wrong tag": (lambda r: change(r, WorkBeat, 3, to={"user": lambda v: v ^ 1}), "beat user"),
    "wrong peer": (
        lambda r: change(r, WorkBeat, to={"user": lambda v: v ^ 1 << 32}),
        "beat user",
    ),
    "remote for local": (
        lambda r: change(r, WorkBeat, to={"user": lambda v: v ^ 1 << 56}),
        "beat user",
    ),
    "batch does not end": (lambda r: change(r, WorkBeat, to={"last": False}), "beat last"),
    "work of another QP": (lambda r: change(r, WorkBeat, to={"qp": 1}), "DF-09"),
    "work of no QP": (lambda r: change(r, WorkBeat, to={"qp": 7}), "out of range"),
    "indicated twice": (lambda r: double(r, WorkBeat), "DF-09"),
    "never indicated": (lambda r: drop(r, WorkBeat, 3), "DF-09|not indicated|UNEXPECTED|DF-12"),
    # -- reports, retirement
    "retired before the report": (lambda r: drop(r, DoneReport), "is not reported"),
    "another status": (
        lambda r: change(r, Trace, op=RETIRE, to={"operand": lambda v: v | 2}),
        "operand 0x2, expected 0x0",
    ),
    "not silent": (
        lambda r: change(r, Trace, op=RETIRE, operand=1 << 8 | 1 << 16, to={"operand": 1 << 16}),
        "operand 0x10000, expected 0x10100",
    ),
    "skipped, but it was indicated": (
        lambda r: change(r, Trace, op=RETIRE, to={"operand": 0x201}),
        "operand 0x201",
    ),
    "another CQ": (
        lambda r: change(r, Trace, op=RETIRE, to={"operand": 2 << 16}),
        "operand 0x20000",
    ),
    "retired twice": (lambda r: double(r, Trace, op=RETIRE), "before the step"),
    "retirement without an entry": (
        lambda r: drop(r, Trace, op=0x20),
        "was not placed|before the step",
    ),
    "entry without a retirement": (
        lambda r: drop(r, Trace, op=RETIRE),
        "no such completions",
    ),
    "entry with another context": (
        lambda r: change(r, MemWrite, to={"data": lambda v: v ^ 1}),
        "entry 0",
    ),
    "failure hidden from the state": (
        lambda r: drop(r, Trace, op=STATE, operand=2),
        "before the step|no change of state|still not in error|but no connection has ended",
    ),
    "in error without a report": (
        lambda r: put(r, failing(r), data=r[failing(r)].data & 0xFFFF_FFFF),
        "without a failing report",
    ),
    # -- connections
    "not terminated": (lambda r: drop(r, TermRequest), "not terminated|no connection has ended"),
    "terminated twice": (lambda r: double(r, TermRequest), "no connection has ended"),
    "terminated with another state": (
        lambda r: change(r, TermRequest, to={"data": 4 << 16}),
        "terminate request with state 4",
    ),
    "disconnected without an event": (
        lambda r: change(r, Trace, op=STATE, operand=1, to={"operand": 2}),
        "without a failing report",
    ),
    "state without a command": (
        lambda r: drop(r, Command, code=int(codes.Command.CONNECT_QP)),
        "without a command",
    ),
    "state that does not change": (
        lambda r: change(r, Trace, op=STATE, to={"new": lambda v: v & ~0xF}),
        "changes nothing",
    ),
    "another new state": (
        lambda r: change(r, Trace, op=STATE, to={"new": lambda v: v ^ 7}),
        "does not take this step",
    ),
    # -- commands
    "wrong result": (
        lambda r: change(r, Command, code=int(codes.Command.QUERY_QP), to={"result": 0x50}),
        "left no step and answered 0x50, not OK",
    ),
    "refused, but executed": (
        lambda r: change(r, Command, code=int(codes.Command.CONNECT_QP), to={"result": 0x50}),
        "its command answered 0x50",
    ),
    "destroyed, but pending": (
        lambda r: change(r, Command, code=int(codes.Command.DESTROY_QP), to={"result": 0x4D}),
        "its command answered",
    ),
    "query: state": (lambda r: out(r, 0, 1), "state, tail, released"),
    "query: peer": (lambda r: out(r, 0, 1 << 8), "OUT0"),
    "query: tail": (lambda r: out(r, 1, 1), "state, tail, released"),
    "query: retired": (lambda r: out(r, 2, 32 << 16), "retired"),
    "query: indicated": (lambda r: out(r, 2, 32), "indicated"),
    "query: depth": (lambda r: out(r, 4, 1 << 16), "OUT0, OUT3"),
    # -- trace
    "unknown operation": (
        lambda r: change(r, Trace, op=POST, to={"op": 0x3F}),
        "operation 0x3f on lane 3",
    ),
    "wrong lane": (lambda r: change(r, Trace, op=RETIRE, to={"lane": 3}), "operation 0x40"),
    "QP out of range": (lambda r: change(r, Trace, op=POST, to={"cq": 4}), "out of range"),
    "callback": (lambda r: change(r, Trace, op=POST, to={"event": True}), "callback in a step"),
    "raw completion": (
        lambda r: r.append(Completion(r[-1].cycle, 1, 0, (0, 0), (0, 0))),
        "no such port",
    ),
    "raw credit": (lambda r: r.append(CreditAnswer(r[-1].cycle, True)), "no such port"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_found(name: str) -> None:
    spoil, match = MUTATIONS[name]
    records: Records = list(PostStream().all_verbs().records)
    spoil(records)
    with pytest.raises(ScoreboardError, match=match):
        judge_posts(records)


# -- nothing seen --------------------------------------------------------------------------------


def test_vacuous() -> None:
    with pytest.raises(ScoreboardError, match="vacuous: not one Trace"):
        judge_posts([])
    stream = PostStream().connected()
    with pytest.raises(ScoreboardError, match="vacuous: not one DoorbellRequest"):
        judge_posts(stream.records)
    stream.doorbell(0)
    with pytest.raises(ScoreboardError, match="vacuous: not one accepted post"):
        judge_posts(stream.records)
    judge_posts(stream.records, ("no_posts",))
    stream.post(stream.make(flags=0x200))
    with pytest.raises(ScoreboardError, match="vacuous: not one retired request"):
        judge_posts(stream.records)


def test_reset_keeps_what_was_seen() -> None:
    stream = PostStream().all_verbs()
    board = judge_posts(stream.records)
    board.reset()
    assert (board.accepted, board.completed, board.qpc.model.posts) == (12, 12, 0)


def test_all_causes_of_a_write() -> None:
    stream = PostStream().connected()
    first = stream.make()
    for cause, odd in (
        (Cause.BURST, {"length": 1}),
        (Cause.BAD_SIZE, {"strb": 0xFF}),
        (Cause.BAD_OFFSET, {"addr": PAGE * 4096 + 0x40}),
        (Cause.BAD_PAGE, {"addr": 7 * 4096}),
    ):
        assert stream.post(first, **odd) is cause
    assert stream.post(stream.make(qp=5)) is Cause.BAD_QP
    judge_posts(stream.records, ("no_posts",))
    for number in range(5):
        records: Records = list(stream.records)
        change(records, DoorbellResponse, number, to={"cause": 0x0F})
        with pytest.raises(ScoreboardError, match=r"cause 0xf, expected"):
            judge_posts(records, ("no_posts",))
