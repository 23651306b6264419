# SPDX-License-Identifier: Apache-2.0
"""The full engine's scoreboard when connections end, and with commands. Each situation is right as
it is, and wrong with one change.
"""

from __future__ import annotations

import pytest

from models import codes
from models.codes import Cause, CommandResult, QpState, TraceOp
from models.host.control import make_args
from tb.env.harness.records import Command, ConnReport, Trace
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.engine_streams import EngineStream
from tb.selftest.mutations import (
    Records,
    change,
    drop,
    fails,
    index,
    judge_engine,
    put,
    spoiled,
    wrong,
)
from tb.selftest.work_streams import BIND, DEFER

POST, STATE, RETIRE, AGE = TraceOp.POST, TraceOp.QP_STATE, TraceOp.RETIRE, TraceOp.AGE


# -- ends of connections -------------------------------------------------------------------------


def ended(late: bool = False) -> EngineStream:
    """Two requests wait when the connection ends; ``late``: the beat of one was offered before."""
    stream = EngineStream().connected()
    stream.post()
    stream.run()
    for _ in range(2):
        stream.post()
    stream.post(stream.make(flags=DEFER))
    stream.plain(codes.Command.FLUSH_QP)
    if late:
        tag = stream.work(0, late=True)
        stream.done(0, tag)
    for _ in range(3):
        stream.retire()
    return stream


def test_skipped() -> None:
    wrong(
        ended().records,
        "expected 0x201",
        lambda r: change(r, Trace, op=RETIRE, operand=0x201, to={"operand": 1}),
    )
    judge_engine(ended(late=True).records)


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
    judge_engine(stream.records, ("work",))
    stream.add(beat._replace(cycle=stream.tick()))
    judge_engine(stream.records)


def test_connection_event() -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.run()
    stream.conn()
    stream.conn()  # nothing changes
    stream.conn(3)  # no QP
    stream.conn(0, 1 << 31)
    board = judge_engine(stream.records)
    assert [entry[0] for entry in board.log()] == [0x32, 0x30]
    wrong(stream.records, "without an event", lambda r: drop(r, ConnReport))
    wrong(
        stream.records,
        "no connection has ended|no change of state",
        lambda r: drop(r, Trace, op=STATE, operand=1),
    )


def test_failing_report_without_effect() -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.done(0, stream.work(), 9)
    stream.retire()
    judge_engine(stream.records)
    records: Records = stream.records
    at = index(records, Trace, op=STATE, operand=2)
    cut = records[:at]
    with pytest.raises(Mismatch, match="no change of state for the report"):
        judge_engine(cut, ("no_completions", "terms"))


def test_not_reported() -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.run()
    stream.post()
    fails(stream, "not indicated: request 1", ("reports",))
    stream.work()
    fails(stream, "not reported: request 1")
    judge_engine(stream.records, ("reports",))
    stream.done(0, 1)
    fails(stream, "never retired: request 1", ("reports",))


def test_destroy_with_requests_outstanding() -> None:
    stream = EngineStream().connected()
    stream.post()
    tag = stream.work()
    stream.plain(codes.Command.DESTROY_QP)
    assert stream.post() is Cause.NO_QP
    stream.plain(codes.Command.DESTROY_QP)
    stream.done(0, tag)
    stream.retire()
    stream.plain(codes.Command.DESTROY_QP)
    results = [r.result for r in stream.records if type(r) is Command][-3:]
    assert results == [0x4D, 0x4D, 0]
    judge_engine(stream.records)
    second = [i for i, r in enumerate(stream.records) if type(r) is Command][-2]
    spoiled(stream, "not CMD_PENDING", put, second, judged=judge_engine, result=0)


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
    if result != 0x51:
        stream.run()
    else:
        stream.work()
    if state is QpState.IDLE:
        stream.create_qp(1)
    elif state is QpState.DISCONNECTED:
        stream.set_state(0, state)
    qp = int(state is QpState.IDLE)
    stream.plain(code, qp, word)
    allow = ("reports", "no_completions") if result == 0x51 else ()
    assert stream.records[-1].result == result  # type: ignore[union-attr]
    judge_engine(stream.records, allow)
    for other in {0, 0x43, 0x50, 0x51} - {result}:
        match = "left no step|answered"
        spoiled(stream, match, put, -1, judged=judge_engine, allow=allow, result=other)


def test_cq_in_use() -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.run()
    words = make_args(0).words
    in_use = CommandResult.CMD_IN_USE
    stream.add(
        Command(stream.tick(9), stream.cycle - 5, codes.Command.DESTROY_CQ, words, in_use, (0,) * 8)
    )
    wrong(stream.records, "expected", lambda r: change(r, Command, -1, to={"result": 0x43}))
    stream.records.pop()
    stream.destroy_cq(0)
    fails(stream, "a QP names it")


def test_created_against_the_rules() -> None:
    stream = EngineStream().connected()
    stream.post()
    stream.run()
    stream.create_qp(1, 0)
    wrong(
        stream.records,
        "the model refuses it: CMD_BAD_PAGE",
        lambda r: change(r, Command, -1, to={"args": lambda a: (*a[:4], 2 | 4 << 16, *a[5:])}),
    )
