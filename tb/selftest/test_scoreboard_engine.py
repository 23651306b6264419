# SPDX-License-Identifier: Apache-2.0
"""The full engine's scoreboard in special situations: deferral, credits, bounds of time, ends of
connections, messages, checks, keys. Each is right as it is, and wrong with one change.
"""

from __future__ import annotations

import itertools

import pytest

from models import codes
from models.codes import Access, Cause, QpState, ScatterCode, TraceOp, Verdict
from models.keys.window_control import make_window_args
from models.keys.window_types import CheckRequest
from models.receive.receive_types import RecvRequest
from tb.env.harness.records import AccessVerdict, Command, ScatterAnswer, Trace
from tb.env.scoreboard.scoreboard import Mismatch, Scoreboard
from tb.selftest.engine_streams import BASE, FIRST, OWN, RECV_POST, TAKE, EngineStream
from tb.selftest.mutations import (
    OPEN_END,
    change,
    drop,
    fails,
    fails_open,
    index,
    late_board,
    right,
    spoiled,
)
from tb.selftest.work_streams import BIND, DEFER, FENCE, PARAMS, READ, SEND, SILENT

POST, INVALIDATE, CHECK = TraceOp.POST, TraceOp.INVALIDATE, TraceOp.CHECK

# -- deferral, credits -----------------------------------------------------------------------------


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
        stream.respond(0)
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


# -- bounds, ends of connections -------------------------------------------------------------------


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


@pytest.mark.parametrize("until, turns", [(99, 2), (8, 2), (0, 1)])
def test_others_are_fenced(until: int, turns: int) -> None:
    """Two turns of a QP meet where another one's request is fenced, or was; never three."""
    for more in (6, 7):
        stream = EngineStream().connected(3, 3)
        stream.post(stream.make(READ, qp=2))
        tag = stream.work(2)
        stream.post(stream.make(flags=FENCE, qp=2))
        stream.post(stream.make(qp=1))
        for request in range(turns * PARAMS.burst + more):
            if request == until:
                stream.done(2, tag)
                stream.retire(2)
                stream.tick(100 if turns == 1 else 1)
            busy(stream, 1)
        if until == 99:
            stream.done(2, tag)
        stream.run(1)
        stream.run(2)
        stalled(stream, "in a row, while QP 1 waits" if more > 6 else "")


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
    fails(stream, "beats after the end of its connection")


def test_cq_in_use_is_destroyed() -> None:
    stream = EngineStream().sent()
    stream.destroy_cq(0)
    fails(stream, "a QP names it")


# -- messages --------------------------------------------------------------------------------------


def posted(count: int = 1) -> EngineStream:
    """The queue pair with its own queue has buffers."""
    stream = EngineStream().receivers()
    for _ in range(count):
        stream.receive()
    return stream


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_credits_of_receives(shared: bool, two: bool) -> None:
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
            stream.answers(request, stream.take(request, credit))
            match = f"CQ-17: credit {int(bool(credit))}"
        else:
            post = stream.buffer(OWN)
            stream.wrote_receive(post)
            stream.tick(1)
            stream.respond(stream.took(post, credit=credit))
            match = "cause 0x0, right would be: NO_CREDIT"
            match = match if credit else "cause 0x16, right would be: OK"
        fails_open(stream, None if credit in (None, used < most) else match)


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
    for wait in (8, 9):
        stream = posted()
        request = RecvRequest(OWN, 1)
        stream.arrives(request)
        stream.tick(wait)
        stream.answers(request, stream.take(request))
        late_board()(stream.records)
        fails_open(stream, "9 is the bound" if wait == 9 else None)


def test_post_that_does_not_know_an_old_completion() -> None:
    stream = posted(4)
    stream.whole()
    stream.tick(100)
    stream.wrote_receive(stream.buffer())
    stream.tick(1)
    stream.lane(6, RECV_POST, OWN, 0x14, 4 | 4 << 32, 4 | 4 << 32)
    fails_open(stream, "reported: knows 0, but 1 was reached")


def test_gone_with_receives() -> None:
    for code, args, new in (
        (codes.Command.DESTROY_QP, (0,) * 8, QpState.FREE),
        (codes.Command.SET_QP_STATE, (0, 1, 0, 0, 0, 0, 0, 0), QpState.IDLE),
    ):
        stream = posted(3)
        stream.message()
        stream.plain(codes.Command.FLUSH_QP)
        start = stream.tick()
        old = stream.posting.qps[0].trace_state(3)
        stream.tick()
        stream.lane(3, TraceOp.QP_STATE, OWN, 0, old, old & ~0xF | new)
        stream.add(Command(stream.tick(), start, code, args, 0, (0,) * 8))
        fails_open(stream, "SRQ-14: empty, but it has receives")


def test_connection_that_ends_without_a_message_too_long() -> None:
    """The step does not tell whose buffer it is: that of a message from before the connection,
    which may be refused, or of the second one, which fits.
    """
    stream = EngineStream().receivers()
    stream.plain(codes.Command.FLUSH_QP, OWN)
    stream.set_state(OWN, QpState.IDLE)
    stream.receive(stream.buffer())
    stream.arrives(RecvRequest(OWN, 1000))
    stream.connect(OWN)
    stream.arrives(second := RecvRequest(OWN, 10))
    stream.tick(1)
    result = stream.take(second)
    rq = stream.receiving.rqs[OWN]
    rq.overlong = rq.qp.connections
    stream.ends(OWN)
    for user, data in ((ScatterCode.REFUSED, 0), (result.tuser, result.tdata)):
        stream.add(ScatterAnswer(stream.tick(1), OWN, user, data))
    with pytest.raises(Mismatch, match="without a failing report, nor a message too long"):
        late_board()(stream.records)


