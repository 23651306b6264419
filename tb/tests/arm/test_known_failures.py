# SPDX-License-Identifier: Apache-2.0
"""Mistakes that notification engines are known to make, one test each. A test passes only if the
engine gives exactly the callbacks of the rule that the mistake breaks.
"""

from __future__ import annotations

from collections.abc import Callable

import pyuvm

from tb.env.agents import Cpl
from tb.env.defs import CQ_DB, ArmType, Cause, Cmd, CqStatus, Life, PageReg, Result, TraceOp
from tb.env.harness.harness import Channel
from tb.env.host.cq import Callback, Cq
from tb.tests.common.steps import (
    ANY,
    ARMS,
    ERROR,
    ERRORS,
    FLAG_ON_SEND,
    KINDS,
    SATISFY,
    SOLICITED,
    SOLICITED_RECEIVE,
    UNSOLICITED,
    Consumer,
    StepTest,
)

ICARUS_TESTS = ["ArmClearedByAnyCompletionTest", "StickyFlagTest"]

OVERFLOW = CqStatus.BUFFER_OVERFLOW


@pyuvm.test()
class ArmTypesAsNumbersTest(StepTest):
    """CQ-12: arm types merged by numeric maximum or by OR: SOLICITED then ANY becomes SOLICITED
    (2), or a code 3 that matches nothing.
    """

    async def scenario(self) -> None:
        await self.together(self.pair(SOLICITED, ANY), self.pair(ANY, SOLICITED))

    async def pair(self, first: ArmType, second: ArmType) -> None:
        """Both orders are ANY for every completion."""
        for kind in KINDS:
            q = await self.consumer(f"{first.name}, {second.name}, {kind}")
            await q.arm(first)
            await q.arm(second)
            await q.place(KINDS[kind], calls=1)
            await q.proves_fit()


@pyuvm.test()
class ArmClearedByAnyCompletionTest(StepTest):
    """CQ-06, CQ-08: the arm is cleared by completions that do not satisfy it."""

    async def scenario(self) -> None:
        q = await self.consumer()
        await q.arm(SOLICITED)
        await q.place(UNSOLICITED)
        await q.place(FLAG_ON_SEND, UNSOLICITED)
        await q.poll()
        await q.place(SOLICITED_RECEIVE, calls=1)
        await q.callback_returns()
        await q.poll()
        await q.arm(ERRORS)
        await q.place(UNSOLICITED, SOLICITED_RECEIVE, ERROR)
        await self.fail_write(q)
        await q.place(UNSOLICITED, calls=1, status=CqStatus.INTERNAL_ERROR, snap=q.placed)


@pyuvm.test()
class WeakerArmDowngradesTest(StepTest):
    """CQ-12: the second, weaker arm replaces the first one."""

    async def scenario(self) -> None:
        weaker = ((ANY, SOLICITED), (ANY, ERRORS), (SOLICITED, ERRORS))
        await self.together(*(self.downgrade(*pair) for pair in weaker))

    async def downgrade(self, first: ArmType, second: ArmType) -> None:
        """The completion satisfies the first arm only."""
        q = await self.consumer(f"{first.name}, {second.name}")
        await q.arm(first)
        await q.arm(second)
        await q.place(UNSOLICITED if first is ANY else SOLICITED_RECEIVE, calls=1)
        await q.proves_fit()


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
class PollEmptyThenArmTest(StepTest):
    """CQ-09: poll finds nothing, a completion lands, then the arm: nobody is told."""

    async def scenario(self) -> None:
        await self.together(*(self.race(arm, kind) for arm in ARMS for kind in KINDS))

    async def race(self, arm: ArmType, kind: str) -> None:
        """Once after creation, and once after a callback."""
        q = await self.consumer(f"{arm.name}, {kind}")
        for _ in range(2):
            assert q.cq.get_cq_results() == []
            await q.place(KINDS[kind])
            await q.arm(arm, calls=1)
            await q.callback_returns()
            await q.poll()
        await q.proves_fit()


