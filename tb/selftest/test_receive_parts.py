# SPDX-License-Identifier: Apache-2.0
"""Parts of the bench that receive: what the scoreboard learns late, what it demands of the log and
of payloads; regions of random buffers.
"""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from models.codes import LogCause, ScatterCode
from models.post.post import Segment
from models.receive.receive_types import RecvRequest, TakeResult
from tb.env.defs import CqeStatus, Kind, Right
from tb.env.harness.records import Trace
from tb.env.scoreboard.receive.context import Doubts, Endings
from tb.env.scoreboard.receive.ledger import ReceiveLedger
from tb.selftest.engine_streams import OWN, EngineStream
from tb.selftest.mutations import late_board
from tb.sequences.receive_pool import Place, Pool

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


def test_one_of_the_open_steps_must_be_of_a_message_that_is_too_long() -> None:
    endings = Endings()
    endings.ended(3, 1, 8)
    assert endings.answered(3, 1, 6, False) and endings.answered(3, 1, 7, True)
    # It is explained.
    assert endings.answered(3, 1, 8, False)


def test_connection_that_no_message_has_ended() -> None:
    endings = Endings()
    endings.ended(3, 2, 8)
    assert endings.answered(2, 2, 8, False)  # another QP
    assert endings.answered(3, 1, 5, True)  # an earlier connection explains nothing
    assert endings.answered(3, 2, 7, False)
    assert not endings.answered(3, 2, 8, False)


# -- payloads that must have been compared ---------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "comparable"),
    [
        ([], False),
        ([(False, [CqeStatus.SUCCESS])], True),
        ([(False, [CqeStatus.CANCELED, CqeStatus.SUCCESS])], True),
        ([(False, [CqeStatus.CANCELED])], False),
        ([(True, [CqeStatus.SUCCESS])], False),
        ([(True, [CqeStatus.SUCCESS]), (False, [])], False),
        ([(True, [CqeStatus.SUCCESS]), (False, [CqeStatus.SUCCESS])], True),
    ],
)
def test_comparable(ends: list[tuple[bool, list[int]]], comparable: bool) -> None:
    """Success on a QP that has lost nothing, whatever others lost."""
    ledger = ReceiveLedger(cast(Any, None))
    for lossy, statuses in ends:
        seen = [SimpleNamespace(status=status) for status in statuses]
        ledger.ends.append(cast(Any, SimpleNamespace(lossy=lossy, seen=seen)))
    assert ledger.comparable() is comparable


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


# -- regions of random buffers ---------------------------------------------------------------------


ZONE = 7
GAP = 8


def pool_of(*lengths: int) -> Pool:
    """A pool of writable regions of these lengths, side by side."""
    pool = Pool(cast(Any, None), random.Random(1), cast(Any, SimpleNamespace(num_mr=8)))
    base = 1 << 20
    for key, length in enumerate(lengths, 1):
        region = SimpleNamespace(
            base=base, length=length, key=key, zone=ZONE, rights=Right.LOCAL_WRITE
        )
        pool.places.append(Place(cast(Any, region), 0, length))
        base += length + GAP
    return pool


def used(pool: Pool, capacity: int, huge: float = 0.0) -> list[Segment]:
    """Segments of far more buffers than there is room for."""
    found: list[Segment] = []
    for _ in range(20_000):
        segments = pool.segments(ZONE, capacity, huge)
        assert not segments or sum(segment.length for segment in segments) >= capacity
        found += [segment for segment in segments if segment.length]
    return found


def demand_apart(pool: Pool, segments: list[Segment]) -> None:
    regions = {place.region.key: place.region for place in pool.places}
    for segment in segments:
        region = regions[segment.key]
        assert region.base <= segment.address
        assert segment.address + segment.length <= region.base + region.length
    ends = 0
    for segment in sorted(segments, key=lambda found: found.address):
        assert segment.address >= ends + GAP
        ends = segment.address + segment.length


def test_regions_are_used_up_and_no_byte_twice() -> None:
    pool = pool_of(3000, 5000)
    segments = used(pool, 40)
    demand_apart(pool, segments)
    assert sum(segment.length + GAP for segment in segments) > 7000


def test_segments_of_gigabytes_leave_room() -> None:
    pool = pool_of(1 << 44, 3000)
    segments = used(pool, 40, 0.9)
    demand_apart(pool, segments)
    assert sum(segment.length >= 1 << 31 for segment in segments) > 4000
