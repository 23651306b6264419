# SPDX-License-Identifier: Apache-2.0
"""The scoreboard of receives in special situations: credits, limits, flush, ends of connections,
commands. Each is right as it is, and wrong with one change.
"""

from __future__ import annotations

import itertools

import pytest

from models import codes
from models.codes import ArmType, Cause, CommandResult, QpState, ScatterCode, TraceOp
from models.host.control import Args
from models.keys.region import RegionConfig
from models.receive.receive import pack_rdone
from models.receive.receive_control import make_region_args
from models.receive.receive_types import RecvRequest
from tb.env.harness.records import Command, RecvDone, ScatterAnswer, Trace
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.engine_streams import FIRST, OWN, RECV_POST, TAKE, EngineStream
from tb.selftest.mutations import change, late_board, put, spoiled
from tb.selftest.mutations import fails_open as fails
from tb.selftest.mutations import right as right_to_the_end
from tb.selftest.mutations import right_open as right
from tb.selftest.streams import VECTOR


def posted(count: int = 1) -> EngineStream:
    """The queue pair with its own queue has buffers."""
    stream = EngineStream().receivers()
    for _ in range(count):
        stream.receive()
    return stream


# -- credits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_credits(shared: bool, two: bool) -> None:
    """A receive CQ with two entries, and a QP that needs one of them, or both, for each receive."""
    most = 1 if two else 2
    for used, credit in itertools.product((0, most), (None, True, False)):
        stream = EngineStream().ready(1, log2=1)
        stream.register(0)
        stream.create_srq(0)
        for qp, own in ((OWN, not shared), (FIRST, True)):
            options = {"two": two and qp == OWN, "guarded": True}
            stream.create_receiver(qp, None if own else 0, **options)
            stream.connect(qp)
        for _ in range(used):
            stream.receive(stream.buffer(FIRST))
        if shared:
            stream.receive(shared=True)
            request = RecvRequest(OWN, 1)
            stream.arrives(request)
            stream.tick(1)
            result = stream.take(request, credit)
            refused = result.code is ScatterCode.NOT_READY
            stream.answers(request, result)
            match = f"CQ-17: credit {int(bool(credit))}"
        else:
            post = stream.buffer(OWN)
            stream.wrote_receive(post)
            stream.tick(1)
            cause = stream.took(post, credit=credit)
            refused = cause is Cause.NO_CREDIT
            stream.answered(cause)
            match = "cause 0x0, right would be: NO_CREDIT"
            match = match if credit else "cause 0x16, right would be: OK"
        assert refused is (used == most if credit is None else not credit)
        fails(stream, None if credit in (None, used < most) else match)


# -- limits and windows --------------------------------------------------------------------------


def test_request_while_the_state_changes() -> None:
    """Refused or not: both can be; but not when the state has been good all the time."""
    stream = posted()
    request = RecvRequest(OWN, 1)
    stream.arrives(request)
    stream.plain(codes.Command.FLUSH_QP)
    behind = stream.records[-1].cycle + 1
    take = Trace(behind, 5, TAKE, OWN, False, 0, 0, 1 << 32, 1 | 1 << 32)
    spoiled(stream, "SRQ-13: takes in state ERROR", lambda r: r.append(take))
    stream.answers(request, stream.take(request))
    stream.flush()
    late_board()(stream.records)


def test_bound_of_an_answer() -> None:
    for wait in (7, 8):
        stream = posted()
        request = RecvRequest(OWN, 1)
        stream.arrives(request)
        stream.tick(wait)
        stream.answers(request, stream.take(request))
        late_board()(stream.records)
        fails(stream, "8 is the bound" if wait == 8 else None)


def test_take_that_does_not_know_an_old_post() -> None:
    stream = posted()
    stream.tick(100)
    stream.arrives(RecvRequest(OWN, 1))
    stream.tick(1)
    stream.lane(5, TAKE, OWN, 1, 0, 0)
    fails(stream, "tail: knows 0, but 1 was reached")