@pyuvm.test()
class OnlyFirstOfBurstTest(StepTest):
    """CQ-08, CQ-12: only the first completion of a burst is compared with the arm."""

    async def scenario(self) -> None:
        await self.together(
            *(self.burst(before, paired) for before in range(6) for paired in (False, True)),
            self.call_per_arm(),
        )

    async def burst(self, before: int, paired: bool) -> None:
        """The solicited one is the first to the sixth of a burst, in beats of one or two."""
        q = await self.consumer(f"{before} before it, paired {paired}")
        await q.arm(SOLICITED)
        kinds = [UNSOLICITED] * 6
        kinds[before] = SOLICITED_RECEIVE
        if paired:
            for i in range(0, 6, 2):
                first, second = (
                    Cpl(q.cq.number, context=i + lane, **kinds[i + lane]) for lane in (0, 1)
                )
                self.env.completions.send_pair(first, second)
            q.placed = 6
        else:
            q.send(*kinds)
        await self.env.drain()
        (callback,) = q.cq.callbacks
        assert before < callback.snap <= 6, f"{q}: {callback} does not cover the solicited one"
        q.demand(1, snap=callback.snap)
        await q.proves_fit()

    async def call_per_arm(self) -> None:
        """After the burst's first callback the rest of it is news for the next arm."""
        q = await self.consumer("call per arm")
        await q.arm(ANY)
        q.send(*[UNSOLICITED] * 6)
        await self.env.drain()
        q.demand(1, snap=q.cq.callbacks[0].snap)
        assert q.cq.callbacks[0].snap < 6
        await q.arm(ANY)
        await q.callback_returns(calls=1)
        await q.proves_fit()


@pyuvm.test()
class EventSinkStallsTest(StepTest):
    """CQ-16: an event is lost, doubled or early because its way out was blocked: every queue there
    is, on full event queues, has a callback due, for each place that can stall, for thousands of
    cycles.
    """

    async def scenario(self) -> None:
        assert self.env.config is not None
        eqs = [await self.env.host.create_eq(log2=3, page=1) for _ in range(8)]
        queues = [
            await self.consumer(log2=4, eq=eqs[number % 8])
            for number in range(self.env.config.num_cq)
        ]
        hold, mem = self.harness.hold, self.env.mem

        def hold_eqs() -> None:
            for eq in eqs:
                mem.hold_eq(eq.number)

        def release_eqs() -> None:
            for eq in eqs:
                mem.release_eq(eq.number)

        ways: list[tuple[Callable[[], None], Callable[[], None]]] = [
            (lambda: hold(Channel.IRQ), lambda: hold(Channel.IRQ, False)),
            (lambda: hold(Channel.MEM_AW), lambda: hold(Channel.MEM_AW, False)),
            (lambda: hold(Channel.MEM_W), lambda: hold(Channel.MEM_W, False)),
            (lambda: hold(Channel.MEM_B), lambda: hold(Channel.MEM_B, False)),
            (hold_eqs, release_eqs),
            (mem.hold_responses, mem.release_responses),
        ]
        for block, release in ways:
            for due_by_arm in (False, True):
                await self.blocked(queues, block, release, due_by_arm)
        await self.all_at_once(queues)
        for q in queues[::10]:
            await q.proves_fit()

    async def blocked(
        self,
        queues: list[Consumer],
        block: Callable[[], None],
        release: Callable[[], None],
        due_by_arm: bool,
    ) -> None:
        """The callback becomes due by a completion after the arm, or by the arm after it."""
        for q in queues:
            if due_by_arm:
                q.send(UNSOLICITED)
            else:
                q.cq.post_arm(ANY, index=q.index())
        await self.env.drain()
        block()
        await self.harness.cycles(4)
        for q in queues:
            if due_by_arm:
                q.cq.post_arm(SOLICITED, index=q.index())
            else:
                q.send(UNSOLICITED)
        await self.harness.cycles(2_000)
        await self.env.sync()
        for q in queues:
            q.demand(0)
        release()
        await self.called_once(queues)

    async def all_at_once(self, queues: list[Consumer]) -> None:
        """No event can be written while every queue's acknowledgement comes: all of them wait."""
        for q in queues:
            q.cq.post_arm(ANY, index=q.index())
        self.env.mem.hold_responses()
        await self.env.drain()
        for q in queues:
            q.send(UNSOLICITED)
        await self.env.drain()
        self.harness.hold(Channel.MEM_AW)
        self.env.mem.release_responses()
        await self.harness.cycles(2_000)
        await self.env.sync()
        for q in queues:
            q.demand(0)
        self.harness.hold(Channel.MEM_AW, False)
        await self.called_once(queues)

    async def called_once(self, queues: list[Consumer]) -> None:
        """Exactly one callback each, which then returns; everything is polled."""
        await self.env.drain()
        for q in queues:
            q.demand(1)
            q.cq.post_callback_return()
            q.take()
            q.cq.post_consumer_index(q.index())
            q.running = False
        await self.env.drain()


