# SPDX-License-Identifier: Apache-2.0
"""Receives that invalidate keys."""

from __future__ import annotations

from tb.env.defs import Cause
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.tests.common.taking import REFUSED
from tb.tests.common.windowing import ZONE, WindowTest, plain, received, result_of

CONTEXT = 0xFEDC_BA98_7654_3210
Entry = tuple[int, int, int, int, int]


class InvalidatingTest(WindowTest):
    async def set_up(self, nd1: bool, shared: bool = False, log2: int = 3) -> None:
        recv_cq = await self.queue(reservation=True, log2=log2)
        srq = await self.env.host.create_srq(size=4, zone=ZONE) if shared else None
        options = {"srq": srq} if shared else {"recv_depth": 4}
        self.qp_ = await self.guarded(recv_cq=recv_cq, nd1=nd1, **options)
        self.source: ReceiveQueue = srq if srq is not None else self.qp_
        self.target = await self.memory(256)
        self.win = await self.window(context=CONTEXT)

    async def buffers(self, count: int, cause: Cause = Cause.NONE) -> list[int]:
        posts = [self.source.make_recv([self.target.segment(0, 32)]) for _ in range(count)]
        for answer in self.source.queue_recv_many(posts):
            assert (await answer).cause == cause
        return [post.context for post in posts]

    async def valid_key(self) -> int:
        return await self.bind(self.win, self.qp_, self.target)

    async def refused_code(self, qp: Qp) -> None:
        assert (await self.receiver.request(qp.number, 1)).code == REFUSED

    def entries(self, nd1: bool, cookie: int, key: int, context: int = CONTEXT) -> list[Entry]:
        return [result_of(context, key), plain(cookie)] if nd1 else [received(cookie, key)]
