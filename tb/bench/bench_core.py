# SPDX-License-Identifier: Apache-2.0
"""Speed at the pins, in clock cycles, taken from the recorded handshakes.

Memory and sinks are always ready. Rates: the middle half of a run, memory answers after 250 cycles
(1 us at 250 MHz); every completion has a credit that was asked for while the run went on.
Latencies: the largest of several samples with an idle engine and a memory that answers in the next
cycle. The scoreboard checks all of it.
"""

from __future__ import annotations

from typing import TypeVar

import cocotb
import pyuvm

from tb.bench.load import MEMORY_CYCLES, RATE_1, Answering, Consumer, Goal, Load, RateTest
from tb.bench.report import config, metric
from tb.env.base_test import CarillonTest
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

BUILD = "bench"
BEATS = 20_000
SAMPLES = 32
RATE_2: Goal = (">=", 2.0)
#: Ceilings, in cycles.
WAYS: dict[str, Goal] = {
    "done_to_write": ("<=", 8),
    "bresp_to_event": ("<=", 9),
    "arm_to_event": ("<=", 9),
    "eqe_ack_to_irq": ("<=", 5),
}
#: An event write takes a cycle of the port in addition to the completions that it stands for.
EVERY_CALLBACK: Goal = (">=", 0.8)
#: By memory latency, where 256 writes under way are too few for a write per cycle.
LONG: dict[int, Goal] = {300: (">=", 0.84), 400: (">=", 0.63)}
R = TypeVar("R", bound=Record)


@pyuvm.test()
class Uniform(RateTest):
    """One completion per cycle, each for a random CQ; a credit per cycle with it."""

    async def scenario(self) -> None:
        cqs = await self.create(256, 10, latency=MEMORY_CYCLES)
        rng = self.rng("beats")
        await self.plain("uniform", [(rng.choice(cqs),) for _ in range(BEATS)], RATE_1)
        meter = self.meter
        credits = meter.rate(meter.credits, meter.middle(meter.credits))
        metric("reservations_per_cycle", credits, RATE_1)
        assert self.env.config is not None
        config("CQs", self.env.config.num_cq)
        config("MAX_WRITES", self.env.config.max_writes)
        config("memory answers after", f"{MEMORY_CYCLES} cycles")
        config("beats per run", BEATS)


