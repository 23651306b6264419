# SPDX-License-Identifier: Apache-2.0
"""Moderation of callbacks by count and interval (CQ-21): what comes to a queue while its callback
waits does not put it off; the latest setting counts.
"""

from __future__ import annotations

from itertools import product

import pyuvm

from tb.env.defs import CQ_DB, ArmType, CqStatus, PageReg, Result
from tb.env.host.cq import Cq
from tb.env.host.driver import CommandError
from tb.tests.common.moderating import LOG2, OTHER_ONLY, ModerationBase

#: Units; what comes beside is one unit apart.
_INTERVAL = 12


def mode(count: int, interval: int) -> str:
    """The meaning of a setting for a ring of 2^LOG2 entries."""
    if interval == 0 or count <= 1:
        return "off"
    by_count = count <= 1 << LOG2
    by_interval = interval != OTHER_ONLY
    if by_count and by_interval:
        return "both"
    return "count" if by_count else "interval" if by_interval else "refused"


@pyuvm.test()
class SettingsTest(ModerationBase):
    """All combinations: what each means, what is refused by CREATE, MODIFY and RESIZE."""

    async def scenario(self) -> None:
        host = self.env.host
        size = 1 << LOG2
        counts = (0, 1, 2, size, size + 1, 0xFFFE, OTHER_ONLY)
        intervals = (0, self.unit, 0xFFFE, OTHER_ONLY)
        plain = await self.queue(1, log2=LOG2)
        refused = 0
        for count, interval in product(counts, intervals):
            meaning = mode(count, interval)
            if meaning == "refused":
                refused += 1
                async with self.no_effect():
                    for action in (
                        self.moderated(count, interval),
                        plain.modify(moderation=(count, interval)),
                    ):
                        try:
                            await action
                            raise AssertionError(f"accepted: {count:#x}, {interval:#x}")
                        except CommandError as error:
                            assert error.command.result == Result.BAD_MODERATION
                continue
            cq = await self.moderated(count, interval)
            assert (await cq.query()).moderation == (count, interval)
            await self.behaves(cq, count, interval, meaning)
            await cq.destroy()
        assert refused == 3
        # A ring that would make a count unusable, when the interval is not in use.
        cq = await self.moderated(6, OTHER_ONLY)
        async with self.no_effect():
            try:
                await cq.resize(2)
                raise AssertionError("resized below the count")
            except CommandError as error:
                assert error.command.result == Result.BAD_MODERATION
        await cq.resize(5)
        assert (await host.query_cq(cq)).moderation == (6, OTHER_ONLY)

    async def behaves(self, cq: Cq, count: int, interval: int, meaning: str) -> None:
        """One callback under this setting."""
        assert await cq.arm(ArmType.ANY) == (0, 0)
        self.send(cq, [0])
        await self.settle()
        what = f"{meaning}: {count:#x}, {interval:#x}"
        assert len(cq.callbacks) == (meaning == "off"), what
        if meaning in ("count", "both"):
            self.send(cq, range(1, count - 1))
            await self.settle()
            if interval != self.unit:
                assert not cq.callbacks, what
            self.send(cq, [count - 1])
            await self.settle(200)
            assert len(cq.callbacks) == 1, what
        elif meaning == "interval" and interval == self.unit:
            await cq.wait_callbacks(1)
            self.in_bounds(cq, interval)
        elif meaning == "interval":
            self.send(cq, range(1, 1 << LOG2))
            await self.settle(3 * self.config.mod_tick)
            assert not cq.callbacks, what
            await cq.modify(moderation=(0, 0))
            await cq.wait_callbacks(1, 2 * self.scan())
        await self.consume(cq)
        assert len(cq.callbacks) == 1


