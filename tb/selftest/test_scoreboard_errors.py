# SPDX-License-Identifier: Apache-2.0
"""The scoreboard and queues in error, commands in flight, and its encoding of states."""

from __future__ import annotations

import random

import pytest

from models import codes
from models.arm.arm import CqConfig
from models.codes import ArmType, CqStatus, TraceOp
from models.host.control import make_args
from models.trace import encode_cq
from tb.env.defs import Reg
from tb.env.harness.records import Command, Completion, MemWrite, Trace
from tb.env.pins import Pins
from tb.env.scoreboard.context import look_patience
from tb.env.scoreboard.scoreboard import ALLOWANCES, Mismatch, Scoreboard
from tb.selftest.mutations import (
    EVENT_ID,
    change,
    double,
    drop,
    fails,
    index,
    put,
    right,
    spoiled,
    wrong,
)
from tb.selftest.streams import PARAMS, VECTOR, Stream

ANY, SOLICITED = ArmType.ANY, ArmType.SOLICITED


# -- errors of the queue -------------------------------------------------------------------------


def test_overflow() -> None:
    stream = Stream().ready(1, reservation=False, log2=1)
    stream.doorbell(0, ANY)
    stream.complete(0, stream.cqe(), stream.cqe(), credit=False)
    stream.call(0)
    stream.doorbell(0, ArmType.ERRORS)
    stream.returns()
    stream.arrive(0, stream.cqe())
    stream.tick()
    stream.traced(TraceOp.OVERFLOW, 0, 0, lambda: stream.engine.overflow(0))
    stream.tick()
    stream.cq_error(CqStatus.BUFFER_OVERFLOW)
    stream.arrive(0, stream.cqe())  # dropped
    right(stream, ("memory",))
    spoiled(stream, r"overflows not told|without", drop, Trace, op=TraceOp.CQ_ERROR)
    spoiled(stream, "before the step", double, Trace, op=TraceOp.OVERFLOW)
    spoiled(stream, "overflow error without an overflow", drop, Trace, op=TraceOp.OVERFLOW)
    for _ in range(2):
        drop(stream.records, Completion, 1)
    fails(stream, "without a completion that could overflow")


def test_overflow_with_room_is_wrong() -> None:
    stream = Stream().ready(1, reservation=False, log2=1)
    stream.doorbell(0, ANY)
    stream.arrive(0, stream.cqe())
    old = stream.state(0, 0)
    stream.add(Trace(stream.tick(), 0, TraceOp.OVERFLOW, 0, False, 0, 0, old, old | 1 << 32))
    fails(stream, "although an entry is free")


def test_failed_entry_write() -> None:
    stream = Stream().ready()
    stream.doorbell(0, SOLICITED)
    stream.placed()
    stream.write()
    stream.answer(resp=2)
    stream.tick()
    stream.cq_error(CqStatus.INTERNAL_ERROR, 1)
    stream.call()
    right(stream)
    error = CqStatus.INTERNAL_ERROR
    for operand, match in ((error | 2 << 2, "the oldest answer"), (3, "CQ_ERROR with operand 0x3")):
        spoiled(stream, match, change, Trace, op=TraceOp.CQ_ERROR, to={"operand": operand})


@pytest.mark.parametrize("failures", [1, 2, 3, 4])
def test_failed_event_writes(failures: int) -> None:
    stream = Stream().due()
    for _ in range(failures):
        stream.event()
        stream.event_answer(resp=2)
    if failures < 4:
        stream.call()
    else:
        # The host is told of the hole.
        fails(stream, "no interrupt of EQ")
        stream.interrupt()
    to = {"operand": lambda v: v ^ 1}
    wrong(stream, "says otherwise", change, Trace, -1, op=TraceOp.EVENT_FAILED, to=to)
    if failures < 4:
        # Without the new status.
        to = {"data": lambda v: v & ~(2 << 24)}
        spoiled(stream, "event entry", change, MemWrite, -1, axi_id=EVENT_ID, to=to)


# -- moderation --------------------------------------------------------------------------------


def moderated(count: int) -> Stream:
    """Two entries make a callback due, which waits for its count or for the engine's look."""
    stream = Stream().ready(moderation=(count, 0xFFFF))
    stream.doorbell(0, ANY)
    stream.complete(0, stream.cqe(), stream.cqe())
    stream.tick(20)
    return stream


