# SPDX-License-Identifier: Apache-2.0
"""Event queues that change their rings while events are on their way (CQ-16, CQ-19)."""

from __future__ import annotations

import cocotb
import pyuvm

from tb.env.defs import ArmType, Cmd, Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import Command, Interrupt, MemResponse, MemWrite
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import SLVERR, DirectedTest

BUILD = "default"

CQS = 16
#: Cycles from the call of the resize to the first completion, in which its step comes amid them.
LEADS = range(-24, 50)


@pyuvm.test()
class EventsBesideResizeTest(DirectedTest):
    """CQ-16, CQ-19: RESIZE_EQ while sixteen CQs call back one after the other. Entries in front of
    the switch index are in the old ring, the others in the new one, whichever cycle the step
    comes in: the host that goes by it sees each callback once.
    """

    async def scenario(self) -> None:
        host, mem = self.env.host, self.env.mem
        eq = await host.create_eq(page=0, log2=4)
        cqs = await self.queues(CQS, eq, log2=2)
        amid = set()
        for n, lead in enumerate(LEADS):
            for cq in cqs:
                assert await cq.arm(ArmType.ANY) == (0, 0)
            await self.env.drain(32)
            mark, old = len(self.seen), (eq.base, eq.base + (16 << eq.log2))
            at = self.harness.cycle + 100
            for i, cq in enumerate(cqs):
                self.env.completions.send(cq.number, context=n, at_cycle=at + i)
            await self.harness.until(at - lead)
            await cocotb.start_soon(host.resize_eq(eq, 5 - n % 2))
            await self.env.drain(64)
            writes = [w for w in self.of(MemWrite, mark) if w.axi_id == mem.id_of(eq=eq.number)]
            before = sum(old[0] <= w.addr < old[1] for w in writes)
            amid.add(before)
            assert [len(cq.callbacks) for cq in cqs] == [n + 1] * CQS, (
                f"lead {lead}, {before} before"
            )
            for cq in cqs:
                assert self.polled(cq) == [n]
                assert await cq.callback_return() == (0, 0)
                await cq.update_consumer_index()
        assert {0, CQS} < amid and len(amid) > CQS // 2, sorted(amid)


@pyuvm.test()
class RingThatIsLeftTest(DirectedTest):
    """CQ-16, CQ-18: RESIZE_EQ while memory does writes to the ring and answers them with errors. It
    is answered when nothing more can come to that ring: what the host then keeps there stays.
    A repetition that comes before goes by the entries of the ring it is in: it leaves one alone
    that the host has not read, however large the new ring is.
    """

    async def scenario(self) -> None:
        for new in (1, 4):
            for passed in (False, True):
                await self.round(new, passed)

    async def round(self, new: int, passed: bool) -> None:
        """``passed``: another entry lies in the slot of the one that fails when the command comes;
        else that other entry is the first one in the new ring, and two repetitions are written.
        """
        host, mem, memory = self.env.host, self.env.mem, self.env.memory
        eq = await host.create_eq(page=0, log2=1)
        failed, other = cqs = await self.queues(2, eq, log2=4)
        mem.latency(400)
        mem.hold_eq(eq.number)
        for skip in (0, 2):  # its first two writes are done all the same
            mem.fail(SLVERR, eq=eq.number, skip=skip, lands=True)
        for cq in cqs:
            await cq.arm(ArmType.ANY)
            self.send(cq, [1])
        await self.harness.cycles(600)
        # The host reads both; the next entry of one of them waits for the acknowledgement.
        host.on_interrupt(Interrupt(self.harness.cycle, eq.vector))
        assert len(failed.callbacks) == len(other.callbacks) == 1
        self.env.interrupts.hold()
        await other.callback_return()
        await other.arm(ArmType.ANY)
        self.send(other, [2])
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
        writes = [w for w in self.of(MemWrite, mark) if w.axi_id == mem.id_of(eq=eq.number)]
        again, first = (ring, not passed), (eq.base, True)
        wanted = [again] if passed else [again, first, again]
        assert [(w.addr, bool(w.strb)) for w in writes] == wanted, writes
        assert memory.read(ring, 32) == kept
        self.polled(other)
        await other.callback_return()
        await other.arm(ArmType.ANY)
        self.send(other, [3])
        await self.env.drain(64)
        writes = [w for w in self.of(MemWrite, answered) if w.axi_id == mem.id_of(eq=eq.number)]
        assert [w.addr for w in writes] == [eq.base] != [ring], writes
        assert memory.read(ring, 32) == kept
        assert [len(cq.callbacks) for cq in cqs] == [1, 3]
        for cq in cqs:
            self.polled(cq)
            await cq.callback_return()
            await cq.destroy()
        await host.destroy_eq(eq)


