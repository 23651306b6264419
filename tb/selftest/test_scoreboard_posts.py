# SPDX-License-Identifier: Apache-2.0
"""The full engine's scoreboard and requests: deferral, credits, fences, bounds of time, ends of
connections, commands. Each situation is right as it is, and wrong with one change.
"""

from __future__ import annotations

import pytest

from models import codes
from models.codes import Cause, CommandResult, CqStatus, QpState, TraceOp
from models.host.control import make_args
from tb.env.harness.records import Command, ConnReport, DoorbellResponse, Trace, WorkBeat
from tb.env.scoreboard.scoreboard import Mismatch, Scoreboard
from tb.selftest.engine_streams import EngineStream
from tb.selftest.mutations import Records, change, drop, fails, index, put, right, spoiled, wrong
from tb.selftest.streams import PAGE
from tb.selftest.work_streams import BIND, DEFER, FENCE, PARAMS, READ, SEND, SILENT

POST, STATE, RETIRE = TraceOp.POST, TraceOp.QP_STATE, TraceOp.RETIRE
NONE = ("no_posts", "no_receives")


def test_all_causes_of_a_write() -> None:
    stream = EngineStream().connected()
    first = stream.make()
    for cause, odd in (
        (Cause.BURST, {"length": 1}),
        (Cause.BAD_SIZE, {"strb": 0xFF}),
        (Cause.BAD_OFFSET, {"addr": PAGE * 4096 + 0xC0}),
        (Cause.BAD_PAGE, {"addr": 7 * 4096}),
    ):
        assert stream.post(first, **odd) is cause
    assert stream.post(stream.make(qp=5)) is Cause.BAD_QP
    for n in range(5):
        to = {"cause": 0x0F}
        wrong(stream, "cause 0xf, expected", change, DoorbellResponse, n, allow=NONE, to=to)


# -- deferral ------------------------------------------------------------------------------------


def test_held_requests_are_found_at_the_end() -> None:
    stream = EngineStream().sent()
    stream.post(stream.make(flags=DEFER))
    right(stream, ("held",))
    fails(stream, "requests held: 1")


def test_indicated_while_held() -> None:
    stream = EngineStream().connected()
    for flags in (DEFER, DEFER, 0):
        stream.post(stream.make(flags=flags))
    stream.run()

    def spoil(records: Records) -> None:
        at = index(records, Trace, 1, op=POST)
        beat = records[index(records, WorkBeat)]
        records.insert(at, beat._replace(cycle=records[at].cycle))

    wrong(stream, "which is held, skipped or missing", spoil)


def test_watermark_of_a_command_in_flight() -> None:
    """From some moment of the command on the new one counts."""
    for watermark in (1, 0, 2):
        stream = EngineStream().sent()
        start = stream.tick()
        post = stream.make(flags=DEFER)
        stream.wrote(post)
        stream.posting.qps[0].modify(1, 0)
        stream.tick()
        stream.taken(post)
        stream.answered(0)
        stream.run()
        words = (0, 0, 0, 0, 0, watermark, 0, 0)
        stream.add(Command(stream.tick(5), start, codes.Command.MODIFY_QP, words, 0, (0,) * 8))
        right(stream) if watermark == 1 else fails(stream, "after the step")


def test_age() -> None:
    bound = 2 * PARAMS.mod_tick
    latest = bound + PARAMS.mod_tick + 64 * PARAMS.num_qp
    for wait, match in (
        *((bound + 1, ""), (latest - 8, "")),
        (bound - 8, "released by age after"),
        (latest + 32, "held requests are too old"),
    ):
        stream = EngineStream().sent(age=2)
        stream.post(stream.make(flags=DEFER))
        stream.tick(wait)
        stream.step(TraceOp.AGE, 0, 0, stream.posting.qps[0]._release)
        stream.run()
        fails(stream, match) if match else right(stream)


def test_grace_until_the_age_limit() -> None:
    stream, board = EngineStream().sent(age=3), Scoreboard(PARAMS, seed=42)
    board(stream.records)
    assert board.grace(stream.cycle) == 0
    before = len(stream.records)
    stream.post(stream.make(flags=DEFER))
    board(stream.records[before:])
    left = board.grace(stream.cycle)
    assert 3 * PARAMS.mod_tick < left < 4 * PARAMS.mod_tick + 64 * PARAMS.num_qp + 32
    assert board.grace(stream.cycle + left) == 0


# -- credits -------------------------------------------------------------------------------------


def full(polled: int = 0, want: Cause | None = None, late: bool = False) -> EngineStream:
    """A CQ of two entries, both taken; ``polled`` of them are consumed before the next post, or
    ``late``, while it waits.
    """
    stream = EngineStream().connected(log2=1)
    for _ in range(2):
        stream.post()
    stream.run()
    if polled and not late:
        stream.doorbell(0, polled=polled)
    post = stream.make()
    stream.wrote(post)
    if late:
        stream.doorbell_step(0, polled)
    stream.tick()
    stream.answered(stream.taken(post, want=want))
    if late:
        stream.answered(0)  # the doorbell
    stream.run()
    return stream


