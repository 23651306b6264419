# SPDX-License-Identifier: Apache-2.0
"""A callback that is older than the clock of ages."""

from __future__ import annotations

import pyuvm

from tb.env.defs import ArmType
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
