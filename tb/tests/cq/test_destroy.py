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
    """While a callback runs; with a due one behind it; with writes outstanding; with the event
    unacknowledged; in error; re-created at once each time.
    """

    async def scenario(self) -> None:
        env = self.env
        # A callback runs, a second one is due behind it, the queue is armed.
        cq = await self.working()
        await self.armed([cq])
        self.send(cq, [1])
        await cq.wait_callbacks(2)
        await self.armed([cq])
        self.send(cq, [2])
        await env.drain()
        assert (await cq.query()).in_callback and (await cq.query()).due
        await self.armed([cq])
        for _ in range(3):
            await self.dies(cq)
        state = await cq.query()
        assert (state.life, state.due, state.armed) == (Life.DESTROYING, False, False)
        await self.silent(cq)
        assert await cq.callback_return() == (0, 0)
        await env.drain()
        assert len(cq.callbacks) == 2, "a callback after the destruction began"
        assert await cq.destroy(wait=False) == Result.OK

        # Writes outstanding: answers held; entries in the host's memory stay.
        cq = await self.working(page=2)
        await self.armed([cq])
        env.mem.hold_cq(NUMBER)
        self.send(cq, [1, 2, 3])
        await self.harness.cycles(80)
        calls = len(cq.callbacks)
        await self.dies(cq)
        await self.silent(cq, lost=2)
        env.mem.release_cq(NUMBER)
        assert await cq.destroy() == Result.OK
        assert len(cq.callbacks) == calls

        # The event's write is unacknowledged, the callback has returned all the same.
        cq = await self.working()
        env.mem.hold_eq(cq.eq.number)
        await self.armed([cq])
        self.send(cq, [1])
        await env.drain()
        assert (await cq.query()).in_callback
        assert await cq.callback_return() == (0, 0)
        await self.dies(cq)
        await self.silent(cq)
        env.mem.release_eq(cq.eq.number)
        await env.drain()
        assert await cq.destroy() == Result.OK

        # In error, with a failed write.
        cq = await self.working()
        env.mem.fail(cq=NUMBER)
        self.send(cq, [1, 2])
        await env.drain()
        assert (await cq.query()).status == CqStatus.INTERNAL_ERROR
        assert await cq.destroy() == Result.OK
        await self.working(page=3)
        await env.host.read_log()

    async def working(self, page: int = 1) -> Cq:
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
        """Its destruction begins, and cannot end yet."""
        assert await cq.destroy(wait=False) == Result.PENDING

    async def silent(self, cq: Cq, lost: int = 1) -> None:
        """A dying queue: no entry, no callback, doorbells refused."""
        host = self.env.host
        await host.read_log()
        async with self.no_effect(states=False):
            self.send(cq, [77] * lost)
            await self.env.drain()
            assert await cq.arm() == (2, Cause.CQ_DESTROYING)
        log = [(entry.cause, entry.object) for entry in await host.read_log()]
        assert log.count((Cause.CPL_NO_CQ, NUMBER)) == lost
        assert not await self.env.credits.reserve(NUMBER)
