# SPDX-License-Identifier: Apache-2.0
"""Destruction and re-creation of completion queues (CQ-20)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import ArmType, Cause, CqStatus, Life, Result
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

NUMBER = 7


@pyuvm.test()
class DestroyTest(DirectedTest):
    """While a callback runs, with a due one after it; with writes outstanding; with the event
    unacknowledged; in error. A dying queue takes nothing and calls nobody; the next life under its
    number knows nothing of it.
    """

    async def scenario(self) -> None:
        mem = self.env.mem
        for page, busy in enumerate(("callback", "entries", "event", "error")):
            cq = await self.working(page)
            await self.armed([cq])
            if busy == "entries":
                mem.hold_cq(NUMBER)
            elif busy == "event":
                mem.hold_eq(cq.eq.number)
            elif busy == "error":
                mem.fail(cq=NUMBER)
            self.send(cq, [1])
            await self.harness.cycles(80)
            if busy == "callback":
                await self.armed([cq])
                self.send(cq, [2])
                await self.env.drain()
                assert (await cq.query()).due
                await self.armed([cq])
            elif busy == "event":
                # It has returned all the same.
                assert await cq.callback_return() == (0, 0)
            elif busy == "error":
                assert (await cq.query()).status == CqStatus.INTERNAL_ERROR
            # One whose event is not acknowledged is seen late.
            calls = len(cq.callbacks) + (busy == "event")
            await self.dies(cq)
            if busy in ("callback", "error"):
                assert await cq.callback_return() == (0, 0)
            mem.release_cq(NUMBER)
            mem.release_eq(cq.eq.number)
            await self.env.drain()
            assert await cq.destroy(wait=False) == Result.OK
            assert len(cq.callbacks) == calls, f"{busy}: a callback after the destruction began"
        await self.working(0)
        await self.env.host.read_log()

    async def working(self, page: int) -> Cq:
        """A new queue under the number, with a first callback and first entries as on any."""
        cq = await self.queue(page, number=NUMBER, log2=3)
        await self.armed([cq], ArmType.SOLICITED)
        self.send(cq, [100, 101])
        await self.env.drain()
        assert not cq.callbacks, "the arm of a predecessor"
        self.send(cq, [102], solicited=True)
        ((_, _, status, snap),) = await cq.wait_callbacks(1)
        assert (status, snap) == (0, 3)
        assert await self.consumed(cq) == [100, 101, 102]
        return cq

    async def dies(self, cq: Cq) -> None:
        """Its destruction begins, and cannot end yet: no entry, no callback, doorbells refused."""
        for _ in range(3):
            assert await cq.destroy(wait=False) == Result.PENDING
        state = await cq.query()
        assert (state.life, state.due, state.armed) == (Life.DESTROYING, False, False)
        await self.env.host.read_log()
        async with self.no_effect(states=False):
            self.send(cq, [77, 77])
            await self.env.drain()
            assert await cq.arm() == (2, Cause.CQ_DESTROYING)
        log = [(entry.cause, entry.object) for entry in await self.env.host.read_log()]
        assert log.count((Cause.CPL_NO_CQ, NUMBER)) == 2
        assert not await self.env.credits.reserve(NUMBER)