@pyuvm.test()
class StalledTwiceTest(StepTest):
    """CQ-16, CQ-11: while the event's answer is held back, the host has already returned and armed
    again, and a second callback is due: two in all, for every queue there is.
    """

    async def scenario(self) -> None:
        assert self.env.config is not None
        queues = [await self.consumer(log2=4) for _ in range(self.env.config.num_cq)]
        eq = queues[0].cq.eq.number
        self.env.mem.hold_eq(eq)
        for q in queues:
            q.cq.post_arm(ANY, index=0)
        await self.env.drain()
        for q in queues:
            q.send(UNSOLICITED)
        await self.env.drain()
        answers = []
        for q in queues:
            answers += [q.cq.post_callback_return(), q.cq.post_arm(ANY, index=0)]
            q.send(UNSOLICITED)
        await self.env.drain()
        assert all(answer.result == (0, 0) for answer in answers)
        for q in queues:
            q.demand(0)
        self.env.mem.release_eq(eq)
        await self.env.drain()
        for q in queues:
            assert [callback.snap for callback in q.cq.callbacks] == [1, 2], str(q)
            q.expected, q.running = 2, True
        for q in queues[::10]:
            await q.proves_fit()


@pyuvm.test()
class StickyFlagTest(StepTest):
    """CQ-10a: "something happened since the last callback" is remembered and fires an arm of an
    empty queue.
    """

    async def scenario(self) -> None:
        q = await self.consumer()
        await q.place(UNSOLICITED)
        await q.poll()
        await q.arm(ANY)
        await q.place(UNSOLICITED, calls=1)
        await q.place(SOLICITED_RECEIVE)
        await q.callback_returns()
        q.take()
        await q.arm(SOLICITED)
        await q.arm(ANY)
        await q.place(UNSOLICITED, calls=1)


@pyuvm.test()
class RecreatedQueueTest(StepTest):
    """CQ-20: a queue created again under its number inherits arm, type, callback in progress, snap,
    indices, error or options.
    """

    async def scenario(self) -> None:
        for dirty in ("armed", "running", "due", "indices", "error", "overflow", "options"):
            q = await self.consumer(dirty, log2=3, number=5, rearm_old=dirty == "options")
            await self.soil(q, dirty)
            await q.cq.destroy()
            await self.env.drain()
            q.demand(0)
            assert (await self.env.host.command(Cmd.QUERY_CQ, 5)).result == Result.NO_OBJECT
            q = await self.consumer(f"after {dirty}", log2=3, number=5)
            state = await q.cq.query()
            assert (state.life, state.status, state.armed, state.arm_type) == (Life.READY, 0, 0, 0)
            assert not (state.in_callback or state.due or state.prod or state.cons or state.alloc)
            await q.refused(Cause.BAD_INDEX, index=1)
            await q.place(UNSOLICITED)
            await q.arm(ANY, calls=1)
            await q.callback_returns()
            await q.arm(SOLICITED)
            await q.place(UNSOLICITED)
            await q.place(SOLICITED_RECEIVE, calls=1)
            await q.proves_fit()
            await q.cq.destroy()

    async def soil(self, q: Consumer, dirty: str) -> None:
        """Leaves the queue in the state of that name; a callback in progress returns late."""
        await q.place(*[SOLICITED_RECEIVE] * 5)
        if dirty in ("armed", "options"):
            await q.poll()
            await q.arm(SOLICITED)
        elif dirty in ("running", "due"):
            await q.arm(ANY, calls=1)
            if dirty == "due":
                await q.place(ERROR)
                await q.arm(ANY)
            await q.cq.destroy(wait=False)
            await q.callback_returns()
        elif dirty == "error":
            await self.fail_write(q)
            await q.place(UNSOLICITED)
        elif dirty == "overflow":
            await q.place(*[UNSOLICITED] * 4)


