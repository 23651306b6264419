# SPDX-License-Identifier: Apache-2.0
"""The legal range of the index across its wraps, on a build whose indices wrap every 32 completions
(CQ-22); a callback that is older than the clock of ages (CQ-21).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import ArmType, Cause
from tb.tests.common.directed import DirectedTest
from tb.tests.common.steps import ANY, UNSOLICITED, StepTest

BUILD = "small"

#: Ticks after which the engine's clock of ages has gone round.
_ROUND = 1 << 18

RING = 8
WRAP = 32


@pyuvm.test()
class IndexRangeAtWrapTest(StepTest):
    """CQ-22: both ends of the legal range, and one beyond, at every value of the index and with 0
    to 8 entries present.
    """

    async def scenario(self) -> None:
        await self.together(*(self.ends(present) for present in (0, 1, 3, RING)))

    async def ends(self, present: int) -> None:
        """Legal: the same index and all that was written; refused: one less, one more."""
        q = await self.consumer(f"{present} present")
        await q.place(*[UNSOLICITED] * present)
        for number in range(WRAP + 2):
            written = number + present
            for index in (number - 1, written + 1, number + WRAP // 2):
                await q.refused(Cause.BAD_INDEX, index=q.index(index), arm=1, arm_type=ANY)
            await q.poll(0)
            if present:
                await q.poll(1)
            await q.place(UNSOLICITED)
            if not present:
                await q.poll(1)
        await q.proves_fit()


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
