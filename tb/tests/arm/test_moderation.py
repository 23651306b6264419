# SPDX-License-Identifier: Apache-2.0
"""Moderation of callbacks by count and interval (CQ-21): what comes to a queue while its callback
waits does not put it off; the latest setting counts.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import CQ_DB, ArmType, CqStatus, PageReg
from tb.env.scoreboard.context import look_patience
from tb.tests.common.steps import (
    ANY,
    ERRORS,
    SOLICITED,
    SOLICITED_RECEIVE,
    UNSOLICITED,
    Consumer,
    StepTest,
)

OTHER_ONLY = 0xFFFF
LOG2 = 3
#: Units; what comes meanwhile is one unit apart.
_INTERVAL = 12
#: Cycles in which a callback comes that nothing holds back any more.
_SOON = 2000


class ModerationBase(StepTest):
    """Queues with a setting, and the times of their steps."""

    @property
    def unit(self) -> int:
        """An interval long enough for a few answered steps (ticks)."""
        return -(-256 // self.config.mod_tick)

    async def waiting(self, entries: int, *setting: int) -> Consumer:
        """A queue whose callback waits with this many entries."""
        q = await self.consumer(f"moderation {setting}", moderation=setting)
        await q.arm()
        await q.place(*[UNSOLICITED] * entries)
        assert (await q.cq.query()).due
        return q

    def scan(self, loaded: bool = True) -> int:
        """The longest time until a waiting queue is looked at, pipeline included."""
        number = self.config.num_cq
        return look_patience(number, number if loaded else 1)

    async def called_in_time(self, q: Consumer) -> None:
        """A callback comes: more than the interval after the step that made it due, at most one
        unit and a scan later, as the scoreboard judges.
        """
        await q.cq.wait_callbacks(q.expected + 1)
        q.demand(1, snap=q.cq.callbacks[-1].snap)
        await self.env.drain(16)


@pyuvm.test()
class CountTest(ModerationBase):
    """Count only: what counts, entries present as the alternative, draining does not cancel."""

    async def scenario(self) -> None:
        q = await self.consumer(moderation=(4, OTHER_ONLY))
        # Draining: what was counted stays counted.
        await q.arm()
        await q.place(UNSOLICITED, UNSOLICITED)
        await q.poll()
        await self.harness.cycles(4 * self.config.mod_tick)
        await q.settle()
        state = await q.cq.query()
        assert state.due and state.armed
        await q.place(UNSOLICITED)
        await q.place(UNSOLICITED, calls=1, within=_SOON)
        await q.consumes()

        # A pair passes the count; entries before the class of the arm do not count.
        await q.arm(SOLICITED)
        await q.place(UNSOLICITED, UNSOLICITED)
        await q.poll()
        await q.place(SOLICITED_RECEIVE, UNSOLICITED, UNSOLICITED)
        await q.place(UNSOLICITED, UNSOLICITED, pairs=True, calls=1, within=_SOON)
        await q.consumes()

        # Entries present, old ones included, are the alternative.
        await q.place(*[UNSOLICITED] * 3)
        await q.cq.modify(moderation=(0, 0))
        await q.arm(calls=1)
        await q.callback_returns()
        await q.cq.modify(moderation=(4, OTHER_ONLY))
        await q.arm()
        await q.place(UNSOLICITED, calls=1, within=_SOON)
        await q.consumes()

        # An arm that is satisfied at once: the new completions count.
        await q.place(UNSOLICITED, UNSOLICITED)
        await q.arm(ERRORS)
        await q.place(UNSOLICITED, UNSOLICITED, calls=1, within=_SOON)
        await q.consumes()
        await q.place(*[UNSOLICITED] * 4)
        await q.arm(ERRORS, calls=1, within=_SOON)
        await q.consumes()


@pyuvm.test()
class IntervalTest(ModerationBase):
    """Interval only and both: bounds in cycles at many offsets to the tick, idle and with the
    doorbell port saturated.
    """

    async def scenario(self) -> None:
        rng = self.rng("interval")
        tick = self.config.mod_tick
        q = await self.consumer()
        settings = [(OTHER_ONLY, interval) for interval in (1, 1, 1, 2, 3, 1, 2)]
        for setting in (*settings, (1 << LOG2, 2)):
            await q.cq.modify(moderation=setting)
            await q.arm()
            await self.harness.cycles(rng.randrange(tick))
            q.send(UNSOLICITED)
            await self.called_in_time(q)
            await q.consumes()

        busy = await self.queue(2)
        word = CQ_DB.pack(cons=0, cq=busy.number, arm_type=ArmType.ERRORS, arm=1)
        await q.cq.modify(moderation=(OTHER_ONLY, 1))
        for _ in range(3):
            await q.arm()
            q.send(UNSOLICITED)
            answers = [self.env.doorbells.post(2, PageReg.CQ_DB, word) for _ in range(2500)]
            await self.called_in_time(q)
            for answer in answers:
                assert await answer == (0, 0)
            await q.consumes()


@pyuvm.test()
class WaitersTest(ModerationBase):
    """CQ-01, CQ-21: callbacks that wait for long delay none of another queue. Those that wait for
    long are all queues with the same value of one bit of their number, each bit and value in turn:
    so each queue waits with each other one.
    """

    #: The longest that can be set: none is over before the test is.
    LONG = (OTHER_ONLY, OTHER_ONLY - 1)

    async def scenario(self) -> None:
        config = self.config
        eqs = [await self.env.host.create_eq(page=n, log2=4) for n in range(config.num_eq)]
        qs = [
            await self.consumer(eq=eqs[n % config.num_eq], number=n, log2=1, moderation=self.LONG)
            for n in range(config.num_cq)
        ]
        for bit in range((config.num_cq - 1).bit_length()):
            for value in range(2):
                short = [q for q in qs if q.cq.number >> bit & 1 == value]
                await self.meanwhile(short, [q for q in qs if q not in short])

    async def meanwhile(self, short: list[Consumer], long: list[Consumer]) -> None:
        """One round; none of ``long`` is called."""
        await self.armed([q.cq for q in long])
        for q in long:
            q.send(UNSOLICITED)
        for q in short:
            await q.cq.modify(moderation=(OTHER_ONLY, 1))
        await self.armed([q.cq for q in short])
        await self.env.drain(16)
        for q in short:
            q.send(UNSOLICITED)
        for q in short:
            await self.called_in_time(q)
            assert await q.cq.callback_return() == (0, 0)
        for q in long:
            q.demand(0)
        for q in long:
            # Not moderated any more.
            await q.cq.modify()
            await q.cq.wait_callbacks(q.expected + 1)
            q.demand(1)
            assert await q.cq.callback_return() == (0, 0)
        for q in (*short, *long):
            await q.cq.modify(moderation=self.LONG)
            q.running = False
            await q.poll()


@pyuvm.test()
class LatestSettingTest(ModerationBase):
    """A setting changed while a callback waits applies to it; an error ends the waiting."""

    async def scenario(self) -> None:
        unit = self.unit
        look = self.scan(False) + 100
        never = (1 << LOG2, OTHER_ONLY)
        # Entries, setting before and after, whether the callback waits for an interval then.
        for entries, first, new, waits in (
            (3, never, (3, OTHER_ONLY), False),
            (3, never, (2, 100), False),
            (1, never, (0, 0), False),
            (1, never, (1, 5), False),
            (1, never, (OTHER_ONLY, 0), False),
            # From count to interval: measured from when it became due; longer and shorter.
            (2, never, (OTHER_ONLY, unit), True),
            (2, (OTHER_ONLY, unit), (OTHER_ONLY, 4 * unit), True),
            (2, (OTHER_ONLY, 400 * unit), (OTHER_ONLY, 3 * unit), True),
            (2, (OTHER_ONLY, 2 * unit), (4, 5 * unit), True),
            # As many as the ring has entries, which is a count, and one more, which is none.
            (1 << LOG2, (OTHER_ONLY, 400 * unit), (1 << LOG2, 400 * unit), False),
            (1 << LOG2, (OTHER_ONLY, 400 * unit), ((1 << LOG2) + 1, 2 * unit), True),
        ):
            q = await self.waiting(entries, *first)
            await q.cq.modify(moderation=new)
            if waits:
                await self.called_in_time(q)
            else:
                await q.settle(calls=1, within=look)
            await q.consumes()
            await q.cq.destroy()
        await self.errors(never)

    async def errors(self, never: tuple[int, int]) -> None:
        """Overflow and failed writes end the waiting; later arms of that queue do not wait."""
        q = await self.waiting(3, *never)
        await q.cq.modify(moderation=(OTHER_ONLY, 1000))
        await q.place(*[UNSOLICITED] * 5)
        await q.overflow(calls=1)

        q = await self.waiting(2, *never)
        await self.fail_write(q)
        await q.place(UNSOLICITED, calls=1, status=CqStatus.INTERNAL_ERROR, snap=2)

        q = await self.consumer("failed event")
        self.env.mem.hold_eq(q.cq.eq.number)
        self.env.mem.fail(eq=q.cq.eq.number)
        await q.arm()
        await q.place(UNSOLICITED)
        await q.cq.modify(moderation=never)
        await q.arm()
        await q.place(UNSOLICITED)
        self.env.mem.release_eq(q.cq.eq.number)
        await q.settle(calls=1, status=CqStatus.INTERNAL_ERROR, snap=1)
        await q.callback_returns(calls=1, status=CqStatus.INTERNAL_ERROR)


@pyuvm.test()
class NotInErrorTest(ModerationBase):
    """CQ-08, CQ-21: a queue in error is not moderated: an arm that entries published since the
    error satisfy calls at once, however long its interval is.
    """

    async def scenario(self) -> None:
        mem = self.env.mem
        for arm in (ANY, SOLICITED):
            q = await self.consumer(moderation=(OTHER_ONLY, OTHER_ONLY - 1))
            await q.arm()
            mem.hold_cq(q.cq.number)
            await q.place(*[SOLICITED_RECEIVE] * (1 << LOG2))
            await q.overflow(calls=1, snap=0)
            mem.release_cq(q.cq.number)
            await q.settle()
            await q.callback_returns()
            await q.arm(arm, calls=1, status=CqStatus.BUFFER_OVERFLOW)
            await q.consumes()


@pyuvm.test()
class DuringIntervalTest(ModerationBase):
    """What comes while a callback waits for its interval neither shortens nor restarts it:
    completions, alone and two at a time, arms that merge, consumer indices that do and do not
    consume, arms that consume.
    """

    async def scenario(self) -> None:
        q = await self.consumer(moderation=(OTHER_ONLY, _INTERVAL), log2=6)
        for kind in ("one", "two", "arm", "index", "consume", "consume and arm"):
            await q.arm()
            q.send(UNSOLICITED)
            for _ in range(3 * _INTERVAL):
                if len(q.cq.callbacks) > q.expected:
                    break
                await self.harness.cycles(self.config.mod_tick)
                await self.meanwhile(q, kind)
            assert len(q.cq.callbacks) == q.expected + 1, kind
            await self.called_in_time(q)
            await q.consumes()

    async def meanwhile(self, q: Consumer, kind: str) -> None:
        """One of what comes meanwhile."""
        if kind not in ("arm", "index"):
            q.send(*[UNSOLICITED] * (1 + (kind == "two")))
            await self.harness.cycles(60)
            await self.env.sync()
            q.take()
        if "arm" in kind:
            assert await q.cq.arm() == (0, 0)
        elif kind in ("index", "consume"):
            assert await q.cq.update_consumer_index() == (0, 0)


@pyuvm.test()
class PresentTest(ModerationBase):
    """So many are present, and a doorbell takes some away before the engine looks. A larger count
    that is set after that is judged by the largest number that was present, too.
    """

    async def scenario(self) -> None:
        for wait in range(6):
            q = await self.old_entries(3)
            await q.arm()
            q.send(UNSOLICITED)
            await self.harness.cycles(14 + wait)
            q.take(2)
            assert await q.cq.update_consumer_index() == (0, 0)
            await q.settle(calls=1, within=_SOON)
            await q.callback_returns()
        for count, calls in ((5, 1), (6, 0)):
            q = await self.old_entries(4)
            await q.cq.modify(moderation=(8, OTHER_ONLY))
            await q.arm()
            await q.place(UNSOLICITED)
            await q.poll(4)
            await q.cq.modify(moderation=(count, OTHER_ONLY))
            await self.harness.cycles(self.scan())
            await q.settle(calls)
            await q.cq.modify(moderation=(0, 0))
            await q.settle(1 - calls, within=_SOON)
            await q.callback_returns()

    async def old_entries(self, number: int) -> Consumer:
        """A queue with so many old entries, which waits for four."""
        q = await self.consumer()
        await q.place(*[UNSOLICITED] * number)
        await q.arm(calls=1)
        await q.callback_returns()
        await q.cq.modify(moderation=(4, OTHER_ONLY))
        return q
