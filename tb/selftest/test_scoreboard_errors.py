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
from tb.env.harness.records import Command, Completion, MemWrite, Record, Trace
from tb.env.pins import Pins
from tb.env.scoreboard.context import look_patience
from tb.env.scoreboard.scoreboard import ALLOWANCES, Mismatch, Scoreboard
from tb.selftest.mutations import (
    EVENT_ID,
    Records,
    change,
    double,
    drop,
    index,
    judge,
    put,
    spoiled,
)
from tb.selftest.streams import PARAMS, VECTOR, Stream

ANY, SOLICITED = ArmType.ANY, ArmType.SOLICITED


# -- errors of the queue -------------------------------------------------------------------------


def overflowed() -> Stream:
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
    status = CqStatus.BUFFER_OVERFLOW
    stream.traced(TraceOp.CQ_ERROR, 0, status, lambda: stream.engine.cq_error(0, status))
    return stream


def test_overflow() -> None:
    stream = overflowed()
    stream.arrive(0, stream.cqe())  # dropped
    judge(stream.records, ("memory",))
    spoiled(stream, r"overflows not told|without", drop, Trace, op=TraceOp.CQ_ERROR)
    spoiled(stream, "before the step", double, Trace, op=TraceOp.OVERFLOW)
    spoiled(stream, "overflow error without an overflow", drop, Trace, op=TraceOp.OVERFLOW)
    records = list(stream.records)
    drop(records, Completion, 1)
    drop(records, Completion, 1)
    with pytest.raises(Mismatch, match="without a completion that could overflow"):
        judge(records)


def test_overflow_with_room_is_wrong() -> None:
    stream = Stream().ready(1, reservation=False, log2=1)
    stream.doorbell(0, ANY)
    stream.arrive(0, stream.cqe())
    old = stream.state(0, 0)
    stream.add(Trace(stream.tick(), 0, TraceOp.OVERFLOW, 0, False, 0, 0, old, old | 1 << 32))
    with pytest.raises(Mismatch, match="although an entry is free"):
        judge(stream.records)


def test_failed_entry_write() -> None:
    stream = Stream().ready()
    stream.doorbell(0, SOLICITED)
    stream.credit()
    cqe = stream.cqe()
    stream.arrive(0, cqe)
    stream.place(0, cqe)
    stream.write()
    stream.answer(resp=2)
    stream.tick()
    status = CqStatus.INTERNAL_ERROR
    operand = status | 1 << 2
    stream.traced(TraceOp.CQ_ERROR, 0, operand, lambda: stream.engine.cq_error(0, status, 1))
    stream.call()
    judge(stream.records)
    spoiled(
        stream,
        "the oldest answer",
        change,
        Trace,
        op=TraceOp.CQ_ERROR,
        to={"operand": status | 2 << 2},
    )
    spoiled(
        stream, "CQ_ERROR with operand 0x3", change, Trace, op=TraceOp.CQ_ERROR, to={"operand": 3}
    )


@pytest.mark.parametrize("failures", [1, 2, 3, 4])
def test_failed_event_writes(failures: int) -> None:
    stream = Stream().ready()
    stream.doorbell(0, ANY)
    stream.complete()
    for _ in range(failures):
        stream.event()
        stream.event_answer(resp=2)
    if failures < 4:
        stream.call()
    else:
        # The host is told of the hole.
        with pytest.raises(Mismatch, match="no interrupt of EQ"):
            judge(stream.records)
        stream.interrupt()
    judge(stream.records)
    spoiled(
        stream,
        "says otherwise",
        change,
        Trace,
        -1,
        op=TraceOp.EVENT_FAILED,
        to={"operand": lambda v: v ^ 1},
    )
    if failures < 4:
        # Without the new status.
        spoiled(
            stream,
            "event entry",
            change,
            MemWrite,
            -1,
            axi_id=EVENT_ID,
            to={"data": lambda v: v & ~(2 << 24)},
        )


# -- moderation --------------------------------------------------------------------------------


def moderated(release: bool) -> Stream:
    """Two entries make a callback ripe; the engine's look releases it, or never comes."""
    stream = Stream().ready(moderation=(2, 0xFFFF))
    stream.doorbell(0, ANY)
    stream.complete(0, stream.cqe(), stream.cqe())
    stream.tick(20)
    if release:
        stream.traced(TraceOp.MODERATION, 0, 0, lambda: stream.engine.moderation(0))
        stream.call()
    return stream


def test_moderated_callback_is_not_lost() -> None:
    judge(moderated(True).records)
    board = Scoreboard(PARAMS)
    stream = moderated(False)
    board(stream.records)
    assert board.grace(stream.cycle) == 2 * PARAMS.num_cq + 48
    board.finish(now=stream.cycle)
    with pytest.raises(Mismatch, match="callback due since cycle"):
        board.finish(now=stream.cycle + 60)


def test_moderated_callback_may_wait_for_its_count() -> None:
    stream = Stream().ready(moderation=(3, 0xFFFF))
    stream.doorbell(0, ANY)
    stream.complete(0, stream.cqe(), stream.cqe())
    board = Scoreboard(PARAMS)
    board(stream.records)
    assert board.grace(stream.cycle) == 0
    board.finish(now=stream.cycle + 10_000)


