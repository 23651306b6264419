# SPDX-License-Identifier: Apache-2.0
"""Regions of random receive buffers: no byte is used twice, none lies outside, however long a test
takes buffers out of them.
"""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

from models.post.post import Segment
from tb.env.defs import Right
from tb.sequences.receive_pool import Place, Pool

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
