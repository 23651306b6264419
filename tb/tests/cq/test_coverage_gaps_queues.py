# SPDX-License-Identifier: Apache-2.0
"""Every queue number in every standing, and counts that run full."""

from __future__ import annotations

import pyuvm

from tb.env.defs import ArmType, CqStatus
from tb.tests.common.directed import DirectedTest

BUILD = "default"


@pyuvm.test()
class EveryQueueTest(DirectedTest):
    """CQ-01, CQ-17, CQ-21: each CQ number waits for its moderation, is called, overflows, is told
    so, is destroyed and begins anew; each with rings and contexts anywhere.
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
            await cq.arm(ArmType.ANY)
            self.send(cq, [rng.getrandbits(64)])
        await self.env.drain()
        assert not any(cq.callbacks for cq in queues)
        for cq in queues:
            self.send(cq, [rng.getrandbits(64) for _ in range(4)])
        await self.env.drain()
        for cq in queues:
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


@pyuvm.test()
class EveryIntervalTest(DirectedTest):
    """CQ-21: each CQ number waits for nothing but its interval, and is called."""

    async def scenario(self) -> None:
        rng = self.rng("queues")
        queues = []
        for number in range(self.config.num_cq):
            page = number % self.config.num_eq
            cq = await self.queue(page, number=number, log2=2, moderation=(3, rng.randrange(2, 9)))
            queues.append(cq)
            await cq.arm(ArmType.ANY)
            self.send(cq, [rng.getrandbits(64)])
        for cq in queues:
            await cq.wait_callbacks(1)
            await cq.callback_return()
            assert (await cq.query()).prod == 1
