# SPDX-License-Identifier: Apache-2.0
"""Two or three things meet on one queue, at every offset from 20 cycles before to 20 cycles after:
completion, arm, consumer index, callback return, acknowledgement; an index behind each beat.

Each trial demands exactly the callbacks that the rules give for the order in which the engine took
its steps, called by exactly those steps, and, where the rules give the same for every order, that
number. Each sweep of a publication must contain a case of one cycle (trace lanes 1 and 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyuvm

from tb.env.agents import Cpl
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import ArmType, Cause, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import MemWrite, Record, Trace
from tb.tests.common.steps import (
    ANY,
    ARMS,
    ERRORS,
    KINDS,
    MERGED,
    SATISFY,
    SOLICITED,
    UNSOLICITED,
    Consumer,
    StepTest,
)

OFFSETS = range(-20, 21)
SPACING = 96

#: Posts a trial: queue, cycle of its centre, offset.
Trial = Callable[[Consumer, int, int], None]


class SweepTest(StepTest):
    """One queue for each offset; trials follow each other without overlapping."""

    #: Reading of CQ-09.
    typed = False

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self.written: dict[int, int] = {}
        #: Callbacks that are due but wait for a return.
        self.owed: dict[Consumer, int] = {}
        self.env.add_subscriber(self._writes, "writes of the test", lambda: len(self.written))

    def _writes(self, records: list[Record]) -> None:
        for record in records:
            if type(record) is MemWrite:
                self.written[record.axi_id] = record.cycle

    async def queues(self, log2: int = 3) -> None:
        """The queues of the sweep."""
        self.all = [await self.consumer(f"offset {offset}", log2=log2) for offset in OFFSETS]

    async def set_typed(self, typed: bool) -> None:
        """The other reading of CQ-09."""
        self.typed = typed
        for q in self.all:
            await q.cq.modify(typed=typed)

    async def prepare(self, *, running: bool = False, arm: ArmType | None = None) -> None:
        """Proves each queue fit, whatever came before: armed over nothing it waits for exactly one
        callback. Leaves it empty, disarmed or with a fresh ``arm``, with or without the callback in
        progress.
        """
        while any(q.running for q in self.all):
            for q in self.all:
                if q.running:
                    q.cq.post_callback_return()
                    q.running = False
            await self.env.drain(40)
            for q in self.all:
                q.demand(self.owed.pop(q, 0))
        for q in self.all:
            q.take()
            q.cq.post_arm(ANY, index=q.index())
        await self.rest(0)
        for q in self.all:
            q.send(UNSOLICITED)
        await self.rest(1)
        for q in self.all:
            q.take()
            if not running:
                q.cq.post_callback_return()
                q.running = False
            q.cq.post_consumer_index(q.index())
        await self.rest(0)
        for q in self.all:
            if arm is not None:
                q.cq.post_arm(arm, index=q.index())
        await self.rest(0)
        self.before = {q: (q.placed, q.polled, q.running, arm) for q in self.all}
        self.mark = len(self.trace)

    async def rest(self, calls: int) -> None:
        """Waits until the engine rests; this many callbacks of each queue came."""
        await self.env.drain(40)
        for q in self.all:
            q.demand(calls)

    async def sweep(self, trial: Trial, centre: int = 0) -> None:
        """Posts the trials of all offsets and waits until they are over."""
        start = self.harness.cycle + 80
        for step, (offset, q) in enumerate(zip(OFFSETS, self.all, strict=True)):
            trial(q, start + SPACING * step, offset + centre)
        await self.env.drain(40)

    def steps(self, q: Consumer) -> list[Trace]:
        """What changed the queue's arm state since :meth:`prepare`, in order."""
        number = q.cq.number
        return [r for r in self.trace[self.mark :] if r.cq == number and r.lane in (1, 2)]

    def judge(self, kinds: Sequence[str], total: int | None = None) -> list[int]:
        """Demands the callbacks of every trial, in which completions of these kinds were placed;
        ``total``: their number in every order. Returns by how many cycles the first publication
        came after the doorbell or return nearest to it.
        """
        distances = []
        for q in self.all:
            steps = self.steps(q)
            called = [step for step in steps if step.event]
            wanted = self._calls(q, steps, kinds)
            assert called == wanted, f"{q}: called by {called}, not by {wanted}"
            if total is not None:
                assert len(wanted) == total, f"{q}: {len(wanted)} callbacks, not {total}: {steps}"
            seen = [callback.snap for callback in q.cq.callbacks[q.expected :]]
            assert seen == [step.new >> 16 & 0xFFFF for step in called], f"{q}: {seen}"
            q.expected += len(called)
            returns = sum(step.op == TraceOp.CB_RETURN for step in steps)
            q.running = self.before[q][2] + len(called) > returns
            published = next((s.cycle for s in steps if s.op == TraceOp.PUBLISH), None)
            if published is not None:
                distances.append(
                    min((published - s.cycle for s in steps if s.lane == 2), key=abs, default=999)
                )
        return distances

    def _calls(self, q: Consumer, steps: Sequence[Trace], kinds: Sequence[str]) -> list[Trace]:
        """The steps that must call, by the rules CQ-06 to CQ-14 and CQ-22 (CQ-10: default)."""
        base, cons, running, arm = self.before[q]
        prod = snap = base
        due = event = False
        calls: list[Trace] = []
        for step in steps:
            if step.op == TraceOp.PUBLISH:
                for _ in range(step.operand & 3):
                    if arm is not None and prod >= cons and kinds[prod - base] in SATISFY[arm]:
                        due = True
                    prod += 1
            elif step.op == TraceOp.DOORBELL:
                cons += (step.operand - cons) & self.index_mask
                if step.operand >> 16 & 1:
                    second = ArmType(step.operand >> 17 & 3)
                    arm = second if arm is None else MERGED[arm, second]
                    new = kinds[max(cons, snap) - base : max(prod - base, 0)]
                    if not self.typed:
                        due = due or bool(new)
                    elif any(kind in SATISFY[arm] for kind in new):
                        due = True
            elif step.op == TraceOp.CB_RETURN:
                running = False
            elif step.op == TraceOp.EVENT_DONE:
                event = False
            if due and not running and not event:
                calls.append(step)
                arm, due, running, event, snap = None, False, True, True, prod
        self.owed[q] = int(due)
        return calls


