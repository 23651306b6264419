# SPDX-License-Identifier: Apache-2.0
"""Two things meet on one queue, at every offset of 20 or 30 cycles: completion, arm, consumer
index; an index after each beat; an arm and each completion of a burst.
"""

from __future__ import annotations

from itertools import product

import pyuvm

from tb.env.defs import ArmType, Cause, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import MemWrite, Trace
from tb.tests.common.steps import (
    ANY,
    ARMS,
    ERROR,
    SOLICITED,
    SOLICITED_RECEIVE,
    UNSOLICITED,
    Consumer,
    Kind,
    StepTest,
)

OFFSETS = range(-20, 21)
SPACING = 96
Arm = ArmType | None


@pyuvm.test()
class OnlyFirstOfBurstTest(StepTest):
    """CQ-08, CQ-12: only the first completion of a burst is compared with the arm."""

    async def scenario(self) -> None:
        await self.together(*(self.burst(*case) for case in product(range(6), (False, True))))

    async def burst(self, before: int, pairs: bool) -> None:
        """The solicited one is the first to the sixth of a burst, in beats of one or two."""
        q = await self.consumer(f"{before} before it, pairs {pairs}")
        await q.arm(SOLICITED)
        kinds = [UNSOLICITED] * 6
        kinds[before] = SOLICITED_RECEIVE
        q.send(*kinds, pairs=pairs)
        await self.env.drain()
        (callback,) = q.cq.callbacks
        assert before < callback.snap <= 6, f"{q}: {callback} does not cover the solicited one"
        q.demand(1, snap=callback.snap)
        await q.proves_fit()


@pyuvm.test()
class AroundIndexTest(StepTest):
    """CQ-22, CQ-15: the host sees an entry in memory and consumes it around its acknowledgement,
    which the memory holds back. Consumed before it, the entry triggers nothing. CQ-07: an arm that
    meets the callback of the one before it is not lost. The number of callbacks is demanded where
    every order gives the same.
    """

    async def scenario(self) -> None:
        # One for each offset; trials follow each other without overlapping.
        self.all = [await self.consumer(f"offset {offset}") for offset in OFFSETS]
        for arm in (None, *ARMS):
            # Armed before, one entry: called if published first.
            await self.one(arm, ANY, 1, None, UNSOLICITED)
            await self.one(arm, SOLICITED, 1, None, SOLICITED_RECEIVE)
            await self.one(arm, ANY, 0, None, UNSOLICITED)
            # Not armed before, all consumed by the arm's doorbell: never.
            await self.one(arm, None, 1, 0, UNSOLICITED)
            await self.one(arm, None, 2, 0, ERROR, UNSOLICITED)
            # One of two is left.
            await self.one(arm, ANY, 1, 1 if arm is None else None, UNSOLICITED, ERROR)
            await self.one(arm, None, 1, 1 if arm is ANY else None, UNSOLICITED, UNSOLICITED)
            # Nothing is consumed.
            total = 1 if arm in (ANY, SOLICITED) else None
            await self.one(arm, None, 0, total, SOLICITED_RECEIVE)

    async def prepare(self, q: Consumer, arm: Arm) -> None:
        """Proves a queue fit, whatever came before. Leaves it empty, disarmed or with ``arm``."""
        while q.running:
            assert await q.cq.callback_return() == (0, 0)
            await self.env.drain(40)
            # One may have waited for the return.
            q.running = False
            q.demand(len(q.cq.callbacks) - q.expected)
        await q.proves_fit()
        if arm is not None:
            await q.arm(arm)

    async def one(
        self, arm: Arm, before: Arm, consumed: int, total: int | None, *kinds: Kind
    ) -> None:
        """One sweep of the release around the doorbell, with or without ``arm``."""
        mem, harness = self.env.mem, self.harness
        await self.together(*(self.prepare(q, before) for q in self.all))
        mark = len(self.seen)
        for q in self.all:
            mem.hold_cq(q.cq.number)
        await harness.cycles(4)
        for q in self.all:
            q.send(*kinds)
        await self.env.drain(40)
        for q in self.all:
            q.demand(0)
        start = harness.cycle + 80
        for step, q in enumerate(self.all):
            q.take(consumed)
            if arm is None:
                q.cq.post_consumer_index(q.index(), at=start + SPACING * step)
            else:
                q.cq.post_arm(arm, index=q.index(), at=start + SPACING * step)
        for step, (offset, q) in enumerate(zip(OFFSETS, self.all, strict=True)):
            await harness.until(start + SPACING * step + offset)
            mem.release_cq(q.cq.number)
        await self.env.drain(40)
        for q in self.all:
            calls = len(q.cq.callbacks) - q.expected
            assert total in (None, calls), f"{q}: {calls} callbacks, not {total}"
            q.expected += calls
            q.running = bool(calls)
        published, told = (
            {(step.cq, step.cycle) for step in self.of(Trace, mark) if step.op == op}
            for op in (TraceOp.PUBLISH, TraceOp.DOORBELL)
        )
        assert published & told, "acknowledgement and doorbell never met in one cycle"


@pyuvm.test()
class WrittenBeatsTest(StepTest):
    """CQ-22: after each beat to memory, of one entry or two, in either half of a line, of rings
    that begin at an even or an odd index: an index that covers one entry more is refused.
    """

    #: Entries that come at once.
    MOST = 5

    async def scenario(self) -> None:
        seen = set()
        both = (False, True)
        for odd in both:
            q = await self.consumer()
            if odd:
                await q.place(UNSOLICITED)
                await q.poll()
                assert await q.cq.resize(3) == q.index()
            # Twice each, from either half on: an odd number between.
            for count, _, pairs in product(range(1, self.MOST + 1), both, both):
                seen |= {(odd, *step) for step in await self.train(q, count, pairs)}
                await q.place(UNSOLICITED)
                await q.poll()
        wanted = set(product(both, both, (1, 2, 3)))
        assert seen >= wanted, f"not seen: {wanted - seen}"
        await q.arm(ANY)
        await q.place(UNSOLICITED, calls=1)

    async def train(self, q: Consumer, count: int, pairs: bool) -> set[tuple[bool, int]]:
        """Entries that leave beat by beat. Returns of each beat whether one came before it, and
        which halves it had.
        """
        self.harness.hold(Channel.MEM_AW)
        await self.harness.cycles(4)
        start = written = q.placed
        await q.place(*[UNSOLICITED] * count, pairs=pairs)
        found = set()
        while written < q.placed:
            await q.refused(Cause.BAD_INDEX, index=q.index(written + 1), arm_type=ANY, arm=1)
            mark = len(self.seen)
            self.harness.hold(Channel.MEM_AW, False)
            await self.harness.cycles(1)
            self.harness.hold(Channel.MEM_AW)
            await q.settle()
            for write in self.of(MemWrite, mark):
                halves = write.strb & 1 | write.strb >> 62 & 2
                found.add((written > start, halves))
                written += halves.bit_count()
        self.harness.hold(Channel.MEM_AW, False)
        await q.poll()
        return found
