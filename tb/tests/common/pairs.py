# SPDX-License-Identifier: Apache-2.0
"""What the tests of faults and resets share: connected pairs of queue pairs, a scenario on them
that uses every way to memory, and what must have come of it.
"""

from __future__ import annotations

from itertools import product

from tb.env.defs import ArmType, CqStatus, Opcode
from tb.env.host.qp import Qp, connect_pair
from tb.tests.common.directed import DirectedTest
from tb.tests.common.posting import TARGET


class PairsTest(DirectedTest):
    """Two connected pairs of queue pairs, each QP with a CQ of its own on one EQ; the driver's
    transport reports by itself.
    """

    async def bring_pairs(self) -> None:
        env = self.env
        env.transport.receiver.enable()
        env.transport.latency = env.transport.receiver.latency = (1, 20)
        self.eq = await env.host.create_eq(log2=min(4, self.config.max_log2))
        self.region = await env.host.register(4096)
        self.qps: dict[int, Qp] = {}
        for number in range(4):
            await self.make(number)
        for number in (0, 2):
            await connect_pair(self.qps[number], self.qps[number + 1])

    async def make(self, number: int) -> Qp:
        """QP and CQ of this number, new."""
        host = self.env.host
        log2 = min(6, self.config.max_log2)
        cq = await host.create_cq(number, eq=self.eq, log2=log2)
        self.qps[number] = qp = await host.create_qp(number, cq=cq, recv_depth=4)
        return qp

    async def remake(self, number: int) -> None:
        """After an error of its CQ: the QP goes, the CQ goes, both come again and connect."""
        old, peer = self.qps[number], self.qps[number ^ 1]
        old.cq.callbacks.clear()
        await old.destroy()
        if (await old.cq.query()).in_callback:
            assert await old.cq.callback_return() == (0, 0)
        await old.cq.destroy()
        new = await self.make(number)
        await peer.flush()
        await peer.reset()
        await connect_pair(new, peer)
        await self.env.drain()
        peer.cq.get_cq_results()
        assert await peer.cq.update_consumer_index() == (0, 0)
        await self.env.host.read_log()

    async def traffic(self) -> dict[int, int]:
        """On each QP three Writes and a Send to its peer; returns the entries due by CQ."""
        for qp in self.qps.values():
            assert (await qp.post_recv([self.region.segment(0, 64)])).accepted
            qp.cq.callbacks.clear()
            assert await qp.cq.arm(ArmType.ANY) == (0, 0)
        start = self.harness.cycle + 20
        for turn, qp in product(range(4), self.qps.values()):
            if turn < 3:
                qp.queue(qp.make(Opcode.WRITE, length=8, target=TARGET), at=start)
            else:
                qp.queue(qp.make(Opcode.SEND, length=8), at=start)
        return dict.fromkeys(self.qps, 5)

    async def unharmed(self, number: int, entries: int, failed: int = 0) -> None:
        """Everything of this CQ has completed, all but ``failed`` well, and called back."""
        cq = self.qps[number].cq
        state = await cq.query()
        where = f"CQ {number}: {state}"
        assert state.status == CqStatus.OK, where
        found = cq.get_cq_results_ex()
        good = [r.status for r in found].count(0)
        assert len(found) == entries and good >= entries - failed, f"{where}: {found}"
        assert await cq.update_consumer_index() == (0, 0)
        assert len(cq.callbacks) == 1 and cq.callbacks[0].status == CqStatus.OK, where
        assert await cq.callback_return() == (0, 0)
