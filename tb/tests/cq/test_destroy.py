# SPDX-License-Identifier: Apache-2.0
"""Destruction and re-creation of completion queues (CQ-20)."""

from __future__ import annotations

import cocotb
import pyuvm

from tb.env.defs import CB_RETURN, CQ_DB, ArmType, Cause, CqStatus, Life, PageReg, Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import Completion
from tb.env.host.cq import Cq
from tb.sequences import find
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


@pyuvm.test()
class RecreateTest(DestroyBase):
    """One number through many lives, with traffic right up to the end of each and on its
    neighbours; odd phases and credits of a predecessor have no effect.
    """

    async def scenario(self) -> None:
        env, host, rng = self.env, self.env.host, self.rng("lives")
        env.mem.latency(0, 60, env.seed)
        self.harness.stall(Channel.IRQ, 0.3)
        host.strict = False
        end = self.harness.cycle + 15_000
        traffic = find("mixed_traffic")(env, duration=14_000, queues=4, eqs=1)
        task = cocotb.start_soon(traffic.run())
        await self.harness.cycles(1500)
        eq = await host.create_eq(8, page=8, log2=1)
        lives = sent = 0
        while self.harness.cycle < end:
            lives += 1
            reservation = rng.random() < 0.5
            cq = await host.create_cq(30, eq=eq, log2=rng.randint(1, 4), reservation=reservation)
            state = await cq.query()
            assert (state.alloc, state.credits, state.armed) == (0, 0, False)
            cq.post_arm(ArmType.ANY)
            size = 1 << cq.log2
            if reservation:
                asked = [env.credits.post(30, 1) for _ in range(size + 1)]
                assert [await answer for answer in asked] == [True] * size + [False]
            count = rng.randint(0, size)
            self.send(cq, range(count))
            sent += count
            await self.harness.cycles(rng.choice((0, 5, 20, 100)))
            result = await cq.destroy(wait=False)
            for _ in range(100):
                if result == Result.OK:
                    break
                await env.sync()
                if (await cq.query()).in_callback:
                    # The host returns from what it saw; the event may be on its way.
                    await env.harness.cycles(40)
                    if cq.callbacks:
                        await cq.callback_return()
                result = await cq.destroy(wait=False)
            assert result == Result.OK
            host.cqs.pop(30, None)
            assert self.polled(cq) == list(range(cq.reader.index))
            await self.arrived(30, sent)
        await task
        assert lives > 20
        assert await host.counter("CPL_DROPPED") == 0
        await host.read_log()

    async def arrived(self, number: int, count: int) -> None:
        """Waits until the completions of this life have reached the engine: they are not to be
        those of the next one.
        """
        position = here = 0
        while True:
            for record in self.seen[position:]:
                here += isinstance(record, Completion) and record.dest[0] == number
            position = len(self.seen)
            if here >= count:
                return
            await self.harness.cycles(50)
            await self.env.sync()
