# SPDX-License-Identifier: Apache-2.0
"""Segments of receive posts and the regions that they name: order, keys, zones, rights, bounds
(SRQ-15); registration of regions.
"""

from __future__ import annotations

from itertools import product

import pyuvm

from models.post.post import Segment
from tb.env.defs import Cause, Cmd, Result, Right
from tb.env.host.regions import KeyStatus, Region
from tb.tests.common.receive_segments import ZONE, SegmentTest

BUILD = ["engine", "engine_small"]

TOP = 1 << 64
LONGEST = (1 << 48) - 1
M32 = (1 << 32) - 1


@pyuvm.test()
class VectorOrderTest(SegmentTest):
    """The first failing segment in vector order counts, whatever is behind it; a segment without
    bytes and a slot that is not used are not checked.
    """

    async def scenario(self) -> None:
        await self.setup()
        host = self.env.host
        good = await host.register(64, zone=ZONE)
        alien = await host.register(64, zone=ZONE ^ 0x8000, rights=Right.REMOTE_READ)
        closed = await host.register(64, zone=ZONE, rights=Right.REMOTE_READ)
        #: A segment, and what it is answered.
        kinds = (
            (good.segment(), Cause.NONE),
            (Segment(TOP - 1, 0, M32), Cause.NONE),
            (Segment(closed.base, 0, closed.key), Cause.NONE),
            (Segment(good.base, 1, good.key + 0x1000), Cause.BAD_REGION),
            (alien.segment(1, 64), Cause.BAD_ZONE),
            (closed.segment(1, 64), Cause.NO_LOCAL_WRITE),
            (good.segment(1, 64), Cause.BAD_RANGE),
        )
        for count in range(4):
            cases = []
            for chosen in product(kinds, repeat=count):
                first = next((cause for _, cause in chosen if cause), Cause.NONE)
                cases.append(([segment for segment, _ in chosen], first))
            await self.judge(cases)
        # What lies in unused slots does not count.
        for queue, legal in self.targets:
            bad = queue.make_recv([kinds[3][0]] * 3)
            for count in range(4):
                post = type(bad)(bad.number, count, 5, bad.slots)
                cause = Cause.BAD_REGION if count else legal
                assert await queue.queue_recv(post) == (2, cause)
        # Without bytes: accepted, and the next segment is filled.
        own = await self.qp(recv_depth=1, zone=ZONE, log2=2)
        for place in range(3):
            segments = [good.segment(0, 8)] * 3
            segments[place] = Segment(TOP - 1, 0, M32)
            (post,) = await self.accept_recv(own, [own.make_recv(segments)])
            await self.filled(own, post, 16)


@pyuvm.test()
class BoundsTest(SegmentTest):
    """A region's first and last byte, one beyond at both ends, the ends of the address space, the
    longest region and the longest segment.
    """

    async def scenario(self) -> None:
        await self.setup()
        for base, length in (
            *((0x1000, 64), (0x1FFF, 1), (0xFFFF_FFF0, 32), (0x7_FFFF_FFFF, 2)),
            *((0, 1), (0, LONGEST), (TOP - 1, 1), (TOP - 64, 64), (TOP - LONGEST, LONGEST)),
            *((1 << 63, 1 << 32), ((1 << 63) - 1, M32), (1 << 48, (1 << 32) + 1)),
        ):
            region = await self.env.host.register(length, number=0, base=base, zone=ZONE)
            await self.around(region)
            await self.reach(region)
            await region.deregister()

    async def around(self, region: Region) -> None:
        """Segments around its corners; the rule is written with numbers without an end."""
        base, size = region.base, region.length
        end = base + size
        starts = {base - 1, base, base + 1, end - 2, end - 1, end, end + 1, 0, TOP - 1}
        lengths = {1, 2, 3, size - 1, size, size + 1, M32, M32 - 1, TOP - base, TOP - base + 1}
        cases = []
        for start, length in product(starts | {base ^ 1 << 63}, lengths | {size + TOP}):
            if not (0 <= start < TOP and 1 <= length <= M32):
                continue
            legal = base <= start and start + length <= end
            cause = Cause.NONE if legal else Cause.BAD_RANGE
            segment = Segment(start, length, region.key)
            for place in range(3):
                other = region.segment(0, 1)
                cases.append(([segment if n == place else other for n in range(3)], cause))
        await self.judge(cases)

    async def reach(self, region: Region) -> None:
        """Its whole, or as much of its end as a segment can have, is posted and filled."""
        own = await self.qp(recv_depth=1, zone=ZONE, log2=2)
        length = min(region.length, M32)
        segment = region.segment(region.length - length, length)
        (post,) = await self.accept_recv(own, [own.make_recv([segment])])
        await self.filled(own, post)
        await self.remove(own)


@pyuvm.test()
class RightsTest(SegmentTest):
    """Every bit of a zone and every set of rights."""

    async def scenario(self) -> None:
        await self.setup()
        host = self.env.host
        own = await self.qp(recv_depth=1, zone=ZONE, log2=2)
        for zone in (ZONE, *(ZONE ^ 1 << bit for bit in range(16)), ZONE ^ 0xFFFF, 0):
            region = await host.register(8, number=0, zone=zone)
            cause = Cause.NONE if zone == ZONE else Cause.BAD_ZONE
            await self.judge(
                [([region.segment()], cause), ([region.segment(1, 8)], cause or Cause.BAD_RANGE)]
            )
            await region.deregister()
        for rights in (Right(n) for n in range(8)):
            if rights & Right.REMOTE_WRITE and not rights & Right.LOCAL_WRITE:
                assert await self.result(Cmd.REGISTER_MR, 0, 0, 0, 8, 0, ZONE | rights << 16) == (
                    Result.BAD_FLAG
                )
                continue
            region = await host.register(8, number=0, zone=ZONE, rights=rights)
            cause = Cause.NONE if rights & Right.LOCAL_WRITE else Cause.NO_LOCAL_WRITE
            await self.judge([([region.segment()], cause)])
            result = await own.post_recv([region.segment()], 5)
            assert result.cause == cause
            if not cause:
                await self.consume(own, [own.make_recv([region.segment()], 5)], [8])
            await region.deregister()


