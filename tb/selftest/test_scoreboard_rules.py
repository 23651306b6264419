# SPDX-License-Identifier: Apache-2.0
"""The scoreboard in special situations: refusals, races, rules on pins. Each is right as it is, and
wrong with one change.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.codes import ArmType, TraceOp
from models.host.doorbell import pack_doorbell, pack_return
from models.layouts import CB_RETURN, CQ_DB
from tb.env.harness.records import Completion, CreditAnswer, CreditRequest, MemWrite, Trace
from tb.env.scoreboard.scoreboard import Mismatch, Scoreboard
from tb.selftest.mutations import Records, change, index, judge, put, spoiled
from tb.selftest.streams import PARAMS, Stream

ANY, SOLICITED = ArmType.ANY, ArmType.SOLICITED


# -- doorbells -----------------------------------------------------------------------------------


def refused(stream: Stream, word: int, cause: int, offset: int = CQ_DB, page: int = 1) -> None:
    stream.request(offset, word, page)
    stream.respond(cause)


@pytest.mark.parametrize(
    "word, offset, page, cause",
    [
        (1 << 50, CQ_DB, 1, 0x05),
        (1 << 63 | 3 << 48, CQ_DB, 1, 0x06),
        (pack_doorbell(5, 0), CQ_DB, 1, 0x07),
        (pack_doorbell(2, 0), CQ_DB, 1, 0x08),
        (pack_doorbell(0, 0), CQ_DB, 2, 0x09),
        (pack_doorbell(0, 9), CQ_DB, 1, 0x0B),
        (pack_return(0), CB_RETURN, 1, 0x0C),
        (0, 0x400, 1, 0x04),
        (0, CQ_DB, 4, 0x03),
    ],
)
def test_causes(word: int, offset: int, page: int, cause: int) -> None:
    stream = Stream().standard()
    refused(stream, word, cause, offset, page)
    judge(stream.records)
    for wrong in {0, 8, 0x0B, 0x0C} - {cause}:
        match = "expected|right would be|no step"
        spoiled(stream, match, put, -1, cause=wrong, resp=2 if wrong else 0)


def test_window_of_a_refusal() -> None:
    """Both sides of a change while the doorbell waits are right, nothing else is."""
    for cause, right in ((0x0B, True), (0x0A, False), (0x08, False)):
        stream = Stream().standard()
        stream.credit()
        cqe = stream.cqe()
        stream.arrive(0, cqe)
        stream.place(0, cqe)
        ahead = stream.engine.cqs[0].cons + 1
        stream.request(CQ_DB, pack_doorbell(0, ahead))
        stream.write()
        stream.respond(cause)
        stream.answer()
        stream.publish(0)
        if right:
            judge(stream.records)
        else:
            with pytest.raises(Mismatch, match="right would be"):
                judge(stream.records)


def test_refusal_is_judged_in_doorbell_order() -> None:
    """The doorbell in front of it was accepted: states before that one do not count."""
    stream = Stream().ready()
    stream.doorbell(0, ANY)
    stream.complete()
    stream.call()
    stream.request(CB_RETURN, pack_return(0))
    stream.request(CB_RETURN, pack_return(0))
    stream.tick()
    stream.traced(TraceOp.CB_RETURN, 0, 0, lambda: stream.engine.cb_return(0))
    stream.respond()
    stream.respond(0x0C)
    judge(stream.records)
    records: Records = list(stream.records)
    # The other way round: the first one refused while a callback is in progress.
    records[-2] = records[-2]._replace(resp=2, cause=0x0C)
    records[-1] = records[-1]._replace(resp=0, cause=0)
    with pytest.raises(Mismatch, match="right would be: OK"):
        judge(records)


@pytest.mark.parametrize("before, right", [(3, True), (4, False)])
def test_refusal_behind_an_accepted_doorbell(before: int, right: bool) -> None:
    """The record of the accepted one comes five cycles after it, that of a write one cycle: the
    refused one was executed before the write, or had to be accepted.
    """
    stream = Stream().standard()
    stream.credit()
    cqe = stream.cqe()
    stream.arrive(0, cqe)
    stream.place(0, cqe)
    cons = stream.engine.cqs[0].cons
    stream.request(CQ_DB, pack_doorbell(0, cons))
    stream.request(CQ_DB, pack_doorbell(0, cons + 1))
    stream.write()
    stream.tick(before)
    stream.ring(0, cons)
    stream.respond()
    stream.respond(0x0B)
    stream.answer()
    stream.publish(0)
    if right:
        judge(stream.records)
    else:
        with pytest.raises(Mismatch, match="right would be: OK"):
            judge(stream.records)


def test_index_beyond_what_is_written_is_not_accepted() -> None:
    stream = Stream().ready()
    stream.credit()
    cqe = stream.cqe()
    stream.arrive(0, cqe)
    stream.place(0, cqe)
    stream.write()
    stream.doorbell(0, polled=1)
    stream.answer()
    stream.tick()
    stream.publish(0)
    judge(stream.records)
    records: Records = list(stream.records)
    write, bell = index(records, MemWrite), index(records, Trace, op=TraceOp.DOORBELL)
    moved = records.pop(write)
    records.insert(bell, moved._replace(cycle=records[bell].cycle))
    with pytest.raises(Mismatch, match="the model refuses it: BAD_INDEX"):
        judge(records)


# -- rules on pins alone -------------------------------------------------------------------------


def test_callback_without_an_arm_at_the_pins() -> None:
    """Trace and model agree on a call; the pins know of no arm."""
    board = Scoreboard(PARAMS)
    stream = Stream().ready()
    stream.doorbell(0, ANY)
    stream.complete()
    board(stream.records)
    board.checks.doorbells.arms[0] = 0
    done = len(stream.records)
    stream.event()
    with pytest.raises(Mismatch, match="CQ-06: callback 1 after 0 arm"):
        board(stream.records[done:])


@pytest.mark.parametrize(
    "spoil, message",
    [
        (
            lambda b: b.checks.doorbells.returns.__setitem__(0, 0),
            "CQ-11: callback while the one before",
        ),
        (lambda b: setattr(b.checks.memory.pins[0], "under_way", True), "is not acknowledged"),
        (lambda b: setattr(b.checks.memory.pins[0], "acked", 1), "CQ-15: callback for 2 entries"),
    ],
)
def test_second_callback_at_the_pins(spoil: Callable[[Scoreboard], object], message: str) -> None:
    board = Scoreboard(PARAMS)
    stream = Stream().ready()
    stream.doorbell(0, ANY)
    stream.complete()
    stream.call()
    stream.doorbell(0, ANY, 1)
    stream.returns()
    stream.complete()
    board(stream.records)
    spoil(board)
    done = len(stream.records)
    stream.event()
    with pytest.raises(Mismatch, match=message):
        board(stream.records[done:])


def test_unread_event_is_not_overwritten() -> None:
    board = Scoreboard(PARAMS)
    stream = Stream().ready()
    stream.doorbell(0, ANY)
    stream.complete()
    board(stream.records)
    model = board.ctx.engine.eqs[1]
    model.prod += 4  # as if four entries were there that nobody returned from
    done = len(stream.records)
    stream.engine.eqs[1].prod += 4
    stream.event()
    with pytest.raises(Mismatch, match="nobody can have read"):
        board(stream.records[done:])


# -- credits, refused completions ------------------------------------------------------------------


def test_credits_beyond_the_ring() -> None:
    stream = Stream().standard()
    for _ in range(4):
        assert stream.credit(0)
    assert not stream.credit(0)
    judge(stream.records)
    stream.records[-1] = CreditAnswer(stream.records[-1].cycle, True)
    with pytest.raises(Mismatch, match="granted, at most 0 were free"):
        judge(stream.records)


@pytest.mark.parametrize("data", [0, 3 << 16, 1 << 16 | 4, 1 << 18 | 1 << 16])
def test_malformed_credit_requests(data: int) -> None:
    stream = Stream().standard()
    stream.add(CreditRequest(stream.tick(), data))
    stream.add(CreditAnswer(stream.tick(), False))
    judge(stream.records)
    stream.records[-1] = CreditAnswer(stream.cycle, True)
    with pytest.raises(Mismatch, match="malformed, but granted"):
        judge(stream.records)


def test_refused_completions() -> None:
    stream = Stream().standard()
    stream.arrive(0, stream.cqe())  # no credit
    stream.arrive(2, stream.cqe())  # no such queue
    stream.arrive(9, stream.cqe())  # no such number
    assert judge(stream.records).checks.completions.bad_cq == 1


def test_completion_without_a_credit_is_not_placed() -> None:
    stream = Stream().standard()
    cqe = stream.cqe()
    stream.arrive(0, cqe)
    stream.engine.producers[0].granted += 1
    stream.place(0, cqe)
    with pytest.raises(Mismatch, match="without a credit"):
        judge(stream.records, ("memory",))


def test_silent_completions() -> None:
    stream = Stream().standard()
    stream.credit(0, 2)
    cqe = stream.cqe()
    stream.arrive(0, stream.cqe(), cqe, silent=1)
    stream.place(0, cqe, back=1)
    stream.write()
    stream.answer()
    stream.publish(0)
    judge(stream.records)
    spoiled(stream, "entry 3", change, Completion, -1, to={"silent": 2})
