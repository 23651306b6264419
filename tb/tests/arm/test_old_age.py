# SPDX-License-Identifier: Apache-2.0
"""What lasts very long, and what outlives its object."""

from __future__ import annotations

import pyuvm

from tb.env.defs import ArmType
from tb.env.harness.records import Interrupt
from tb.tests.common.directed import DirectedTest

BUILD = "small"

#: Ticks after which the engine's clock of ages has gone round.
_ROUND = 1 << 18


@pyuvm.test()
class OldCallbackTest(DirectedTest):
    """CQ-21: a callback that waited for its count longer than the clock of ages goes round is old
    enough for any interval that is set then.
    """

    max_cycles = 4_000_000

    async def scenario(self) -> None:
        cq = await self.queue(1, log2=2, moderation=(4, 0xFFFF))
        await cq.arm(ArmType.ANY)
        self.send(cq, [1])
        await self.env.drain()
        for _ in range(60):
            await self.harness.cycles((_ROUND * self.config.mod_tick + 400) // 60)
        assert not cq.callbacks
        await cq.modify(moderation=(0xFFFF, 5000))
        await cq.wait_callbacks(1, 500)


@pyuvm.test()
class InterruptOfOldEqTest(DirectedTest):
    """CQ-16, CQ-20: an interrupt that was held back is not sent with the vector of an EQ that was
    created under the same number since.
    """

    # The one of the destroyed EQ is never sent; the test itself counts them.
    allow = ("interrupts",)

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        first = await host.create_eq(page=1, log2=2, vector=5)
        second = await host.create_eq(page=1, log2=2, vector=6)
        one = await host.create_cq(eq=first, log2=2, reservation=False)
        other = await host.create_cq(eq=second, log2=2, reservation=False)
        await one.arm(ArmType.ANY)
        await other.arm(ArmType.ANY)
        env.interrupts.hold(True)
        self.send(one, [1])
        await env.drain()
        self.send(other, [1])
        await env.drain()
        await other.callback_return()
        await other.destroy()
        await host.destroy_eq(second)
        await host.create_eq(second.number, page=1, log2=2, vector=77)
        env.interrupts.hold(False)
        await env.drain()
        assert [record.vector for record in self.of(Interrupt)] == [5]
