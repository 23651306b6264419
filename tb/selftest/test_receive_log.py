# SPDX-License-Identifier: Apache-2.0
"""Which entries of the error log the scoreboard of receives demands, and which it allows."""

from __future__ import annotations

from models.codes import LogCause, ScatterCode
from models.receive.receive_types import RecvRequest, TakeResult
from tb.env.defs import Kind
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.selftest.engine_streams import OWN, PARAMS, EngineStream

REFUSED = TakeResult(ScatterCode.REFUSED)
ENTRY = (LogCause.RREQ_BAD, Kind.QP, OWN, 0)
ALLOW = ("no_completions", "no_posts", "no_receives", "no_doorbells", "no_traffic")


def refused(created: int) -> tuple[int, int]:
    """How often the entry of a message must be there, and may be; its queue pair is created
    before the message (0), between message and answer (1), after the answer (2).
    """
    stream = EngineStream()
    stream.ready(1)
    request = RecvRequest(OWN, 10)
    for moment in range(3):
        if moment == created:
            stream.create_receiver(OWN)
        if moment == 0:
            stream.arrives(request)
        if moment == 1:
            stream.answers(request, REFUSED)
    board = Scoreboard(PARAMS, seed=42)
    board.engine_checks.takes.stalled(stream.cycle)  # the answer may be late
    board(list(stream.records))
    board.finish(ALLOW)
    return board.log().count(ENTRY), board.log_maybe().count(ENTRY)


def test_message_for_a_queue_pair_that_is_free_must_be_logged() -> None:
    assert refused(2) == (1, 0)


def test_message_for_a_queue_pair_that_exists_is_not_logged() -> None:
    assert refused(0) == (0, 0)


def test_message_that_meets_the_creation_may_be_logged() -> None:
    assert refused(1) == (0, 1)
