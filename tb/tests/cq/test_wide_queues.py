# SPDX-License-Identifier: Apache-2.0
"""Queues of every size, under every number, with as many credits, CQs and callbacks as they may
have.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import CqStatus, Result
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import DirectedTest


@pyuvm.test()
class EveryEqTest(DirectedTest):
    """CQ-16: EQs of every size and number, with any vector, on any page; an EQ takes as many CQs as
    it has entries, and again one after each that goes.
    """

    async def scenario(self) -> None:
        host, rng, config = self.env.host, self.rng("queues"), self.config
        eqs: list[Eq] = []
        for number in range(config.num_eq):
            log2 = min(number + 1, config.max_log2)
            page, vector = rng.randrange(config.num_pages), rng.getrandbits(16)
            first, second = rng.sample(range(config.num_cq), 2)
            eq = await host.create_eq(number, log2=log2, page=page, vector=vector)
            cq = await host.create_cq(first, eq=eq, log2=rng.randint(1, config.max_log2))
            other = await host.create_cq(second, eq=eq, log2=1)
            assert (await host.query_eq(eq)).attached == 2
            await cq.query()
            eqs.append(eq)
            await self.calls(cq)
            for size in (1, log2):
                await host.resize_eq(eq, size)
                await self.calls(cq)
            await cq.destroy()
            await other.destroy()
        full = eqs[5]
        assert 1 << full.log2 == config.num_cq
        cqs = [await host.create_cq(eq=full, log2=1) for _ in range(config.num_cq)]
        assert (await host.query_eq(full)).attached == config.num_cq
        await cqs.pop().destroy()
        assert (await host.query_eq(full)).attached == config.num_cq - 1
        small = eqs[4]
        for _ in range(32):
            await cqs.pop().destroy()
        for _ in range(32):
            cqs.append(await host.create_cq(eq=small, log2=1))
        # 32 entries, a 33rd CQ.
        await self.fails_with(Result.EQ_FULL, host.create_cq(eq=small, log2=1))
        for cq in cqs:
            await cq.destroy()
        for eq in eqs:
            await host.destroy_eq(eq)
        for eq in eqs:
            again = await host.create_eq(eq.number, log2=1)
            assert (await host.query_eq(again)).attached == 0

    async def calls(self, cq: Cq) -> None:
        """One callback more."""
        await self.armed([cq])
        assert await self.env.credits.reserve(cq.number)
        self.send(cq, [1])
        await cq.wait_callbacks(len(cq.callbacks) + 1)
        assert await self.consumed(cq) == [1]


@pyuvm.test()
class EveryQueueTest(DirectedTest):
    """CQ-01, CQ-17, CQ-21: each CQ number waits for its moderation, is called, overflows, is
    logged and told so, is destroyed and begins anew; each with rings and contexts anywhere.
    """

    async def scenario(self) -> None:
        rng = self.rng("queues")
        queues = []
        for number in range(self.config.num_cq):
            page = number % self.config.num_eq
            cq = await self.queue(
                page, number=number, log2=2, moderation=(2, rng.getrandbits(16) | 0x4000)
            )
            queues.append(cq)
            await self.armed([cq])
            self.send(cq, [rng.getrandbits(64)])
        await self.env.drain()
        assert not any(cq.callbacks for cq in queues)
        for cq in queues:
            self.send(cq, [rng.getrandbits(64) for _ in range(4)])
            await self.env.drain(16)
            await self.env.host.read_log()
            await cq.wait_callbacks(1)
            assert (await cq.query()).status == CqStatus.BUFFER_OVERFLOW
            await cq.callback_return()
        for old in queues:
            await old.destroy()
            new = await self.queue(old.page, number=old.number, log2=2)
            context = rng.getrandbits(64)
            self.send(new, [context])
            await self.env.drain(16)
            assert self.polled(new) == [context]
