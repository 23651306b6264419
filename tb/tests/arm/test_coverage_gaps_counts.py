# SPDX-License-Identifier: Apache-2.0
"""Counts that run full (indices of five bits)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import ArmType
from tb.tests.common.directed import DirectedTest

BUILD = "small"


@pyuvm.test()
class FullCountTest(DirectedTest):
    """CQ-21: more completions than an index can count come between the event that makes a callback
    due and its call: the callback comes once, at once, and the next one counts anew.
    """

    async def scenario(self) -> None:
        cq = await self.queue(1, log2=3, moderation=(4, 0xFFFF))
        await cq.arm(ArmType.ANY)
        self.send(cq, range(4))
        await cq.wait_callbacks(1)
        self.polled(cq)
        await cq.arm(ArmType.ANY)
        for number in range(48):
            self.send(cq, [number])
            await self.env.drain()
            assert self.polled(cq) == [number]
            await cq.update_consumer_index()
        assert len(cq.callbacks) == 1
        await cq.callback_return()
        await cq.wait_callbacks(2)
        await cq.callback_return()
        await cq.arm(ArmType.ANY)
        self.send(cq, range(3))
        await self.env.drain()
        assert len(cq.callbacks) == 2
        self.send(cq, [3])
        await cq.wait_callbacks(3)
        await cq.callback_return()
