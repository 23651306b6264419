# SPDX-License-Identifier: Apache-2.0
"""Connections that end while a sink is stalled: by a message that is too long for its buffer, while
the answer that tells so waits (SRQ-18); by a failing report, while its completion waits (ISO-04).
"""

from __future__ import annotations

import pytest

from models import codes
from models.codes import QpState, ScatterCode
from models.receive.receive import pack_rdone
from models.receive.receive_types import RecvRequest
from tb.env.harness.records import RecvDone, ScatterAnswer
from tb.env.scoreboard.scoreboard import Mismatch, Scoreboard
from tb.selftest.engine_streams import OWN, PARAMS, EngineStream
from tb.selftest.mutations import judge_engine


def judge(stream: EngineStream) -> None:
    """As long as the sink has been stalled all the time."""
    board = Scoreboard(PARAMS, seed=42)
    board.engine_checks.takes.stalled(stream.cycle)
    board(stream.records)
    board.finish(("receives",))


def two_messages() -> tuple[EngineStream, RecvRequest, RecvRequest]:
    """A long message from before the connection, which may be refused or take the buffer, and a
    short one: the step does not tell whose buffer it is.
    """
    stream = EngineStream().receivers()
    stream.plain(codes.Command.FLUSH_QP, OWN)
    stream.set_state(OWN, QpState.IDLE)
    stream.receive()
    long, short = RecvRequest(OWN, 1000), RecvRequest(OWN, 10)
    stream.arrives(long)
    stream.connect(OWN)
    stream.arrives(short)
    stream.tick(1)
    return stream, long, short


def answer(stream: EngineStream, user: int, data: int) -> None:
    stream.tick(1)
    stream.add(ScatterAnswer(stream.cycle, OWN, user, data))


def test_connection_may_end_before_the_answer_that_tells_why() -> None:
    stream, long, _ = two_messages()
    result = stream.take(long)
    assert result.code is ScatterCode.LENGTH_ERROR
    stream.ends(OWN)
    answer(stream, result.tuser, result.tdata)
    answer(stream, ScatterCode.REFUSED, 0)
    judge(stream)


def test_connection_that_ends_without_a_message_too_long() -> None:
    stream, _, short = two_messages()
    result = stream.take(short)
    rq = stream.receiving.rqs[OWN]
    rq.overlong = rq.qp.connections
    stream.ends(OWN)
    answer(stream, ScatterCode.REFUSED, 0)
    answer(stream, result.tuser, result.tdata)
    with pytest.raises(Mismatch, match="without a failing report, nor a message too long"):
        judge(stream)


def test_answer_in_front_does_not_hide_a_message_too_long() -> None:
    """The steps of both messages seem to be those of messages too long."""
    stream = EngineStream().receivers()
    stream.plain(codes.Command.FLUSH_QP, OWN)
    stream.set_state(OWN, QpState.IDLE)
    for _ in range(2):
        stream.receive(stream.buffer(lengths=(47,)))
    fits, long = RecvRequest(OWN, 46), RecvRequest(OWN, 48)
    stream.arrives(fits)
    stream.connect(OWN)
    stream.arrives(long)
    taken = []
    for message in (fits, long):
        stream.tick(1)
        taken.append((message, stream.take(message)))
    for message, result in taken:
        stream.answers(message, result)
    judge(stream)


def received() -> EngineStream:
    """A buffer is taken and not reported."""
    stream = EngineStream().receivers()
    stream.receive()
    stream.message(OWN)
    return stream


def test_failing_report_ends_the_connection_before_its_completion() -> None:
    stream = received()
    stream.report(OWN, 0, 2)
    stream.tick(200)
    stream.completes(OWN)
    judge_engine(stream.records)


@pytest.mark.parametrize(
    ("late", "wrong"),
    [
        (40, "at the end: QP 0: never completed"),
        (80, "still not in error, after the failing receive of cycle"),
    ],
)
def test_failing_report_ends_the_connection_in_time(late: int, wrong: str) -> None:
    """The time begins at the report, also while the completion waits for room."""
    stream = received()
    stream.tick()
    stream.add(RecvDone(stream.cycle, pack_rdone(OWN, 0, 2)))
    stream.tick(late)
    stream.receive(shared=True)
    with pytest.raises(Mismatch, match=wrong):
        judge_engine(stream.records)
