# SPDX-License-Identifier: Apache-2.0
"""Latencies between handshakes, with an otherwise idle engine."""

from __future__ import annotations

from typing import TypeVar

from tb.bench.load import LoadTest
from tb.env.defs import ArmType
from tb.env.harness.records import (
    Completion,
    CreditAnswer,
    CreditRequest,
    DoorbellRequest,
    DoorbellResponse,
    Interrupt,
    MemResponse,
    MemWrite,
    Record,
)
from tb.env.host.cq import Cq

SAMPLES = 32
R = TypeVar("R", bound=Record)


class LatencyTest(LoadTest):
    """Takes samples of every way through the engine and keeps the largest.

    A write is recorded in the cycle in which address and data are accepted. Memory is always
    ready here, so that this is the first cycle of its valid.
    """

    def _one(self, kind: type[R], axi_id: int | None = None) -> R:
        found = [
            record
            for record in self.seen
            if isinstance(record, kind)
            and (axi_id is None or getattr(record, "axi_id", 0) == axi_id)
        ]
        assert len(found) == 1, f"{len(found)} {kind.__name__} instead of one"
        return found[0]

    def _note(self, name: str, cycles: int) -> None:
        self.longest[name] = max(self.longest.get(name, 0), cycles)

    async def measure(self) -> dict[str, int]:
        """The largest number of cycles of each way."""
        self.seen: list[Record] = []
        self.longest: dict[str, int] = {}
        self.env.add_subscriber(self.seen.extend, "samples")
        cqs = await self.create(SAMPLES, 4)
        for number, cq in enumerate(cqs):
            await self._credit(cq)
            await self._armed(cq)
            await self.harness.cycles(number % 7)
            await self._arm(cq)
        return self.longest

    async def _credit(self, cq: Cq) -> None:
        """Two credits, in a request each."""
        for _ in range(2):
            self.seen.clear()
            assert await self.env.credits.reserve(cq.number)
            cycles = self._one(CreditAnswer).cycle - self._one(CreditRequest).cycle
            self._note("credit_to_answer", cycles)

    async def _armed(self, cq: Cq) -> None:
        """A completion meets an arm."""
        await self._doorbell(cq, arm=True)
        self.seen.clear()
        self.env.completions.send(cq.number)
        await self.env.drain()
        cqe, eqe = cq.number, self.env.mem.id_of(eq=cq.eq.number)
        write = self._one(MemWrite, cqe)
        event = self._one(MemWrite, eqe)
        self._note("done_to_write", write.cycle - self._one(Completion).cycle)
        self._note("bresp_to_event", event.cycle - self._one(MemResponse, cqe).cycle)
        self._note("eqe_ack_to_irq", self._one(Interrupt).cycle - self._one(MemResponse, eqe).cycle)

    async def _arm(self, cq: Cq) -> None:
        """An arm meets a new completion."""
        await cq.callback_return()
        await self._doorbell(cq)
        self.env.completions.send(cq.number)
        await self.env.drain()
        request = await self._doorbell(cq, arm=True)
        event = self._one(MemWrite)
        self._note("arm_to_event", event.cycle - request.cycle)

    async def _doorbell(self, cq: Cq, arm: bool = False) -> DoorbellRequest:
        """A consumer index, with or without an arm."""
        index = len(cq.callbacks)
        self.seen.clear()
        await (cq.arm(ArmType.ANY, index=index) if arm else cq.update_consumer_index(index))
        await self.env.drain()
        request = self._one(DoorbellRequest)
        self._note("doorbell_to_answer", self._one(DoorbellResponse).cycle - request.cycle)
        return request
