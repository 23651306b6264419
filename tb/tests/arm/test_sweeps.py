# SPDX-License-Identifier: Apache-2.0
"""Two things meet on one queue, at every offset of 20 or 30 cycles: completion, arm, consumer
index; an index after each beat.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from tb.env.agents import Cpl
from tb.env.defs import ArmType, Cause, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import MemWrite, Record
from tb.tests.common.steps import ANY, ARMS, KINDS, SOLICITED, UNSOLICITED, Consumer, StepTest

OFFSETS = range(-20, 21)
SPACING = 96


@pyuvm.test()
class AroundIndexTest(StepTest):
    """CQ-22, CQ-15: the host sees an entry in memory and consumes it around its acknowledgement,
    which the memory holds back. Consumed before it, the entry triggers nothing. The number of
    callbacks is demanded where every order gives the same.
    """

    async def scenario(self) -> None:
        # One for each offset; trials follow each other without overlapping.
        self.all = [await self.consumer(f"offset {offset}") for offset in OFFSETS]
        for arm in (None, *ARMS):
            # Armed before, one entry: called if published first.
            await self.one(ANY, ["unsolicited"], 1, arm, None)
            await self.one(SOLICITED, ["solicited receive"], 1, arm, None)
            # Not armed before, all consumed by the arm's doorbell: never.
            await self.one(None, ["unsolicited"], 1, arm, 0)
            await self.one(None, ["error", "unsolicited"], 2, arm, 0)
            # One of two is left.
            await self.one(ANY, ["unsolicited", "error"], 1, arm, None if arm is not None else 1)
            await self.one(None, ["unsolicited", "unsolicited"], 1, arm, 1 if arm is ANY else None)
            # Nothing is consumed.
            await self.one(
                None, ["solicited receive"], 0, arm, 1 if arm in (ANY, SOLICITED) else None
            )

    async def prepare(self, arm: ArmType | None) -> None:
        """Proves each queue fit, whatever came before: armed over nothing it waits for exactly one
        callback. Leaves it empty, disarmed or with a fresh ``arm``.
        """
        while running := [q for q in self.all if q.running]:
            for q in running:
                q.cq.post_callback_return()
                q.running = False
            await self.env.drain(40)
            for q in running:
                # One may have waited for the return.
                q.demand(len(q.cq.callbacks) - q.expected)
        for q in self.all:
            q.take()
            q.cq.post_arm(ANY, index=q.index())
        await self.rest(0)
        for q in self.all:
            q.send(UNSOLICITED)
        await self.rest(1)
        for q in self.all:
            q.take()
            q.cq.post_callback_return()
            q.running = False
            q.cq.post_consumer_index(q.index())
        await self.rest(0)
        for q in self.all:
            if arm is not None:
                q.cq.post_arm(arm, index=q.index())
        await self.rest(0)

    async def rest(self, calls: int) -> None:
        """Waits until the engine rests; this many callbacks of each queue came."""
        await self.env.drain(40)
        for q in self.all:
            q.demand(calls)

    async def one(
        self,
        before: ArmType | None,
        kinds: Sequence[str],
        consumed: int,
        arm: ArmType | None,
        total: int | None,
    ) -> None:
        """One sweep of the release around the doorbell."""
        mem, harness = self.env.mem, self.harness
        await self.prepare(before)
        mark = len(self.trace)
        for q in self.all:
            mem.hold_cq(q.cq.number)
        await harness.cycles(4)
        for q in self.all:
            q.send(*(KINDS[kind] for kind in kinds))
        await self.rest(0)
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
            {(r.cq, r.cycle) for r in self.trace[mark:] if r.op == op}
            for op in (TraceOp.PUBLISH, TraceOp.DOORBELL)
        )
        assert published & told, "acknowledgement and doorbell never met in one cycle"


@pyuvm.test()
class ArmMeetsCallbackTest(StepTest):
    """CQ-07: an arm that meets the clearing of the one before is lost: from 30 cycles before the
    call to 30 cycles after it, and in the very cycle of it.
    """

    async def scenario(self) -> None:
        offsets = range(-30, 31)
        trials = {offset: await self.consumer(f"offset {offset}", log2=2) for offset in offsets}
        for q in trials.values():
            await q.cq.arm(ANY, index=0)
        start = self.harness.cycle + 40
        for step, (offset, q) in enumerate(trials.items()):
            at = start + 100 * step
            q.send(UNSOLICITED, at=at)
            # Legal at any time: index 0.
            q.cq.post_arm(ANY, index=0, at=at + 8 + offset)
        await self.env.drain()
        together = 0
        for q in trials.values():
            steps = [record for record in self.trace if record.cq == q.cq.number]
            call = next(record for record in steps if record.event)
            arm = [record for record in steps if record.op == TraceOp.DOORBELL][-1]
            together += call.cycle == arm.cycle
            # Before the call it merged; after it, over the old completion, it stays (CQ-10).
            before = (arm.cycle, arm.lane) < (call.cycle, call.lane)
            q.demand(1)
            state = await q.cq.query()
            assert state.armed != before, f"{q}: armed {state.armed}, arm before call {before}"
            await q.callback_returns()
            await q.place(UNSOLICITED, calls=int(not before))
        assert together, "no arm met the call in one cycle"


@pyuvm.test()
class WrittenBeatsTest(StepTest):
    """CQ-22: after each beat to memory, of one entry or two, in either half of a line, of rings
    that begin at an even or an odd index: an index that covers one entry more is refused.
    """

    #: Entries that come at once.
    MOST = 5

    def connect_checkers(self) -> None:
        super().connect_checkers()
        #: Beats of entries: their halves.
        self.beats: list[int] = []
        self.env.add_subscriber(self._beats, "beats of the test", lambda: len(self.beats))

    def _beats(self, records: list[Record]) -> None:
        lower = (1 << 32) - 1
        for record in records:
            if type(record) is MemWrite:
                self.beats.append(bool(record.strb & lower) | bool(record.strb >> 32) << 1)

    async def scenario(self) -> None:
        seen = set()
        both = (False, True)
        for odd in both:
            q = await self.consumer()
            if odd:
                await q.place(UNSOLICITED)
                await q.poll()
                assert await q.cq.resize(3) == q.index()
            for count in range(1, self.MOST + 1):
                # From either half on: an odd number between.
                for _ in range(2):
                    for pairs in both:
                        seen |= {(odd, *step) for step in await self.train(q, count, pairs)}
                    await q.place(UNSOLICITED)
                    await q.poll()
        wanted = {(odd, later, halves) for odd in both for later in both for halves in (1, 2, 3)}
        assert seen >= wanted, f"not seen: {wanted - seen}"
        await q.arm(ANY)
        await q.place(UNSOLICITED, calls=1)

    async def train(self, q: Consumer, count: int, pairs: bool) -> set[tuple[bool, int]]:
        """Entries that leave beat by beat. Returns of each beat whether one came before it, and
        which halves it had.
        """
        self.harness.hold(Channel.MEM_AW)
        await self.harness.cycles(4)
        cpls = [Cpl(q.cq.number, context=q.placed + n) for n in range(count)]
        width = 2 if pairs else 1
        for at in range(0, count, width):
            self.env.completions.send_beat(cpls[at : at + width])
        start = written = q.placed
        q.placed += count
        await q.settle()
        found = set()
        while written < q.placed:
            await q.refused(Cause.BAD_INDEX, index=q.index(written + 1), arm_type=ANY, arm=1)
            before = len(self.beats)
            self.harness.hold(Channel.MEM_AW, False)
            await self.harness.cycles(1)
            self.harness.hold(Channel.MEM_AW)
            await q.settle()
            for halves in self.beats[before:]:
                found.add((written > start, halves))
                written += halves.bit_count()
        self.harness.hold(Channel.MEM_AW, False)
        await q.poll()
        return found
