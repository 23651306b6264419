# SPDX-License-Identifier: Apache-2.0
"""Interrupts of event entries that are acknowledged in any cycle around each other (CQ-16)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyuvm

from tb.env.defs import ArmType
from tb.env.harness.harness import Channel
from tb.env.harness.records import Interrupt, MemResponse
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import DirectedTest


class InterruptTest(DirectedTest):
    """Rounds in which each of some queues calls back once."""

    async def armed(self, cqs: Sequence[Cq]) -> int:
        """All of them wait for a completion; returns where the records of the round begin."""
        for cq in cqs:
            assert await cq.arm(ArmType.ANY) == (0, 0)
        await self.env.drain(16)
        return len(self.seen)

    async def finished(self, cqs: Sequence[Cq], calls: Sequence[int]) -> None:
        """Each was called once; they return."""
        await self.env.drain(16)
        for cq, before in zip(cqs, calls, strict=True):
            assert len(cq.callbacks) == before + 1, f"CQ {cq.number}: {cq.callbacks[before:]}"
            assert len(self.polled(cq)) == 1
            cq.post_consumer_index()
            assert await cq.callback_return() == (0, 0)

    def acknowledged(self, eq: Eq, since: int) -> list[int]:
        """Cycles of the answers to event entries."""
        axi_id = self.env.mem.id_of(eq=eq.number)
        return [r.cycle for r in self.of(MemResponse, since) if r.axi_id == axi_id]

    def raised(self, eq: Eq, since: int) -> list[int]:
        """Cycles of the vectors."""
        return [r.cycle for r in self.of(Interrupt, since) if r.vector == eq.vector]


@pyuvm.test()
class InterruptPerEntryTest(InterruptTest):
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
        calls = [len(cq.callbacks) for cq in cqs]
        start = await self.armed(cqs)
        if held:
            self.env.mem.hold_eq(eq.number)
        at = self.harness.cycle + 20
        for number, cq in enumerate(cqs):
            self.env.completions.send(cq.number, at_cycle=at + number * gap)
        await self.env.drain()
        if held:
            self.env.mem.release_eq(eq.number)
        await self.finished(cqs, calls)
        acks, irqs = self.acknowledged(eq, start), self.raised(eq, start)
        assert len(acks) == len(cqs)
        assert len(irqs) == len(acks), f"acknowledged in {acks}, interrupts in {irqs}"
        assert all(irq > ack for ack, irq in zip(acks, irqs, strict=True)), f"{acks}, {irqs}"
        return {b - a for a, b in pairwise(acks)}


@pyuvm.test()
class InterruptMeetsStallTest(InterruptTest):
    """The sink takes up work in every cycle around the acknowledgement of another entry of the same
    EQ, of another EQ, or both: an interrupt follows every acknowledgement.
    """

    async def scenario(self) -> None:
        host = self.env.host
        eqs = [await host.create_eq(page=1, log2=3, vector=40 + n) for n in range(2)]
        one = await self.queues(3, eqs[0], log2=2)
        two = await self.queues(2, eqs[1], log2=2)
        around: set[int] = set()
        for late in (one[2:], two[1:], [one[2], two[1]]):
            for offset in range(-8, 17):
                around |= await self.round(eqs, [*one[:2], two[0]], late, offset)
        assert around >= {-2, -1, 0, 1, 2}, f"the sink never met them: {sorted(around)}"

    async def round(self, eqs: list[Eq], early: list[Cq], late: list[Cq], offset: int) -> set[int]:
        """``early`` ones wait in front of the sink. Returns when, seen from the acknowledgement of
        the late ones, the sink took the first vector.
        """
        cqs = [*early, *late]
        calls = [len(cq.callbacks) for cq in cqs]
        start = await self.armed(cqs)
        self.env.interrupts.hold()
        for cq in early:
            self.env.completions.send(cq.number)
        await self.harness.cycles(60)
        at = self.harness.cycle + 40
        for cq in late:
            self.env.completions.send(cq.number, at_cycle=at)
        # Completion to acknowledged event entry takes about 14 cycles.
        await self.harness.until(at + 10 + offset)
        self.harness.hold(Channel.IRQ, False)
        await self.finished(cqs, calls)
        first = min(irq for eq in eqs for irq in self.raised(eq, start))
        around = set()
        for eq in eqs:
            acks, irqs = self.acknowledged(eq, start), self.raised(eq, start)
            assert irqs and irqs[-1] > acks[-1], f"acknowledged in {acks}, interrupts in {irqs}"
            assert len(irqs) <= len(acks), f"acknowledged in {acks}, interrupts in {irqs}"
            around.add(first - acks[-1])
        return around
