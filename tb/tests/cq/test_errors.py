# SPDX-License-Identifier: Apache-2.0
"""Credits, bad completions (CQ-17, ISO-03)."""

from __future__ import annotations

import pyuvm

from tb.env.agents.completion import Cpl
from tb.env.defs import RSV, Cause, CqStatus
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest


@pyuvm.test()
class CreditsTest(DirectedTest):
    """With reservation: all or nothing, up to the ring's size, given back by consumption and by
    silent completions; completions without a credit are refused; malformed requests (CQ-17).
    """

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        cq = await self.queue(2, log2=2, reservation=True)
        other = await self.queue(2, log2=1, reservation=True)
        await self.grants(cq, (1, True), (2, True), (2, False), (1, True), (1, False))
        await self.grants(other, (2, True))
        assert (await cq.query()).credits == 4
        env.completions.send_pair(Cpl(cq.number, silent=True), Cpl(cq.number, context=1))
        env.completions.send_pair(Cpl(cq.number, context=2), Cpl(cq.number, silent=True))
        await env.drain()
        state = await cq.query()
        assert (state.credits, state.alloc) == (0, 2)
        await self.grants(cq, (2, True), (1, False))
        assert self.polled(cq) == [1, 2]
        await self.grants(cq, (1, False))  # polled, not told
        await cq.update_consumer_index(1)
        await self.grants(cq, (2, False), (1, True), (1, False))
        for _ in range(3):
            env.completions.send(cq.number, silent=True)
        await env.drain()
        # No credit: placed and silent ones alike; one credit for a pair.
        async with self.no_effect(), self.counted(CPL_REFUSED=4):
            env.completions.send(cq.number)
            env.completions.send(cq.number, silent=True)
            env.completions.send_pair(Cpl(cq.number), Cpl(cq.number, silent=True))
        log = await host.read_log()
        assert {(e.cause, e.object) for e in log} == {(Cause.CPL_NO_CREDIT, cq.number)}
        await self.grants(cq, (1, True))
        async with self.counted(CPL_PLACED=1, CPL_REFUSED=1, CQE_WRITES=1):
            env.completions.send_pair(Cpl(cq.number, context=3), Cpl(cq.number, context=4))
        assert self.polled(cq) == [3]
        await host.read_log()
        assert (await cq.query()).status == CqStatus.OK
        await self.malformed(cq, other)
        await self.unreserved()

    async def malformed(self, cq: Cq, other: Cq) -> None:
        """Not granted, and no credit moves."""
        number = cq.number
        await cq.update_consumer_index()
        raw = [RSV.pack(cq=number, credits=n) for n in (0, 3)]
        raw += [RSV.pack(cq=number, credits=1) | 1 << bit for bit in range(18, 32)]
        far = [n for n in (1 << bit for bit in range(16)) if n >= self.config.num_cq]
        raw += [RSV.pack(cq=n, credits=1) for n in (40, *far, *(n | number for n in far))]
        async with self.no_effect(), self.counted():
            for word in raw:
                assert not await self.env.credits.post_raw(word), hex(word)
        assert (await other.query()).credits == 2

    async def unreserved(self) -> None:
        """Granted for ever, holds nothing; not when in error."""
        cq = await self.queue(2, log2=1)
        await self.grants(cq, *[(1, True), (2, True)] * 5, (3, False))
        assert (await cq.query()).credits == 0
        self.env.completions.send(cq.number, silent=True)
        self.send(cq, [1, 2])
        await self.env.drain()
        assert await self.consumed(cq) == [1, 2]
        self.env.mem.fail(cq=cq.number)
        self.send(cq, [3])
        await self.env.drain()
        await self.grants(cq, (1, False))
        await self.env.host.read_log()


@pyuvm.test()
class BadCompletionTest(DirectedTest):
    """Completions for numbers out of range, missing and destroyed queues, alone and next to good
    ones: refused, counted, logged; the good ones are placed (ISO-03).
    """

    allow = ("no_doorbells",)

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        good, gone = await self.queue(1, log2=6), await self.queue(1)
        await gone.destroy()
        top = self.config.num_cq
        far = [n for n in (1 << bit for bit in range(16)) if n >= top]
        bad = dict.fromkeys([*(n | good.number for n in far), top, 0xFFFF], Cause.CPL_BAD_CQ)
        bad |= dict.fromkeys([gone.number, top - 1], Cause.CPL_NO_CQ)
        placed = 0
        for number, cause in bad.items():
            async with self.no_effect(), self.counted(CPL_REFUSED=5):
                env.completions.send(number)
                env.completions.send_beat([None, Cpl(number)])
                env.completions.send(number, silent=True)
                env.completions.send_pair(Cpl(number), Cpl(number))
            assert [entry.cause for entry in await host.read_log()] == [cause] * 4
            async with self.counted(CPL_REFUSED=2, CPL_PLACED=2, CQE_WRITES=2):
                env.completions.send_pair(Cpl(number), Cpl(good.number, context=placed))
                env.completions.send_pair(Cpl(good.number, context=placed + 1), Cpl(number))
            placed += 2
            assert [entry.cause for entry in await host.read_log()] == [cause] * 2
        async with self.no_effect(), self.counted():
            for _ in range(5):
                env.completions.send_raw((1 << 512) - 1, 0, 0, 3)
        assert self.polled(good) == list(range(placed))