@pyuvm.test()
class CountTest(ModerationBase):
    """Count only: what counts, entries present as the alternative, draining does not cancel."""

    async def scenario(self) -> None:
        cq = await self.moderated(4, OTHER_ONLY)
        # Draining: what was counted stays counted.
        await cq.arm(ArmType.ANY)
        self.send(cq, [0, 1])
        await self.settle()
        assert self.polled(cq) == [0, 1]
        await cq.update_consumer_index()
        await self.settle(4 * self.config.mod_tick)
        state = await cq.query()
        assert state.due and state.armed and not cq.callbacks
        self.send(cq, [2])
        await self.settle()
        assert not cq.callbacks
        self.send(cq, [3])
        await cq.wait_callbacks(1)
        assert cq.callbacks[0].snap == 4
        await self.consume(cq)

        # A pair passes the count; entries before the class of the arm do not count.
        await cq.arm(ArmType.SOLICITED)
        self.send(cq, [0, 1])
        await self.settle()
        assert self.polled(cq) == [0, 1]
        await cq.update_consumer_index()
        self.send(cq, [2], solicited=True)
        self.send(cq, [3, 4])
        await self.settle()
        assert len(cq.callbacks) == 1
        self.send_pairs(cq, [5, 6])
        await cq.wait_callbacks(2)
        await self.consume(cq)

        # Entries present, old ones included, are the alternative.
        self.send(cq, range(3))
        await self.settle()
        await cq.modify(moderation=(0, 0))
        await cq.arm(ArmType.ANY)
        await cq.wait_callbacks(3)
        await cq.callback_return()
        await cq.modify(moderation=(4, OTHER_ONLY))
        await cq.arm(ArmType.ANY)
        self.send(cq, [3])
        await cq.wait_callbacks(4)
        await self.consume(cq)

        # An arm that is satisfied at once: the new completions count.
        for new, calls in ((2, 0), (4, 1)):
            self.send(cq, range(new))
            await self.settle()
            before = len(cq.callbacks)
            await cq.arm(ArmType.ERRORS, index=cq.consumer_index)
            await self.settle()
            assert len(cq.callbacks) == before + calls
            if not calls:
                self.send(cq, range(4 - new))
                await cq.wait_callbacks(before + 1)
            await self.consume(cq)
        assert len(cq.callbacks) == 6


@pyuvm.test()
class IntervalTest(ModerationBase):
    """Interval only and both: bounds in cycles at many offsets to the tick, idle and with the
    doorbell port saturated; more completions and draining neither shorten nor cancel it.
    """

    async def scenario(self) -> None:
        rng = self.rng("interval")
        tick = self.config.mod_tick
        cq = await self.moderated(OTHER_ONLY, 1)
        for interval in (1, 1, 1, 2, 3, 1, 2):
            await cq.modify(moderation=(OTHER_ONLY, interval))
            await self.one(cq, rng.randrange(tick))
            self.in_bounds(cq, interval)
            await self.consume(cq)
        await cq.modify(moderation=(1 << LOG2, 2))
        await self.one(cq, 0)
        self.in_bounds(cq, 2)
        await self.consume(cq)

        busy = await self.queue(2)
        word = CQ_DB.pack(cons=0, cq=busy.number, arm_type=ArmType.ERRORS, arm=1)
        await cq.modify(moderation=(OTHER_ONLY, 1))
        for _ in range(3):
            await self.env.drain(16)
            calls = len(cq.callbacks)
            await cq.arm(ArmType.ANY)
            self.send(cq, [1])
            answers = [self.env.doorbells.post(2, PageReg.CQ_DB, word) for _ in range(2500)]
            await cq.wait_callbacks(calls + 1)
            self.in_bounds(cq, 1, loaded=True)
            for answer in answers:
                assert await answer == (0, 0)
            await self.consume(cq)

    async def one(self, cq: Cq, offset: int) -> None:
        """One callback that waits for its interval, drained and filled meanwhile."""
        calls = len(cq.callbacks)
        await cq.arm(ArmType.ANY)
        await self.harness.cycles(offset)
        self.send(cq, [1])
        await self.settle(60)
        assert len(self.polled(cq)) == 1
        assert await cq.update_consumer_index() == (0, 0)
        self.send(cq, [2])
        await cq.wait_callbacks(calls + 1)
        assert len(cq.callbacks) == calls + 1


