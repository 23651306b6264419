# SPDX-License-Identifier: Apache-2.0
"""Destruction and re-creation of completion queues (CQ-20)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import CB_RETURN, CQ_DB, ArmType, Cause, CqStatus, Life, PageReg, Result
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest


class DestroyBase(DirectedTest):
    """Helpers around one number."""

    async def fresh(self, number: int, page: int = 1, log2: int = 3) -> Cq:
        """A new queue under this number, which starts from reset values."""
        eq = next((e for e in self.env.host.eqs.values() if e.page == page), None)
        eq = eq or await self.env.host.create_eq(page=page)
        cq = await self.env.host.create_cq(number, eq=eq, log2=log2, reservation=False)
        state = await cq.query()
        assert (state.life, state.status, state.prod, state.cons, state.alloc, state.credits) == (
            *(Life.READY, CqStatus.OK),
            *(0, 0, 0, 0),
        )
        assert not (state.armed or state.in_callback or state.due)
        return cq

    async def works(self, cq: Cq) -> None:
        """A first callback and first entries, as on any new queue."""
        assert await cq.arm(ArmType.SOLICITED) == (0, 0)
        self.send(cq, [100, 101])
        await self.env.drain()
        assert not cq.callbacks, "the arm of a predecessor"
        self.send(cq, [102], solicited=True)
        ((_, _, status, snap),) = await cq.wait_callbacks(1)
        assert (status, snap) == (0, 3)
        assert self.polled(cq) == [100, 101, 102]
        assert await cq.callback_return() == (0, 0)

    async def silent(self, cq: Cq, lost: int = 1) -> None:
        """A dying queue: no entry, no callback, doorbells refused."""
        host = self.env.host
        await host.read_log()
        async with self.no_effect(states=False):
            self.send(cq, [77] * lost)
            await self.env.drain()
            word = CQ_DB.pack(cons=0, cq=cq.number, arm_type=ArmType.ANY, arm=1)
            answer = await host.write(cq.page, PageReg.CQ_DB, word)
            assert answer == (2, Cause.CQ_DESTROYING)
            await self.env.drain()
        log = [(entry.cause, entry.object) for entry in await host.read_log()]
        assert log.count((Cause.CPL_NO_CQ, cq.number)) == lost
        assert not await self.env.credits.reserve(cq.number)


@pyuvm.test()
class DestroyTest(DestroyBase):
    """While a callback runs; with a due one behind it; with writes outstanding; with the event
    unacknowledged; in error; re-created at once each time.
    """

    async def scenario(self) -> None:
        env = self.env
        number = 7
        # A callback runs, a second one is due behind it, the queue is armed.
        cq = await self.fresh(number)
        await cq.arm(ArmType.ANY)
        self.send(cq, [1])
        await cq.wait_callbacks(1)
        await cq.arm(ArmType.ANY, index=0)
        self.send(cq, [2])
        await env.drain()
        assert (await cq.query()).in_callback and (await cq.query()).due
        await cq.arm(ArmType.ANY)
        for _ in range(3):
            assert await cq.destroy(wait=False) == Result.PENDING
        state = await cq.query()
        assert (state.life, state.due, state.armed) == (Life.DESTROYING, False, False)
        await self.silent(cq)
        assert await cq.callback_return() == (0, 0)
        await env.drain()
        assert len(cq.callbacks) == 1, "a callback after the destruction began"
        assert await cq.destroy(wait=False) == Result.OK
        await self.gone(number)
        await self.works(await self.fresh(number, page=2))

        # Writes outstanding: answers held; entries in the host's memory stay.
        cq = env.host.cqs[number]
        await cq.arm(ArmType.ANY)
        env.mem.hold_cq(number)
        self.send(cq, [1, 2, 3])
        await self.harness.cycles(80)
        calls = len(cq.callbacks)
        assert await cq.destroy(wait=False) == Result.PENDING
        await self.silent(cq, lost=2)
        env.mem.release_cq(number)
        assert await cq.destroy() == Result.OK
        assert len(cq.callbacks) == calls
        await self.works(await self.fresh(number))

        # The event's write is unacknowledged, the callback has returned all the same.
        cq = env.host.cqs[number]
        env.mem.hold_eq(cq.eq.number)
        await cq.arm(ArmType.ANY)
        self.send(cq, [1])
        await env.drain()
        assert (await cq.query()).in_callback
        assert await cq.callback_return() == (0, 0)
        assert await cq.destroy(wait=False) == Result.PENDING
        await self.silent(cq)
        env.mem.release_eq(cq.eq.number)
        await env.drain()
        assert await cq.destroy() == Result.OK
        await self.works(await self.fresh(number))

        # In error, with a failed write and an armed successor.
        cq = env.host.cqs[number]
        env.mem.fail(cq=number)
        self.send(cq, [1, 2])
        await env.drain()
        assert (await cq.query()).status == CqStatus.INTERNAL_ERROR
        assert await cq.destroy() == Result.OK
        await self.works(await self.fresh(number, log2=5))
        cq = env.host.cqs[number]
        await cq.update_consumer_index()
        self.send(cq, range(33))
        await env.drain()
        assert (await cq.query()).status == CqStatus.BUFFER_OVERFLOW
        assert await cq.destroy() == Result.OK
        await self.works(await self.fresh(number, page=3))
        await env.host.read_log()

    async def gone(self, number: int) -> None:
        """A destroyed number is as if it had never been."""
        host = self.env.host
        word = CQ_DB.pack(cons=0, cq=number, arm_type=ArmType.ANY, arm=1)
        await self.refused(Cause.NO_CQ, 1, PageReg.CQ_DB, word)
        await self.refused(Cause.NO_CQ, 1, PageReg.CB_RETURN, CB_RETURN.pack(cq=number))
        async with self.no_effect(), self.counted(CPL_REFUSED=1):
            self.send(number, [9])
        assert [entry.cause for entry in await host.read_log()] == [Cause.CPL_NO_CQ]
        assert not await self.env.credits.reserve(number)