@pyuvm.test()
class PublishMeetsArmTest(SweepTest):
    """CQ-09, CQ-14, CQ-15: the acknowledgement at every offset from -20 to +20 cycles of the arm's
    step, in the same cycle, too; one entry, two entries at once, an arm that merges.
    """

    async def scenario(self) -> None:
        await self.queues()
        both = ("unsolicited", "solicited receive")
        centre = await self.one(ANY, both[:1], 0)
        for before in (None, SOLICITED, ERRORS):
            for arm in ARMS:
                for kinds in (both[:1], both[1:], both, both[::-1]):
                    distance = await self.one(arm, kinds, -centre, before)
                    assert distance == 0, f"the sweep was not centred: {distance}"
        await self.set_typed(True)
        for arm in ARMS:
            for kinds in (both, both[::-1]):
                # The solicited one of two counts, whichever comes first (CQ-09, typed reading).
                await self.one(arm, kinds, -centre, total=int(arm is not ERRORS))

    async def one(
        self,
        arm: ArmType,
        kinds: Sequence[str],
        centre: int,
        before: ArmType | None = None,
        total: int | None = None,
    ) -> int:
        """One sweep; returns the distance of its middle trial. An ANY arm is satisfied once."""

        def trial(q: Consumer, at: int, offset: int) -> None:
            q.cq.post_arm(arm, index=q.index(), at=at)
            lanes = [
                Cpl(q.cq.number, context=q.placed + lane, **KINDS[kind])
                for lane, kind in enumerate(kinds)
            ]
            q.placed += len(lanes)
            self.env.completions.send_beat(lanes, at_cycle=at + offset)

        await self.prepare(arm=before)
        await self.sweep(trial, centre)
        merged = arm if before is None else MERGED[before, arm]
        distances = self.judge(kinds, 1 if merged is ANY else total)
        middle = distances[len(distances) // 2]
        wanted = [offset + middle for offset in OFFSETS]
        assert distances == wanted, f"{arm.name}, {kinds}: {distances}"
        return middle


@pyuvm.test()
class AroundIndexTest(SweepTest):
    """CQ-22, CQ-15: the host sees an entry in memory and consumes it around its acknowledgement,
    which the memory holds back. Consumed before it, the entry triggers nothing.
    """

    async def scenario(self) -> None:
        await self.queues()
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
        await self.prepare(arm=before)
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
        assert 0 in self.judge(kinds, total), "acknowledgement and doorbell never met in one cycle"


@pyuvm.test()
class AroundWriteTest(SweepTest):
    """CQ-22: an index that covers an entry, with an arm, around the moment when memory takes the
    entry: legal as soon as the host can see it, otherwise refused, arm included.
    """

    async def scenario(self) -> None:
        await self.queues()
        self.env.mem.latency(12)
        for before in (None, *ARMS):
            for arm in ARMS:
                await self.one(before, arm)
        self.env.mem.latency(0)

    async def one(self, before: ArmType | None, arm: ArmType) -> None:
        """One sweep."""
        answers: list[Pending[WriteResult]] = []
        asked: list[int] = []

        def trial(q: Consumer, at: int, offset: int) -> None:
            q.send(KINDS["solicited receive"], at=at)
            answers.append(q.cq.post_arm(arm, index=q.index(q.polled + 1), at=at + offset))
            asked.append(at + offset)

        await self.prepare(arm=before)
        await self.sweep(trial, centre=6)
        results = [answer.result for answer in answers]
        for q, answer, cycle in zip(self.all, answers, asked, strict=True):
            written = self.written[q.cq.number]
            accepted = any(step.op == TraceOp.DOORBELL for step in self.steps(q))
            assert answer.result == ((0, 0) if accepted else (2, Cause.BAD_INDEX)), str(q)
            if cycle > written:
                assert accepted, f"{q}: entry written in {written}, index of {cycle} refused"
            if answer.cycle <= written:
                assert not accepted, f"{q}: answered in {answer.cycle}, written in {written}"
        assert len(set(results)) == 2, f"all answers alike: {results[0]}"
        self.judge(["solicited receive"], 0 if before in (None, ERRORS) else None)


@pyuvm.test()
class ThreeMeetTest(SweepTest):
    """CQ-07, CQ-11, CQ-16: completion, arm ANY and callback return in all orders: one callback."""

    async def scenario(self) -> None:
        await self.queues()
        met = 0
        for shift in (-16, -9, -5, -3, -2, -1, 1, 2, 3, 5, 9, 16):
            for kind in ("unsolicited", "error"):
                await self.prepare(running=True)
                await self.sweep(self.trial(kind, shift))
                met += self.judge([kind], 1).count(0)
        assert met >= 24, f"a doorbell met the publication only {met} times"

    @staticmethod
    def trial(kind: str, shift: int) -> Trial:
        """The return ``shift`` cycles after the arm, the completion at the offset of it."""

        def trial(q: Consumer, at: int, offset: int) -> None:
            if shift < 0:
                q.cq.post_callback_return(at=at + shift)
            q.cq.post_arm(ANY, index=q.index(), at=at)
            if shift > 0:
                q.cq.post_callback_return(at=at + shift)
            q.send(KINDS[kind], at=at + offset)

        return trial


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
    """CQ-22: behind each beat to memory, of one entry or two, in either half of a line, of rings
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