def test_post_that_does_not_know_an_old_completion() -> None:
    stream = posted(4)
    stream.whole()
    stream.tick(100)
    stream.wrote_receive(stream.buffer())
    stream.tick(1)
    stream.lane(6, RECV_POST, OWN, 0x14, 4 | 4 << 32, 4 | 4 << 32)
    fails(stream, "reported: knows 0, but 1 was reached")


# -- races with commands -------------------------------------------------------------------------


def test_region_that_goes_while_a_post_waits() -> None:
    for gone in (True, False):
        stream = posted()
        post = stream.buffer()
        stream.wrote_receive(post)
        if gone:
            stream.key_command(codes.Command.DEREGISTER_MR)
        stream.tick(1)
        cause = stream.took(post)
        stream.answered(cause)
        assert cause is (Cause.BAD_REGION if gone else Cause.OK)
        if not gone:
            stream.key_command(codes.Command.DEREGISTER_MR)
        right(stream)
        # The other table counted, too, at some time; a third one never did.
        change(stream.records, Trace, 1, op=RECV_POST, to={"operand": int(Cause.BAD_ZONE)})
        fails(stream, "cause 0x1b, right would be")


def test_queue_that_is_destroyed_while_a_post_waits() -> None:
    for answer, match in (
        (Cause.NO_SRQ, None),
        (Cause.NOT_OWNER, "without a step; right would be"),
    ):
        stream = EngineStream()
        stream.register()
        stream.create_srq()
        stream.receive(shared=True)
        stream.wrote_receive(stream.buffer(0), True)
        start, words = stream.tick(), (0,) * 8
        stream.answered(answer)
        stream.add(Command(stream.tick(), start, codes.Command.DESTROY_SRQ, words, 0, words))
        fails(stream, match)


# -- flush, states -------------------------------------------------------------------------------


def flushing() -> EngineStream:
    """Three buffers posted, one of them taken, when the connection ends."""
    stream = posted(3)
    stream.message()
    stream.plain(codes.Command.FLUSH_QP)
    return stream


def test_flush() -> None:
    """Not ahead of a report, and it comes."""
    stream = flushing()
    state = 1 | 3 << 32
    early = Trace(stream.tick(), 5, TAKE, OWN, False, 0, 1 << 5, state, state + 1)
    match = "SRQ-14: QP 0: flush in state ERROR with 2 buffers available and 1 in flight"
    spoiled(stream, match, lambda r: r.append(early))
    stream.report(OWN, 0)
    stream.completes()
    fails(stream, "never flushed: buffer 1")


def test_what_is_left_at_the_end() -> None:
    stream = posted()
    stream.message()
    fails(stream, "not reported: tag 0", ())
    stream.report(OWN, 0)
    fails(stream, "never completed: tag 0")
    stream.completes()
    board = right_to_the_end(stream)
    stream.arrives(RecvRequest(OWN))
    fails(stream, "no answer to the receive request")
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
        stream.tick()
        stream.lane(3, TraceOp.QP_STATE, OWN, 0, old, old & ~0xF | new)
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
    right_to_the_end(stream)
    commands = [r for r in stream.records if type(r) is Command][-4:]
    assert [c.result for c in commands] == [0x51, 0x4D, 0x4D, 0]


# -- connections that end while a sink is stalled ------------------------------------------------


def test_length_error_must_end_the_connection() -> None:
    stream = posted()
    request = RecvRequest(OWN, 1000)
    stream.arrives(request)
    stream.tick(1)
    answer(stream, stream.take(request).tuser)
    fails(stream, "no change of state for the failing receive")
    stream.tick(100)
    stream.receive(shared=True)
    fails(stream, "still not in error, after the LENGTH_ERROR")


