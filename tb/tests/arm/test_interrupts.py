# SPDX-License-Identifier: Apache-2.0
"""Interrupts: one for each event write, and the vectors of event queues that wait together: whose
turn it is, and what ends a wait (CQ-16).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyuvm

from tb.env.defs import Cmd, Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import Interrupt, MemResponse, MemWrite
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import DirectedTest

#: Vectors with all of 16 bits, each with both values.
VECTOR = 0xA5C0
OTHER, OTHER_LIFE = 0xFFF0, 0x3330


class TurnsTest(DirectedTest):
    """Every EQ in the order of their numbers, with a vector of its own and some CQs."""

    async def all_eqs(self, cqs_of_each: int) -> None:
        """``self.eqs``, and ``self.cqs`` of each."""
        numbers = range(self.config.num_eq)
        create = self.env.host.create_eq
        self.eqs = [await create(page=1, log2=8, vector=VECTOR + n) for n in numbers]
        assert [eq.number for eq in self.eqs] == list(numbers)
        self.cqs = [await self.queues(cqs_of_each, eq, log2=2) for eq in self.eqs]

    async def ring(self, cqs: Sequence[Cq]) -> None:
        """A callback of each CQ; their interrupts may still wait."""
        for cq in cqs:
            await self.armed([cq])
            self.send(cq, [1])
        await self.harness.cycles(60)

    async def wait_behind(self, first: int, asking: Sequence[int]) -> None:
        """The sink takes nothing: EQ ``first`` asks, and offers its vector all the same; then these
        ask, while it waits.
        """
        await self.env.drain(16)
        self.start = len(self.seen)
        # What is blocked from now on is blocked in this round.
        self.harness.forget_waits()
        self.env.interrupts.hold()
        await self.ring(self.cqs[first][:1])
        await self.harness.flush()
        assert Channel.IRQ in self.harness.blocked, f"EQ {first}: no vector is offered"
        await self.ring([self.cqs[number][1] for number in asking])

    async def sent(self) -> list[int]:
        """The sink takes everything: vectors in the order in which they come."""
        self.env.interrupts.hold(False)
        await self.harness.cycles(2 * self.config.num_eq)
        await self.env.drain(16)
        return [record.vector for record in self.of(Interrupt, self.start)]

    def turns(self, first: int, asking: Sequence[int]) -> list[int]:
        """The order of those that wait for the vector of EQ ``first``, and that one."""
        count = self.config.num_eq
        return [first, *sorted(asking, key=lambda number: (number - first - 1) % count)]

    async def returned(self, first: int, asking: Sequence[int]) -> None:
        """The callbacks are over."""
        for cq in (self.cqs[first][0], *(self.cqs[number][1] for number in asking)):
            assert await self.consumed(cq) == [1]


@pyuvm.test()
class InterruptOrderTest(TurnsTest):
    """EQs wait for the vector of one, all of them or any one of higher number, and that one
    again: they are sent in the order of their numbers, from the one after it on; its own second
    one is the last. Valid waits for nothing outside.
    """

    async def scenario(self) -> None:
        await self.all_eqs(2)
        count = len(self.eqs)
        for first in range(count):
            # They ask in an order that is not that of the numbers.
            await self.round(first, [(first + 7 * n) % count for n in range(count)])
            for behind in range(first + 1, count):
                await self.round(first, [first, behind])

    async def round(self, first: int, asking: list[int]) -> None:
        await self.wait_behind(first, asking)
        turns, sent = self.turns(first, asking), [vector - VECTOR for vector in await self.sent()]
        assert sent == turns, f"behind EQ {first}: {sent}, not {turns}"
        await self.returned(first, asking)


@pyuvm.test()
class ChangedWhileWaitingTest(TurnsTest):
    """CQ-16, CQ-20: while all EQs wait, each in turn gets another vector, another ring, or is
    destroyed and created again. Everything of all others is sent, in order; its own once, with the
    one vector or the other, but nothing of its earlier life.
    """

    # Those of destroyed EQs are never sent; the test itself counts them.
    allow = ("interrupts",)

    async def scenario(self) -> None:
        await self.all_eqs(2)
        count = len(self.eqs)
        for number in range(count):
            first = (number + 5) % count
            for change in (self.new_ring, self.new_vector, self.new_life):
                await self.wait_behind(first, range(count))
                eqs = list(self.eqs)
                before = eqs[number].vector
                left = await change(number)
                asking = [n for n in range(count) if left or n != number]
                wanted = [eqs[n].vector for n in self.turns(first, asking)]
                sent = [eqs[number].vector if v == before else v for v in await self.sent()]
                assert sent == wanted, f"{change.__name__} of EQ {number}: {sent}, not {wanted}"
                await self.returned(first, asking)

    async def new_vector(self, number: int) -> bool:
        """Returns whether an interrupt is left; so do the others."""
        eq = self.eqs[number]
        await self.env.host.modify_eq(eq, eq.vector ^ OTHER)
        return True

    async def new_ring(self, number: int) -> bool:
        # Not by the driver, which looks into the ring when it has changed it.
        eq = self.eqs[number]
        base = self.env.memory.allocate(16 << eq.log2)
        args = (eq.number, base & 0xFFFF_FFFF, base >> 32, eq.log2)
        command = await self.env.host.command(Cmd.RESIZE_EQ, *args)
        assert command.result == Result.OK
        eq.switched(base, eq.log2, command.outs[0])
        return True

    async def new_life(self, number: int) -> bool:
        host = self.env.host
        assert await self.cqs[number][1].callback_return() == (0, 0)
        for cq in self.cqs[number]:
            await cq.destroy()
        await host.destroy_eq(self.eqs[number])
        vector = OTHER_LIFE + number
        eq = await host.create_eq(number, page=1, log2=8, vector=vector)
        self.eqs[number], self.cqs[number] = eq, await self.queues(2, eq, log2=2)
        return False


@pyuvm.test()
class InterruptPerEntryTest(DirectedTest):
    """The interrupt sink never stalls, so each event write has an interrupt of its own, also when
    writes are acknowledged in consecutive cycles: bursts, and two at every distance.
    """

    async def scenario(self) -> None:
        eq = await self.env.host.create_eq(page=1, log2=4, vector=40)
        cqs = await self.queues(12, eq, log2=2)
        distances: set[int] = set()
        for count in (2, 3, 4, 12):
            distances |= await self.round(eq, cqs[:count], held=True)
        for gap in range(14):
            distances |= await self.round(eq, cqs[:2], gap=gap)
        assert distances >= set(range(1, 7)), f"not all distances: {sorted(distances)}"

    async def round(self, eq: Eq, cqs: list[Cq], gap: int = 0, held: bool = False) -> set[int]:
        """One entry each; ``held``: they are acknowledged back to back. Returns distances."""
        await self.armed(cqs)
        await self.env.drain(16)
        mark = len(self.seen)
        if held:
            self.env.mem.hold_eq(eq.number)
        at = self.harness.cycle + 20
        for number, cq in enumerate(cqs):
            self.env.completions.send(cq.number, at_cycle=at + number * gap)
        await self.env.drain()
        if held:
            self.env.mem.release_eq(eq.number)
        await self.env.drain(16)
        assert all(len(cq.callbacks) == cq.returns + 1 for cq in cqs)
        assert await self.consumed(*cqs) == [0] * len(cqs)
        acks = [response.cycle for response in self.of(MemResponse, mark, eq)]
        irqs = [irq.cycle for irq in self.of(Interrupt, mark) if irq.vector == eq.vector]
        written = [self.entries_of(write) for write in self.of(MemWrite, mark, eq)]
        assert len(acks) == len(written) and sum(map(len, written)) == len(cqs)
        assert len(irqs) == len(acks), f"acknowledged in {acks}, interrupts in {irqs}"
        assert all(irq > ack for ack, irq in zip(acks, irqs, strict=True)), f"{acks}, {irqs}"
        return {b - a for a, b in pairwise(acks)}
