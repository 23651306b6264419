# SPDX-License-Identifier: Apache-2.0
"""The scoreboard in special situations: refusals, races, rules on pins. Each is right as it is, and
wrong with one change.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from models.codes import ArmType, ResultType, TraceOp
from models.cq.queue import Placement
from models.host.doorbell import pack_doorbell, pack_return
from models.layouts import CB_RETURN, CQ_DB
from tb.env.harness.records import Completion, CreditAnswer, CreditRequest, MemWrite, Trace
from tb.env.scoreboard.scoreboard import Mismatch, Scoreboard
from tb.selftest.mutations import Records, change, fails, index, put, right, spoiled, wrong
from tb.selftest.streams import PARAMS, Stream

# -- doorbells -----------------------------------------------------------------------------------


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
    stream.request(offset, word, page)
    stream.respond(cause)
    right(stream)
    for other in {0, 8, 0x0B, 0x0C} - {cause}:
        match = "expected|right would be|no step"
        spoiled(stream, match, put, -1, cause=other, resp=2 if other else 0)


def test_window_of_a_refusal() -> None:
    """Both sides of a change while the doorbell waits are right, nothing else is."""
    stream = Stream().standard()
    stream.placed()
    stream.request(CQ_DB, pack_doorbell(0, stream.engine.cqs[0].cons + 1))
    stream.write()
    stream.respond(0x0B)
    answer = len(stream.records) - 1
    stream.answered_write()
    right(stream)
    for cause in (0x0A, 0x08):
        spoiled(stream, "right would be", put, answer, cause=cause)


def test_refusal_is_judged_in_doorbell_order() -> None:
    """The doorbell in front of it was accepted: states before that one do not count."""
    stream = Stream().called()
    stream.request(CB_RETURN, pack_return(0))
    stream.request(CB_RETURN, pack_return(0))
    stream.tick()
    stream.traced(TraceOp.CB_RETURN, 0, 0, lambda: stream.engine.cb_return(0))
    stream.respond()
    stream.respond(0x0C)

    def spoil(records: Records) -> None:
        """The other way round: the first one refused while a callback is in progress."""
        put(records, -2, resp=2, cause=0x0C)
        put(records, -1, resp=0, cause=0)

    wrong(stream, "right would be: OK", spoil)


def test_refusal_behind_an_accepted_doorbell() -> None:
    """The record of the accepted one comes five cycles after it, that of a write one cycle: the
    refused one was executed before the write, or had to be accepted.
    """
    for before in (3, 4):
        stream = Stream().standard()
        stream.placed()
        cons = stream.engine.cqs[0].cons
        for number in (cons, cons + 1):
            stream.request(CQ_DB, pack_doorbell(0, number))
        stream.write()
        stream.tick(before)
        stream.ring(0, cons)
        for cause in (0, 0x0B):
            stream.respond(cause)
        stream.answered_write()
        right(stream) if before == 3 else fails(stream, "right would be: OK")


def test_index_beyond_what_is_written_is_not_accepted() -> None:
    stream = Stream().ready()
    stream.placed()
    stream.write()
    stream.doorbell(0, polled=1)
    stream.answered_write()

    def spoil(records: Records) -> None:
        write, bell = index(records, MemWrite), index(records, Trace, op=TraceOp.DOORBELL)
        records.insert(bell, records.pop(write)._replace(cycle=records[bell].cycle))

    wrong(stream, "the model refuses it: BAD_INDEX", spoil)


# -- rules on pins alone -------------------------------------------------------------------------


def no_arm(board: Scoreboard) -> None:
    board.checks.doorbells.arms[0] = 0


def no_return(board: Scoreboard) -> None:
    board.checks.doorbells.returns[0] = 0


def not_acknowledged(board: Scoreboard) -> None:
    board.checks.memory.pins[0].under_way = True


def one_acknowledged(board: Scoreboard) -> None:
    board.checks.memory.pins[0].acked = 1


@pytest.mark.parametrize(
    "calls, spoil, message",
    [
        (1, no_arm, "CQ-06: callback 1 after 0 arm"),
        (2, no_return, "CQ-11: callback while the one before"),
        (2, not_acknowledged, "is not acknowledged"),
        (2, one_acknowledged, "CQ-15: callback for 2 entries"),
    ],
)
def test_callback_at_the_pins(
    calls: int, spoil: Callable[[Scoreboard], object], message: str
) -> None:
    """Trace and model agree on a call; the pins know of something that forbids it."""
    board = Scoreboard(PARAMS)
    stream = Stream().due()
    if calls == 2:
        stream.call()
        stream.doorbell(0, ArmType.ANY, 1)
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
    stream = Stream().due()
    board(stream.records)
    done = len(stream.records)
    for engine in (board.ctx.engine, stream.engine):
        engine.eqs[1].prod += 4  # as if four entries were there that nobody returned from
    stream.event()
    with pytest.raises(Mismatch, match="nobody can have read"):
        board(stream.records[done:])


# -- credits, refused completions ------------------------------------------------------------------


def test_credits_beyond_the_ring() -> None:
    stream = Stream().standard()
    assert [stream.credit(0) for _ in range(5)] == [True] * 4 + [False]
    wrong(stream, "granted, at most 0 were free", put, -1, granted=True)


@pytest.mark.parametrize("data", [0, 3 << 16, 1 << 16 | 4, 1 << 18 | 1 << 16])
def test_malformed_credit_requests(data: int) -> None:
    stream = Stream().standard()
    stream.add(CreditRequest(stream.tick(), data))
    stream.add(CreditAnswer(stream.tick(), False))
    wrong(stream, "malformed, but granted", put, -1, granted=True)


def test_refused_completions() -> None:
    stream = Stream().standard()
    cqe = stream.cqe()
    for cq in (2, 9, 0):  # no such queue, no such number, no credit
        stream.arrive(cq, cqe)
    assert right(stream).checks.completions.bad_cq == 1
    stream.engine.producers[0].granted += 1
    stream.place(0, cqe)
    fails(stream, "without a credit", ("memory",))


def test_silent_completions() -> None:
    stream = Stream().standard()
    stream.credit(0, 2)
    cqe = stream.cqe()
    stream.arrive(0, stream.cqe(), cqe, silent=1)
    stream.place(0, cqe, back=1)
    stream.written()
    wrong(stream, "entry 3", change, Completion, -1, to={"silent": 2})


# -- completions that may have been refused --------------------------------------------------------


NO_BELLS = ("no_doorbells",)


def race(*lanes: bytes) -> Stream:
    """Completions without a credit, then a credit."""
    stream = Stream().ready()
    for lane in lanes:
        stream.arrive(0, lane)
    assert stream.credit(0)
    return stream


def cqes(count: int) -> list[bytes]:
    """Contents that all differ, in context and class."""
    stream = Stream()
    return [stream.cqe(ResultType.RECEIVE, solicited=bool(i & 1)) for i in range(count)]


@pytest.mark.parametrize("one, two", list(product(range(3), repeat=2)))
def test_order_is_kept(one: int, two: int) -> None:
    lanes = cqes(3)
    stream = race(*lanes)
    assert stream.credit(0)
    # Both steps come before the first entry is written.
    for i in (one, two):
        stream.place(0, lanes[i])
    for _ in range(2):
        stream.write()
    for _ in range(2):
        stream.answered_write()
    if one < two:
        right(stream, NO_BELLS)
    else:
        fails(stream, r"queue 0 entry [01]", NO_BELLS)


@pytest.mark.parametrize("before, credited", [(2, 0), (1, 2)])
def test_what_was_no_candidate_is_not_placed(before: int, credited: int) -> None:
    """Content of no completion; or one behind a completion that came with a credit."""
    lanes = cqes(3)
    stream = race(*lanes[:before])
    for lane in lanes[before : before + credited]:
        stream.arrive(0, lane)
    stream.place(0, lanes[2])
    stream.written()
    fails(stream, "queue 0 entry 0", NO_BELLS)


def test_lost_completion() -> None:
    """The older one took the first credit; the one that came with a credit has no step."""
    first, second = cqes(2)
    stream = race(first)
    assert stream.credit(0)
    stream.arrive(0, second)
    stream.place(0, first)
    stream.written()
    assert stream.engine.judge(0) is Placement.PLACED
    fails(stream, "lost: the completion of cycle", NO_BELLS)
    stream.place(0, second)
    stream.written()
    right(stream, NO_BELLS)


def test_refusable_too_late() -> None:
    """What happens between step and write does not make a lane refusable when it was its turn."""
    first, second, third, later = cqes(4)
    stream = race(first)
    stream.arrive(0, second)
    stream.arrive(0, third)
    stream.place(0, third)
    stream.tick(20)
    stream.arrive(0, later)
    stream.write()
    fails(stream, "queue 0 entry 0", NO_BELLS)


def test_silent_lanes() -> None:
    """A silent one between two candidates took the other credit."""
    first, second = cqes(2)
    stream = race(first)
    stream.arrive(0, second, silent=1)
    stream.place(0, back=1)
    assert stream.credit(0)
    stream.arrive(0, first)
    stream.place(0, first)
    stream.written()
    right(stream, NO_BELLS)
