# SPDX-License-Identifier: Apache-2.0
"""Bad host input at the receive portals and at SRQ_DB: each write is refused with its cause,
counted and logged, and has no other effect (SRQ-15, SRQ-17, ISO-01, ISO-02).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import SRQ_DB, Cause, PageReg
from tb.env.harness.records import WorkBeat
from tb.env.host.qp import Qp
from tb.env.host.srq import Srq
from tb.tests.common.receive_posts import ReceivePostTest

BUILD = ["engine", "engine_small"]

FULL = (1 << 64) - 1
RECV, SHARED, REAP = PageReg.RECV, PageReg.SRQ_RECV, PageReg.SRQ_DB


class BadInputTest(ReceivePostTest):
    async def setup(self) -> tuple[Qp, Srq, Qp]:
        """A QP with two of four buffers posted, an SRQ with as many and a QP that uses it; the QP
        holds a request.
        """
        qp = await self.qp(recv_depth=4, log2=3)
        srq = await self.env.host.create_srq(size=4)
        user = await self.qp(srq=srq, log2=3)
        self.posts = await self.fill(qp, 2)
        self.shared = await self.fill(srq, 2)
        self.held = await self.hold(qp, 1)
        return qp, srq, user

    async def as_before(self, qp: Qp, user: Qp) -> None:
        """What was posted is there, what is held is held, and nothing else is."""
        await self.rest()
        assert self.of(WorkBeat) == []
        await self.consume(qp, self.posts)
        await self.consume(user, self.shared)
        self.held += await self.accept(qp, [self.write_post(qp)])
        await self.rest()
        self.demand_beats(qp, self.held, 0)
        self.report(qp, 0, 0)
        await self.demand_results(qp, self.held, 0)


@pyuvm.test()
class ReapInputTest(BadInputTest):
    """SRQ_DB: lengths, sizes, strobes, pages and every bit of the word."""

    async def scenario(self) -> None:
        qp, srq, user = await self.setup()
        other = await self.env.host.create_srq(size=1, page=1)
        before = await self.states()
        good = SRQ_DB.pack(index=srq.index, srq=srq.number)
        for length in (1, 255):
            await self.refuse(Cause.BURST, good, offset=REAP, len=length)
        for size in range(3):
            await self.refuse(Cause.BAD_SIZE, good, offset=REAP, size=size)
        for strb in (0, 1, 0x7F, 0xFE, 0x0F, 0xF0):
            await self.refuse(Cause.BAD_SIZE, good, offset=REAP, strb=strb << 16)
        for wrong in (FULL, 0xFF << 8, 0xFF << 24):
            await self.refuse(Cause.BAD_SIZE, good, offset=REAP, strb=wrong)
        for bit in range(20):
            if 1 << bit >= self.config.num_pages:
                await self.refuse(Cause.BAD_PAGE, good, page=1 << bit, offset=REAP)
        for bit in range(64):
            word = good ^ 1 << bit
            if 16 <= bit < 32 or bit >= 48 or self.config.idx_w <= bit < 16:
                cause = Cause.RESERVED_BITS
            elif bit < 32:
                cause = Cause.BAD_INDEX
            else:
                number = word >> 32
                known = {srq.number: Cause.NONE, other.number: Cause.NOT_OWNER}
                outside = number >= self.config.num_srq
                cause = Cause.BAD_SRQ if outside else known.get(number, Cause.NO_SRQ)
            await self.refuse(cause, word, offset=REAP)
        await self.refuse(Cause.NOT_OWNER, good, page=1, offset=REAP)
        # All faults, mended one by one.
        worst, pages = FULL, self.config.num_pages
        await self.refuse(Cause.BURST, worst, page=pages, offset=REAP, size=2, len=1)
        await self.refuse(Cause.BAD_SIZE, worst, page=pages, offset=REAP, size=2)
        await self.refuse(Cause.BAD_PAGE, worst, page=pages, offset=REAP)
        await self.refuse(Cause.RESERVED_BITS, worst, page=1, offset=REAP)
        index = srq.index + 1 & self.mask
        far = SRQ_DB.pack(index=index, srq=0xFFFF)
        await self.refuse(Cause.BAD_SRQ, far, page=1, offset=REAP)
        ahead = SRQ_DB.pack(index=index, srq=srq.number)
        await self.refuse(Cause.NOT_OWNER, ahead, page=1, offset=REAP)
        await self.refuse(Cause.BAD_INDEX, ahead, offset=REAP)
        assert await self.states() == before
        assert await srq.reap() == (0, 0)
        await self.as_before(qp, user)
