# SPDX-License-Identifier: Apache-2.0
"""The sink of terminate requests stands still for long while keys are invalidated and the device
goes: what does not need it goes on, nothing is lost behind it.
"""

from __future__ import annotations

from typing import Any

import pyuvm

from tb.env.defs import QpState, Result
from tb.env.harness.harness import Channel
from tb.env.host.qp import Qp
from tb.tests.common.removing import RemovalTest
from tb.tests.common.windowing import BAD_KEY, BAD_TOKEN, READ

BUILD = ["engine", "engine_small", "engine_deep"]
LONG = 3000


class HoldTest(RemovalTest):
    async def set_up(self, nd1: bool = False) -> None:
        recv_cq = await self.queue(reservation=True, log2=min(4, self.config.max_log2))
        self.a = await self.guarded(recv_cq=recv_cq, nd1=nd1)
        self.b = await self.guarded(recv_cq=recv_cq)
        self.region_ = await self.memory(256)
        self.buffer_ = await self.memory(64)
        self.win_a, self.win_b = await self.window(context=0xAB), await self.window(context=0xCD)
        await self.bind(self.win_a, self.a, self.region_)
        await self.bind(self.win_b, self.b, self.region_)

    async def buffers(self, qp: Qp, count: int) -> list[int]:
        posts = [qp.make_recv([self.buffer_.segment(0, 8)]) for _ in range(count)]
        for answer in qp.queue_recv_many(posts):
            assert await answer == (0, 0)
        return [post.context for post in posts]

    async def soon(self, pending: Any, what: str, limit: int = 200) -> Any:
        end = self.harness.cycle + limit
        while not pending.done:
            assert self.harness.cycle < end, f"{what}: no answer"
            await self.harness.cycles(8)
            await self.env.sync()
        return pending.result

    def check_at(self, key: int) -> Any:
        return self.post_check(self.a, READ, key, self.region_.base, 8)


@pyuvm.test()
class TermsHeldTest(HoldTest):
    """m_axis_term stands still while connections end by checks, messages, requests and removal:
    nothing but CONNECT_QP waits, and each connection has its request afterwards.
    """

    async def scenario(self) -> None:
        await self.set_up()
        cookies = await self.buffers(self.b, 1)
        mark = self.mark
        self.harness.hold(Channel.TERM)
        assert (await self.soon(self.check_at(0), "check")).code == BAD_KEY
        token = self.send_invalidate(self.b, 0)
        assert (await self.soon(token, "message")).code == BAD_TOKEN
        await self.harness.cycles(100)
        for qp in (self.a, self.b):
            assert (await qp.query()).state == QpState.ERROR
        self.settle(self.b)
        await self.harness.cycles(200)
        await self.env.host.remove_device()
        assert (await self.result(0x4F, 0)) == Result.DEVICE_REMOVED
        await self.harness.cycles(LONG)
        found = self.b.recv_cq.get_cq_results_ex()
        assert [(r.request_context, r.status) for r in found] == [(cookies[0], 4)], found
        self.harness.hold(Channel.TERM, False)
        await self.rest()
        assert sorted(self.terms(mark)) == [(q.number, 5) for q in (self.a, self.b)]
