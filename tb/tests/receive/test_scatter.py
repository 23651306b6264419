# SPDX-License-Identifier: Apache-2.0
"""SRQ-03, SRQ-18: which bytes of a buffer a message fills, and that it fills no others. Payloads
are moved as the scatter lists say, into memory that was painted before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise, product

import cocotb
import pyuvm

from models.post.post import Segment
from tb.env.agents.receive import Answer
from tb.env.defs import CqeStatus
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.tests.common.engine import EngineTest
from tb.tests.common.receiving import LENGTH_ERROR, TAKEN, TOO_LONG, Want, canceled

BUILD = ["engine", "engine_small"]
CANARY = 0xC5
GAP = 24  # bytes between segments
M32 = 0xFFFF_FFFF

LAYOUTS: Sequence[Sequence[int]] = (
    *((), (0,), (40,), (24, 16), (0, 16), (16, 0), (0, 0, 0), (1, 1, 1)),
    # Any of three without a byte.
    *((16, 48, 32), (0, 48, 32), (16, 0, 32), (16, 48, 0)),
    *((0, 0, 32), (0, 48, 0), (16, 0, 0)),
)


def expected(sizes: Sequence[int], length: int) -> list[int]:
    """Bytes of each segment, always three: front segments are full, the others are not."""
    filled = []
    for size in (*sizes, 0, 0, 0)[:3]:
        filled.append(min(size, length))
        length -= filled[-1]
    return filled


@pyuvm.test()
class CornersTest(EngineTest):
    """Each length on, in front of and after each boundary, of every layout; an SRQ and a queue of
    its own. Segments without a byte between them, in falling order; a whole region.
    """

    async def scenario(self) -> None:
        await self.prepare()
        rng = self.rng("payload")
        close = self.lay((8, 16, 16), start=100, gap=0)
        buffers = [self.lay(sizes) for sizes in LAYOUTS]
        buffers += [close, close[::-1], [self.painted.segment()]] * 2
        for turn, segments in enumerate(buffers):
            ends = [0, *accumulate(segment.length for segment in segments)]
            lengths = {end + step for end in ends for step in (-1, 0, 1)}
            lengths |= {(one + two) // 2 for one, two in pairwise(ends)}
            for n, length in enumerate(sorted(lengths - {-1})):
                await self.scatter((turn + n) % 2, segments, length, rng.randbytes(length))

    async def prepare(self) -> None:
        """An SRQ and a QP that uses it, a QP with a queue of its own, painted memory."""
        self.receiver.fill = True
        self.painted = await self.env.host.register(1024)
        srq, (user,) = await self.shared(1)
        own = await self.own()
        self.places: list[tuple[ReceiveQueue, Qp]] = [(srq, user), (own, own)]

    def lay(self, sizes: Sequence[int], start: int = 8, gap: int = GAP) -> list[Segment]:
        """Segments of these sizes, one after the other."""
        segments = []
        for size in sizes:
            segments.append(self.painted.segment(start, size))
            start += size + gap
        return segments

    async def scatter(
        self, place: int, segments: Sequence[Segment], length: int, data: bytes
    ) -> Answer:
        """One message into one buffer, and everything that is to be seen of it."""
        queue, qp = self.places[place]
        self.painted.paint(CANARY)
        post = queue.make_recv(segments)
        assert await queue.queue_recv(post) == (0, 0)
        answer = await self.receiver.request(qp.number, length, data=data)
        sizes = [segment.length for segment in segments]
        assert answer.srq == (place == 0)
        if length > sum(sizes):
            assert answer.code == TOO_LONG, answer
            self.receiver.report(qp.number)
            await self.demand(qp, [Want(post.context, status=LENGTH_ERROR)])
            self.demand_bytes([], b"")
            await self.reconnect(qp)
            return answer
        assert answer.code == TAKEN, answer
        filled = expected(sizes, length)
        assert [segment.length for segment in answer.segments] == filled
        slots = [(s.address, s.key) for s in answer.segments]
        assert slots == [*[(s.address, s.key) for s in segments], (0, 0), (0, 0), (0, 0)][:3]
        self.receiver.report(qp.number)
        await self.demand(qp, [Want(post.context, length)])
        self.demand_bytes(segments, data)
        return answer

    def demand_bytes(self, segments: Sequence[Segment], data: bytes) -> None:
        """The payload stands in front, everything else is as it was."""
        image = bytearray([CANARY]) * self.painted.length
        for segment in segments:
            at = segment.address - self.painted.base
            part, data = data[: segment.length], data[segment.length :]
            image[at : at + len(part)] = part
        assert self.painted.read() == bytes(image)
        for outside in (-64, self.painted.length):
            assert self.painted.read(outside, 64) == bytes(64)


@pyuvm.test()
class LargestTest(EngineTest):
    """Segments and messages of up to 0xFFFFFFFF bytes: sums beyond 32 bits. A message behind one
    that is too long has its buffer as any other.
    """

    #: Sizes of the segments, and lengths of messages.
    trials: Sequence[tuple[tuple[int, ...], tuple[int, ...]]] = (
        ((), (1, M32)),
        ((M32,), (M32,)),
        ((M32 - 1,), (M32,)),
        ((M32, 1), (0, 1, M32)),
        ((1, M32), (2, M32)),
        ((0x8000_0000, 0x8000_0000), (0x8000_0000, 0x8000_0001, M32)),
        ((0x7FFF_FFFF, 0x7FFF_FFFF), (M32 - 1, M32)),
        ((M32, M32, M32), (M32,)),
        ((M32, M32, 2), (3,)),
        ((0, M32, 1), (M32,)),
        ((0, 1, M32), (M32,)),
        ((0x8000_0000, 0, 0x8000_0000), (5,)),
        ((0x7FFF_FFFF, 0x7FFF_FFFF, 1), (M32,)),
        ((0x5555_5555, 0x5555_5555, 0x5555_5554), (M32,)),
        ((0x5555_5555, 0x5555_5555, 0x5555_5555), (M32,)),
        ((0x5555_5555, 0x5555_5555, 0x5555_5556), (M32,)),
    )

    async def scenario(self) -> None:
        region = await self.env.host.register((1 << 48) - 1, base=0xFFFF_0000_0000_0001)
        srq, (user,) = await self.shared(1)
        own = await self.own()
        trials = [(sizes, n) for sizes, some in self.trials for n in some]
        for (queue, qp), (sizes, length) in product(((srq, user), (own, own)), trials):
            segments = [region.segment(n << 40, size) for n, size in enumerate(sizes)]
            (post,) = await self.accept_recv(queue, [queue.make_recv(segments)])
            answer = await self.receiver.request(qp.number, length)
            self.settle(qp)
            if length <= sum(sizes):
                filled = [segment.length for segment in answer.segments]
                assert filled == expected(sizes, length), (sizes, length)
                await self.demand(qp, [Want(post.context, length)])
            else:
                await self.demand(qp, [Want(post.context, 0, LENGTH_ERROR)])
                await self.reconnect(qp)
        posts = [own.make_recv([region.segment(0, 8)]) for _ in range(2)]
        await self.accept_recv(own, posts)
        asked = [cocotb.start_soon(self.receiver.request(own.number, n)) for n in (9, 8)]
        assert [(await answer).code for answer in asked] == [TOO_LONG, TAKEN]
        self.settle(own, 0, CqeStatus.CANCELED)
        first, second = (post.context for post in posts)
        await self.demand(own, [Want(first, 0, LENGTH_ERROR), *canceled([second])])
        await self.reconnect(own)
