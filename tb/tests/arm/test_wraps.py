# SPDX-License-Identifier: Apache-2.0
"""Arms across the wraps of the index, on a build whose indices wrap every 32 completions (CQ-22,
CQ-09 to CQ-10a); a callback that is older than the clock of ages (CQ-21).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import ArmType, Cause
from tb.tests.common.directed import DirectedTest
from tb.tests.common.steps import (
    ANY,
    SOLICITED,
    SOLICITED_RECEIVE,
    UNSOLICITED,
    Consumer,
    StepTest,
)

BUILD = "small"

#: Ticks after which the engine's clock of ages has gone round.
_ROUND = 1 << 18

RING = 8
WRAP = 32


@pyuvm.test()
class LongAfterCallbackTest(StepTest):
    """CQ-09, CQ-10a: the latest callback is any number of completions ago, more than the index can
    count included; then the queue is armed, empty or with one new completion.
    """

    async def scenario(self) -> None:
        distances = list(range(1, 2 * WRAP + 3))
        await self.together(
            *(self.ago(distances[part::4], typed=part % 2 == 1) for part in range(4))
        )

    async def ago(self, distances: list[int], typed: bool) -> None:
        """For each distance: that many completions after a callback are polled without an arm."""
        q = await self.consumer(f"typed {typed}", typed=typed)
        for distance in distances:
            await self.callback(q)
            await self.unarmed(q, distance - 1)
            await q.place(SOLICITED_RECEIVE)
            await q.arm(SOLICITED, calls=1)
            await q.callback_returns()
            await q.poll()
            await self.unarmed(q, distance)
            await q.arm(ANY)
            await q.place(UNSOLICITED, calls=1)
            await q.callback_returns()

    async def callback(self, q: Consumer) -> None:
        """A callback, after which the queue is empty and no longer armed."""
        await q.poll()
        await q.arm(ANY)
        await q.place(UNSOLICITED, calls=1)
        await q.callback_returns()
        await q.poll()

    async def unarmed(self, q: Consumer, count: int) -> None:
        """Completions come and are polled."""
        while count:
            part = min(count, RING)
            await q.place(*[SOLICITED_RECEIVE, UNSOLICITED][:part], *[UNSOLICITED] * (part - 2))
            await q.poll()
            count -= part


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
