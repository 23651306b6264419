# SPDX-License-Identifier: Apache-2.0
"""Lives of queue pairs with receives, one right after another (SRQ-06, SRQ-19)."""

from __future__ import annotations

import cocotb
import pyuvm

from tb.env.defs import QpState, Result, TraceOp
from tb.env.harness.harness import Channel
from tb.env.host.qp import Qp
from tb.env.host.recv import Srq
from tb.tests.common.engine import EngineTest
from tb.tests.common.receiving import Want, canceled

BUILD = "engine"


@pyuvm.test()
class LateFlushTest(EngineTest):
    """A queue pair whose turn to be flushed still waits, for memory stalls, is destroyed and made
    anew: the turn comes in each cycle around the creation and takes nothing of the new life. Its
    old life took from an SRQ, so the end of its own queue is far from where taking stands until the
    creation puts it there.
    """

    #: Cycles from the begin of the command to the end of the stall.
    leads = range(24)

    async def scenario(self) -> None:
        srq, (qp,) = await self.shared(1)
        # More flushed buffers than there is room for on their way to memory.
        others = [await self.own() for _ in range(6)]
        behind = [await self.one(qp, srq, others, lead) for lead in self.leads]
        assert min(behind) < 0 < max(behind), behind

    async def one(self, qp: Qp, srq: Srq, others: list[Qp], lead: int) -> int:
        """Returns by how many cycles the flushes go on after the creation."""
        await self.serve(qp, await self.supply(srq, 1))
        await srq.reap()
        flushed = [await self.supply(other, self.depth) for other in others]
        await self.rest()
        self.harness.hold(Channel.MEM_AW)
        await self.harness.cycles(8)
        for other in others:
            self.env.conn.send(other.number)
        await self.harness.cycles(300)
        assert await qp.set_state(QpState.DISCONNECTED) == Result.OK
        assert await qp.destroy() == Result.OK
        await self.rest()
        mark, at = self.mark, self.harness.cycle + 8
        go_on = cocotb.start_soon(self.go_on(at + lead))
        await self.begin(qp, None)
        await go_on
        await self.rest()
        created = self.steps(qp, TraceOp.RECV_SIZE, mark)[0].cycle
        steps = [t for other in others for t in self.steps(other, TraceOp.TAKE, mark)]
        await self.nothing(qp)
        cookies = await self.supply(qp, self.most)
        await qp.connect(1)
        await self.take(qp, *range(self.most))
        self.settle(qp, *[0] * self.most)
        await self.demand(qp, [Want(cookie, n) for n, cookie in enumerate(cookies)])
        await qp.destroy()
        await self.begin(qp, srq)
        await qp.connect(1)
        for other, found in zip(others, flushed, strict=True):
            await self.demand(other, canceled(found))
            await self.reconnect(other)
        return min(t.cycle for t in steps) - created

    async def begin(self, qp: Qp, srq: Srq | None) -> None:
        """A new life, with an SRQ or with a queue of its own."""
        qp.srq, qp.recv_depth = srq, 0 if srq else self.depth
        await qp.create()
        self.env.host.qps[qp.number] = qp

    async def go_on(self, cycle: int) -> None:
        """Ends the stall."""
        await self.harness.until(cycle)
        self.harness.hold(Channel.MEM_AW, False)