def late(stream: EngineStream) -> None:
    """Judged as long as the sink has been stalled all the time."""
    board = late_board()
    board(stream.records)
    board.finish(("receives",))


def two_messages(one: int, two: int, *lengths: int) -> tuple[EngineStream, list[RecvRequest]]:
    """A message from before the connection, which may be refused or take a buffer, and a second
    one: the step does not tell whose buffer it is.
    """
    stream = EngineStream().receivers()
    stream.plain(codes.Command.FLUSH_QP, OWN)
    stream.set_state(OWN, QpState.IDLE)
    for length in lengths:
        stream.receive(stream.buffer(lengths=(length,)))
    messages = [RecvRequest(OWN, one), RecvRequest(OWN, two)]
    stream.arrives(messages[0])
    stream.connect(OWN)
    stream.arrives(messages[1])
    stream.tick(1)
    return stream, messages


def answer(stream: EngineStream, user: int, data: int = 0) -> None:
    stream.add(ScatterAnswer(stream.tick(1), OWN, user, data))


def test_connection_may_end_before_the_answer_that_tells_why() -> None:
    """A message is too long for its buffer, and the answer that tells so waits (SRQ-18)."""
    stream, messages = two_messages(1000, 10, 64)
    result = stream.take(messages[0])
    assert result.code is ScatterCode.LENGTH_ERROR
    stream.ends(OWN)
    answer(stream, result.tuser, result.tdata)
    answer(stream, ScatterCode.REFUSED)
    late(stream)


def test_connection_that_ends_without_a_message_too_long() -> None:
    stream, messages = two_messages(1000, 10, 64)
    result = stream.take(messages[1])
    rq = stream.receiving.rqs[OWN]
    rq.overlong = rq.qp.connections
    stream.ends(OWN)
    answer(stream, ScatterCode.REFUSED)
    answer(stream, result.tuser, result.tdata)
    with pytest.raises(Mismatch, match="without a failing report, nor a message too long"):
        late(stream)


def test_answer_in_front_does_not_hide_a_message_too_long() -> None:
    """The steps of both messages seem to be those of messages too long."""
    stream, messages = two_messages(46, 48, 47, 47)
    taken = []
    for message in messages:
        taken.append(stream.take(message))
        stream.tick(1)
    for message, result in zip(messages, taken, strict=True):
        stream.answers(message, result)
    late(stream)


@pytest.mark.parametrize(
    ("wait", "match"),
    [
        (40, "at the end: QP 0: never completed"),
        (80, "still not in error, after the failing receive of cycle"),
    ],
)
def test_failing_report_ends_the_connection_in_time(wait: int, match: str) -> None:
    """The time begins at the report, also while the completion waits for room (ISO-04)."""
    stream = posted()
    stream.message(OWN)
    stream.add(RecvDone(stream.tick(), pack_rdone(OWN, 0, 2)))
    stream.tick(wait)
    stream.receive(shared=True)
    fails(stream, match, ())


def test_failing_report_ends_the_connection_before_its_completion() -> None:
    stream = posted()
    stream.message(OWN)
    stream.report(OWN, 0, 2)
    stream.tick(200)
    stream.completes(OWN)
    right_to_the_end(stream)


# -- signals -------------------------------------------------------------------------------------


def test_unsignalled_satisfies_no_arm() -> None:
    for solicited in (True, False):
        stream = EngineStream().receivers(flag=2)
        stream.receive()
        stream.doorbell(0, ArmType.ANY)
        stream.whole(solicited=solicited)
        if solicited:
            stream.call(0)
        right_to_the_end(stream)
        to = {"event": not solicited}
        spoiled(stream, "state or callback differ", change, Trace, op=TraceOp.PUBLISH, to=to)


