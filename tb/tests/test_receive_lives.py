# SPDX-License-Identifier: Apache-2.0
"""Lives of queue pairs with receives, one right behind another (SRQ-06, SRQ-19)."""

from __future__ import annotations

import cocotb
import pyuvm

from tb.env.defs import QpState, Result, TraceOp
from tb.env.harness import Channel
from tb.env.qp import Qp
from tb.env.srq import Srq
from tb.tests.taking import TakingTest, Want, canceled

BUILD = "engine"


@pyuvm.test()
class LateFlushTest(TakingTest):
    """A queue pair whose turn to be flushed still waits, for memory stalls, is destroyed and made
    anew: the turn comes in each cycle around the creation and takes nothing of the new life. Its
    old life took from an SRQ, so its own queue's end is far from where taking stands until the
    creation puts it there.
    """

    async def scenario(self) -> None:
        srq, (qp,) = await self.shared(1)
        # More flushed buffers than there is room for on their way to memory.
        others = [await self.own() for _ in range(6)]
        met = set()
        for lead in range(*self.leads):
            met.add(await self.one(qp, srq, others, lead))
        assert min(met) < 0 < max(met), met

    #: Cycles from the begin of the creation to the end of the stall.
    leads = (0, 120, 10)

    async def one(self, qp: Qp, srq: Srq, others: list[Qp], lead: int) -> int:
        """Returns by how many cycles the flushes went on behind the creation."""
        await self.supply(srq, 1)
        await self.take(qp, 1)
        self.settle(qp)
        flushed = [await self.supply(other, self.depth) for other in others]
        await self.rest()
        await qp.recv_cq.wait_results(1)
        await qp.recv_cq.update_consumer_index()
        self.harness.stall(Channel.MEM_AW, hold=True)
        await self.harness.cycles(8)
        for other in others:
            self.env.conn.send(other.number)
        await self.harness.cycles(300)
        assert await qp.set_state(QpState.DISCONNECTED) == Result.OK
        assert await qp.destroy() == Result.OK
        mark = self.mark
        at = self.harness.cycle + 20
        cocotb.start_soon(self.go_on(at + lead))
        qp.srq, qp.recv_depth = None, self.depth
        await qp.create()
        self.env.host.qps[qp.number] = qp
        await self.rest()
        size = self.of_lane(TraceOp.RECV_SIZE, qp.number, mark)[0].cycle
        drop = next(t.cycle for o in others for t in self.of_lane(TraceOp.TAKE, o.number, mark))
        print(f"LEAD {lead}: create {size - at}, drop {drop - at}")
        await self.nothing(qp)
        half = self.most
        cookies = await self.supply(qp, half)
        await qp.connect(1)
        await self.take(qp, *range(half))
        self.settle(qp, *[0] * half)
        await self.demand(qp, [Want(cookie, n) for n, cookie in enumerate(cookies)])
        await qp.destroy()
        qp.srq, qp.recv_depth = srq, 0
        await qp.create()
        await qp.connect(1)
        self.env.host.qps[qp.number] = qp
        await srq.reap(srq.index + 1 & self.mask)
        for other, found in zip(others, flushed, strict=True):
            await self.demand(other, canceled(found))
            await self.reconnect(other)
        return drop - size

    async def go_on(self, cycle: int) -> None:
        await self.harness.until(cycle)
        self.harness.stall(Channel.MEM_AW, hold=False)