@pyuvm.test()
class WaitingInterruptTest(DirectedTest):
    """CQ-16: the interrupt of one EQ is on offer, that of another one waits behind it; the rings of
    both change. Both are raised, and the host finds each callback.
    """

    async def scenario(self) -> None:
        host = self.env.host
        eqs = [await host.create_eq(page=0, log2=2) for _ in range(2)]
        cqs = [(await self.queues(1, eq, log2=3))[0] for eq in eqs]
        self.env.interrupts.hold()
        for cq in cqs:
            await cq.arm(ArmType.ANY)
            self.send(cq, [1])
            await self.harness.cycles(100)
        for eq in eqs:
            # Not by the driver, which looks into the ring when it has changed it.
            base = self.env.memory.allocate(16 << 3)
            args = (eq.number, base & 0xFFFF_FFFF, base >> 32, 3)
            command = await host.command(Cmd.RESIZE_EQ, *args)
            assert command.result == Result.OK
            eq.switched(base, 3, command.outs[0])
        assert not any(cq.callbacks for cq in cqs)
        mark = len(self.seen)
        self.env.interrupts.hold(False)
        await self.env.drain(64)
        assert [i.vector for i in self.of(Interrupt, mark)] == [eq.vector for eq in eqs]
        assert [len(cq.callbacks) for cq in cqs] == [1, 1]


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
        host, mem = self.env.host, self.env.mem
        eqs = {cq.eq.number for cq in others}
        for number in (eq.number, *eqs):
            mem.hold_eq(number)
        for cq in cqs + others:
            assert await cq.arm(ArmType.ANY) == (0, 0)
        mark = len(self.seen)
        for cq in cqs + others:
            self.send(cq, [1])
        await self.harness.cycles(20 * len(cqs + others) + 100)
        asked = cocotb.start_soon(host.resize_eq(eq, eq.log2))
        await self.harness.cycles(200)
        assert not asked.done(), f"EQ {eq.number}: RESIZE_EQ is answered before any entry is"
        # One by one, far enough from each other to see behind which one the command ends.
        self.harness.stall(Channel.MEM_B, 0.97)
        mem.release_eq(eq.number)
        await self.harness.cycles(60 * len(cqs) + 1000)
        self.harness.stall(Channel.MEM_B)
        assert asked.done(), f"EQ {eq.number}: RESIZE_EQ waits for entries of other rings"
        answers = [
            a.cycle for a in self.of(MemResponse, mark) if a.axi_id == mem.id_of(eq=eq.number)
        ]
        (end,) = [c.cycle for c in self.of(Command, mark) if c.code == Cmd.RESIZE_EQ]
        early = sum(answer > end for answer in answers)
        assert not early, f"EQ {eq.number}: RESIZE_EQ is answered before {early} entries are"
        for number in eqs:
            mem.release_eq(number)
        await self.env.drain(64)
        writes = [w for w in self.of(MemWrite, mark) if w.axi_id == mem.id_of(eq=eq.number)]
        assert len(writes) == len(cqs)
        for cq in cqs + others:
            assert len(cq.callbacks) == cq.returns + 1 and self.polled(cq) == [1]
            assert await cq.callback_return() == (0, 0)
            assert await cq.update_consumer_index() == (0, 0)