@pyuvm.test()
class WaitersTest(ModerationBase):
    """CQ-01, CQ-21: callbacks that wait for long delay none of another queue. Those that wait for
    long are all queues with the same value of one bit of their number, each bit and value in turn:
    so each queue waits beside each other one.
    """

    async def scenario(self) -> None:
        config = self.config
        cqs = []
        for number in range(config.num_cq):
            # The longest that can be set: none is over before the test is.
            moderation = (OTHER_ONLY, OTHER_ONLY - 1)
            page = number % config.num_eq
            cqs.append(await self.queue(page, number=number, log2=1, moderation=moderation))
        for bit in range((config.num_cq - 1).bit_length()):
            for value in range(2):
                short = [cq for cq in cqs if cq.number >> bit & 1 == value]
                await self.beside(short, [cq for cq in cqs if cq not in short])

    async def beside(self, short: list[Cq], long: list[Cq]) -> None:
        """One round; none of ``long`` is called."""
        for cq in long:
            await cq.arm(ArmType.ANY)
            self.send(cq, [1])
        for cq in short:
            await cq.modify(moderation=(OTHER_ONLY, 1))
            await cq.arm(ArmType.ANY)
        await self.env.drain(16)
        calls = {cq: len(cq.callbacks) for cq in (*short, *long)}
        for cq in short:
            self.send(cq, [1])
        for cq in short:
            await cq.wait_callbacks(calls[cq] + 1)
            self.in_bounds(cq, 1, loaded=True)
            assert await cq.callback_return() == (0, 0)
        assert all(len(cq.callbacks) == calls[cq] for cq in long)
        for cq in short:
            await cq.modify(moderation=(OTHER_ONLY, OTHER_ONLY - 1))
        for cq in long:
            # Not moderated any more.
            await cq.modify()
            await cq.wait_callbacks(calls[cq] + 1)
            assert await cq.callback_return() == (0, 0)
            await cq.modify(moderation=(OTHER_ONLY, OTHER_ONLY - 1))
        for cq in (*short, *long):
            assert len(self.polled(cq)) == 1
            assert await cq.update_consumer_index() == (0, 0)


@pyuvm.test()
class LatestSettingTest(ModerationBase):
    """A setting changed while a callback waits applies to it; an error ends the waiting."""

    async def scenario(self) -> None:
        unit = self.unit
        look = self.scan(False) + 100
        never = (1 << LOG2, OTHER_ONLY)
        for new, ready in [
            ((3, OTHER_ONLY), 3),
            ((2, 100), 3),
            ((0, 0), 1),
            ((1, 5), 1),
            ((OTHER_ONLY, 0), 1),
        ]:
            cq = await self.moderated(*never)
            await self.wait(cq, ready)
            await cq.modify(moderation=new)
            await cq.wait_callbacks(1, look)
            await self.consume(cq)
            await cq.destroy()
        # From count to interval: measured from when it became due; longer and shorter.
        for first, new, waited in [
            (never, (OTHER_ONLY, unit), None),
            ((OTHER_ONLY, unit), (OTHER_ONLY, 4 * unit), 4),
            ((OTHER_ONLY, 400 * unit), (OTHER_ONLY, 3 * unit), 3),
            ((OTHER_ONLY, 2 * unit), (4, 5 * unit), 5),
        ]:
            cq = await self.moderated(*first)
            await self.wait(cq, 2)
            await cq.modify(moderation=new)
            await cq.wait_callbacks(1, 8 * unit * self.config.mod_tick)
            if waited is not None:
                self.in_bounds(cq, waited * unit)
            await self.consume(cq)
            await cq.destroy()
        await self.errors(never)

    async def wait(self, cq: Cq, entries: int) -> None:
        """A callback waits with this many entries."""
        await cq.arm(ArmType.ANY)
        self.send(cq, range(entries))
        await self.settle(80)
        assert not cq.callbacks and (await cq.query()).due

    async def errors(self, never: tuple[int, int]) -> None:
        """Overflow and failed writes end the waiting; later arms of that queue do not wait."""
        env = self.env
        for kind in ("overflow", "write", "event"):
            cq = await self.moderated(*never, log2=LOG2)
            if kind == "overflow":
                await self.wait(cq, 3)
                self.polled(cq)
                await cq.update_consumer_index(0)
                await cq.modify(moderation=(OTHER_ONLY, 1000))
                self.send(cq, range(6))
                status = CqStatus.BUFFER_OVERFLOW
            elif kind == "write":
                await self.wait(cq, 2)
                env.mem.fail(cq=cq.number)
                self.send(cq, [9])
                status = CqStatus.INTERNAL_ERROR
            else:
                await cq.modify(moderation=(0, 0))
                env.mem.hold_eq(cq.eq.number)
                env.mem.fail(eq=cq.eq.number)
                await cq.arm(ArmType.ANY)
                self.send(cq, [1])
                await self.settle()
                await cq.modify(moderation=never)
                await cq.arm(ArmType.ANY)
                self.send(cq, [2])
                await self.settle()
                env.mem.release_eq(cq.eq.number)
                await cq.wait_callbacks(1)
                await cq.callback_return()
                status = CqStatus.INTERNAL_ERROR
            count = 2 if kind == "event" else 1
            await cq.wait_callbacks(count, 400)
            assert cq.callbacks[-1].status == status, kind
            await self.settle()
            assert len(cq.callbacks) == count
            await cq.callback_return()
            await cq.destroy()
        await env.host.read_log()