@pyuvm.test()
class SilentOverflowTest(StepTest):
    """CQ-17: an overflow overwrites an entry or is dropped silently. It calls back once whatever
    the arm, with its status; what is in the ring stays; nothing is placed after it.
    """

    async def scenario(self) -> None:
        await self.together(*(self.overflow(arm) for arm in (*ARMS, None)))
        log = [entry.cause for entry in await self.env.host.read_log()]
        assert log.count(Cause.CQ_OVERFLOW) == 4
        assert log.count(Cause.CPL_CQ_ERROR) == 4
        assert await self.env.host.counter("CPL_DROPPED") == 8

    async def overflow(self, arm: ArmType | None) -> None:
        """One more than the ring holds; later, with room again, one more still."""
        q = await self.consumer(f"{arm!r}", log2=2)
        await q.place(*[UNSOLICITED] * 4)
        await q.arm(ANY, calls=1)
        await q.callback_returns()
        if arm is not None:
            await q.arm(arm)
        called = int(arm is not None)
        q.send(UNSOLICITED)
        q.placed -= 1
        await q.settle(calls=called, status=OVERFLOW)
        assert (await q.cq.query()).status == OVERFLOW
        await q.poll()
        if called:
            await q.callback_returns()
        q.send(ERROR)
        q.placed -= 1
        await q.settle()
        state = await q.cq.query()
        assert (state.prod, state.cons, state.alloc) == (4, 4, 4)
        assert q.cq.get_cq_results() == []


@pyuvm.test()
class UpperArmBitsTest(StepTest):
    """CQ-22, ISO-02: the upper bits of the arm field: ignored (so that 4 means ERRORS, 5 ANY), or
    accepted as a type that matches nothing. They are refused, and the arm before stays.
    """

    async def scenario(self) -> None:
        await self.together(*(self.upper(arm) for arm in ARMS))

    async def upper(self, arm: ArmType) -> None:
        """A refused arm of each code neither merges, nor replaces, nor looks at the queue."""
        q = await self.consumer(arm.name)
        await q.arm(arm)
        first = FLAG_ON_SEND if arm is SOLICITED else SOLICITED_RECEIVE
        if arm is not ANY:
            await q.place(first)
        for code in range(3, 16):
            word = CQ_DB.pack(cq=q.cq.number, arm=1, arm_type=code)
            answer = await self.env.host.write(q.cq.page, PageReg.CQ_DB, word)
            assert answer == (2, Cause.BAD_ARM_TYPE), f"{q}, code {code}: {answer}"
        await q.settle()
        await q.place(SOLICITED_RECEIVE, calls=int("solicited receive" in SATISFY[arm]))
        await q.proves_fit()


@pyuvm.test()
class ArmClearedByReturnTest(StepTest):
    """CQ-07: the arm is cleared when the callback returns instead of when it is called: the arm of
    a consumer that arms inside its callback, as most do, is lost.
    """

    async def scenario(self) -> None:
        q = await self.consumer(log2=4)
        cq = q.cq

        async def inside(_: Cq, __: Callback) -> None:
            q.take()
            assert await cq.arm(ANY, index=q.index()) == (0, 0)

        cq.on_callback = inside
        await cq.arm(ANY, index=0)
        for number in range(1, 21):
            q.send(UNSOLICITED)
            await self.env.drain()
            assert [callback.snap for callback in cq.callbacks] == list(range(1, number + 1))
        q.expected = 20