def test_moderated_callback_is_not_lost() -> None:
    stream, board = moderated(2), Scoreboard(PARAMS)
    board(stream.records)
    assert board.grace(stream.cycle) == 2 * PARAMS.num_cq + 48
    board.finish(now=stream.cycle)
    with pytest.raises(Mismatch, match="callback due since cycle"):
        board.finish(now=stream.cycle + 60)
    stream.look()
    stream.call()
    right(stream)


def test_moderated_callback_may_wait_for_its_count() -> None:
    stream, board = moderated(3), Scoreboard(PARAMS)
    board(stream.records)
    assert board.grace(stream.cycle) == 0
    board.finish(now=stream.cycle + 10_000)
    stream.look()
    fails(stream, "MODERATION that changes nothing")


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
    """Records behind its command are withheld: neither a next command nor the end passes."""
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


def test_query() -> None:
    stream = Stream().standard()
    stream.command(codes.Command.QUERY_CQ, make_args(0).words)
    stream.command(codes.Command.QUERY_EQ, make_args(1).words)
    right(stream)
    for code, outs in ((codes.Command.QUERY_CQ, 6), (codes.Command.QUERY_EQ, 4)):
        at = index(stream.records, Command, code=code)
        values = stream.records[at].outs  # type: ignore[union-attr]
        for n in range(outs):
            spoiled(stream, "QUERY", put, at, outs=(*values[:n], values[n] ^ 1, *values[n + 1 :]))


def test_resize() -> None:
    stream = Stream().standard()
    stream.resize_cq(0, 3)
    stream.complete()
    wrong(stream, "RESIZE at 0", change, Trace, op=TraceOp.RESIZE, to={"operand": 0})
    code = codes.Command.RESIZE_CQ
    spoiled(stream, "switch index 0", change, Command, code=code, to={"outs": (0,) * 8})


def test_resize_refused() -> None:
    stream = Stream().standard()
    for _ in range(3):
        stream.credit()
    stream.command(codes.Command.RESIZE_CQ, make_args(0, base=0x8000, log2=1).words)
    for result, message in ((0x4E, "answered 0x4e"), (0, "left the steps")):
        wrong(stream, message, put, -1, result=result)


def test_resize_of_an_event_queue_while_events_are_written() -> None:
    """The event behind the switch comes before the command's record."""
    stream = Stream().standard()
    stream.doorbell(0, ANY)
    stream.complete()
    args, code = make_args(1, base=0x9000, log2=3), codes.Command.RESIZE_EQ
    start = stream.tick()
    switch = stream.engine.eqs[1].resize(0x9000, 3)
    stream.event()
    stream.add(Command(stream.tick(), start, code, args.words, 0, (switch, *(0,) * 7)))
    stream.event_answer()
    stream.interrupt()
    wrong(stream, "event entry", change, Command, code=code, to={"outs": (1,) * 8})


def test_vector_changes_while_an_interrupt_waits() -> None:
    for vector in (VECTOR, 9):
        stream = Stream().standard()
        stream.doorbell(0, ANY)
        stream.complete()
        stream.event()
        stream.event_answer()
        stream.command(codes.Command.MODIFY_EQ, make_args(1, vector=9).words)
        stream.interrupt(vector)
        right(stream)
    stream.doorbell(0, ANY)
    stream.returns()
    stream.complete()
    stream.call()  # raises the old vector
    fails(stream, "interrupt 7")


def test_destroy_pending() -> None:
    stream = Stream().called()
    assert not stream.destroy_cq()
    stream.returns()
    assert stream.destroy_cq()
    stream.create_cq(0)
    wrong(stream, "DESTROY", change, Trace, op=TraceOp.DESTROY, to={"operand": 1})


# -- the scoreboard's own encoding ---------------------------------------------------------------


def test_encoding_is_the_models() -> None:
    """The scoreboard encodes states without a walk over the entries: same result, always."""
    rng = random.Random(1)
    stream = Stream().ready()
    board = Scoreboard(PARAMS)
    done = 0
    for _ in range(400):
        q = stream.engine.cqs[0]
        choice = rng.randrange(4)
        if choice == 0 and stream.engine.producers[0].alloc - q.cons < 4:
            stream.complete(0, stream.cqe(status=rng.randrange(2)))
        elif choice == 1:
            stream.doorbell(0, rng.choice([None, *ArmType]), rng.randint(0, q.present))
        elif choice == 2 and q.running:
            stream.returns()
        if q.event_open and stream.engine.eqs[1].waiting:
            stream.call()
        board(stream.records[done:])
        done = len(stream.records)
        assert board.ctx.encode(0) == encode_cq(board.ctx.engine.cqs[0], PARAMS)
    board.finish(("memory",))
    assert board.checks.steps.callbacks > 20
