# SPDX-License-Identifier: Apache-2.0
"""Completions that may have been refused: the entry written tells which of them was placed."""

from __future__ import annotations

import pytest

from models.codes import ResultType
from models.cq.queue import Placement
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.mutations import judge
from tb.selftest.streams import Stream


def race(*lanes: bytes) -> Stream:
    """Completions without a credit, then a credit."""
    stream = Stream().ready()
    for lane in lanes:
        stream.arrive(0, lane)
    assert stream.credit(0)
    return stream


def finish(stream: Stream, cqe: bytes) -> None:
    """One completion, from its step to its publication."""
    stream.place(0, cqe)
    stream.write()
    stream.answer()
    stream.tick()
    stream.publish(0)


def cqes(count: int) -> list[bytes]:
    """Contents that all differ, in context and class."""
    stream = Stream()
    return [stream.cqe(ResultType.RECEIVE, solicited=bool(i & 1)) for i in range(count)]


def test_content_of_no_candidate() -> None:
    first, second, other = cqes(3)
    stream = race(first, second)
    finish(stream, other)
    with pytest.raises(Mismatch, match="queue 0 entry 0"):
        judge(stream.records, ("no_doorbells",))


@pytest.mark.parametrize("two", range(3))
@pytest.mark.parametrize("one", range(3))
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
        stream.answer()
        stream.tick()
        stream.publish(0)
    if one < two:
        judge(stream.records, ("no_doorbells",))
        return
    with pytest.raises(Mismatch, match=r"queue 0 entry [01]"):
        judge(stream.records, ("no_doorbells",))


def test_lost_completion() -> None:
    """The older one took the first credit; the one that came with a credit has no step."""
    first, second = cqes(2)
    stream = race(first)
    assert stream.credit(0)
    stream.arrive(0, second)
    finish(stream, first)
    assert stream.engine.judge(0) is Placement.PLACED
    with pytest.raises(Mismatch, match="lost: the completion of cycle"):
        judge(stream.records, ("no_doorbells",))
    finish(stream, second)
    judge(stream.records, ("no_doorbells",))


def test_skipped_lane_was_not_refusable() -> None:
    """A completion with a credit is passed over for a later one."""
    first, second, third = cqes(3)
    stream = race(first)
    stream.arrive(0, second)
    stream.arrive(0, third)
    finish(stream, third)
    with pytest.raises(Mismatch, match="queue 0 entry 0"):
        judge(stream.records, ("no_doorbells",))


def test_refusable_too_late() -> None:
    """What happens between step and write does not make a lane refusable when it was its turn."""
    first, second, third = cqes(3)
    stream = race(first)
    stream.arrive(0, second)
    stream.arrive(0, third)
    stream.place(0, third)
    stream.tick(20)
    stream.arrive(0, cqes(4)[3])
    stream.write()
    with pytest.raises(Mismatch, match="queue 0 entry 0"):
        judge(stream.records, ("no_doorbells",))


def test_silent_lanes() -> None:
    """A silent one between two candidates took the other credit."""
    first, second = cqes(2)
    stream = race(first)
    stream.arrive(0, second, silent=1)
    stream.place(0, back=1)
    assert stream.credit(0)
    stream.arrive(0, first)
    finish(stream, first)
    judge(stream.records, ("no_doorbells",))
