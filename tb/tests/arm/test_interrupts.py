# SPDX-License-Identifier: Apache-2.0
"""Interrupts: one for each event entry, and the vectors of event queues that wait together: whose
turn it is, and what ends a wait (CQ-16).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyuvm

from tb.env.defs import ArmType
from tb.env.harness.harness import Channel
from tb.env.harness.records import Interrupt, MemResponse
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import DirectedTest

BUILD = "default"

#: Vectors with all of 16 bits, each with both values.
VECTOR = 0xA5C0
OTHER_LIFE = 0x5A30


class TurnsTest(DirectedTest):
    """Every EQ, with a vector of its own and some CQs."""

    async def all_eqs(self, cqs_of_each: int) -> tuple[list[Eq], list[list[Cq]]]:
        """All EQs in the order of their numbers, and their CQs."""
        host = self.env.host
        eqs = [
            await host.create_eq(page=1, log2=8, vector=VECTOR + n)
            for n in range(self.config.num_eq)
        ]
        assert [eq.number for eq in eqs] == list(range(self.config.num_eq))
        return eqs, [await self.queues(cqs_of_each, eq, log2=2) for eq in eqs]

    async def ring(self, cqs: Sequence[Cq]) -> None:
        """A callback of each CQ; their interrupts may still wait."""
        for cq in cqs:
            cq.post_consumer_index()
            assert await cq.arm(ArmType.ANY) == (0, 0)
            self.send(cq, [1])
        await self.harness.cycles(60)

    async def released(self) -> None:
        """The sink takes everything."""
        self.env.interrupts.hold(False)
        await self.harness.cycles(2 * self.config.num_eq)
        await self.env.drain(16)

    async def returned(self, cqs: Sequence[Cq]) -> None:
        """The callbacks of these CQs are over."""
        for cq in cqs:
            assert len(self.polled(cq)) == 1
            cq.post_consumer_index()
            assert await cq.callback_return() == (0, 0)

    def sent(self, since: int) -> list[int]:
        """Vectors in the order in which they came."""
        return [record.vector for record in self.of(Interrupt, since)]


@pyuvm.test()
class InterruptOrderTest(TurnsTest):
    """EQs wait behind the vector of one, all of them or any one of higher number, and that one
    again: they are sent in the order of their numbers, from the one behind it on; its own second
    one is the last.
    """

    async def scenario(self) -> None:
        _, self.cqs = await self.all_eqs(2)
        count = len(self.cqs)
        for first in range(count):
            # They ask in an order that is not that of the numbers.
            await self.round(first, [(first + 7 * n) % count for n in range(count)])
            for behind in range(first + 1, count):
                await self.round(first, [first, behind])

    async def round(self, first: int, asking: list[int]) -> None:
        """EQ ``first``, then these while its vector waits."""
        count = len(self.cqs)
        start = len(self.seen)
        self.env.interrupts.hold()
        await self.ring(self.cqs[first][:1])
        second = [self.cqs[number][1] for number in asking]
        await self.ring(second)
        await self.released()
        turns = [first, *sorted(asking, key=lambda number: (number - first - 1) % count)]
        sent = [vector - VECTOR for vector in self.sent(start)]
        assert sent == turns, f"behind EQ {first}: {sent}, not {turns}"
        await self.returned([self.cqs[first][0], *second])


@pyuvm.test()
class InterruptOfferedTest(TurnsTest):
    """A sink that takes nothing before something is offered gets every vector: valid waits for
    nothing outside.
    """

    async def scenario(self) -> None:
        eqs, cqs = await self.all_eqs(1)
        for eq, (cq,) in zip(eqs, cqs, strict=True):
            # The latest block before: what is seen later belongs to this EQ.
            await self.env.drain(16)
            self.harness.forget_waits()
            start = len(self.seen)
            self.env.interrupts.hold()
            await self.ring([cq])
            await self.harness.flush()
            assert Channel.IRQ in self.harness.blocked, f"EQ {eq.number}: no vector is offered"
            assert self.sent(start) == []
            await self.released()
            assert self.sent(start) == [eq.vector]
            await self.returned([cq])


@pyuvm.test()
class InterruptForgottenTest(TurnsTest):
    """CQ-20: while all EQs wait, each in turn is destroyed and created again. Nothing of its
    earlier life is sent, and everything of all others.
    """

    # Those of destroyed EQs are never sent; the test itself counts them.
    allow = ("interrupts",)

    async def scenario(self) -> None:
        host = self.env.host
        eqs, cqs = await self.all_eqs(2)
        count = len(eqs)
        for gone in range(count):
            first = (gone + 5) % count
            start = len(self.seen)
            self.env.interrupts.hold()
            await self.ring(cqs[first][:1])
            waiting = [pair[1] for pair in cqs]
            await self.ring(waiting)
            old = eqs[gone]
            assert await waiting[gone].callback_return() == (0, 0)
            for cq in cqs[gone]:
                await cq.destroy()
            await host.destroy_eq(old)
            eqs[gone] = await host.create_eq(gone, page=1, log2=8, vector=OTHER_LIFE + gone)
            cqs[gone] = await self.queues(2, eqs[gone], log2=2)
            await self.released()
            turns = [first, *((first + 1 + n) % count for n in range(count))]
            vectors = [eqs[n].vector for n in turns if n != gone]
            sent = self.sent(start)
            assert sent == vectors, f"without EQ {gone}: {sent}"
            await self.returned([cqs[first][0], *(cq for cq in waiting if cq is not waiting[gone])])


@pyuvm.test()
class InterruptModifiedTest(TurnsTest):
    """CQ-16: while all EQs wait, each in turn gets another vector. It is sent once, with the one or
    the other, and all others are.
    """

    async def scenario(self) -> None:
        host = self.env.host
        eqs, cqs = await self.all_eqs(2)
        count = len(eqs)
        for number, eq in enumerate(eqs):
            first = (number + 5) % count
            start = len(self.seen)
            self.env.interrupts.hold()
            await self.ring(cqs[first][:1])
            waiting = [pair[1] for pair in cqs]
            await self.ring(waiting)
            before = eq.vector
            await host.modify_eq(eq, OTHER_LIFE + number)
            await self.released()
            sent = self.sent(start)
            assert sent[0] == eqs[first].vector
            own = [vector for vector in sent[1:] if vector in (before, eq.vector)]
            assert len(own) == 1, f"EQ {number}: {len(own)} interrupts after its vector changed"
            left = sorted(vector for vector in sent[1:] if vector not in (before, eq.vector))
            assert left == sorted(other.vector for other in eqs if other is not eq), sent
            await self.returned([cqs[first][0], *waiting])


@pyuvm.test()
class InterruptPerEntryTest(DirectedTest):
    """The interrupt sink never stalls, so each event entry has an interrupt of its own, also when
    entries are acknowledged in consecutive cycles: bursts, and two at every distance.
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
        axi_id = self.env.mem.id_of(eq=eq.number)
        for cq in cqs:
            assert await cq.arm(ArmType.ANY) == (0, 0)
        await self.env.drain(16)
        mark, calls = len(self.seen), [len(cq.callbacks) + 1 for cq in cqs]
        if held:
            self.env.mem.hold_eq(eq.number)
        at = self.harness.cycle + 20
        for number, cq in enumerate(cqs):
            self.env.completions.send(cq.number, at_cycle=at + number * gap)
        await self.env.drain()
        if held:
            self.env.mem.release_eq(eq.number)
        await self.env.drain(16)
        assert [len(cq.callbacks) for cq in cqs] == calls
        for cq in cqs:
            assert len(self.polled(cq)) == 1
            cq.post_consumer_index()
            assert await cq.callback_return() == (0, 0)
        acks = [r.cycle for r in self.of(MemResponse, mark) if r.axi_id == axi_id]
        irqs = [r.cycle for r in self.of(Interrupt, mark) if r.vector == eq.vector]
        assert len(acks) == len(cqs)
        assert len(irqs) == len(acks), f"acknowledged in {acks}, interrupts in {irqs}"
        assert all(irq > ack for ack, irq in zip(acks, irqs, strict=True)), f"{acks}, {irqs}"
        return {b - a for a, b in pairwise(acks)}