def test_vectors_of_an_eq_and_an_srq() -> None:
    stream = EngineStream().receivers()
    stream.create_srq(1, vector=VECTOR)
    stream.receive()
    stream.doorbell(0, ArmType.ANY)
    stream.srq_command(codes.Command.SET_SRQ_WATERMARK, 1, 1)
    stream.whole()
    stream.call()
    fails(stream, r"no interrupt of EQ|no watermark interrupt", ())
    stream.interrupt()
    right_to_the_end(stream)
    stream.interrupt()
    fails(stream, "without an acknowledged event")


# -- commands ------------------------------------------------------------------------------------


def raw(code: int, *words: int) -> tuple[int, Args]:
    return code, Args((*words, *[0] * (8 - len(words))))


def region(number: int = 1, base: int = 0, length: int = 1, rights: int = 0) -> tuple[int, Args]:
    config = RegionConfig(base=base, length=length, rights=rights)
    return codes.Command.REGISTER_MR, make_region_args(number, config)


def qp(six: int, seven: int) -> tuple[int, Args]:
    return raw(codes.Command.CREATE_QP, 3, 0, 0, 0, 1 | 4 << 16, 0, six, seven)


CMD = codes.Command
REFUSED: list[tuple[tuple[int, Args], CommandResult]] = [
    (raw(CMD.CREATE_SRQ, 0, 4, 1), CommandResult.CMD_EXISTS),
    (raw(CMD.CREATE_SRQ, 1, 0, 1), CommandResult.CMD_BAD_SIZE),
    (raw(CMD.CREATE_SRQ, 1, 1, 9), CommandResult.CMD_BAD_PAGE),
    (raw(CMD.CREATE_SRQ, 2, 1, 1), CommandResult.CMD_BAD_OBJECT),
    (raw(CMD.QUERY_SRQ, 1), CommandResult.CMD_NO_OBJECT),
    (raw(CMD.RESIZE_SRQ, 0, 1 << 16), CommandResult.CMD_RESERVED),
    (raw(CMD.RESIZE_SRQ, 0, 1), CommandResult.CMD_TOO_SMALL),
    (raw(CMD.SET_SRQ_WATERMARK, 0, 5), CommandResult.CMD_BAD_SIZE),
    (raw(CMD.DESTROY_SRQ, 0), CommandResult.CMD_IN_USE),
    (region(rights=4), CommandResult.CMD_BAD_FLAG),
    (region(length=0), CommandResult.CMD_BAD_RANGE),
    (region(base=(1 << 64) - 1, length=2), CommandResult.CMD_BAD_RANGE),
    (region(number=0), CommandResult.CMD_EXISTS),
    (raw(CMD.QUERY_MR, 2), CommandResult.CMD_NO_OBJECT),
    (qp(5, 1 | 1 << 16), CommandResult.CMD_NO_SRQ),
    (qp(5, 1 << 24), CommandResult.CMD_BAD_FLAG),
    (qp(5 | 5 << 16, 0), CommandResult.CMD_BAD_SIZE),
    (qp(5 | 1 << 16, 1 << 16), CommandResult.CMD_BAD_SIZE),
    (qp(5, 1 << 31), CommandResult.CMD_RESERVED),
]


@pytest.mark.parametrize(("command", "result"), REFUSED)
def test_refused_command(command: tuple[int, Args], result: CommandResult) -> None:
    stream = EngineStream().receivers()
    for _ in range(2):
        stream.receive(shared=True)
    assert stream.execute(*command).result == result
    right(stream)
    for other in (0, 0x4E):
        put(stream.records, -1, result=other)
        fails(stream, "answered|RECV_SIZE|a step")


def test_watermark_while_an_event_waits() -> None:
    stream, code = posted(), codes.Command.SET_SRQ_WATERMARK
    stream.srq_command(code, 0, 1)
    stream.tick(400)
    assert stream.srq_command(code, 0, 2).result == CommandResult.CMD_BUSY
    stream.raised()
    right(stream)
    change(stream.records, Command, 1, code=int(code), to={"result": 0})
    fails(stream, "answered 0x0, right would be: CMD_BUSY")
