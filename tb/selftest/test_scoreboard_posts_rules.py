# SPDX-License-Identifier: Apache-2.0
"""The full engine's scoreboard in special situations: deferral, credits, fences,
bounds of time. Each is right as it is, and wrong with one change.
"""

from __future__ import annotations

import pytest

from models import codes
from models.codes import Cause, TraceOp
from models.post.qp import QpConfig
from tb.env.harness.records import Command, Trace, WorkBeat
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.engine_streams import EngineStream
from tb.selftest.mutations import Records, change, fails, index, judge_engine, wrong
from tb.selftest.work_streams import BIND, DEFER, FENCE, PARAMS, READ, SEND, SILENT

POST, STATE, RETIRE, AGE = TraceOp.POST, TraceOp.QP_STATE, TraceOp.RETIRE, TraceOp.AGE


# -- deferral ------------------------------------------------------------------------------------


def test_held_requests_are_found_at_the_end() -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.run()
    stream.post(stream.make(flags=DEFER))
    judge_engine(stream.records, ("held",))
    fails(stream, "requests held: 1")


def test_indicated_while_held() -> None:
    stream = EngineStream().connected()
    for flags in (DEFER, DEFER, 0):
        stream.post(stream.make(flags=flags))
    stream.run()
    beat = index(stream.records, WorkBeat)
    early = stream.records[beat]._replace(cycle=0)

    def spoil(records: Records) -> None:
        at = index(records, Trace, 1, op=POST)
        records.insert(at, early._replace(cycle=records[at].cycle))

    wrong(stream.records, "which is held, skipped or missing", spoil)


def test_watermark_of_a_command_in_flight() -> None:
    """From some moment of the command on the new one counts."""
    for watermark, right in ((1, True), (0, False), (2, False)):
        stream = EngineStream().connected()
        stream.post()
        stream.run()
        config = QpConfig(watermark=watermark)
        words = (0, 0, 0, 0, 0, config.watermark, 0, 0)
        start = stream.tick()
        post = stream.make(flags=DEFER)
        stream.wrote(post)
        stream.posting.qps[0].modify(1, 0)
        stream.tick()
        stream.taken(post)
        stream.answered(0)
        stream.run()
        stream.add(Command(stream.tick(5), start, codes.Command.MODIFY_QP, words, 0, (0,) * 8))
        if right:
            judge_engine(stream.records)
        else:
            fails(stream, "after the step")


def aged(wait: int) -> EngineStream:
    stream = EngineStream().connected(age=2)
    stream.post()
    stream.run()
    stream.post(stream.make(flags=DEFER))
    stream.tick(wait)
    model = stream.posting.qps[0]
    stream.step(AGE, 0, 0, lambda: model._release())
    stream.run()
    return stream


def test_age() -> None:
    bound = 2 * PARAMS.mod_tick
    latest = bound + PARAMS.mod_tick + 64 * PARAMS.num_qp
    for wait in (bound + 1, latest - 8):
        judge_engine(aged(wait).records)
    fails(aged(bound - 8), "released by age after")
    fails(aged(latest + 32), "held requests are too old")


# -- credits -------------------------------------------------------------------------------------


def full(polled: int = 0, want: Cause | None = None) -> EngineStream:
    """A CQ of two entries, both taken; ``polled`` of them are consumed before the next post."""
    stream = EngineStream().connected(log2=1)
    for _ in range(2):
        stream.post()
    stream.run()
    if polled:
        stream.doorbell(0, polled=polled)
    post = stream.make()
    stream.wrote(post)
    stream.tick()
    cause = stream.taken(post, want=want)
    stream.answered(cause)
    stream.run()
    return stream


def test_credits() -> None:
    judge_engine(full().records)
    assert full().posting.qps[0].tail == 2
    judge_engine(full(1).records)
    fails(full(1, Cause.NO_CREDIT), "cause 0x16, right would be: OK")
    wrong(
        full().records,
        "cause 0x0, right would be: NO_CREDIT",
        lambda r: change(r, Trace, op=POST, operand=0x516, to={"operand": 0x500}),
    )


def test_credit_that_comes_while_the_post_waits() -> None:
    for want in (None, Cause.NO_CREDIT):
        stream = EngineStream().connected(log2=1)
        for _ in range(2):
            stream.post()
        stream.run()
        post = stream.make()
        stream.wrote(post)
        stream.doorbell_step(0, 1)
        stream.tick()
        cause = stream.taken(post, want=want)
        stream.answered(cause)
        stream.answered(0)  # the doorbell
        stream.run()
        judge_engine(stream.records)


