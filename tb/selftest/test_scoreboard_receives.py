# SPDX-License-Identifier: Apache-2.0
"""Each check of receives is shown to fail: a right stream of records, and one thing wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models import codes
from tb.env.harness.records import (
    Command,
    DoorbellRequest,
    DoorbellResponse,
    Interrupt,
    MemWrite,
    RecvDone,
    RecvRequest,
    ScatterAnswer,
    Trace,
)
from tb.env.scoreboard.scoreboard import ScoreboardError
from tb.selftest.mutations import Records, change, double, drop, index
from tb.selftest.receive_streams import (
    REAP,
    RECEIVE,
    RECV_POST,
    RECV_SIZE,
    STATE,
    TAKE,
    WATERMARK,
    ReceiveStream,
    judge_receives,
)


def portal(records: Records, offset: int, number: int = 0) -> int:
    """Place of a write to a page offset."""
    found = [
        i for i, r in enumerate(records) if type(r) is DoorbellRequest and r.addr % 4096 == offset
    ]
    return found[number]


def answered(records: Records, offset: int, number: int = 0) -> int:
    """Place of the answer to it."""
    start = portal(records, offset, number)
    return next(i for i in range(start, len(records)) if type(records[i]) is DoorbellResponse)


def put(records: Records, i: int, **fields: object) -> None:
    records[i] = records[i]._replace(**fields)


def out(records: Records, code: codes.Command, number: int, bits: int) -> None:
    """Another output of a command."""
    i = index(records, Command, code=int(code))
    outs = list(records[i].outs)
    outs[number] ^= bits
    put(records, i, outs=tuple(outs))


def step(op: int, field: str, bits: int, number: int = 0) -> Callable[[Records], object]:
    """One step with other bits."""
    return lambda r: change(r, Trace, number, op=op, to={field: lambda v: v ^ bits})


def not_ready(records: Records) -> None:
    """Nothing is taken, in the step and in the answer, although a buffer is there."""
    change(records, Trace, op=TAKE, cq=0, to={"operand": 1, "new": lambda v: v ^ 1})
    change(records, ScatterAnswer, qp=0, to={"user": 1, "data": 0})


def refusal(records: Records) -> int:
    return next(i for i, r in enumerate(records) if type(r) is ScatterAnswer and r.user & 0xF == 3)


def too_far(records: Records) -> None:
    """More is reaped than was completed."""
    at = portal(records, 0x110)
    put(records, at, data=records[at].data ^ 7 << 128)
    change(records, Trace, op=REAP, to={"operand": 5})


def other(code: codes.Command, result: int) -> Callable[[Records], object]:
    return lambda r: change(r, Command, code=int(code), to={"result": result})


BEFORE, AFTER = "before the step|before it", "after the step|was reached|expected"
MUTATIONS: dict[str, tuple[Callable[[Records], object], str]] = {
    # -- receive posts
    "accepted without a step": (lambda r: drop(r, Trace, op=RECV_POST), "without a step|available"),
    "step of no post": (lambda r: r.pop(portal(r, 0x40)), "nobody wrote"),
    "two steps": (lambda r: double(r, Trace, op=RECV_POST), "nobody wrote"),
    "wrong answer": (lambda r: put(r, answered(r, 0x40), cause=0x14, resp=2), "0x14, expected"),
    "other ID": (lambda r: put(r, answered(r, 0x80), axi_id=6), "answered with ID"),
    "response without a cause": (lambda r: put(r, answered(r, 0x80), resp=2), "response 2"),
    "another cause": (step(RECV_POST, "operand", 0x1E), "cause 0x1e, right would be: OK"),
    "accepted although full": (
        lambda r: change(r, Trace, op=RECV_POST, operand=0x14, to={"operand": 0}),
        "right would be: QUEUE_FULL",
    ),
    "shared: accepted although full": (
        lambda r: change(r, Trace, op=RECV_POST, operand=0x114, to={"operand": 0x100}),
        "right would be: QUEUE_FULL",
    ),
    "accepted in ERROR": (
        lambda r: change(r, Trace, op=RECV_POST, operand=0x1E, to={"operand": 0}),
        "right would be: BAD_STATE",
    ),
    "step through another page": (
        lambda r: put(r, portal(r, 0x40), addr=2 * 4096 + 0x40),
        "step of a receive post through page 2",
    ),
    "another QP": (lambda r: change(r, Trace, op=RECV_POST, to={"cq": 1}), "nobody wrote"),
    "wrong tail": (step(RECV_POST, "new", 2), AFTER),
    "wrong tail before": (step(RECV_POST, "old", 2), BEFORE),
    "wrong size": (step(RECV_POST, "new", 1 << 32), AFTER),
    "rest of the state": (step(RECV_POST, "new", 1 << 50), AFTER),
    "freed in the future": (step(RECV_POST, "new", 5 << 16), "expected"),
    "freed before in the future": (step(RECV_POST, "old", 5 << 16), "other completions before"),
    "shared: wrong reaped": (
        lambda r: change(r, Trace, op=RECV_POST, operand=0x100, to={"new": lambda v: v ^ 1 << 16}),
        AFTER,
    ),
    "reserved operand bits": (step(RECV_POST, "operand", 1 << 12), "RECV_POST with operand"),
    # -- SRQ_DB
    "reaped without a write": (lambda r: r.pop(portal(r, 0x110)), "nobody wrote|without a step"),
    "reaped without a step": (lambda r: drop(r, Trace, op=REAP), "without a step"),
    "reaped too far": (
        lambda r: too_far(r),
        "reaped, the model refuses it: BAD_INDEX",
    ),
    "reap answered with a cause": (
        lambda r: put(r, answered(r, 0x110), cause=0x0B, resp=2),
        "refused with 0xb, but it has a step|cause 0xb, expected",
    ),
    "bad reap accepted": (
        lambda r: put(r, answered(r, 0x110, 1), cause=0, resp=0),
        "without a step; right would be: 0xb",
    ),
    "bad reap with another cause": (
        lambda r: put(r, answered(r, 0x110, 1), cause=0x19),
        "without a step; right would be: 0xb",
    ),
    "wrong reaped": (step(REAP, "new", 1 << 16), AFTER),
    # -- takes
    "take of no message": (lambda r: drop(r, RecvRequest), "no message waits"),
    "message without a take": (lambda r: drop(r, Trace, op=TAKE), "without a step"),
    "two takes": (lambda r: double(r, Trace, op=TAKE), "no message waits|before the step"),
    "not ready, but taken": (step(TAKE, "operand", 1), AFTER),
    "not ready with a buffer": (not_ready, "CQ-17: credit 0, the CQ 0 had: OK"),
    "taken of an empty queue": (
        lambda r: change(r, Trace, op=TAKE, operand=0x11, to={"operand": 0x10}),
        "TAKE with code 0",
    ),
    "flush instead of a message": (step(TAKE, "operand", 1 << 5), "SRQ-14"),
    "take without its SRQ": (
        lambda r: change(r, Trace, op=TAKE, cq=1, to={"operand": lambda v: v ^ 0x10}),
        "TAKE with operand",
    ),
    "wrong tag": (step(TAKE, "new", 1), AFTER),
    "wrong tag before": (step(TAKE, "old", 1), BEFORE),
    "wrong head": (
        lambda r: change(r, Trace, op=TAKE, cq=1, to={"new": lambda v: v ^ 1 << 16}),
        AFTER,
    ),
    "tail from the future": (step(TAKE, "new", 1 << 32), "between 0 and 4 expected"),
    "other tail before": (step(TAKE, "old", 8 << 32), "other posts before"),
    "reported from the future": (step(TAKE, "new", 2 << 48), "expected"),
    "other reports before": (step(TAKE, "old", 2 << 48), "other reports before"),
    "event not told": (
        lambda r: change(r, Trace, op=TAKE, operand=0x50, to={"operand": 0x10}),
        "watermark event 0, expected 1",
    ),
    "event without a reason": (step(TAKE, "operand", 1 << 6), "watermark event 1, expected 0"),
    "still armed": (
        lambda r: change(r, Trace, op=TAKE, operand=0x50, to={"new": lambda v: v ^ 1 << 80}),
        AFTER,
    ),
    "another threshold": (
        lambda r: change(r, Trace, op=TAKE, operand=0x50, to={"new": lambda v: v ^ 1 << 64}),
        AFTER,
    ),
    # -- answers
    "no answer": (lambda r: drop(r, ScatterAnswer), "answer to the request|without a step"),
    "answer to nothing": (lambda r: double(r, ScatterAnswer), "without a request|code"),
    "answer for another QP": (lambda r: change(r, ScatterAnswer, to={"qp": 2}), "for QP 2"),
    "another tag": (
        lambda r: change(r, ScatterAnswer, to={"user": lambda v: v ^ 1 << 16}),
        "user 0x10000, expected 0x0",
    ),
    "another length": (
        lambda r: change(r, ScatterAnswer, to={"data": lambda v: v ^ 1 << 64}),
        r"data 0x\w+, expected",
    ),
    "an address changed": (
        lambda r: change(r, ScatterAnswer, 1, to={"data": lambda v: v ^ 1 << 130}),
        r"data 0x\w+, expected",
    ),
    "not an SRQ's": (
        lambda r: change(r, ScatterAnswer, qp=1, to={"user": lambda v: v ^ 0x100}),
        "user 0x0, expected 0x100",
    ),
    "length error that is none": (
        lambda r: change(r, ScatterAnswer, to={"user": 2, "data": 0}),
        "user 0x2, expected 0x0",
    ),
    "length error not told": (
        lambda r: change(r, ScatterAnswer, 5, to={"user": lambda v: v ^ 2}),
        r"expected 0x\w+ \(LENGTH_ERROR\)",
    ),
    "refused in a good state": (
        lambda r: change(r, ScatterAnswer, to={"user": 3, "data": 0}),
        "REFUSED in a state that allows it",
    ),
    "not refused": (lambda r: put(r, refusal(r), user=1), "without a step, right would be: REF"),
    "refused with a tag": (lambda r: put(r, refusal(r), user=0x10003), "user 0x10003"),
    "late answer": (
        lambda r: put(r, index(r, RecvRequest), cycle=r[index(r, RecvRequest) - 1].cycle - 9),
        "bound|out of order",
    ),
    # -- watermark
    "no watermark step": (lambda r: drop(r, Trace, op=WATERMARK), "a step|before the step"),
    "watermark of no command": (
        lambda r: drop(r, Command, code=int(codes.Command.SET_SRQ_WATERMARK)),
        "WATERMARK: no command",
    ),
    "event too early": (step(WATERMARK, "operand", 1 << 16), "event 1, expected 0"),
    "another T": (step(WATERMARK, "operand", 1), "WATERMARK with operand"),
    "not armed": (step(WATERMARK, "new", 1 << 80), AFTER),
    "no interrupt": (lambda r: drop(r, Interrupt), "waits 0, expected one of"),
    "two interrupts": (lambda r: double(r, Interrupt), "without an acknowledged event"),
    "another vector": (lambda r: change(r, Interrupt, to={"vector": 9}), "interrupt 9 without"),
    # -- reports and completions
    "no report": (lambda r: drop(r, RecvDone), "completes unreported"),
    "wrong tag reported": (
        lambda r: change(r, RecvDone, to={"data": lambda v: v ^ 1 << 16}),
        "completes unreported",
    ),
    "not completed": (lambda r: drop(r, Trace, op=RECEIVE), BEFORE + "|no such completions"),
    "completed twice": (lambda r: double(r, Trace, op=RECEIVE), "nothing is left|before the step"),
    "another status": (step(RECEIVE, "operand", 1), "operand 0x1, expected 0x0"),
    "another CQ": (step(RECEIVE, "operand", 1 << 16), "operand 0x10000, expected"),
    "flush that is none": (step(RECEIVE, "operand", 1 << 9), "operand 0x200, expected"),
    "wrong reported": (step(RECEIVE, "new", 1), AFTER),
    "wrong reported before": (step(RECEIVE, "old", 1), BEFORE),
    "another operation": (
        lambda r: change(r, Trace, op=RECEIVE, to={"op": 0x61}),
        "operation 0x61 on lane 7",
    ),
    "context changed": (lambda r: change(r, MemWrite, to={"data": lambda v: v ^ 1}), "entry 0"),
    "bytes changed": (lambda r: change(r, MemWrite, to={"data": lambda v: v ^ 1 << 128}), "entry"),
    "solicited lost": (lambda r: change(r, MemWrite, to={"data": lambda v: v ^ 1 << 240}), "entry"),
    "signalled": (
        lambda r: change(r, MemWrite, 1, to={"data": lambda v: v ^ (1 << 241 | 1 << 497)}),
        "entry 1",
    ),
    "published as signalled": (
        lambda r: change(r, Trace, op=1, operand=0x11, to={"operand": 1}),
        "operand 0x1, expected 0x11",
    ),
    # -- states
    "length error without a consequence": (
        lambda r: drop(r, Trace, op=STATE, operand=2),
        "before the step|still not in error|terminate",
    ),
    # -- commands
    "size not told": (lambda r: drop(r, Trace, op=RECV_SIZE), "a step|RECV_SIZE|nobody"),
    "size twice": (lambda r: double(r, Trace, op=RECV_SIZE), "one more step|refuses"),
    "another size": (step(RECV_SIZE, "new", 1 << 33), AFTER),
    "size of no command": (
        lambda r: change(r, Trace, op=RECV_SIZE, operand=0x101, to={"operand": 0x100}),
        "no command|differs",
    ),
    "odd size step": (step(RECV_SIZE, "operand", 0x10), "RECV_SIZE with operand"),
    "another start index": (
        lambda r: out(r, codes.Command.CREATE_SRQ, 0, 1),
        "start index 1",
    ),
    "created, said to exist": (other(codes.Command.CREATE_SRQ, 0x44), "answered 0x44"),
    "resize refused": (other(codes.Command.RESIZE_SRQ, 0x4B), "answered 0x4b"),
    "destroy refused": (
        other(codes.Command.DESTROY_SRQ, 0x4C),
        "answered 0x4c, right would be: OK",
    ),
    "query refused": (other(codes.Command.QUERY_SRQ, 0x43), "answered 0x43, right would be: OK"),
    "query: available": (lambda r: out(r, codes.Command.QUERY_SRQ, 0, 1), "available"),
    "query: outstanding": (lambda r: out(r, codes.Command.QUERY_SRQ, 0, 8 << 16), "outstanding"),
    "query: tail": (lambda r: out(r, codes.Command.QUERY_SRQ, 1, 8), "tail"),
    "query: reaped": (lambda r: out(r, codes.Command.QUERY_SRQ, 1, 8 << 16), "reaped"),
    "query: completed": (lambda r: out(r, codes.Command.QUERY_SRQ, 2, 8), "completed"),
    "query: T": (lambda r: out(r, codes.Command.QUERY_SRQ, 2, 1 << 16), "watermark"),
    "query: armed": (lambda r: out(r, codes.Command.QUERY_SRQ, 3, 1), "armed"),
    "query: users": (lambda r: out(r, codes.Command.QUERY_SRQ, 3, 1 << 16), "OUT3"),
    "query: size": (lambda r: out(r, codes.Command.QUERY_SRQ, 4, 1), "OUT4"),
    "query: vector": (lambda r: out(r, codes.Command.QUERY_SRQ, 5, 1 << 16), "OUT4"),
    "another key": (lambda r: out(r, codes.Command.REGISTER_MR, 0, 1 << 12), "outputs"),
    "region: base": (lambda r: out(r, codes.Command.QUERY_MR, 1, 1), "outputs"),
    "region: zone": (lambda r: out(r, codes.Command.QUERY_MR, 5, 1), "outputs"),
    "region refused": (other(codes.Command.DEREGISTER_MR, 0x43), "answered 0x43"),
    # -- the port
    "wrong lane": (lambda r: change(r, Trace, op=TAKE, to={"lane": 6}), "0x50 on lane 6"),
    "QP out of range": (lambda r: change(r, Trace, op=TAKE, to={"cq": 4}), "out of range"),
    "SRQ out of range": (lambda r: change(r, Trace, op=WATERMARK, to={"cq": 2}), "out of range"),
    "callback": (lambda r: change(r, Trace, op=TAKE, to={"event": True}), "callback in a step"),
}


def test_right_stream() -> None:
    records = ReceiveStream().all_receives().records
    board = judge_receives(records)
    assert board.judged == len(records) == board.checked()
    assert (board.received, board.completed, board.rc.given_back) == (10, 9, 1)
    for block in (1, 3, 1000):
        judge_receives(records, block=block)


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_found(name: str) -> None:
    spoil, match = MUTATIONS[name]
    records: Records = list(ReceiveStream().all_receives().records)
    spoil(records)
    with pytest.raises(ScoreboardError, match=match):
        judge_receives(records)


def test_error_tells_where_and_what() -> None:
    records: Records = ReceiveStream().all_receives().records
    change(records, Trace, op=TAKE, cq=1, to={"new": lambda v: v ^ 1})
    with pytest.raises(ScoreboardError) as caught:
        judge_receives(records)
    text = str(caught.value)
    assert "QP 1: SRQ 0: state after the step differs" in text
    assert "TAKE 1 0x50: taken 0, head 1" in text
    assert "WATERMARK 0 0x4" in text  # history
    assert "in the model: QP 1 CONNECTED" in text


def test_vacuous() -> None:
    with pytest.raises(ScoreboardError, match="vacuous: not one Trace"):
        judge_receives([])
    stream = ReceiveStream().receivers()
    stream.reap(0, 0)
    with pytest.raises(ScoreboardError, match="vacuous: not one accepted post"):
        judge_receives(stream.records)
    with pytest.raises(ScoreboardError, match="vacuous: not one accepted receive"):
        judge_receives(stream.records, ("no_posts",))
    judge_receives(stream.records, ("no_posts", "no_receives"))


def test_reset_keeps_what_was_seen() -> None:
    board = judge_receives(ReceiveStream().all_receives().records)
    board.reset()
    assert (board.received, board.completed, board.rc.posted) == (10, 9, 0)
