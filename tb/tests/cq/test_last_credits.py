# SPDX-License-Identifier: Apache-2.0
"""CQ-17, CQ-01: the last credits of a CQ, asked for while another CQ's are granted."""

from __future__ import annotations

import pyuvm

from tb.env.defs import TraceOp
from tb.env.harness.records import Trace
from tb.tests.common.engine import EngineTest
from tb.tests.common.receiving import TAKEN, Want

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class LastTakeCreditTest(EngineTest):
    """Messages take buffers of an SRQ with the last credits of their CQ in the very cycles in which
    posts are accepted on another: what the other is granted is none of theirs.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(size=2)
        user = await self.qp(srq=srq, log2=1)
        sender = await self.qp(log2=3)
        met = 0
        for offset in range(-6, 14):
            cookies = await self.supply(srq, 2)
            await self.rest()
            mark = len(self.seen)
            at = self.harness.cycle + 120
            sends = [
                sender.queue(self.write_post(sender), at=at + offset + 2 * i) for i in range(3)
            ]
            codes = [(await answer).code for answer in self.ask(user, 5, 6, at=at)]
            assert codes == [TAKEN, TAKEN], f"offset {offset}: {[code.name for code in codes]}"
            for answer in sends:
                assert await answer == (0, 0)
            await self.rest()
            met += self.met(mark)
            for _ in sends:
                self.report(sender)
            self.settle(user, 0, 0)
            await self.demand(user, [Want(cookies[0], 5), Want(cookies[1], 6)])
            assert len(sender.cq.get_cq_results_ex()) == len(sends)
            await sender.cq.update_consumer_index()
        assert met > 2, f"{met} buffers were taken in the cycle of a post"

    def met(self, mark: int) -> int:
        """Cycles with both."""
        cycles = [
            {step.cycle for step in self.of(Trace, mark) if step.op == op}
            for op in (TraceOp.POST, TraceOp.TAKE)
        ]
        return len(cycles[0] & cycles[1])
