# SPDX-License-Identifier: Apache-2.0
"""The scoreboard of receives in special situations: credits, limits, windows, flush, commands. Each
is right as it is, and wrong with one change.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models import codes
from models.codes import ArmType, Cause, CommandResult, QpState, ScatterCode, TraceOp
from models.host.control import Args
from models.keys.region import RegionConfig
from models.receive.receive_control import make_region_args
from models.receive.receive_types import RecvRequest
from tb.env.harness.records import Command, ScatterAnswer, Trace
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.engine_streams import FIRST, OWN, RECV_POST, TAKE, EngineStream
from tb.selftest.mutations import (
    Records,
    change,
    judge_engine,
    late_board,
    right,
)
from tb.selftest.mutations import fails_open as fails
from tb.selftest.streams import VECTOR

# -- credits -------------------------------------------------------------------------------------


def test_credit_of_a_receive_post() -> None:
    for credit, wrong in ((None, None), (True, "cause 0x0, right would be: NO_CREDIT")):
        stream = EngineStream().receivers(cqs=1, log2=1)
        stream.receive()
        stream.receive()
        post = stream.buffer()
        stream.wrote_receive(post, False)
        stream.tick()
        cause = stream.took(post, False, credit=credit)
        stream.answered(cause)
        assert cause is (Cause.NO_CREDIT if credit is None else Cause.OK)
        fails(stream, wrong) if wrong else right(stream)


def test_no_credit_without_a_reason() -> None:
    stream = EngineStream().receivers()
    stream.receive()
    post = stream.buffer()
    stream.wrote_receive(post, False)
    stream.tick()
    stream.answered(stream.took(post, False, credit=False))
    fails(stream, "cause 0x16, right would be: OK")


def shared_take(credit: bool | None, full: bool) -> EngineStream:
    stream = EngineStream().receivers(cqs=1, log2=1)
    stream.receive(shared=True)
    if full:
        stream.receive()
        stream.receive()
    request = RecvRequest(FIRST, 1)
    stream.arrives(request)
    stream.tick()
    stream.answers(request, stream.take(request, credit))
    return stream


def test_credit_of_a_shared_take() -> None:
    right(shared_take(None, False))
    right(shared_take(None, True))
    fails(shared_take(True, True), "CQ-17: credit 1")
    fails(shared_take(False, False), "CQ-17: credit 0")


# -- limits and windows --------------------------------------------------------------------------


def test_limit_of_buffers_in_flight() -> None:
    stream = EngineStream().receivers()
    for _ in range(3):
        stream.receive()
    for _ in range(2):
        stream.message()
    assert stream.message().code is ScatterCode.NOT_READY
    right(stream)
    change(stream.records, Trace, op=TAKE, operand=1, to={"operand": 0})
    fails(stream, "TAKE with code 0, right would be: NOT_READY")


def test_request_while_the_state_changes() -> None:
    """Refused or not: both can be; but not when the state has been good all the time."""
    for refuse in (True, False):
        stream = EngineStream().receivers()
        stream.receive()
        request = RecvRequest(OWN, 1)
        stream.arrives(request)
        if refuse:
            stream.plain(codes.Command.FLUSH_QP)
            stream.answers(request, stream.take(request))
            stream.flush()
            late_board()(stream.records)
        else:
            stream.plain(codes.Command.FLUSH_QP)
            taken = stream.records[-1]
            stream.add(Trace(taken.cycle + 1, 5, TAKE, OWN, False, 0, 0, 1 << 32, 1 | 1 << 32))
            fails(stream, "SRQ-13: takes in state ERROR")


def test_bound_of_an_answer() -> None:
    for wait, wrong in ((7, False), (8, True)):
        stream = EngineStream().receivers()
        stream.receive()
        request = RecvRequest(OWN, 1)
        stream.arrives(request)
        stream.tick(wait)
        stream.answers(request, stream.take(request))
        late_board()(stream.records)
        fails(stream, "8 is the bound") if wrong else right(stream)


def test_take_that_does_not_know_an_old_post() -> None:
    stream = EngineStream().receivers()
    stream.receive()
    stream.tick(100)
    request = RecvRequest(OWN, 1)
    stream.arrives(request)
    cycle = stream.tick(1)
    stream.add(Trace(cycle, 5, TAKE, OWN, False, 0, 1, 0, 0))
    fails(stream, "tail: knows 0, but 1 was reached")


def test_post_that_does_not_know_an_old_completion() -> None:
    stream = EngineStream().receivers()
    for _ in range(4):
        stream.receive()
    stream.whole()
    stream.tick(100)
    post = stream.buffer()
    stream.wrote_receive(post, False)
    state = 4 | 4 << 32
    stream.add(Trace(stream.tick(1), 6, RECV_POST, OWN, False, 0, 0x14, state, state))
    fails(stream, "reported: knows 0, but 1 was reached")


# -- races with commands -------------------------------------------------------------------------


def test_region_that_goes_while_a_post_waits() -> None:
    for gone in (True, False):
        stream = EngineStream().receivers()
        stream.receive()
        post = stream.buffer()
        stream.wrote_receive(post, False)
        if gone:
            stream.key_command(codes.Command.DEREGISTER_MR)
        stream.tick(1)
        cause = stream.took(post, False)
        stream.answered(cause)
        assert cause is (Cause.BAD_REGION if gone else Cause.OK)
        if not gone:
            stream.key_command(codes.Command.DEREGISTER_MR)
        right(stream)
        # The other table counted, too, at some time; a third one never did.
        change(stream.records, Trace, 1, op=RECV_POST, to={"operand": int(Cause.BAD_ZONE)})
        fails(stream, "cause 0x1b, right would be")


def test_queue_that_is_destroyed_while_a_post_waits() -> None:
    for answer, ok in ((Cause.NO_SRQ, True), (Cause.NOT_OWNER, False)):
        stream = EngineStream()
        stream.register()
        stream.create_srq()
        stream.receive(shared=True)
        stream.wrote_receive(stream.buffer(0), True)
        start = stream.tick()
        stream.answered(answer)
        stream.tick()
        words = (0,) * 8
        stream.add(Command(stream.cycle, start, codes.Command.DESTROY_SRQ, words, 0, words))
        right(stream) if ok else fails(stream, "without a step; right would be")


# -- flush, states -------------------------------------------------------------------------------


def flushing() -> EngineStream:
    """Three buffers posted, one of them taken, when the connection ends."""
    stream = EngineStream().receivers()
    for _ in range(3):
        stream.receive()
    stream.message()
    stream.plain(codes.Command.FLUSH_QP)
    return stream


def test_flush_ahead_of_a_report() -> None:
    stream = flushing()
    state = 1 | 3 << 32
    stream.add(Trace(stream.tick(), 5, TAKE, OWN, False, 0, 1 << 5, state, state + 1))
    fails(stream, "SRQ-14: QP 0: flush in state ERROR with 2 buffers available and 1 in flight")


def test_flush_that_does_not_come() -> None:
    stream = flushing()
    stream.report(OWN, 0)
    stream.completes()
    fails(stream, "never flushed: buffer 1")


def test_what_is_left_at_the_end() -> None:
    stream = EngineStream().receivers()
    stream.receive()
    stream.message()
    fails(stream, "not reported: tag 0", ())
    stream.report(OWN, 0)
    fails(stream, "never completed: tag 0")
    stream.completes()
    stream.arrives(RecvRequest(OWN))
    fails(stream, "no answer to the receive request")
    board = judge_engine(stream.records[:-1])
    board.engine_checks.rc.posted += 1
    with pytest.raises(Mismatch, match="unaccounted"):
        board.finish()


def test_gone_with_receives() -> None:
    for code, args, new in (
        (codes.Command.DESTROY_QP, (0,) * 8, QpState.FREE),
        (codes.Command.SET_QP_STATE, (0, 1, 0, 0, 0, 0, 0, 0), QpState.IDLE),
    ):
        stream = flushing()
        start = stream.tick()
        old = stream.posting.qps[0].trace_state(3)
        stream.add(Trace(stream.tick(), 3, 0x32, OWN, False, 0, 0, old, old & ~0xF | new))
        stream.add(Command(stream.tick(), start, code, args, 0, (0,) * 8))
        fails(stream, "SRQ-14: empty, but it has receives")


def test_busy_by_receives() -> None:
    stream = flushing()
    stream.set_state(OWN, QpState.IDLE)
    stream.plain(codes.Command.DESTROY_QP)
    stream.plain(codes.Command.DESTROY_QP)
    stream.report(OWN, 0, 1)
    stream.completes()
    stream.flush()
    stream.plain(codes.Command.DESTROY_QP)
    judge_engine(stream.records)
    commands = [r for r in stream.records if type(r) is Command][-4:]
    assert [c.result for c in commands] == [0x51, 0x4D, 0x4D, 0]


def test_length_error_must_end_the_connection() -> None:
    stream = EngineStream().receivers()
    stream.receive()
    request = RecvRequest(OWN, 1000)
    stream.arrives(request)
    stream.tick(1)
    result = stream.take(request)
    stream.tick(1)
    stream.add(ScatterAnswer(stream.cycle, OWN, result.tuser, result.tdata))
    fails(stream, "no change of state for the failing receive")
    stream.tick(100)
    stream.receive(shared=True)
    fails(stream, "still not in error, after the LENGTH_ERROR")


# -- signals -------------------------------------------------------------------------------------


def test_unsignalled_satisfies_no_arm() -> None:
    for solicited in (True, False):
        stream = EngineStream().receivers(flag=2)
        stream.receive()
        stream.doorbell(0, ArmType.ANY)
        stream.whole(solicited=solicited)
        if solicited:
            stream.call(0)
        judge_engine(stream.records)
        spoiled: Records = list(stream.records)
        change(spoiled, Trace, op=TraceOp.PUBLISH, to={"event": not solicited})
        with pytest.raises(Mismatch, match="state or callback differ"):
            judge_engine(spoiled)


def test_vectors_of_an_eq_and_an_srq() -> None:
    stream = EngineStream().receivers()
    stream.create_srq(1, vector=VECTOR)
    stream.receive()
    stream.doorbell(0, ArmType.ANY)
    stream.srq_command(codes.Command.SET_SRQ_WATERMARK, 1, 1)
    stream.whole()
    stream.event(0)
    stream.event_answer(0)
    stream.interrupt()
    records = list(stream.records)
    with pytest.raises(Mismatch, match=r"no interrupt of EQ|no watermark interrupt"):
        judge_engine(records)
    stream.interrupt()
    judge_engine(stream.records)
    stream.interrupt()
    fails(stream, "without an acknowledged event")


# -- commands ------------------------------------------------------------------------------------


def refusals() -> dict[str, tuple[Callable[[EngineStream], object], CommandResult]]:
    """Commands that are refused."""
    command, srq = codes.Command, EngineStream.srq_command

    def raw(code: int, *words: int) -> Callable[[EngineStream], object]:
        args = Args((*words, *[0] * (8 - len(words))))
        return lambda s: s.execute(code, args)

    def region(**fields: int) -> Callable[[EngineStream], object]:
        values = {"base": 0, "length": 1} | fields
        args = make_region_args(1, RegionConfig(**values))
        return lambda s: s.execute(command.REGISTER_MR, args)

    def qp(six: int, seven: int) -> Callable[[EngineStream], object]:
        words = (3, 0, 0, 0, 1 | 4 << 16, 0, six, seven)
        return lambda s: s.execute(codes.Command.CREATE_QP, Args(words))

    return {
        "exists": (lambda s: s.create_srq(0), CommandResult.CMD_EXISTS),
        "size 0": (raw(command.CREATE_SRQ, 1, 0, 1), CommandResult.CMD_BAD_SIZE),
        "page": (raw(command.CREATE_SRQ, 1, 1, 9), CommandResult.CMD_BAD_PAGE),
        "object": (raw(command.CREATE_SRQ, 2, 1, 1), CommandResult.CMD_BAD_OBJECT),
        "no object": (lambda s: srq(s, command.QUERY_SRQ, 1), CommandResult.CMD_NO_OBJECT),
        "reserved": (raw(command.RESIZE_SRQ, 0, 1 << 16), CommandResult.CMD_RESERVED),
        "too small": (lambda s: srq(s, command.RESIZE_SRQ, 0, 1), CommandResult.CMD_TOO_SMALL),
        "T": (lambda s: srq(s, command.SET_SRQ_WATERMARK, 0, 5), CommandResult.CMD_BAD_SIZE),
        "in use": (lambda s: srq(s, command.DESTROY_SRQ), CommandResult.CMD_IN_USE),
        "rights": (region(rights=4), CommandResult.CMD_BAD_FLAG),
        "range": (region(length=0), CommandResult.CMD_BAD_RANGE),
        "end": (region(base=(1 << 64) - 1, length=2), CommandResult.CMD_BAD_RANGE),
        "region exists": (lambda s: s.register(0), CommandResult.CMD_EXISTS),
        "no region": (lambda s: s.key_command(command.QUERY_MR, 2), CommandResult.CMD_NO_OBJECT),
        "no SRQ": (qp(5, 1 | 1 << 16), CommandResult.CMD_NO_SRQ),
        "flag": (qp(5, 1 << 24), CommandResult.CMD_BAD_FLAG),
        "depth": (qp(5 | 5 << 16, 0), CommandResult.CMD_BAD_SIZE),
        "depth and SRQ": (qp(5 | 1 << 16, 1 << 16), CommandResult.CMD_BAD_SIZE),
        "QP reserved": (qp(5, 1 << 31), CommandResult.CMD_RESERVED),
    }


@pytest.mark.parametrize("name", refusals())
def test_refused_command(name: str) -> None:
    run, result = refusals()[name]
    stream = EngineStream().receivers()
    for _ in range(2):
        stream.receive(shared=True)
    run(stream)
    last = stream.records[-1]
    assert isinstance(last, Command)
    assert last.result == result
    right(stream)
    for other in (0, 0x4E):
        stream.records[-1] = last._replace(result=other)
        fails(stream, "answered|RECV_SIZE|a step")


def test_watermark_while_an_event_waits() -> None:
    stream = EngineStream().receivers()
    stream.receive()
    stream.srq_command(codes.Command.SET_SRQ_WATERMARK, 0, 1)
    stream.tick(400)
    assert (
        stream.srq_command(codes.Command.SET_SRQ_WATERMARK, 0, 2).result == CommandResult.CMD_BUSY
    )
    stream.raised()
    right(stream)
    change(stream.records, Command, 1, code=int(codes.Command.SET_SRQ_WATERMARK), to={"result": 0})
    fails(stream, "answered 0x0, right would be: CMD_BUSY")
