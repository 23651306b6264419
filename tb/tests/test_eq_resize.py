# SPDX-License-Identifier: Apache-2.0
"""Event queues that change their rings while events are on their way (CQ-16, CQ-19)."""

from __future__ import annotations

import cocotb
import pyuvm

from tb.env.defs import ArmType
from tb.env.records import MemWrite
from tb.tests.directed import DirectedTest

BUILD = "default"

CQS = 16
#: Cycles from the call of the resize to the first completion, in which its step comes amid them.
LEADS = range(-24, 50)


@pyuvm.test()
class EventsBesideResizeTest(DirectedTest):
    """CQ-16, CQ-19: RESIZE_EQ while sixteen CQs call back one after the other. Entries in front of
    the switch index are in the old ring, the others in the new one, whichever cycle the step
    comes in: the host that goes by it sees each callback once.
    """

    async def scenario(self) -> None:
        host, mem = self.env.host, self.env.mem
        eq = await host.create_eq(page=0, log2=4)
        cqs = await self.queues(CQS, eq, log2=2)
        amid = set()
        for n, lead in enumerate(LEADS):
            for cq in cqs:
                assert await cq.arm(ArmType.ANY) == (0, 0)
            await self.env.drain(32)
            mark, old = len(self.seen), (eq.base, eq.base + (16 << eq.log2))
            at = self.harness.cycle + 100
            for i, cq in enumerate(cqs):
                self.env.completions.send(cq.number, context=n, at_cycle=at + i)
            await self.harness.until(at - lead)
            await cocotb.start_soon(host.resize_eq(eq, 5 - n % 2))
            await self.env.drain(64)
            writes = [w for w in self.of(MemWrite, mark) if w.axi_id == mem.id_of(eq=eq.number)]
            before = sum(old[0] <= w.addr < old[1] for w in writes)
            amid.add(before)
            assert [len(cq.callbacks) for cq in cqs] == [n + 1] * CQS, (
                f"lead {lead}, {before} before"
            )
            for cq in cqs:
                assert self.polled(cq) == [n]
                assert await cq.callback_return() == (0, 0)
                await cq.update_consumer_index()
        assert {0, CQS} < amid and len(amid) > CQS // 2, sorted(amid)