def test_credits() -> None:
    assert full().posting.qps[0].tail == 2
    right(full(1))
    fails(full(1, Cause.NO_CREDIT), "cause 0x16, right would be: OK")
    match, to = "cause 0x0, right would be: NO_CREDIT", {"operand": 0x500}
    wrong(full(), match, change, Trace, op=POST, operand=0x516, to=to)
    # Both are right of a credit that comes while the post waits.
    for want in (None, Cause.NO_CREDIT):
        right(full(1, want, late=True))


def test_post_to_a_failed_cq() -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.work()
    stream.done(0, 0)
    stream.place(0, stream.retire(write=False).cqe.pack())
    stream.write(0)
    stream.answer(0, 2)
    stream.tick()
    stream.cq_error(CqStatus.INTERNAL_ERROR, 1)
    assert stream.post() is Cause.CQ_ERROR
    match, to = "right would be: CQ_ERROR", {"operand": 0x516}
    wrong(stream, match, change, Trace, op=POST, operand=0x515, to=to)


def test_queue_full_and_what_the_step_knows() -> None:
    stream = EngineStream().connected(depth=1)
    stream.post()
    assert stream.post() is Cause.QUEUE_FULL
    stream.run()
    right(stream)
    stream.tick(100)
    old = stream.posting.qps[0].trace_state(3)
    stream.wrote(stream.make())
    stream.tick()
    stream.lane(3, POST, 0, 0x514, old, old)
    fails(stream, "does not know that 0 retired")


# -- order, fences, bounds -----------------------------------------------------------------------


def test_fence() -> None:
    stream = EngineStream().connected()
    stream.post(stream.make(READ))
    stream.post(stream.make(SEND, FENCE))
    stream.run()

    def spoil(records: Records) -> None:
        retire = index(records, Trace, op=RETIRE)
        beat = records.pop(index(records, WorkBeat, 1))
        records.insert(retire, beat._replace(cycle=records[retire].cycle))

    wrong(stream, "DF-13", spoil)


def stalled(stream: EngineStream, match: str = "") -> None:
    """As if all cycles were stalled ones: only beats and steps count."""
    board = Scoreboard(PARAMS, seed=42)
    board.engine_checks.dispatch.stalled(1 << 30)
    if match:
        with pytest.raises(Mismatch, match=match):
            board(stream.records)
    else:
        board(stream.records)
        board.finish()


def busy(stream: EngineStream, requests: int, qps: int = 1) -> None:
    """Requests of some QPs in turn, each to its retirement."""
    for number in range(requests):
        stream.post(stream.make(BIND, SILENT, qp=number % qps))
        stream.run(number % qps)


WAITING = (PARAMS.num_qp + 4) * (PARAMS.burst + 4)