@pyuvm.test()
class NotInErrorTest(ModerationBase):
    """CQ-08, CQ-21: a queue in error is not moderated: an arm that entries published since the
    error satisfy calls at once, however long its interval is.
    """

    async def scenario(self) -> None:
        mem = self.env.mem
        for arm in (ArmType.ANY, ArmType.SOLICITED):
            cq = await self.moderated(OTHER_ONLY, OTHER_ONLY - 1)
            await cq.arm(ArmType.ANY)
            mem.hold_cq(cq.number)
            self.send(cq, range(1 << LOG2), solicited=True)
            self.send(cq, [99])
            await cq.wait_callbacks(1, 400)
            assert cq.callbacks[0][2:] == (CqStatus.BUFFER_OVERFLOW, 0)
            mem.release_cq(cq.number)
            await self.env.drain()
            assert await cq.callback_return() == (0, 0)
            assert await cq.arm(arm, index=0) == (0, 0)
            await cq.wait_callbacks(2, 400)
            assert len(self.polled(cq)) == 1 << LOG2
            assert await cq.callback_return() == (0, 0)
            await cq.update_consumer_index()
            await cq.destroy()
        await self.env.host.read_log()


@pyuvm.test()
class BesideTest(ModerationBase):
    """What comes while a callback waits for its interval neither shortens nor restarts it:
    completions, alone and two at a time, arms that merge, consumer indices that do and do not
    consume, arms that consume.
    """

    async def scenario(self) -> None:
        cq = await self.moderated(OTHER_ONLY, _INTERVAL, log2=6)
        for kind in ("one", "two", "arm", "index", "consume", "consume and arm"):
            calls = len(cq.callbacks)
            await cq.arm(ArmType.ANY)
            self.send(cq, [1])
            for _ in range(3 * _INTERVAL):
                if len(cq.callbacks) > calls:
                    break
                await self.harness.cycles(self.config.mod_tick)
                await self.beside(cq, kind)
            assert len(cq.callbacks) == calls + 1, kind
            self.in_bounds(cq, _INTERVAL)
            await self.consume(cq)

    async def beside(self, cq: Cq, kind: str) -> None:
        """One of what comes meanwhile."""
        if kind not in ("arm", "index"):
            self.send(cq, [1, 2] if kind == "two" else [1])
            await self.settle(60)
            self.polled(cq)
        if "arm" in kind:
            await cq.arm(ArmType.ANY)
        elif kind in ("index", "consume"):
            assert await cq.update_consumer_index() == (0, 0)


@pyuvm.test()
class PresentTest(ModerationBase):
    """So many are present, and a doorbell takes some away before the engine looks. A larger count
    that is set after that is judged by the largest number that was present, too.
    """

    async def scenario(self) -> None:
        for wait in range(6):
            cq = await self.old_entries(3)
            await cq.arm(ArmType.ANY)
            self.send(cq, [3])
            await self.harness.cycles(14 + wait)
            assert await cq.update_consumer_index(2) == (0, 0)
            await cq.wait_callbacks(2)
            await cq.callback_return()
        for count, calls in ((5, 2), (6, 1)):
            cq = await self.old_entries(4)
            await cq.modify(moderation=(8, OTHER_ONLY))
            await cq.arm(ArmType.ANY)
            self.send(cq, [4])
            await self.settle()
            assert await cq.update_consumer_index(4) == (0, 0)
            await cq.modify(moderation=(count, OTHER_ONLY))
            await self.settle(self.scan())
            assert len(cq.callbacks) == calls, count
            await cq.modify(moderation=(0, 0))
            assert await cq.update_consumer_index(4) == (0, 0)
            await cq.wait_callbacks(2)
            await cq.callback_return()

    async def old_entries(self, number: int) -> Cq:
        """A queue with so many old entries, which waits for four."""
        cq = await self.queue(1, log2=LOG2)
        self.send(cq, range(number))
        await self.env.drain(16)
        await cq.arm(ArmType.ANY)
        await cq.wait_callbacks(1)
        await cq.callback_return()
        await cq.modify(moderation=(4, OTHER_ONLY))
        return cq
