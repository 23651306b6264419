# SPDX-License-Identifier: Apache-2.0
"""Ranges of memory, bit for bit: each bit of a region's base and length, and of the address and the
length of what uses it, decides (SRQ-15, MW-02, MW-10).
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyuvm

from models.post.post import Segment
from tb.env.defs import Cause
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.tests.common.engine import GRANTED
from tb.tests.common.key_checking import BAD_RANGE, KINDS, CheckTest
from tb.tests.common.receive_segments import ZONE, SegmentTest

BUILD = ["engine_small"]

TOP = 1 << 64
#: Bits of addresses, of a region's length, of that of a receive's segment or an access, and of that
#: of a window, whose Bind has at most 2^31 bytes.
ADDRESS, LENGTH, BYTES, BOUND = 64, 48, 32, 31


def places(rng: random.Random) -> list[int]:
    """Bases: each bit 0 in one of them and 1 in the other."""
    base = rng.randrange(1, TOP - 1)
    return [base, TOP - 1 ^ base]


def of_lengths(rng: random.Random, bits: int) -> Iterator[tuple[int, int]]:
    """Base and length of a range for each bit of a length: just this one, and a byte."""
    for bit in range(bits):
        length = (1 << bit) + 1
        yield rng.randrange(TOP - length), length


def edges(base: int, length: int) -> Iterator[tuple[int, int, bool]]:
    """The last byte and the one after it; all, and one more: whether it is inside."""
    last = base + length - 1
    yield from ((last, 1, True), (last, 2, False), (last + 1, 1, False))
    if length < 1 << BYTES:
        yield from ((base, length, True), (base, length + 1, False))


def beyond(base: int, bits: int = BYTES) -> Iterator[tuple[int, int]]:
    """Address and length of what is not within one byte: each bit of the address is another one,
    and each of the ``bits`` of the length is set.
    """
    for bit in range(ADDRESS):
        yield base ^ 1 << bit, 1
    for bit in range(1, bits):
        if base + (1 << bit) < TOP:
            yield base, 1 << bit | 1
    yield base, 2


@pyuvm.test()
class AccessBitsTest(CheckTest):
    """Accesses of peers, by the key of a region, and by that of a window of a larger one."""

    async def scenario(self) -> None:
        rng = self.rng("ranges")
        qp = await self.guarded()
        for base, length in of_lengths(rng, LENGTH):
            region = await self.memory(length, base=base)
            await self.told(region, base, length)
            await self.ends(qp, region.key, base, length)
            await region.deregister()
        for base in places(rng):
            region = await self.memory(1, base=base)
            await self.told(region, base, 1)
            await self.outside(qp, region.key, base)
            await region.deregister()
        await self.by_window(qp, rng)

    async def by_window(self, qp: Qp, rng: random.Random) -> None:
        window, most = await self.window(), (1 << LENGTH) - 1
        region = await self.memory(most, base=rng.randrange(TOP - most))
        for _, length in of_lengths(rng, BOUND):
            offset = rng.randrange(most - length)
            await self.bind(window, qp, region, offset, length)
            await self.ends(qp, window.key, region.base + offset, length)
            await self.invalidate(qp, window.key)
        offset = rng.randrange(most - 1)
        await self.bind(window, qp, region, offset, 1)
        await self.outside(qp, window.key, region.base + offset)

    async def told(self, region: Region, base: int, length: int) -> None:
        """A query tells the range; the bench compares all of its answer."""
        status = await region.query()
        assert (status.base, status.length) == (base, length), status

    async def ends(self, qp: Qp, key: int, base: int, length: int) -> None:
        kind = KINDS[length.bit_length() % 2]
        for address, nbytes, inside in edges(base, length):
            code = GRANTED if inside else BAD_RANGE
            await self.demand_verdict(qp, code, kind, key, address, nbytes)

    async def outside(self, qp: Qp, key: int, base: int) -> None:
        """More than a range of one byte."""
        for address, length in beyond(base):
            await self.demand_verdict(qp, BAD_RANGE, KINDS[0], key, address, length)


@pyuvm.test()
class SegmentBitsTest(SegmentTest):
    """Segments of receives."""

    async def scenario(self) -> None:
        rng = self.rng("ranges")
        host = self.env.host
        await self.setup()
        for base, length in of_lengths(rng, LENGTH):
            region = await host.register(length, number=0, base=base, zone=ZONE)
            await self.judge(
                ([Segment(address, nbytes, region.key)], Cause.NONE if inside else Cause.BAD_RANGE)
                for address, nbytes, inside in edges(base, length)
            )
            await region.deregister()
        for base in places(rng):
            region = await host.register(1, number=0, base=base, zone=ZONE)
            await self.judge(
                ([Segment(address, length, region.key)], Cause.BAD_RANGE)
                for address, length in beyond(base)
            )
            await region.deregister()