def look_after(cycles: int) -> list[Record]:
    """A callback whose interval ends with the look this many cycles after it became due; the
    consumer rings meanwhile.
    """
    stream = Stream().ready(moderation=(0xFFFF, 3))
    stream.doorbell(0, ANY)
    stream.complete()
    due = stream.engine.cqs[0].due_time
    stream.doorbell(0, ANY)
    stream.tick(due + cycles - stream.cycle)
    stream.traced(TraceOp.MODERATION, 0, 0, lambda: stream.engine.moderation(0))
    stream.call()
    return stream.records


def test_look_comes_in_time() -> None:
    latest = (3 + 2) * PARAMS.mod_tick + look_patience(PARAMS.num_cq, 1)
    judge(look_after(latest))
    with pytest.raises(Mismatch, match="moderated callback waits"):
        judge(look_after(latest + 1))


def test_look_that_changes_nothing() -> None:
    stream = Stream().ready(moderation=(3, 0xFFFF))
    stream.doorbell(0, ANY)
    stream.complete()
    stream.traced(TraceOp.MODERATION, 0, 0, lambda: stream.engine.moderation(0))
    with pytest.raises(Mismatch, match="MODERATION that changes nothing"):
        judge(stream.records)


# -- commands in flight ----------------------------------------------------------------------------


def modify(stream: Stream, arm: ArmType, new: bool) -> list[Record]:
    """An arm over a new completion while MODIFY_CQ sets the typed reading; ``new``: it counts."""
    stream.ready()
    stream.complete()
    config = CqConfig(4, typed=True)
    words = make_args(0, config=config).words
    start = stream.tick()
    if new:
        stream.engine.modify(0, config)
    stream.doorbell(0, arm)
    if not new:
        stream.engine.modify(0, config)
    stream.add(Command(stream.tick(), start, codes.Command.MODIFY_CQ, words, 0, (0,) * 8))
    if stream.engine.cqs[0].running:
        stream.call()
    return stream.records


@pytest.mark.parametrize("new", [False, True])
def test_settings_count_from_some_moment_of_the_command(new: bool) -> None:
    judge(modify(Stream(), SOLICITED, new))


def test_settings_do_not_count_without_a_command() -> None:
    records: Records = modify(Stream(), SOLICITED, True)
    drop(records, Command, -1)
    with pytest.raises(Mismatch, match="the model has a callback"):
        judge(records)
    board = Scoreboard(PARAMS, commanding=lambda: False)
    with pytest.raises(Mismatch, match="the model has a callback"):
        board(records)


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
    judge(stream.records)
    for code, outs in ((codes.Command.QUERY_CQ, 6), (codes.Command.QUERY_EQ, 4)):
        for number in range(outs):
            records: Records = list(stream.records)
            at = index(records, Command, code=code)
            values = list(records[at].outs)
            values[number] ^= 1
            records[at] = records[at]._replace(outs=tuple(values))
            with pytest.raises(Mismatch, match="QUERY"):
                judge(records)


def test_resize() -> None:
    stream = Stream().standard()
    stream.resize_cq(0, 3)
    stream.complete()
    judge(stream.records)
    spoiled(stream, "RESIZE at 0", change, Trace, op=TraceOp.RESIZE, to={"operand": 0})
    spoiled(
        stream,
        "switch index 0",
        change,
        Command,
        code=codes.Command.RESIZE_CQ,
        to={"outs": (0,) * 8},
    )


def test_resize_refused() -> None:
    stream = Stream().standard()
    for _ in range(3):
        stream.credit()
    words = make_args(0, base=0x8000, log2=1).words
    stream.command(codes.Command.RESIZE_CQ, words)
    judge(stream.records)
    for wrong, message in ((0x4E, "answered 0x4e"), (0, "left the steps")):
        spoiled(stream, message, put, -1, result=wrong)


def test_resize_of_an_event_queue_while_events_are_written() -> None:
    """The event behind the switch comes before the command's record."""
    stream = Stream().standard()
    stream.doorbell(0, ANY)
    stream.complete()
    args = make_args(1, base=0x9000, log2=3)
    start = stream.tick()
    switch = stream.engine.eqs[1].resize(0x9000, 3)
    stream.event()
    outs = (switch, *(0,) * 7)
    stream.add(Command(stream.tick(), start, codes.Command.RESIZE_EQ, args.words, 0, outs))
    stream.event_answer()
    stream.interrupt()
    judge(stream.records)
    spoiled(
        stream, "event entry", change, Command, code=codes.Command.RESIZE_EQ, to={"outs": (1,) * 8}
    )


def test_vector_changes_while_an_interrupt_waits() -> None:
    for vector in (VECTOR, 9):
        stream = Stream().standard()
        stream.doorbell(0, ANY)
        stream.complete()
        stream.event()
        stream.event_answer()
        words = make_args(1, vector=9).words
        stream.command(codes.Command.MODIFY_EQ, words)
        stream.interrupt(vector)
        judge(stream.records)
    stream.doorbell(0, ANY)
    stream.returns()
    stream.complete()
    stream.call()  # raises the old vector
    with pytest.raises(Mismatch, match="interrupt 7"):
        judge(stream.records)


def test_destroy_pending() -> None:
    stream = Stream().ready()
    stream.doorbell(0, ANY)
    stream.complete()
    stream.call()
    assert not stream.destroy_cq()
    stream.returns()
    assert stream.destroy_cq()
    stream.create_cq(0)
    judge(stream.records)
    spoiled(stream, "DESTROY", change, Trace, op=TraceOp.DESTROY, to={"operand": 1})


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
