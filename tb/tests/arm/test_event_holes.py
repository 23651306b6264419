# SPDX-License-Identifier: Apache-2.0
"""Event entries that fail: the host learns of those that are given up and of those behind them, and
no entry that it has not read is overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from tb.env import defs
from tb.env.defs import CB_RETURN, EQE, ArmType, Cause, CqStatus, Kind, Life, PageReg, TraceOp
from tb.env.harness.records import Interrupt, MemWrite, Trace
from tb.env.host.cq import Cq, Eq
from tb.env.host.driver import LogEntry
from tb.tests.common.directed import SLVERR, DirectedTest

#: Writes of one entry.
ATTEMPTS = 4
#: Entries of the error log.
LOG = 16


class HoleTest(DirectedTest):
    """How each round ends."""

    @staticmethod
    def cq_of(write: MemWrite) -> int | None:
        """The CQ that an event entry is of; none if no byte of it is written."""
        if not write.strb:
            return None
        return EQE["cq"].get(write.data >> 8 * ((write.strb & -write.strb).bit_length() - 1))

    async def ends(self, eq: Eq, *cqs: Cq) -> None:
        """Everything can be destroyed."""
        await self.env.sync()
        for cq in cqs:
            self.polled(cq)
            state = await cq.query()
            if state.life == Life.READY:
                await cq.update_consumer_index()
            if state.in_callback:
                await cq.callback_return()
            await cq.destroy()
        await self.env.host.destroy_eq(eq)


@pyuvm.test()
class HoleIsToldTest(DirectedTest):
    """CQ-16, CQ-18: the entry of one CQ fails, the one behind it in the ring is acknowledged, and
    the host looks then: it stops in front of the slot that is not written yet. When that is given
    up the host is told, skips it, and finds the callback behind it. Failures of the last writes
    come at different times.
    """

    async def scenario(self) -> None:
        for gap in (0, 20, 200):
            await self.round(gap)

    async def round(self, gap: int) -> None:
        """``gap``: so many cycles more from a write to its answer."""
        host, mem = self.env.host, self.env.mem
        eq = await host.create_eq(page=0, log2=3)
        failed, behind = await self.queues(2, eq, log2=3)
        mem.latency(60 + gap)
        mem.fail(SLVERR, eq=eq.number, count=1)
        mem.fail(SLVERR, eq=eq.number, skip=2, count=ATTEMPTS - 1)
        mark = len(self.seen)
        for cq in (failed, behind):
            await cq.arm(ArmType.ANY)
        self.send(failed, [1])
        self.send(behind, [2])
        holes = 0
        for _ in range(500):
            await self.harness.cycles(5 + gap // 20)
            await self.env.sync()
            sent = self.of(Interrupt, mark)
            if len(sent) > 1:
                break
        assert len(sent) == 2, f"{len(sent)} interrupts, not one for each of two entries"
        first, last = sent
        # As a driver does at an interrupt: the log first, then the ring.
        for entry in await host.read_log():
            if entry.cause == Cause.EQ_FAILED:
                holes += 1
                assert await host.recover(entry)
        host.on_interrupt(last)
        steps = [s for s in self.of(Trace, mark) if s.op == TraceOp.EVENT_FAILED]
        assert holes == 1 and len(steps) == ATTEMPTS
        assert defs.TRC_EVENT_FAILED["give_up"].get(steps[-1].operand)
        # The vector is on its way while the step is.
        assert first.cycle < steps[1].cycle < steps[-1].cycle - 16 < last.cycle
        assert len(behind.callbacks) == len(failed.callbacks) == 1
        mem.latency(0)
        await self.env.drain()
        assert self.polled(failed) == [1] and self.polled(behind) == [2]
        for cq in (failed, behind):
            await cq.callback_return()
            await cq.update_consumer_index()
            await cq.destroy()


@pyuvm.test()
class UntoldHoleTest(HoleTest):
    """CQ-16, CQ-18: the log is full when an event entry is given up. The host finds the CQ and the
    slot by what QUERY_CQ and QUERY_EQ say; a CQ whose entry is still under way it leaves alone.
    """

    async def scenario(self) -> None:
        host, mem = self.env.host, self.env.mem
        eq = await host.create_eq(page=0, log2=2)
        cqs = await self.queues(3, eq, log2=3)
        for cq in cqs:
            await cq.arm(ArmType.ANY)
        for _ in range(3 * LOG):
            await host.write(1, PageReg.CB_RETURN, CB_RETURN.pack(cq=cqs[0].number))
        mem.fail(SLVERR, eq=eq.number, count=ATTEMPTS)
        self.send(cqs[0], [0])
        await self.env.drain(64)
        mem.hold_eq(eq.number)
        for cq in cqs[1:]:
            self.send(cq, [cq.number])
        await self.harness.cycles(100)
        assert Cause.EQ_FAILED not in [entry.cause for entry in await host.read_log()]
        assert await host.counter("LOG_LOST") > 0
        # The others' entries are in memory behind the hole, and under way.
        assert [await self.lost(cq) for cq in cqs] == [True, False, False]
        assert (await host.query_eq(eq)).producer == len(cqs)
        entry = LogEntry(Cause.EQ_FAILED, Kind.CQ, cqs[0].number, eq.reader.index)
        assert not any(cq.callbacks for cq in cqs)
        assert await host.recover(entry)
        assert [len(cq.callbacks) for cq in cqs] == [1, 1, 1]
        mem.release_eq(eq.number)
        await self.env.drain(64)
        assert not any([await self.lost(cq) for cq in cqs])
        await self.ends(eq, *cqs)

    @staticmethod
    async def lost(cq: Cq) -> bool:
        """Its callback is in progress, and no entry is or will be there."""
        state = await cq.query()
        return state.in_callback and not state.event_under_way and len(cq.callbacks) == cq.returns


@pyuvm.test()
class HoleIsKeptTest(HoleTest):
    """CQ-11, CQ-16, CQ-18: a ring without a slot to spare. The host has not read the entry of one
    CQ; that of the other is given up. It is armed again, before or behind that, or destroyed:
    nothing is written over the unread entry, because the host has not returned from the callback.
    """

    async def scenario(self) -> None:
        for trial in range(4):
            await self.round(destroy=trial % 2 == 1, early=trial < 2)

    async def round(self, destroy: bool, early: bool) -> None:
        """``early``: armed again before the entry is given up."""
        host, mem = self.env.host, self.env.mem
        eq = await host.create_eq(page=0, log2=1)
        failed, unread = await self.queues(2, eq, log2=3)
        self.env.interrupts.hold()
        await unread.arm(ArmType.ANY)
        self.send(unread, [1])
        await self.env.drain(64)
        before = self.env.memory.read(eq.base, 16)
        mem.hold_eq(eq.number)
        mem.fail(SLVERR, eq=eq.number, count=ATTEMPTS, lands=False)
        await failed.arm(ArmType.ANY)
        self.send(failed, [2])
        await self.harness.cycles(100)
        if early:
            await failed.arm(ArmType.ANY)
        mem.release_eq(eq.number)
        await self.harness.cycles(300)
        if not early:
            await failed.arm(ArmType.ANY)
        pending = destroy and await failed.destroy(wait=False)
        await self.harness.cycles(300)
        assert self.env.memory.read(eq.base, 16) == before
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
            await failed.callback_return()
        assert bool(pending) is destroy
        await self.ends(eq, failed, unread)


@pyuvm.test()
class PassedOftenTest(HoleTest):
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
        eq = await host.create_eq(page=0, log2=log2)
        failed, *others = await self.queues(1 << eq.log2, eq, log2=3)
        mark, counted = len(self.seen), await host.counter("EVENTS")
        mem.latency(400)
        mem.hold_eq(eq.number)
        self.fail_next(eq)
        await failed.arm(ArmType.ANY)
        self.send(failed, [0])
        await self.harness.cycles(100)
        await self.ring(others, 0)
        for attempt in range(1, ATTEMPTS):
            if last_fails or attempt < ATTEMPTS - 1:
                self.fail_next(eq)
            # All that were held go, one a cycle; those of what is written then come later.
            mem.release_eq(eq.number)
            await self.harness.cycles(200)
            mem.hold_eq(eq.number)
            for cq in others:
                await cq.wait_callbacks(attempt)
                cq.post_callback_return()
            await self.ring(others, attempt)
        mem.release_eq(eq.number)
        await self.env.drain(64)
        log = [e for e in await host.read_log() if e.cause == Cause.EQ_FAILED]
        told = [LogEntry(Cause.EQ_FAILED, Kind.CQ, failed.number, 0)]
        assert log == (told if last_fails else []), log
        entries = [w for w in self.of(MemWrite, mark) if w.axi_id == mem.id_of(eq=eq.number)]
        writes = [w for w in entries if self.cq_of(w) in (failed.number, None)]
        assert [bool(w.strb) for w in writes] == [True, True, False, False], writes
        assert {w.addr for w in writes} == {eq.base}
        assert await host.counter("EVENTS") - counted == len(entries)
        assert [len(cq.callbacks) for cq in (failed, *others)] == [1] + [ATTEMPTS] * len(others)
        await self.ends(eq, failed, *others)
        mem.latency()

    def fail_next(self, eq: Eq) -> None:
        """The next write to the first slots is done and answered with an error."""
        mask = (1 << 64) - 64
        self.env.mem.fail(SLVERR, eq=eq.number, addr=eq.base & mask, mask=mask, lands=True)

    async def ring(self, cqs: Sequence[Cq], context: int) -> None:
        """One callback more of each; its entry is written."""
        for cq in cqs:
            self.polled(cq)
            cq.post_arm(ArmType.ANY)
            self.send(cq, [context])
        await self.harness.cycles(2000)


@pyuvm.test()
class TwoGiveUpsTest(HoleTest):
    """CQ-16, CQ-18: all writes of one entry are done and answered with errors; the host reads it,
    returns, and arms. All writes of the CQ's next entry are not done. The log, read then, names
    both: the first was read, nothing is passed over for it, now or when the ring comes round.
    """

    async def scenario(self) -> None:
        host, mem = self.env.host, self.env.mem
        eq = await host.create_eq(page=0, log2=2)
        failed, other = await self.queues(2, eq, log2=4)
        mem.latency(100)
        for lands in (True, False):
            mem.fail(SLVERR, eq=eq.number, count=ATTEMPTS, lands=lands)
        await failed.arm(ArmType.ANY)
        self.send(failed, [1])
        await self.harness.cycles(250)
        host.on_interrupt(Interrupt(self.harness.cycle, eq.vector))
        assert len(failed.callbacks) == 1
        await failed.callback_return()
        await failed.arm(ArmType.ANY)
        await self.env.drain(64)
        log = [entry for entry in await host.read_log() if entry.cause == Cause.EQ_FAILED]
        assert [(e.object, e.detail) for e in log] == [(failed.number, 0), (failed.number, 1)]
        assert [await host.recover(entry) for entry in log] == [False, True]
        assert len(failed.callbacks) == 2
        for n in range(3 << eq.log2):
            await other.arm(ArmType.ANY)
            self.send(other, [n])
            await self.env.drain(64)
            assert len(other.callbacks) == n + 1 and len(failed.callbacks) == 2
            assert self.polled(other) == [n]
            await other.callback_return()
            await other.update_consumer_index()
        await self.ends(eq, failed, other)