class _LongLatency(RateTest):
    """Memory takes more cycles than there are writes under way: one more per write and 3 cycles."""

    cycles: int

    async def scenario(self) -> None:
        cqs = await self.create(256, 10, latency=self.cycles)
        rng = self.rng("beats")
        beats = [(rng.choice(cqs),) for _ in range(BEATS // 2)]
        await self.plain(f"memory_{self.cycles}", beats, LONG[self.cycles])


@pyuvm.test()
class Memory300(_LongLatency):
    """A completion per cycle offered, memory answers after 300 cycles."""

    cycles = 300


@pyuvm.test()
class Memory400(_LongLatency):
    """The same after 400 cycles."""

    cycles = 400


@pyuvm.test()
class OneCq(RateTest):
    """All completions on one CQ."""

    async def scenario(self) -> None:
        (cq,) = await self.create(1, 14, latency=MEMORY_CYCLES)
        await self.plain("one_cq", [(cq,)] * BEATS, RATE_1)


@pyuvm.test()
class Paired(RateTest):
    """Two neighbours of one CQ in each cycle, random CQs."""

    async def scenario(self) -> None:
        cqs = await self.create(256, 10, latency=MEMORY_CYCLES)
        rng = self.rng("beats")
        await self.plain("paired", [(rng.choice(cqs),) * 2 for _ in range(BEATS)], RATE_2)


@pyuvm.test()
class TwoLanesMixed(RateTest):
    """Beats of two completions for two different CQs."""

    async def scenario(self) -> None:
        cqs = await self.create(256, 10, latency=MEMORY_CYCLES)
        rng = self.rng("beats")
        beats = [tuple(rng.sample(cqs, 2)) for _ in range(BEATS // 2)]
        await self.plain("two_lanes_mixed", beats, RATE_1)


@pyuvm.test()
class WithDoorbells(RateTest):
    """A doorbell in every cycle that causes no event, so that completions may have the whole write
    port: indices, arms that wait, and returns of callbacks called before the measured time.
    """

    async def scenario(self) -> None:
        cqs = await self.create(256, 10, typed=True, latency=MEMORY_CYCLES)
        rng = self.rng("beats")
        for cq in cqs:
            cq.post_arm(ArmType.ANY)
        await self.env.drain()
        beats = [(rng.choice(cqs),) for _ in range(BEATS)]
        arms = {ArmType.SOLICITED: 0.5, ArmType.ERRORS: 0.25}
        consumer = Consumer(self, self.meter, cqs, arms=arms, returns_every=64)
        meter = await self.run_load(beats, consumer)
        window = meter.middle(meter.cqes)
        metric("cqe_per_cycle_with_doorbells", meter.rate(meter.cqes, window), RATE_1)
        metric("doorbells_per_cycle", meter.rate(meter.doorbells, window), RATE_1)
        events = meter.rate(meter.eqes, window)
        assert events == 0, f"{events} events per cycle in the measured time"
        config("mix of doorbells", consumer.mix())


@pyuvm.test()
class WithCallbacks(RateTest):
    """Every consumer arms again and again, so that events compete with completions for the port."""

    async def scenario(self) -> None:
        cqs = await self.create(256, 10, latency=MEMORY_CYCLES)
        rng = self.rng("beats")
        beats = [(rng.choice(cqs),) for _ in range(BEATS // 2)]
        consumer = Consumer(self, self.meter, cqs, arms={ArmType.ANY: 1.0})
        meter = await self.run_load(beats, consumer)
        window = meter.middle(meter.cqes)
        metric("cqe_per_cycle_with_callbacks", meter.rate(meter.cqes, window))
        metric("callbacks_per_cycle", meter.rate(meter.eqes, window))
        writes = [(cycle, 1) for cycle, _ in meter.cqes + meter.eqes]
        metric("writes_per_cycle_with_callbacks", meter.rate(writes, window))
        metric("doorbells_per_cycle_with_callbacks", meter.rate(meter.doorbells, window))
        config("mix with callbacks", consumer.mix())


@pyuvm.test()
class EveryCallback(RateTest):
    """Each callback is returned from and its CQ armed again at once: completions call back as far
    as the doorbell side keeps up, which has three steps for each callback. Memory latency of 100
    cycles.
    """

    async def scenario(self) -> None:
        cqs = await self.create(256, 10, latency=100)
        beats = [(cqs[n % len(cqs)],) for n in range(BEATS // 2)]
        meter = await self.run_load(beats, Answering(self, self.meter, cqs))
        window = meter.middle(meter.cqes)
        metric("cqe_per_cycle_every_callback", meter.rate(meter.cqes, window), EVERY_CALLBACK)
        metric("callbacks_per_cycle_every_callback", meter.rate(meter.eqes, window))


@pyuvm.test()
class DoorbellsAlone(RateTest):
    """Doorbells without completions."""

    allow = ("no_completions",)

    async def scenario(self) -> None:
        cqs = await self.create(256, 4)
        arms = {ArmType.SOLICITED: 0.5, ArmType.ERRORS: 0.25}
        consumer = Consumer(self, self.meter, cqs, arms=arms)
        task = cocotb.start_soon(consumer.run())
        await self.harness.cycles(5_000)
        consumer.running = False
        await task
        await self.env.drain()
        meter = self.meter
        rate = meter.rate(meter.doorbells, meter.middle(meter.doorbells))
        metric("doorbells_per_cycle_alone", rate, RATE_1)


@pyuvm.test()
class OutstandingWrites(RateTest):
    """Memory accepts writes and answers none of them."""

    allow = ("no_doorbells",)

    async def scenario(self) -> None:
        cqs = await self.create(256, 6)
        self.env.mem.hold_responses()
        beats = [(cq,) for cq in cqs * 3]
        self.send(beats)
        await self.harness.cycles(3_000)
        await self.env.sync()
        metric("outstanding_writes_max", self.meter.outstanding_max, (">=", 256))
        self.env.mem.release_responses()
        await self.finish(beats, Consumer(self, self.meter, cqs))


@pyuvm.test()
class Latencies(Load, CarillonTest):
    """Way of one completion, one arm, one credit through an idle engine; the largest of several
    samples. A write is recorded in the cycle in which address and data are accepted: memory is
    always ready here, so that this is the first cycle of its valid.
    """

    async def scenario(self) -> None:
        found = await self.measure()
        for name, ceiling in WAYS.items():
            metric(f"{name}_cycles", found[name], ceiling)
        for name in ("doorbell_to_answer", "credit_to_answer"):
            metric(f"{name}_cycles", found[name])

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