@pytest.mark.parametrize(
    "beats, qps, match",
    [
        # One QP waits while others are indicated all the time.
        (WAITING // 2, 2, ""),
        (WAITING + 3, 2, "waits for its beat"),
        # More than a burst, and what was fetched before.
        (PARAMS.burst + 6, 1, ""),
        (PARAMS.burst + 7, 1, "in a row, while QP 1 waits"),
    ],
)
def test_others_are_indicated_while_a_request_waits(beats: int, qps: int, match: str) -> None:
    stream = EngineStream().connected(qps + 1, qps + 1)
    stream.post(stream.make(qp=qps))
    busy(stream, beats, qps)
    stream.run(qps)
    stalled(stream, match)


@pytest.mark.parametrize("local", [False, True])
def test_done_and_not_retired(local: bool) -> None:
    """One QP's request is reported, or the engine's own, and others retire all the time."""
    bound = (PARAMS.num_qp + 5) * 16 + 16
    for others in (bound, bound + 1):
        stream = EngineStream().connected(2, 2)
        stream.post(stream.make(BIND, SILENT, qp=1) if local else stream.make(qp=1))
        tag = stream.work(1)
        if not local:
            stream.done(1, tag)
        busy(stream, others)
        stream.retire(1)
        stalled(stream, "retired before one that is done, at most" if others > bound else "")


def test_idle_while_a_request_waits() -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.tick(WAITING + 40)
    stream.run()
    fails(stream, "waits for its beat")
    stalled(stream)


# -- ends of connections -------------------------------------------------------------------------


def test_skipped() -> None:
    """Three requests wait when the connection ends; ``late``: the beat of one was offered."""
    for late in (True, False):
        stream = EngineStream().sent()
        for flags in (0, 0, DEFER):
            stream.post(stream.make(flags=flags))
        stream.plain(codes.Command.FLUSH_QP)
        if late:
            stream.done(0, stream.work(0, late=True))
        for _ in range(3):
            stream.retire()
        right(stream)
    to = {"operand": 1}
    spoiled(stream, "expected 0x201", change, Trace, op=RETIRE, operand=0x201, to=to)


def test_late_beat_is_too_late() -> None:
    stream = EngineStream().connected(2, 2)
    for qp in (0, 0, 1, 1, 1):
        stream.post(stream.make(qp=qp))
    stream.plain(codes.Command.FLUSH_QP)
    for _ in range(3):
        stream.done(1, stream.work(1))
        stream.retire(1)
    stream.done(0, stream.work(0, late=True))
    stream.retire()
    stream.retire()
    fails(stream, "beats behind the end of its connection")


def test_local_request_retires_before_its_beat_is_taken() -> None:
    stream = EngineStream().connected()
    stream.post(stream.make(BIND))
    stream.work()
    beat = stream.records.pop()
    stream.retire()
    fails(stream, "beat not taken: request 0")
    right(stream, ("work",))
    stream.add(beat._replace(cycle=stream.tick()))
    right(stream)


def test_connection_event() -> None:
    stream = EngineStream().sent()
    stream.conn()
    stream.conn()  # nothing changes
    stream.conn(3)  # no QP
    stream.conn(0, 1 << 31)
    assert [entry[0] for entry in right(stream).log()] == [0x32, 0x30]
    spoiled(stream, "without an event", drop, ConnReport)
    match = "no connection has ended|no change of state"
    spoiled(stream, match, drop, Trace, op=STATE, operand=1)


def test_failing_report_without_effect() -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.done(0, stream.work(), 9)
    stream.retire()
    right(stream)
    del stream.records[index(stream.records, Trace, op=STATE, operand=2) :]
    fails(stream, "no change of state for the report", ("no_completions", "terms"))


def test_not_reported() -> None:
    stream = EngineStream().sent()
    stream.post()
    fails(stream, "not indicated: request 1", ("reports",))
    stream.work()
    fails(stream, "not reported: request 1")
    right(stream, ("reports",))
    stream.done(0, 1)
    fails(stream, "never retired: request 1", ("reports",))


# -- commands ------------------------------------------------------------------------------------


def test_destroy_with_requests_outstanding() -> None:
    stream = EngineStream().connected()
    stream.post()
    tag = stream.work()
    stream.plain(codes.Command.DESTROY_QP)
    assert stream.post() is Cause.NO_QP
    stream.plain(codes.Command.DESTROY_QP)
    second = len(stream.records) - 1
    stream.done(0, tag)
    stream.retire()
    stream.plain(codes.Command.DESTROY_QP)
    results = [r.result for r in stream.records if type(r) is Command][-3:]
    assert results == [0x4D, 0x4D, 0]
    wrong(stream, "not CMD_PENDING", put, second, result=0)


@pytest.mark.parametrize(
    "code, word, state, result",
    [
        (codes.Command.CONNECT_QP, 3, QpState.CONNECTED, 0x50),
        (codes.Command.SET_QP_STATE, 2, QpState.CONNECTED, 0x50),
        (codes.Command.SET_QP_STATE, 1, QpState.CONNECTED, 0x50),
        (codes.Command.SET_QP_STATE, 16, QpState.CONNECTED, 0x41),
        (codes.Command.FLUSH_QP, 0, QpState.IDLE, 0x50),
        (codes.Command.FLUSH_QP, 0, QpState.DISCONNECTED, 0),
        (codes.Command.SET_QP_STATE, 1, QpState.DISCONNECTED, 0x51),
        (codes.Command.SET_QP_STATE, 4, QpState.DISCONNECTED, 0x50),
    ],
)
def test_commands_without_a_step(
    code: codes.Command, word: int, state: QpState, result: int
) -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.work() if result == 0x51 else stream.run()
    if state is QpState.IDLE:
        stream.create_qp(1)
    elif state is QpState.DISCONNECTED:
        stream.set_state(0, state)
    assert stream.plain(code, int(state is QpState.IDLE), word).result == result
    allow = ("reports", "no_completions") if result == 0x51 else ()
    for other in {0, 0x43, 0x50, 0x51} - {result}:
        wrong(stream, "left no step|answered", put, -1, allow=allow, result=other)


def test_cq_in_use() -> None:
    stream = EngineStream().sent()
    words, in_use = make_args(0).words, CommandResult.CMD_IN_USE
    start, end = stream.tick(4), stream.tick(5)
    stream.add(Command(end, start, codes.Command.DESTROY_CQ, words, in_use, (0,) * 8))
    wrong(stream, "expected", put, -1, result=0x43)
    stream.records.pop()
    stream.destroy_cq(0)
    fails(stream, "a QP names it")


def test_created_against_the_rules() -> None:
    stream = EngineStream().sent()
    stream.create_qp(1, 0)
    to = {"args": lambda a: (*a[:4], 2 | 4 << 16, *a[5:])}
    wrong(stream, "the model refuses it: CMD_BAD_PAGE", change, Command, -1, to=to)
