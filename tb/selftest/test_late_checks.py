# SPDX-License-Identifier: Apache-2.0
"""What the scoreboard learns late, what it demands of the log."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from models.codes import LogCause, ScatterCode
from models.receive.receive_types import RecvRequest, TakeResult
from tb.env.defs import Cause, Kind
from tb.env.harness.records import Trace
from tb.env.host.log_entries import sensible
from tb.env.scoreboard.receive.context import Doubts
from tb.env.scoreboard.scoreboard import Mismatch, Scoreboard
from tb.selftest.engine_streams import OWN, EngineStream
from tb.selftest.mutations import OPEN_END, late_board

# -- why a post was refused, which message was too long --------------------------------------------


def step(cycle: int) -> Trace:
    return Trace(cycle, 6, 0, 3, False, 0, 0, 0, 0)


@pytest.mark.parametrize(("cq", "cycle"), [(2, 10), (2, 9), (2, 11), (1, 10)])
def test_only_a_failure_in_the_same_cycle_explains_a_refusal(cq: int, cycle: int) -> None:
    doubts = Doubts()
    doubts.add(step(10), 2, "refused")
    assert doubts.settle(10) is None  # its lane may still come
    doubts.cq_failed(cq, cycle)
    doubt = doubts.settle(11)
    told = None if doubt is None else (doubt.cq, doubt.text)
    assert told == (None if (cq, cycle) == (2, 10) else (2, "refused"))


# -- entries of the error log ----------------------------------------------------------------------


@pytest.mark.parametrize(("created", "entries"), [(0, (0, 0)), (1, (0, 1)), (2, (1, 0))])
def test_refused_message_is_logged(created: int, entries: tuple[int, int]) -> None:
    """How often its entry must be there, and may be, if its queue pair is created before the
    message (0), between message and answer (1), after the answer (2).
    """
    stream = EngineStream().ready(1)
    request = RecvRequest(OWN, 10)
    for moment in range(3):
        if moment == created:
            stream.create_receiver(OWN)
        if moment == 0:
            stream.arrives(request)
        if moment == 1:
            stream.answers(request, TakeResult(ScatterCode.REFUSED))
    board = late_board()  # the answer may be late
    board(list(stream.records))
    board.finish(("no_completions", "no_posts", "no_receives", "no_doorbells", "no_traffic"))
    entry = (LogCause.RREQ_BAD, Kind.QP, OWN, 0)
    assert (board.log().count(entry), board.log_maybe().count(entry)) == entries


def test_strange_entries() -> None:
    assert sensible((Cause.CPL_BAD_CQ, Kind.PORT, 99, 0), 8)
    assert sensible((Cause.CQ_OVERFLOW, Kind.CQ, 7, 0), 8)
    assert sensible((Cause.BAD_CQ, Kind.CQ, 99, 0), 8)
    assert not sensible((Cause.CQ_OVERFLOW, Kind.CQ, 8, 0), 8)
    assert not sensible((Cause.CQ_OVERFLOW, Kind.CQ | 0x80, 7, 0), 8)
    assert not sensible((Cause.STRAY_B, Kind.CQ, 0, 0), 8)
    assert not sensible((0x7F, Kind.CQ, 0, 0), 8)


# -- buffers over the whole life of an engine ------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
def test_no_buffer_is_forgotten(shared: bool) -> None:
    """Each is in its queue, taken, completed, or given back with its SRQ."""
    stream = EngineStream().receivers()
    for _ in range(3):
        stream.receive(stream.buffer(0 if shared else OWN), shared)
    for forgotten in (False, True):
        board = Scoreboard(stream.params)
        board(list(stream.records))
        receives = board.engine_checks.rc
        if forgotten:
            (receives.srqs[0] if shared else receives.rqs[OWN]).buffers.pop()
        with pytest.raises(Mismatch, match="unaccounted for, of 3") if forgotten else nullcontext():
            board.finish(OPEN_END)