@pyuvm.test()
class KeysTest(SegmentTest):
    """A key is good for one registration: not before, not after, not for another region; what was
    posted before the end of its region stays posted.
    """

    async def scenario(self) -> None:
        await self.setup()
        host = self.env.host
        count = self.config.num_mr
        own = await self.qp(recv_depth=2, zone=ZONE, log2=3)
        number = count - 1
        base = host.env.memory.allocate(64)
        old: list[int] = []
        for life in range(1, 6):
            key = number | life << 12
            other = Segment(base, 8, key)
            await self.judge([([other], Cause.BAD_REGION)])
            region = await host.register(64, number=number, base=base, zone=ZONE)
            assert region.key == key
            assert (await region.query()).key == key
            cases = [([other], Cause.NONE)]
            wrong = {key ^ 1 << bit for bit in range(32)} | {0, M32, number, *old}
            cases += [([Segment(base, 8, k)], Cause.BAD_REGION) for k in sorted(wrong)]
            await self.judge(cases)
            posts = await self.accept_recv(own, [own.make_recv([region.segment()])] * 2)
            await self.consume(own, posts[:1], [64])
            await region.deregister()
            old.append(key)
            await self.judge([([other], Cause.BAD_REGION)])
            assert (await own.post_recv([other])).cause == Cause.BAD_REGION
            # The second buffer is taken when its region is gone.
            await self.filled(own, posts[1])
        # Another region in its place, with the same number: another zone, and it counts.
        region = await host.register(8, number=number, base=0, zone=0)
        await self.judge([([Segment(0, 1, region.key)], Cause.BAD_ZONE)])
        await self.judge([([Segment(base, 8, k)], Cause.BAD_REGION) for k in old])


@pyuvm.test()
class RegionCommandsTest(SegmentTest):
    """Corners of the address space, keys that count up, and what a query tells; results in their
    order are the subject of test_command_results.py.
    """

    allow = ("no_traffic", "no_posts", "no_receives")

    async def scenario(self) -> None:
        keys = await self.lives(await self.corners())
        assert await self.result(Cmd.DEREGISTER_MR, 0) == Result.OK
        for rights, length, result in ((4, 8, Result.BAD_FLAG), (1, 0, Result.BAD_RANGE)):
            words = (0, 0, 0, length, 0, rights << 16)
            assert await self.result(Cmd.REGISTER_MR, *words) == result
        # Refused registrations used no key.
        region = await self.env.host.register(1, number=0)
        assert region.key == keys[0] + 0x1000

    async def corners(self) -> int:
        """The shortest and the longest region, at both ends of the address space; regions that end
        with it, and 2^k bytes behind it for each k. Returns how many region 1 was.
        """
        lives = 0
        for base, length, result in (
            *((TOP - (1 << k), 1 << k, Result.OK) for k in range(48)),
            *((TOP - 1, (1 << k) + 1, Result.BAD_RANGE) for k in range(48)),
            *((0, 0, Result.BAD_RANGE), (TOP - 1, 0, Result.BAD_RANGE), (0, 1, Result.OK)),
            *((TOP - 1, 1, Result.OK), (TOP - 1, 2, Result.BAD_RANGE)),
            *((TOP - 2, 2, Result.OK), (TOP - 2, 3, Result.BAD_RANGE)),
            *((0, LONGEST, Result.OK), (TOP - LONGEST, LONGEST, Result.OK)),
            *((TOP - LONGEST + 1, LONGEST, Result.BAD_RANGE), (1, 1 << 47, Result.OK)),
            *((TOP - (1 << 32), 1 << 32, Result.OK), (TOP - 1, LONGEST, Result.BAD_RANGE)),
            *((TOP - (1 << 32), (1 << 32) + 1, Result.BAD_RANGE), (1 << 63, 1 << 47, Result.OK)),
        ):
            words = (base & M32, base >> 32, length & M32, length >> 32, 1 << 16)
            assert await self.result(Cmd.REGISTER_MR, 1, *words) == result, (base, length)
            if result == Result.OK:
                answer = await self.env.host.command(Cmd.QUERY_MR, 1)
                assert answer.outs[1:6] == words
                assert await self.result(Cmd.DEREGISTER_MR, 1) == Result.OK
                lives += 1
            else:
                assert await self.result(Cmd.QUERY_MR, 1) == Result.NO_OBJECT
        return lives

    async def lives(self, before: int) -> list[int]:
        """Every region several times; keys count up from 1 for each number by itself. ``before``:
        lives of region 1.
        """
        host = self.env.host
        start = {1: before}
        keys: list[int] = []
        for life in range(3):
            keys.clear()
            for number in range(self.config.num_mr):
                if life:
                    assert await self.result(Cmd.DEREGISTER_MR, number) == Result.OK
                assert await self.result(Cmd.DEREGISTER_MR, number) == Result.NO_OBJECT
                assert await self.result(Cmd.QUERY_MR, number) == Result.NO_OBJECT
                rights = Right(number % 4)
                zone = number * 0x0FF1 & 0xFFFF
                region = await host.register(number + 1, number=number, zone=zone, rights=rights)
                assert region.key == number | (start.get(number, 0) + life + 1) << 12
                keys.append(region.key)
                right = KeyStatus(region.key, region.base, number + 1, zone, rights, valid=True)
                assert await region.query() == right
        return keys
