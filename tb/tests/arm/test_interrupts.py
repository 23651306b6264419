# SPDX-License-Identifier: Apache-2.0
"""Interrupts of event entries that are acknowledged in any cycle around each other (CQ-16)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyuvm

from tb.env.defs import ArmType
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
