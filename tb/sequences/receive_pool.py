# SPDX-License-Identifier: Apache-2.0
"""Memory regions for random receive buffers, and receive posts that must fail.

Every buffer has bytes of its own, with bytes that nobody uses after each segment.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from models.codes import Cause
from models.post.post import NUM_SLOTS, Segment, slots_of
from models.receive.receive_post import RecvPost
from tb.env.config import Config
from tb.env.defs import Right
from tb.env.host.regions import Region
from tb.sequences.bad_posts import BadWrite, bad_size

if TYPE_CHECKING:
    from tb.env.host.driver import Adapter

#: Causes that the write and its 512 bits decide.
WRITE_CAUSES = (Cause.BURST, Cause.BAD_SIZE, Cause.BAD_PAGE)
QUEUE_CAUSES = (Cause.NOT_OWNER, Cause.RESERVED_BITS, Cause.TOO_MANY_SEGMENTS)
#: Causes that the regions of the segments decide.
REGION_CAUSES = (Cause.BAD_REGION, Cause.BAD_ZONE, Cause.NO_LOCAL_WRITE, Cause.BAD_RANGE)
_MOST = (1 << 32) - 1
_HUGE = 1 << 44
_GAP = 8


@dataclass(eq=False)
class Place:
    """A region and what of it is used: up to ``low``, and from ``high`` on."""

    region: Region
    low: int = 0
    high: int = 0
    busy: bool = False

    @property
    def writable(self) -> bool:
        """Receives may go there."""
        return bool(self.region.rights & Right.LOCAL_WRITE)

    @property
    def huge(self) -> bool:
        """Made for segments of any length."""
        return self.region.length >= _HUGE

    @property
    def room(self) -> int:
        """Bytes of the longest segment that fits into what is not used."""
        return max(0, self.high - self.low - _GAP)


class Pool:
    """Regions of two zones. :attr:`valid` are the keys that are valid for sure."""

    def __init__(self, host: Adapter, rng: random.Random, config: Config) -> None:
        self._host, self._rng = host, rng
        first, second = rng.sample(range(1 << 16), 2)
        self.zones = (first, second)
        self.places: list[Place] = []
        self.valid: set[int] = set()
        self._old: list[int] = []
        self._numbers = rng.sample(range(config.num_mr), min(8, config.num_mr))

    async def create(self) -> None:
        """Registers all of them."""
        for index, number in enumerate(self._numbers):
            kind = index // 2
            rights = Right.LOCAL_WRITE
            if kind == 1 and index % 2 == 0:
                rights = self._rng.choice((Right(0), Right.REMOTE_READ))
            elif self._rng.random() < 0.5:
                rights |= Right.REMOTE_WRITE
            huge = kind == 2 or index == 3
            await self._register(Place(self._region(number, self.zones[index % 2], rights, huge)))

    def _region(self, number: int, zone: int, rights: int, huge: bool) -> Region:
        if huge:
            base = self._rng.randrange(1 << 60, (1 << 63) - 2 * _HUGE)
            return Region(self._host, number, base, _HUGE, zone, rights)
        length = self._rng.randint(1 << 17, 1 << 19)
        base = self._host.env.memory.allocate(length + 256, 64) + self._rng.randint(64, 128)
        return Region(self._host, number, base, length, zone, rights)

    async def _register(self, place: Place) -> None:
        region = place.region
        place.low, place.high = 0, region.length
        self.places.append(place)
        self.valid.add(await region.register())

    async def renew(self, place: Place) -> None:
        """The region goes and comes again, elsewhere; its buffers stay posted."""
        region = place.region
        self.places.remove(place)
        self.valid.discard(region.key)
        await region.deregister()
        self._old.append(region.key)
        await self._host.env.harness.cycles(self._rng.choice((0, 0, 200)))
        new = self._region(region.number, region.zone, region.rights, place.huge)
        await self._register(Place(new))

    # -- segments ----------------------------------------------------------------------------------

    def _pick(self, zone: int, want: bool = True, room: int = 0) -> Place | None:
        """A region of the zone; ``want``: with local write, or without; ``room``: so many bytes
        of it are not used.
        """
        places = (p for p in self.places if p.room >= room)
        found = [p for p in places if p.region.zone == zone and p.writable is want]
        return self._rng.choice(found) if found else None

    def _cut(self, place: Place, length: int) -> Segment:
        """Fresh bytes, now and then up to the very end of the region."""
        region = place.region
        if not place.huge and self._rng.random() < 0.2:
            start = place.high - length
            place.high = start - _GAP
        else:
            start = place.low
            place.low += length + _GAP
        return Segment(region.base + start, length, region.key)

    def segments(self, zone: int, capacity: int, huge: float = 0.0) -> list[Segment]:
        """A legal segment list of ``capacity`` bytes, or, with that probability, of far more; none
        if no region of the zone has room.
        """
        rng = self._rng
        found: list[Segment] = []
        count = rng.randint(1, NUM_SLOTS) if capacity or rng.random() < 0.5 else 0
        for left in range(count, 0, -1):
            part = capacity if left == 1 else rng.choice((0, capacity, rng.randint(0, capacity)))
            capacity -= part
            place = self._pick(zone, room=part)
            if part and place is None:
                return []
            if part == 0:
                found.append(Segment(rng.getrandbits(64), 0, rng.getrandbits(32)))
            elif place is not None and place.room >= _MOST and rng.random() < huge:
                found.append(self._cut(place, rng.choice((_MOST, _MOST - 1, 1 << 31))))
            elif place is not None:
                found.append(self._cut(place, part))
        return found

    def bad_segment(self, cause: Cause, zone: int) -> Segment | None:
        """A segment that fails for this reason, if there is a region that makes one."""
        rng = self._rng
        length = rng.choice((1, 2, 64, _MOST))
        if cause is Cause.BAD_REGION:
            old = [*self._old[-1:], rng.choice(self._old)] if self._old else []
            key = rng.choice((0, _MOST, rng.getrandbits(32), *old))
            if key in self.valid or any(p.region.key == key for p in self.places):
                return None
            return Segment(rng.getrandbits(64), length, key)
        if cause is Cause.BAD_ZONE:
            other = [p for p in self.places if p.region.zone != zone]
            return (
                Segment(rng.getrandbits(64), length, rng.choice(other).region.key)
                if other
                else None
            )
        place = self._pick(zone, cause is not Cause.NO_LOCAL_WRITE)
        if place is None:
            return None
        region = place.region
        if cause is Cause.NO_LOCAL_WRITE:
            return Segment(region.base, length, region.key)
        end = region.base + region.length
        starts = (region.base - 1, end, end - length + 1, (1 << 64) - 1, region.base + (1 << 63))
        start = rng.choice(starts) % (1 << 64)
        inside = region.base <= start and start + length <= end
        return None if inside else Segment(start, length, region.key)


def bad_receive(
    rng: random.Random,
    cause: Cause,
    post: RecvPost,
    page: int,
    zone: int,
    shared: bool,
    pool: Pool,
    config: Config,
) -> BadWrite | None:
    """A receive post that fails with ``cause``, from a legal one."""
    options: dict[str, Any] = {}
    if cause is Cause.BURST:
        options["length"] = rng.randint(1, 3)
    elif cause is Cause.BAD_SIZE:
        options = bad_size(rng)
    elif cause is Cause.BAD_PAGE:
        page = config.num_pages + rng.randrange(64)
    elif cause in (Cause.BAD_QP, Cause.BAD_SRQ):
        most = config.num_srq if shared else config.num_qp
        post = replace(post, number=rng.choice((most, 0xFFFF, post.number + most)))
    elif cause is Cause.NOT_OWNER:
        page = (page + rng.randrange(1, config.num_pages)) % config.num_pages
    elif cause is Cause.RESERVED_BITS:
        bit = rng.choice([*range(8), *range(16, 32), *range(48, 64)])
        post = replace(post, reserved=1 << bit)
    elif cause is Cause.TOO_MANY_SEGMENTS:
        post = replace(post, num_segments=rng.choice((4, 255, rng.randint(4, 255))))
    else:
        segment = pool.bad_segment(cause, zone)
        if segment is None:
            return None
        segments = post.segments[: NUM_SLOTS - 1]
        segments.insert(rng.randint(0, len(segments)), segment)
        post = replace(post, num_segments=len(segments), slots=slots_of(segments))
    return BadWrite(page, post, options)