# -- checks ----------------------------------------------------------------------------------------


def asked(stream: EngineStream) -> CheckRequest:
    """A good check of window 0 is taken."""
    request = CheckRequest(OWN, Access.READ, stream.tokens[0], BASE, 8)
    stream.asks(request)
    return request


def test_bound_of_a_verdict() -> None:
    for wait in (5, 6):
        stream = EngineStream().bound()
        request = asked(stream)
        stream.tick(wait)
        stream.judged(stream.decides(request))
        late_board("access")(stream.records)
        fails_open(stream, "6 is the bound" if wait == 6 else None)


def test_step_of_a_check_after_its_verdict() -> None:
    for code, match in ((0, None), (3, "verdict 0x3 of cycle .*, expected GRANTED")):
        stream = EngineStream().bound()
        stream.check(stream.tokens[0])
        step = drop(stream.records, Trace, op=CHECK)
        stream.add(step._replace(cycle=stream.cycle + 1))
        change(stream.records, AccessVerdict, to={"data": code << 16})
        fails_open(stream, match)
    stream.records.pop()
    fails_open(stream, "at the end: no step for the verdict of cycle")


# -- requests and messages -------------------------------------------------------------------------


def work_step(stream: EngineStream, gap: int = 0) -> None:
    """The next local request is executed, and its beat taken after ``gap`` cycles."""
    found = stream.posting.indicate(OWN)
    assert found.step is not None
    stream.key_lane(found.step)
    stream.tick(gap)
    stream.beat(OWN, found)


@pytest.mark.parametrize("ahead", [1, 3, 4])
def test_executed_while_beats_are_not_taken(ahead: int) -> None:
    """A local request is after remote ones whose beats an output register holds."""
    stream = EngineStream().guards()
    for _ in range(ahead):
        stream.post(stream.make(SEND))
    stream.post(stream.bind_post())
    beats = [stream.posting.indicate(OWN) for _ in range(ahead + 1)]
    assert beats[-1].step is not None
    stream.tick()
    stream.key_lane(beats[-1].step)
    for found in beats:
        stream.tick(1)
        stream.beat(OWN, found)
    match = "executed, while 4 beats in front of it are not taken"
    fails_open(stream, match if ahead == 4 else None)


def test_completes_ahead_of_its_token() -> None:
    """CQ-03: a completion while the token is valid."""
    stream = EngineStream().bound()
    result = stream.message_with(stream.tokens[0])
    stream.report(OWN, result.tag)
    stream.completes(OWN)
    right(stream, OPEN_END)
    for record in (drop(stream.records, Trace, op=INVALIDATE), drop(stream.records, ScatterAnswer)):
        stream.add(record._replace(cycle=stream.cycle))
    with pytest.raises(Mismatch, match="CQ-03"):
        late_board()(stream.records)


def test_step_of_a_token_after_the_answer() -> None:
    for okay in (True, False):
        stream = EngineStream().bound()
        stream.message_with(stream.tokens[0] if okay else 0x77)
        records = stream.records
        step = drop(records, Trace, op=INVALIDATE)
        at = index(records, ScatterAnswer)
        records.insert(at + 1, step._replace(cycle=records[at].cycle + 1))
        right(stream, OPEN_END)
        change(records, ScatterAnswer, to={"user": 4 if okay else 0, "data": 0})
        match = "user 0x4, expected|data 0x0, expected|answer of cycle .* with code 4, expect"
        fails_open(stream, match)
        records.pop(at + 1)
        stream.tick(200)
        stream.doorbell(0)
        fails_open(stream, "its token was not invalidated|data 0x0, expected|in error without")


def test_same_cycle() -> None:
    """Of one cycle a check is decided ahead of an invalidation."""
    stream = EngineStream().bound()
    stream.post(stream.invalidate_post(stream.tokens[0]))
    request = asked(stream)
    stream.tick(1)
    result = stream.decides(request)
    assert result.code == Verdict.GRANTED
    work_step(stream)
    stream.judged(result)
    stream.retire(OWN)
    records = stream.records
    check = drop(records, Trace, op=CHECK)
    two = index(records, Trace, op=INVALIDATE)
    records.insert(two + 1, check)
    right(stream, OPEN_END)
    records[two + 1 : two + 3] = [records[two + 2], check._replace(cycle=check.cycle + 1)]
    fails_open(stream, "MW-10: CHECK with operand 0x10000, expected CHECK 0x10001")


# -- commands --------------------------------------------------------------------------------------


def test_query_while_a_request_executes() -> None:
    """It tells of before or of after, and of nothing else."""
    stream = EngineStream().guards()
    stream.post(stream.bind_post())
    start = stream.tick()
    before = stream.table.query_window(0)
    stream.work(OWN)
    stream.retire(OWN)
    behind = stream.table.query_window(0)
    neither = (*before[:1], *behind[1:6], behind[6] ^ 1, behind[7])
    end, words = stream.tick(), make_window_args(0).words
    for outs, match in ((before, None), (behind, None), (neither, "QUERY_MW.*outputs")):
        stream.add(Command(end, start, codes.Command.QUERY_MW, words, 0, outs))
        fails_open(stream, match)
        stream.records.pop()
