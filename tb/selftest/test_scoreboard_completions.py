# SPDX-License-Identifier: Apache-2.0
"""The scoreboard of the completion core in special situations: races, rules on pins, moderation,
commands in flight. Each is right as it is, and wrong with one change.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from models import codes
from models.arm.arm import CqConfig
from models.codes import ArmType, ResultType, TraceOp
from models.cq.queue import Placement
from models.host.control import make_args
from models.host.doorbell import pack_doorbell, pack_return
from models.layouts import CB_RETURN, CQ_DB
from tb.env.defs import Cause, Kind, Reg
from tb.env.harness.records import Command, MemWrite
from tb.env.pins import Pins
from tb.env.scoreboard.context import look_patience
from tb.env.scoreboard.scoreboard import ALLOWANCES, Mismatch, Scoreboard
from tb.selftest.mutations import Records, drop, fails, put, right, spoiled
from tb.selftest.right_streams import completions
from tb.selftest.streams import PARAMS, Stream

ANY, SOLICITED = ArmType.ANY, ArmType.SOLICITED

# -- doorbells -------------------------------------------------------------------------------------


def test_window_of_a_refusal() -> None:
    """Both sides of a change while the doorbell waits are right, nothing else is."""
    stream = completions()
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

    right(stream)
    spoiled(stream, "right would be: OK", spoil)


def test_refusal_after_an_accepted_doorbell() -> None:
    """The record of the accepted one comes five cycles after it, that of a write one cycle: the
    refused one was executed before the write, or had to be accepted.
    """
    for before in (3, 4):
        stream = completions()
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


# -- rules on pins alone ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "calls, spoil, message",
    [
        (1, lambda c: setattr(c.doorbells, "arms", [0] * 4), "CQ-06: callback 1 after 0 arm"),
        (
            2,
            lambda c: setattr(c.doorbells, "returns", [0] * 4),
            "CQ-11: callback while",
        ),
        (2, lambda c: setattr(c.memory.pins[0], "under_way", True), "is not acknowledged"),
        (2, lambda c: setattr(c.memory.pins[0], "acked", 1), "CQ-15: callback for 2 entries"),
        (1, None, "nobody can have read"),
    ],
)
def test_callback_at_the_pins(
    calls: int, spoil: Callable[[Any], object] | None, message: str
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
    done = len(stream.records)
    if spoil is not None:
        spoil(board.checks)
    else:
        for engine in (board.ctx.engine, stream.engine):
            engine.eqs[1].prod += 4  # as if four entries were there that nobody returned from
    stream.event()
    with pytest.raises(Mismatch, match=message):
        board(stream.records[done:])


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda c: c.doorbells.arms.__setitem__(1, 0), "CQ-06: callback 1 after 0 arm"),
        (lambda c: c.doorbells.returns.__setitem__(1, -1), "CQ-11: callback while the one"),
        (lambda c: setattr(c.memory.pins[1], "under_way", True), "is not acknowledged"),
        (lambda c: setattr(c.memory.pins[1], "acked", 0), "CQ-15: callback for 1 entries"),
    ],
)
def test_second_callback_of_a_write(spoil: Callable[[Any], object], message: str) -> None:
    board, stream = Scoreboard(PARAMS), Stream().ready(2)
    stream.share(0, 1)
    board(stream.records[:-1])
    spoil(board.checks)
    with pytest.raises(Mismatch, match=message):
        board(stream.records[-1:])


def test_what_is_told_of_a_shared_write_that_fails() -> None:
    """The log has each entry, in the order of the slots; counters count writes and responses."""
    stream = Stream().ready(4)
    stream.share(2, 0, 3, 1)
    for resp in (3, 0, 0, 0, 0):
        stream.event_answer(resp)
        if resp:
            for cq in (0, 1, 3, 2):
                stream.event(cq)
        else:
            stream.interrupt()
    board = right(stream)
    failed = [(Cause.EQE_WRITE_ERROR, Kind.CQ, cq, 1) for cq in (2, 0, 3, 1)]
    assert board.log() == failed
    counters = board.counters()
    told = [counters[reg] for reg in (Reg.CNT_EVENTS, Reg.CNT_WRITE_ERRORS, Reg.CNT_IRQS)]
    assert told == [5, 1, 4]


def test_repetition_whose_slot_was_passed() -> None:
    """It has no strobes, and an answer and an interrupt as any other."""
    stream = Stream().ready(2)
    stream.share(0)
    address = stream.engine.eqs[1].ring.address(0)
    stream.event_answer(2)
    for _ in range(4):
        stream.share(1)
        stream.event_answer()
        stream.interrupt()
        stream.doorbell(1, polled=1)
        stream.returns(1)
    stream.engine.eqe_beat(1, address, bytes(64), 0)
    stream.add(MemWrite(stream.tick(), PARAMS.num_cq + 1, address, 0, 0))
    stream.event_answer()
    stream.interrupt()
    right(stream)


@pytest.mark.parametrize("index", range(4))
def test_resize_within_a_shared_write(index: int) -> None:
    """Entries from the switch index on are in the new ring, which begins a line."""
    stream = Stream().ready(2)
    for cq in (0, 1):
        stream.doorbell(cq, ANY)
        stream.complete(cq)
    words = make_args(1, base=0x8000, log2=3).words
    stream.command(codes.Command.RESIZE_EQ, words, lambda: None, index)
    stream.event(0, 1)
    stream.event_answer()
    stream.interrupt()
    match index:
        case 0:
            fails(stream, "EQ 1: event entry 0x.*, expected 0x8000 ")
        case 1:
            fails(stream, "EQ 1: entry 1 is in the ring before the resize")
        case 2:
            right(stream)
        case 3:
            fails(stream, "switch index 3, 0 entries so far")


@pytest.mark.parametrize("before", [True, False])
def test_query_around_a_shared_write(before: bool) -> None:
    """The producer index is one that the EQ had while QUERY_EQ ran."""
    for index in range(5):
        stream = Stream().ready(3)
        start = stream.tick()
        stream.share(2, 0, 1)
        if not before:
            start = stream.tick(100)
        outs = (*stream.engine.query_eq(1)[:1], index, 3, 1, 0, 0, 0, 0)
        words = make_args(1).words
        stream.add(Command(stream.tick(), start, codes.Command.QUERY_EQ, words, 0, outs))
        stream.event_answer()
        stream.interrupt()
        good = index <= 3 if before else index == 3
        right(stream) if good else fails(stream, "QUERY_EQ.*OUT0 to OUT3")


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
    """Content of no completion; or one after a completion that came with a credit."""
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


# -- moderation ------------------------------------------------------------------------------------


def test_moderated_callback_waits_for_its_count_or_for_the_look() -> None:
    for count, grace, quiet in ((2, look_patience(PARAMS.num_cq, 1), 0), (3, 0, 10_000)):
        stream, board = Stream().ready(moderation=(count, 0xFFFF)), Scoreboard(PARAMS)
        stream.doorbell(0, ANY)
        stream.complete(0, stream.cqe(), stream.cqe())
        stream.tick(20)
        board(stream.records)
        assert board.grace(stream.cycle) == grace
        board.finish(now=stream.cycle + quiet)


def test_look_comes_in_time() -> None:
    """The interval of a callback ends with the look; the consumer rings meanwhile."""
    latest = (3 + 2) * PARAMS.mod_tick + look_patience(PARAMS.num_cq, 1)
    for cycles in (latest, latest + 1):
        stream = Stream().due(moderation=(0xFFFF, 3))
        due = stream.engine.cqs[0].due_time
        stream.doorbell(0, ANY)
        stream.tick(due + cycles - stream.cycle)
        stream.look()
        stream.call()
        right(stream) if cycles == latest else fails(stream, "moderated callback waits")


# -- commands in flight ----------------------------------------------------------------------------


def test_settings_count_from_some_moment_of_the_command() -> None:
    """An arm over a new completion while MODIFY_CQ sets the typed reading; ``new``: it counts."""
    for new in (False, True):
        stream = Stream().ready()
        stream.complete()
        config = CqConfig(4, typed=True)
        words, start = make_args(0, config=config).words, stream.tick()
        if new:
            stream.engine.modify(0, config)
        stream.doorbell(0, SOLICITED)
        if not new:
            stream.engine.modify(0, config)
        stream.add(Command(stream.tick(), start, codes.Command.MODIFY_CQ, words, 0, (0,) * 8))
        if stream.engine.cqs[0].running:
            stream.call()
        right(stream)
    drop(stream.records, Command, -1)
    fails(stream, "the model has a callback")
    board = Scoreboard(PARAMS, commanding=lambda: False)
    with pytest.raises(Mismatch, match="the model has a callback"):
        board(stream.records)


def test_a_host_that_does_not_read_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records after its command are withheld: neither a next command nor the end passes."""
    monkeypatch.setattr("cocotb.start_soon", lambda watch: watch.close())
    board = Scoreboard(PARAMS)
    pins = Pins(None, board)
    pins.cycle = 7
    pins._written(Reg.CMD, codes.Command.QUERY_CQ)
    for offset, value, missing in (
        (Reg.CMD_STATUS, 1, "CMD_STATUS to its end"),
        (Reg.CMD_STATUS, 2, "OUT0, OUT1, OUT2, OUT3, OUT4, OUT5, OUT6, OUT7"),
        (Reg.OUT0, 0, "OUT1, OUT2, OUT3, OUT4, OUT5, OUT6, OUT7"),
    ):
        pins._was_read(offset, value)
        with pytest.raises(Mismatch, match=f"QUERY_CQ of cycle 7: .* not read {missing},.* then"):
            board.finish(ALLOWANCES)
        with pytest.raises(AssertionError, match=f"not read {missing},"):
            pins._written(Reg.CMD, codes.Command.QUERY_CQ)
    for number in range(1, 8):
        pins._was_read(Reg.OUT0 + 4 * number, 0)
    board.finish(ALLOWANCES)