def test_post_to_a_failed_cq() -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.work()
    stream.done(0, 0)
    end = stream.retire(write=False)
    stream.place(0, end.cqe.pack())
    stream.write(0)
    stream.answer(0, 2)
    stream.tick()
    from models.codes import CqStatus

    stream.traced(
        TraceOp.CQ_ERROR,
        0,
        CqStatus.INTERNAL_ERROR | 1 << 2,
        lambda: stream.engine.cq_error(0, CqStatus.INTERNAL_ERROR, 1),
    )
    assert stream.post() is Cause.CQ_ERROR
    wrong(
        stream.records,
        "right would be: CQ_ERROR",
        lambda r: change(r, Trace, op=POST, operand=0x515, to={"operand": 0x516}),
    )


def test_queue_full_and_what_the_step_knows() -> None:
    stream = EngineStream().connected(depth=1)
    stream.post()
    assert stream.post() is Cause.QUEUE_FULL
    stream.run()
    judge_engine(stream.records)
    stream.tick(100)
    model = stream.posting.qps[0]
    old = model.trace_state(3)
    stream.wrote(stream.make())
    stream.add(Trace(stream.tick(), 3, POST, 0, False, 0, 0x514, old, old))
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

    wrong(stream.records, "DF-13", spoil)


def test_starvation() -> None:
    """One QP waits while others are indicated all the time."""
    bound = (PARAMS.num_qp + 4) * (PARAMS.burst + 4)
    for beats, right in ((bound // 2, True), (bound + 3, False)):
        stream = EngineStream().connected(3, 3)
        stream.post(stream.make(qp=2))
        for number in range(beats):
            stream.post(stream.make(BIND, SILENT, qp=number % 2))
            stream.run(number % 2)
        stream.run(2)
        # Only beats count here: the cycles were stalled ones.
        board_stalled(stream, right, "waits for its beat")


def board_stalled(stream: EngineStream, right: bool, match: str) -> None:
    from tb.env.scoreboard.scoreboard import Scoreboard

    board = Scoreboard(PARAMS, seed=42)
    board.engine_checks.dispatch.stalled(1 << 30)
    if right:
        board(stream.records)
        board.finish()
        return
    with pytest.raises(Mismatch, match=match):
        board(stream.records)


@pytest.mark.parametrize("local", [False, True])
def test_done_and_not_retired(local: bool) -> None:
    """One QP's request is reported, or the engine's own, and others retire all the time."""
    bound = (PARAMS.num_qp + 5) * 16 + 16
    for others, right in ((bound, True), (bound + 1, False)):
        stream = EngineStream().connected(2, 2)
        stream.post(stream.make(BIND, SILENT, qp=1) if local else stream.make(qp=1))
        tag = stream.work(1)
        if not local:
            stream.done(1, tag)
        for _ in range(others):
            stream.post(stream.make(BIND, SILENT))
            stream.run(0)
        stream.retire(1)
        board_stalled(stream, right, "retired before one that is done, at most")


def test_long_run() -> None:
    """More than a burst, and what was fetched before, while another QP waits."""
    for beats, right in ((PARAMS.burst + 6, True), (PARAMS.burst + 7, False)):
        stream = EngineStream().connected(2, 2)
        stream.post(stream.make(qp=1))
        for _ in range(beats):
            stream.post(stream.make(BIND, SILENT))
            stream.run(0)
        stream.run(1)
        board_stalled(stream, right, "in a row, while QP 1 waits")


def test_idle_while_a_request_waits() -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.tick((PARAMS.num_qp + 4) * (PARAMS.burst + 4) + 40)
    stream.run()
    fails(stream, "waits for its beat")
    board_stalled(stream, True, "")


def test_grace_until_the_age_limit() -> None:
    from tb.env.scoreboard.scoreboard import Scoreboard

    stream = EngineStream().connected(age=3)
    stream.post()
    stream.run()
    board = Scoreboard(PARAMS, seed=42)
    board(stream.records)
    assert board.grace(stream.cycle) == 0
    before = len(stream.records)
    stream.post(stream.make(flags=DEFER))
    board(stream.records[before:])
    left = board.grace(stream.cycle)
    assert 3 * PARAMS.mod_tick < left < 4 * PARAMS.mod_tick + 64 * PARAMS.num_qp + 32
    assert board.grace(stream.cycle + left) == 0
