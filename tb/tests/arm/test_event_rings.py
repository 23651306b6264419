# SPDX-License-Identifier: Apache-2.0
"""Rings of event queues. Entries that fail: the host learns of those that are given up and of those
after them, and no entry that it has not read is overwritten. Rings that change while events are
on their way (CQ-16, CQ-19).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import cocotb
import pyuvm

from tb.env import defs
from tb.env.defs import CB_RETURN, Cause, CqStatus, Kind, Life, PageReg, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import Interrupt, MemWrite, Trace
from tb.env.host.cq import Cq, Eq
from tb.env.host.driver import LogEntry
from tb.tests.common.directed import SLVERR, DirectedTest

#: Writes of one entry.
ATTEMPTS = 4
#: Entries of the error log.
LOG = 16
CQS = 16
#: Cycles from the call of a resize to the first completion, in which its step comes amid them.
LEADS = range(-24, 50)


class EventRingTest(DirectedTest):
    """CQs of one EQ."""

    async def set_up(self, count: int, log2: int) -> list[Cq]:
        """So many CQs, and an EQ of 2^log2 entries."""
        self.eq = await self.env.host.create_eq(page=0, log2=log2)
        return await self.queues(count, self.eq, log2=4)

    def fail(self, count: int = ATTEMPTS, **options: Any) -> None:
        """So many writes of event entries are answered with errors."""
        self.env.mem.fail(SLVERR, eq=self.eq.number, count=count, **options)

    async def ring(self, *cqs: Cq, context: int = 0) -> None:
        """A callback of each becomes due."""
        await self.armed(cqs)
        for cq in cqs:
            self.send(cq, [context])

    async def given_up(self) -> list[LogEntry]:
        """Entries of the log."""
        return [entry for entry in await self.env.host.read_log() if entry.cause == Cause.EQ_FAILED]

    async def ends(self, *cqs: Cq) -> None:
        """Everything can be destroyed."""
        await self.env.sync()
        for cq in cqs:
            if (await cq.query()).life == Life.READY:
                await self.consumed(cq)
            await cq.destroy()
        await self.env.host.destroy_eq(self.eq)


@pyuvm.test()
class HoleIsToldTest(EventRingTest):
    """CQ-16, CQ-18: the entry of one CQ fails, the one after it in the ring is acknowledged, and
    the host looks then: it stops in front of the slot that is not written yet. When that is given
    up the host is told, skips it, and finds the callback after it. Failures of the last writes
    come at different times.
    """

    async def scenario(self) -> None:
        for gap in (0, 20, 200):
            await self.round(gap)

    async def round(self, gap: int) -> None:
        """``gap``: so many cycles more from a write to its answer."""
        host, mem = self.env.host, self.env.mem
        failed, behind = await self.set_up(2, log2=3)
        mem.latency(60 + gap)
        self.fail(1)
        self.fail(ATTEMPTS - 1, skip=2)
        mark = len(self.seen)
        await self.ring(failed, behind)
        step = 5 + gap // 20
        await self.happens(lambda: len(self.of(Interrupt, mark)) > 1, 500 * step, step)
        sent = self.of(Interrupt, mark)
        assert len(sent) == 2, f"{len(sent)} interrupts, not one for each of two entries"
        first, last = sent
        # As a driver does at an interrupt: the log first, then the ring.
        (hole,) = await self.given_up()
        assert await host.recover(hole)
        host.on_interrupt(last)
        steps = [s for s in self.of(Trace, mark) if s.op == TraceOp.EVENT_FAILED]
        assert len(steps) == ATTEMPTS
        assert defs.TRC_EVENT_FAILED["give_up"].get(steps[-1].operand)
        # The vector is on its way while the step is.
        assert first.cycle < steps[1].cycle < steps[-1].cycle - 16 < last.cycle
        assert len(behind.callbacks) == len(failed.callbacks) == 1
        mem.latency(0)
        await self.env.drain()
        assert await self.consumed(failed, behind) == [0, 0]
        await self.ends(failed, behind)


@pyuvm.test()
class UntoldHoleTest(EventRingTest):
    """CQ-16, CQ-18: the log is full when an event entry is given up. The host finds the CQ and the
    slot by what QUERY_CQ and QUERY_EQ say; a CQ whose entry is still under way it leaves alone.
    """

    async def scenario(self) -> None:
        host, mem = self.env.host, self.env.mem
        cqs = await self.set_up(3, log2=2)
        await self.armed(cqs)
        for _ in range(3 * LOG):
            await host.write(1, PageReg.CB_RETURN, CB_RETURN.pack(cq=cqs[0].number))
        self.fail()
        self.send(cqs[0], [0])
        await self.env.drain(64)
        mem.hold_eq(self.eq.number)
        for cq in cqs[1:]:
            self.send(cq, [cq.number])
        await self.harness.cycles(100)
        assert not await self.given_up()
        assert await host.counter("LOG_LOST") > 0
        # The others' entries are in memory after the hole, and under way.
        assert [await self.lost(cq) for cq in cqs] == [True, False, False]
        assert (await host.query_eq(self.eq)).producer == len(cqs)
        entry = LogEntry(Cause.EQ_FAILED, Kind.CQ, cqs[0].number, self.eq.reader.index)
        assert not any(cq.callbacks for cq in cqs)
        assert await host.recover(entry)
        assert [len(cq.callbacks) for cq in cqs] == [1, 1, 1]
        mem.release_eq(self.eq.number)
        await self.env.drain(64)
        assert not any([await self.lost(cq) for cq in cqs])
        await self.ends(*cqs)

    @staticmethod
    async def lost(cq: Cq) -> bool:
        """Its callback is in progress, and no entry is or will be there."""
        state = await cq.query()
        return state.in_callback and not state.event_under_way and len(cq.callbacks) == cq.returns


@pyuvm.test()
class HoleIsKeptTest(EventRingTest):
    """CQ-11, CQ-16, CQ-18: a ring without a slot to spare. The host has not read the entry of one
    CQ; that of the other is given up. It is armed again, before or after that, or destroyed:
    nothing is written over the unread entry, because the host has not returned from the callback.
    """

    async def scenario(self) -> None:
        for early, destroy in product((True, False), (False, True)):
            await self.round(destroy, early)

    async def round(self, destroy: bool, early: bool) -> None:
        """``early``: armed again before the entry is given up."""
        host, memory = self.env.host, self.env.memory
        failed, unread = await self.set_up(2, log2=1)
        self.env.interrupts.hold()
        await self.ring(unread)
        await self.env.drain(64)
        before = memory.read(self.eq.base, 16)
        self.env.mem.hold_eq(self.eq.number)
        self.fail()
        await self.ring(failed)
        await self.harness.cycles(100)
        if early:
            await self.armed([failed])
        self.env.mem.release_eq(self.eq.number)
        await self.harness.cycles(300)
        if not early:
            await self.armed([failed])
        if destroy:
            assert await failed.destroy(wait=False)
        await self.harness.cycles(300)
        assert memory.read(self.eq.base, 16) == before
        self.env.interrupts.hold(False)
        await self.env.drain(64)
        assert len(unread.callbacks) == 1 and not failed.callbacks
        assert await host.recover((await host.read_log())[-1])
        for cq in (unread, failed):
            assert len(cq.callbacks) == 1
            assert await cq.callback_return() == (0, 0)
        # An arm that met the error was waiting for the return; a destroyed CQ has none any more.
        if early and not destroy:
            await failed.wait_callbacks(2)
            assert failed.callbacks[1].status == CqStatus.INTERNAL_ERROR
        await self.ends(failed, unread)


@pyuvm.test()
class PassedOftenTest(EventRingTest):
    """CQ-16, CQ-18: the entry of one CQ is done and answered with an error three times. Between
    these answers each other CQ of the EQ calls back once more: each repetition finds its slot
    further behind; from the second one on it has no strobes. The last one is answered with an
    error, too, or not: then the entry is given up, and the log has its number.
    """

    async def scenario(self) -> None:
        await self.round(6, last_fails=False)
        await self.round(2, last_fails=True)

    async def round(self, log2: int, last_fails: bool) -> None:
        host, mem = self.env.host, self.env.mem
        failed, *others = await self.set_up(1 << log2, log2)
        eq = self.eq
        # Writes to the first slots are done.
        mask = (1 << 64) - 64
        first_slots = {"addr": eq.base & mask, "mask": mask, "lands": True}
        mark, counted = len(self.seen), await host.counter("EVENTS")
        mem.latency(400)
        mem.hold_eq(eq.number)
        self.fail(1, **first_slots)
        await self.ring(failed)
        await self.harness.cycles(100)
        await self.ring_all(others, 0)
        for attempt in range(1, ATTEMPTS):
            if last_fails or attempt < ATTEMPTS - 1:
                self.fail(1, **first_slots)
            # All that were held go, one a cycle; those of what is written then come later.
            mem.release_eq(eq.number)
            await self.harness.cycles(200)
            mem.hold_eq(eq.number)
            for cq in others:
                await cq.wait_callbacks(attempt)
                cq.post_callback_return()
            await self.ring_all(others, attempt)
        mem.release_eq(eq.number)
        await self.env.drain(64)
        log = await self.given_up()
        told = [LogEntry(Cause.EQ_FAILED, Kind.CQ, failed.number, 0)]
        assert log == (told if last_fails else []), log
        entries = self.of(MemWrite, mark, eq)
        writes = [w for w in entries if not w.strb or self.entries_of(w)[0]["cq"] == failed.number]
        assert [bool(w.strb) for w in writes] == [True, True, False, False], writes
        assert {w.addr for w in writes} == {eq.base}
        assert await host.counter("EVENTS") - counted == len(entries)
        assert [len(cq.callbacks) for cq in (failed, *others)] == [1] + [ATTEMPTS] * len(others)
        await self.ends(failed, *others)
        mem.latency()

    async def ring_all(self, cqs: list[Cq], context: int) -> None:
        """One callback more of each; its entry is written."""
        for cq in cqs:
            self.polled(cq)
            cq.post_arm()
            self.send(cq, [context])
        await self.harness.cycles(2000)


@pyuvm.test()
class TwoGiveUpsTest(EventRingTest):
    """CQ-16, CQ-18: all writes of one entry are done and answered with errors; the host reads it,
    returns, and arms. All writes of the CQ's next entry are not done. The log, read then, names
    both: the first was read, nothing is passed over for it, now or when the ring comes round.
    """

    async def scenario(self) -> None:
        host = self.env.host
        failed, other = await self.set_up(2, log2=2)
        self.env.mem.latency(100)
        for lands in (True, False):
            self.fail(lands=lands)
        await self.ring(failed)
        await self.harness.cycles(250)
        host.on_interrupt(Interrupt(self.harness.cycle, self.eq.vector))
        assert len(failed.callbacks) == 1
        await failed.callback_return()
        await self.armed([failed])
        await self.env.drain(64)
        log = await self.given_up()
        assert [(e.object, e.detail) for e in log] == [(failed.number, 0), (failed.number, 1)]
        assert [await host.recover(entry) for entry in log] == [False, True]
        assert len(failed.callbacks) == 2
        for n in range(3 << self.eq.log2):
            await self.ring(other, context=n)
            await self.env.drain(64)
            assert len(other.callbacks) == n + 1 and len(failed.callbacks) == 2
            assert await self.consumed(other) == [n]
        await self.ends(failed, other)


@pyuvm.test()
class EventsDuringResizeTest(DirectedTest):
    """CQ-16, CQ-19: RESIZE_EQ while sixteen CQs call back one after the other. Entries in front of
    the switch index are in the old ring, the others in the new one, whichever cycle the step
    comes in: the host that goes by it sees each callback once.
    """

    async def scenario(self) -> None:
        host = self.env.host
        eq = await host.create_eq(page=0, log2=4)
        cqs = await self.queues(CQS, eq, log2=2)
        amid = set()
        for n, lead in enumerate(LEADS):
            await self.armed(cqs)
            await self.env.drain(32)
            mark, old = len(self.seen), (eq.base, eq.base + (16 << eq.log2))
            at = self.harness.cycle + 100
            for i, cq in enumerate(cqs):
                self.env.completions.send(cq.number, context=n, at_cycle=at + i)
            await self.harness.until(at - lead)
            await cocotb.start_soon(host.resize_eq(eq, 5 - n % 2))
            await self.env.drain(64)
            slots = [e["at"] for w in self.of(MemWrite, mark, eq) for e in self.entries_of(w)]
            before = sum(old[0] <= slot < old[1] for slot in slots)
            amid.add(before)
            calls = [len(cq.callbacks) for cq in cqs]
            assert calls == [n + 1] * CQS, f"lead {lead}, {before} before"
            assert await self.consumed(*cqs) == [n] * CQS
        assert {0, CQS} < amid and len(amid) > CQS // 2, sorted(amid)


@pyuvm.test()
class RingThatIsLeftTest(EventRingTest):
    """CQ-16, CQ-18: RESIZE_EQ while memory does writes to the ring and answers them with errors. It
    is answered when nothing more can come to that ring: what the host then keeps there stays.
    A repetition that comes before goes by the entries of the ring it is in: it leaves one alone
    that the host has not read, however large the new ring is.
    """

    async def scenario(self) -> None:
        for new, passed in product((1, 4), (False, True)):
            await self.round(new, passed)

    async def round(self, new: int, passed: bool) -> None:
        """``passed``: another entry lies in the slot of the one that fails when the command comes;
        else that other entry is the first one in the new ring, and two repetitions are written.
        """
        host, mem, memory = self.env.host, self.env.mem, self.env.memory
        failed, other = await self.set_up(2, log2=1)
        eq = self.eq
        mem.latency(400)
        mem.hold_eq(eq.number)
        for skip in (0, 2):  # its first two writes are done all the same
            self.fail(1, skip=skip, lands=True)
        await self.ring(failed, other)
        await self.harness.cycles(600)
        # The host reads both; the next entry of one of them waits for the acknowledgement.
        host.on_interrupt(Interrupt(self.harness.cycle, eq.vector))
        assert len(failed.callbacks) == len(other.callbacks) == 1
        self.env.interrupts.hold()
        assert await self.consumed(other) == [0]
        await self.ring(other, context=2)
        await self.harness.cycles(600)
        if passed:
            mem.release_eq(eq.number)
            await self.harness.cycles(200)
            mem.hold_eq(eq.number)
        mark, ring = len(self.seen), eq.base
        asked = cocotb.start_soon(host.resize_eq(eq, new))
        await self.harness.cycles(600)
        assert not asked.done(), "answered while an entry is under way"
        mem.release_eq(eq.number)
        await asked
        kept = memory.read(ring, 32) if passed else bytes(range(32))
        memory.write(ring, kept)
        answered = len(self.seen)
        mem.latency(0)
        self.env.interrupts.hold(False)
        await self.env.drain(64)
        writes = self.of(MemWrite, mark, eq)
        again, first = (ring, not passed), (eq.base, True)
        wanted = [again] if passed else [again, first, again]
        assert [(w.addr, bool(w.strb)) for w in writes] == wanted, writes
        assert memory.read(ring, 32) == kept
        assert await self.consumed(other) == [2]
        await self.ring(other, context=3)
        await self.env.drain(64)
        writes = self.of(MemWrite, answered, eq)
        assert [w.addr for w in writes] == [eq.base] != [ring], writes
        assert memory.read(ring, 32) == kept
        assert (len(failed.callbacks), len(other.callbacks)) == (1, 3)
        await self.ends(failed, other)


@pyuvm.test()
class AmidOthersTest(DirectedTest):
    """CQ-16, ISO-03: RESIZE_EQ is answered when the entries of its ring are, and not before: of a
    third of the CQs, two, or all, of each EQ in turn; those of all other EQs are under way, too.
    """

    async def scenario(self) -> None:
        count, log2 = self.config.num_cq, (self.config.num_cq - 1).bit_length()
        eqs = [await self.env.host.create_eq(page=0, log2=log2) for _ in range(self.config.num_eq)]
        for eq in eqs:
            others = [other for other in eqs if other is not eq]
            # Each bit of these numbers is 0 in one of them and 1 in the other.
            for mine in (count // 3, count - 1 - count // 3, count):
                cqs = await self.queues(mine, eq, log2=2)
                rest = []
                for at in range(count - mine):
                    rest += await self.queues(1, others[at % len(others)], log2=2)
                await self.resize(eq, cqs, rest)
                for cq in cqs + rest:
                    await cq.destroy()

    async def resize(self, eq: Eq, cqs: list[Cq], others: list[Cq]) -> None:
        """An entry of each CQ is under way; those of ``others`` are in other rings, and stay so."""
        mem = self.env.mem
        eqs = {cq.eq.number for cq in others}
        for number in (eq.number, *eqs):
            mem.hold_eq(number)
        await self.armed(cqs + others)
        mark = len(self.seen)
        for cq in cqs + others:
            self.send(cq, [1])
        await self.harness.cycles(20 * len(cqs + others) + 100)
        asked = cocotb.start_soon(self.env.host.resize_eq(eq, eq.log2))
        await self.harness.cycles(200)
        assert not asked.done(), f"EQ {eq.number}: RESIZE_EQ is answered before any entry is"
        # One by one, far enough from each other: the scoreboard sees after which the command ends.
        self.harness.stall(Channel.MEM_B, 0.97)
        mem.release_eq(eq.number)
        await self.harness.cycles(60 * len(cqs) + 1000)
        self.harness.stall(Channel.MEM_B)
        assert asked.done(), f"EQ {eq.number}: RESIZE_EQ waits for entries of other rings"
        for number in eqs:
            mem.release_eq(number)
        await self.env.drain(64)
        assert sum(len(self.entries_of(w)) for w in self.of(MemWrite, mark, eq)) == len(cqs)
        assert await self.consumed(*cqs, *others) == [1] * len(cqs + others)
        assert all(len(cq.callbacks) == 1 for cq in cqs + others)
