# SPDX-License-Identifier: Apache-2.0
"""Invalidating messages for a QP that has as many buffers in flight as it may (MW-06, MW-07)."""

from __future__ import annotations

import pyuvm

from tb.tests.common.invalidating import InvalidatingTest
from tb.tests.common.taking import NOT_READY
from tb.tests.common.windowing import READ, ZONE

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class FlightLimitTest(InvalidatingTest):
    """MW-06, SRQ-14: buffers are there, but the QP may not have one more in flight: the answer is
    NOT_READY, and the key stays valid, however often the message comes.
    """

    async def scenario(self) -> None:
        await self.round(shared=True)
        # An own queue that holds no more than may be in flight is empty first.
        if self.config.rq_log2 > self.config.rx_log2:
            await self.round(shared=False)

    async def round(self, shared: bool) -> None:
        most = 1 << self.config.rx_log2
        recv_cq = await self.queue(reservation=True, log2=min(6, self.config.idx_w - 2))
        if shared:
            srq = await self.env.host.create_srq(size=1 << self.config.srq_log2, zone=ZONE)
            qp = self.qp_ = await self.guarded(recv_cq=recv_cq, nd1=True, srq=srq)
            self.source = srq
        else:
            depth = 1 << self.config.rq_log2
            qp = self.qp_ = await self.guarded(recv_cq=recv_cq, nd1=True, recv_depth=depth)
            self.source = qp
        self.target = await self.memory(256)
        self.win = await self.window(context=5)
        key = await self.valid_key()
        await self.buffers(most + 2)
        await self.take(qp, *[1] * most)
        for _ in range(3):
            await self.answers([self.send_invalidate(qp, key)], NOT_READY)
        assert (await self.win.query()).valid
        assert await self.check(qp, READ, key, self.target.base, 4) == 0
        while self.tags[qp.number]:
            self.settle(qp)
        await self.rest()
