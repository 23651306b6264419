# SPDX-License-Identifier: Apache-2.0
"""Event entries that were given up: the host learns of them, and of those behind them."""

from __future__ import annotations

import pyuvm

from tb.env.defs import ArmType, Cause, TraceOp
from tb.env.records import Interrupt, Trace
from tb.tests.directed import SLVERR, DirectedTest

#: Writes of one entry.
ATTEMPTS = 4


@pyuvm.test()
class HoleIsToldTest(DirectedTest):
    """CQ-16, CQ-18: the entry of one CQ fails, the one behind it in the ring is acknowledged, and
    the host looks then: it stops in front of the slot that is not written yet. When that is given
    up the host is told, skips it, and finds the callback behind it. Failures of the last writes
    come at different times.
    """

    async def scenario(self) -> None:
        for gap in (0, 20, 200):
            await self.round(gap)

    async def round(self, gap: int) -> None:
        """``gap``: so many cycles more from a write to its answer."""
        host, mem = self.env.host, self.env.mem
        eq = await host.create_eq(page=0, log2=3)
        failed, behind = await self.queues(2, eq, log2=3)
        mem.latency(60 + gap)
        mem.fail(SLVERR, eq=eq.number, count=1)
        mem.fail(SLVERR, eq=eq.number, skip=2, count=ATTEMPTS - 1)
        mark = len(self.seen)
        for cq in (failed, behind):
            await cq.arm(ArmType.ANY)
        self.send(failed, [1])
        self.send(behind, [2])
        holes = 0
        for _ in range(500):
            await self.harness.cycles(5 + gap // 20)
            await self.env.sync()
            sent = self.of(Interrupt, mark)
            if len(sent) > 1:
                break
        assert len(sent) == 2, f"{len(sent)} interrupts, not one for each of two entries"
        first, last = sent
        # As a driver does at an interrupt: the log first, then the ring.
        for entry in await host.read_log():
            if entry.cause == Cause.EQ_FAILED:
                holes += 1
                eq.reader.index += 1
        host.on_interrupt(last)
        steps = [s for s in self.of(Trace, mark) if s.op == TraceOp.EVENT_FAILED]
        assert holes == 1 and len(steps) == ATTEMPTS and steps[-1].operand & 1
        # The vector is on its way while the step is.
        assert first.cycle < steps[1].cycle < steps[-1].cycle - 16 < last.cycle
        assert len(behind.callbacks) == 1 and not failed.callbacks
        mem.latency(0)
        await self.env.drain()
        assert self.polled(failed) == [1] and self.polled(behind) == [2]
        await behind.callback_return()
        for cq in (failed, behind):
            await cq.update_consumer_index()
            await cq.destroy()
