# SPDX-License-Identifier: Apache-2.0
"""The legal range of the index across its wraps, on a build whose indices wrap every 32 completions
(CQ-22); rings that the host did not clear; a callback that is older than the clock of ages (CQ-21).
"""

from __future__ import annotations

import pyuvm

from models.cq.queue import EventReader
from models.layouts import CQE_BYTES, EQE_BYTES
from tb.env.defs import EQE, ArmType, Cause, PageReg
from tb.tests.common.directed import SLVERR, DirectedTest
from tb.tests.common.steps import ANY, UNSOLICITED, Consumer, StepTest

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
class DirtyRingTest(StepTest):
    """CQ-19, CQ-22: in rings that were not cleared the host finds entries that are none. Their
    index is refused, the arm with it, and so is the return from a callback that was none; entries
    come to their slots as ever. The engine reads no memory: rings get dirty behind its commands.
    """

    async def scenario(self) -> None:
        q = await self.consumer(log2=2)
        await self.entries(q)
        await q.cq.resize(3)
        await self.entries(q)

        eq, memory = q.cq.eq, self.env.memory
        left = EQE.pack(cq=q.cq.number, type=1, phase=1).to_bytes(EQE_BYTES, "little")
        memory.write(eq.base, left * (1 << eq.log2))
        events = EventReader(memory.read, eq.base, eq.log2).get_events(WRAP)
        assert [event.cq for event in events] == [q.cq.number] * (1 << eq.log2)
        async with self.no_effect():
            answer = await self.env.host.write(eq.page, PageReg.CB_RETURN, q.cq.number)
            assert answer == (SLVERR, Cause.NO_CALLBACK)
        memory.write(eq.base, bytes(EQE_BYTES << eq.log2))
        await q.proves_fit()

    async def entries(self, q: Consumer) -> None:
        """A pass and a half over a ring where all phase bits were those of a first pass, which
        writes over them.
        """
        size = 1 << q.cq.log2
        self.env.memory.write(q.cq.base, b"\xff" * CQE_BYTES * size)
        for number in range(size + size // 2):
            left = size - number if number < size else 0
            assert q.cq.present() == left, f"entry {number}: {q.cq.present()} there, not {left}"
            for arm in (0, 1):
                index = q.index(q.placed + 1)
                await q.refused(Cause.BAD_INDEX, index=index, arm=arm, arm_type=ANY * arm)
            await q.place(UNSOLICITED)
            await q.poll(1)


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
