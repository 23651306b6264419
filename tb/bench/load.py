# SPDX-License-Identifier: Apache-2.0
"""Load for the measurements: completions, reservations and a consumer at full rate, and the meter
that takes rates from the recorded handshakes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import cocotb

from models.layouts import EQE_BYTES
from tb.bench.report import Goal, metric
from tb.env.agents.base import Pending
from tb.env.agents.completion import Cpl
from tb.env.agents.doorbell import WriteResult
from tb.env.base_test import CarillonTest
from tb.env.defs import ArmType
from tb.env.env import CarillonEnv
from tb.env.harness.harness import Harness
from tb.env.harness.records import (
    Completion,
    CreditAnswer,
    DoorbellResponse,
    MemResponse,
    MemWrite,
    Record,
)
from tb.env.host.cq import Callback, Cq

#: Cycles by which the requests for credits run ahead of the completions that use them.
LEAD = 512
#: Cycles between two looks of the consumer, and the doorbells it keeps queued beyond the next look.
CHUNK = 128
AHEAD = 128
#: 1 us at 250 MHz.
MEMORY_CYCLES = 250
RATE_1: Goal = (">=", 1.0)
_OK = (0, 0)


class Window(NamedTuple):
    """The clock cycles first to last - 1."""

    first: int
    last: int


class Meter:
    """Collects the cycles of handshakes."""

    def __init__(self, env: CarillonEnv) -> None:
        assert env.config is not None
        self.num_cq = env.config.num_cq
        #: (cycle, how many) of each kind; those of memory: one for each write.
        self.completions: list[tuple[int, int]] = []
        self.cqes: list[tuple[int, int]] = []
        self.eqes: list[tuple[int, int]] = []
        self.doorbells: list[tuple[int, int]] = []
        self.credits: list[tuple[int, int]] = []
        self.answers = 0
        #: Entries of each CQ that were seen in memory.
        self.written = [0] * self.num_cq
        #: Writes accepted and not yet answered: now, and at most.
        self.outstanding = 0
        self.outstanding_max = 0

    def write(self, records: list[Record]) -> None:
        """Takes a block of records."""
        for record in records:
            kind = type(record)
            if kind is MemWrite:
                assert isinstance(record, MemWrite)
                self.outstanding += 1
                self.outstanding_max = max(self.outstanding_max, self.outstanding)
                if record.axi_id < self.num_cq:
                    count = (record.strb & 1) + (record.strb >> 63)
                    self.cqes.append((record.cycle, count))
                    self.written[record.axi_id] += count
                else:
                    self.eqes.append((record.cycle, record.strb.bit_count() // EQE_BYTES))
            elif kind is MemResponse:
                self.outstanding -= 1
            elif kind is DoorbellResponse:
                self.doorbells.append((record.cycle, 1))
            elif kind is Completion:
                assert isinstance(record, Completion)
                self.completions.append((record.cycle, (record.keep & 1) + (record.keep >> 1)))
            elif kind is CreditAnswer:
                self.credits.append((record.cycle, 1))

    @staticmethod
    def middle(seen: Sequence[tuple[int, int]]) -> Window:
        """The middle half of the time in which something was seen."""
        first, last = seen[0][0], seen[-1][0]
        quarter = (last - first) // 4
        return Window(first + quarter, last - quarter)

    @staticmethod
    def rate(seen: Sequence[tuple[int, int]], window: Window) -> float:
        """How many per cycle."""
        inside = sum(n for cycle, n in seen if window.first <= cycle < window.last)
        return inside / (window.last - window.first)


class Consumer:
    """Consumers of all queues: one doorbell per cycle, or fewer, as long as ``running``.

    ``arms``: types to arm with and how often each of them is drawn against one plain consumer
    index. ``returns_every``: at most one callback return in so many doorbells. The index told is
    that after the latest entry seen in memory.
    """

    def __init__(
        self,
        test: CarillonTest,
        meter: Meter,
        cqs: Sequence[Cq],
        *,
        doorbells_per_cycle: float = 1.0,
        arms: dict[ArmType, float] | None = None,
        returns_every: int = 1,
    ) -> None:
        self.rng = test.rng("consumer")
        self.env = test.env
        self.meter = meter
        self.cqs = cqs
        self.per_cycle = doorbells_per_cycle
        self.kinds: list[ArmType | None] = [None, *(arms or {})]
        self.weights = [1.0, *(arms or {}).values()]
        self.returns_every = returns_every
        self.running = True
        #: Callbacks seen and not returned, oldest first.
        self.called: deque[Cq] = deque()
        self.sent: dict[str, int] = {}
        self._since_return = 0
        self._seen = 0
        self._answers: deque[Pending[WriteResult]] = deque()

    async def run(self) -> None:
        """Posts doorbells chunk by chunk."""
        harness = self.env.harness
        posted = 0.0
        begin = harness.cycle
        while self.running:
            callbacks = self.env.host.callbacks
            self._take(callbacks[self._seen :])
            self._seen = len(callbacks)
            wanted = (harness.cycle - begin + CHUNK + AHEAD) * self.per_cycle
            while posted < wanted:
                self._post()
                posted += 1
            while self._answers and self._answers[0].done:
                answer = self._answers.popleft()
                assert answer.result == _OK, f"doorbell refused: {answer.result}"
            await harness.cycles(CHUNK)

    def _take(self, callbacks: Sequence[Callback]) -> None:
        self.called.extend(self.env.host.cqs[callback.cq] for callback in callbacks)

    def _post(self) -> None:
        self._since_return += 1
        if self.called and self._since_return >= self.returns_every:
            self._since_return = 0
            answer = self.called.popleft().post_callback_return()
            kind = "return"
        else:
            cq = self.rng.choice(self.cqs)
            index = self.meter.written[cq.number] & 0xFFFF
            (arm,) = self.rng.choices(self.kinds, self.weights)
            if arm is None:
                answer = cq.post_consumer_index(index)
                kind = "index"
            else:
                answer = cq.post_arm(arm, index=index)
                kind = arm.name
        self._note(kind, answer)

    def _note(self, kind: str, answer: Pending[WriteResult]) -> None:
        self.sent[kind] = self.sent.get(kind, 0) + 1
        self._answers.append(answer)

    def mix(self) -> str:
        """What was posted, for the report."""
        total = sum(self.sent.values())
        return "/".join(f"{100 * n / total:.1f}% {kind}" for kind, n in sorted(self.sent.items()))


class Answering(Consumer):
    """Consumers that return from each callback and arm again, and do nothing else: at most one
    doorbell per cycle, and two for each callback.
    """

    async def run(self) -> None:
        self.idle = deque(self.cqs)
        await super().run()

    def _post(self) -> None:
        """Returns go first: what is armed calls back at once."""
        if self.called:
            cq = self.called.popleft()
            self._note("return", cq.post_callback_return())
            self.idle.append(cq)
        elif self.idle:
            cq = self.idle.popleft()
            index = self.meter.written[cq.number] & 0xFFFF
            self._note("ANY", cq.post_arm(ArmType.ANY, index=index))


class Load:
    """Queues that carry load: a mix-in of tests."""

    # Of the test.
    env: CarillonEnv
    harness: Harness

    async def create(
        self, which: int | Sequence[int], log2: int, *, typed: bool = False, latency: int = 0
    ) -> list[Cq]:
        """Creates CQs with reservation (so many, or with these numbers), spread evenly over all
        EQs, and sets the latency of memory: cycles from a write to its response.
        """
        env = self.env
        assert env.config is not None
        numbers = range(which) if isinstance(which, int) else which
        used = min(len(numbers), env.config.num_eq)
        eqs = []
        for number in range(env.config.num_eq - used, env.config.num_eq):
            page = (number + 1) * env.config.num_pages // env.config.num_eq - 1
            eqs.append(await env.host.create_eq(number, log2=8, page=page))
        cqs = [
            await env.host.create_cq(number, eq=eqs[n % used], log2=log2, typed=typed)
            for n, number in enumerate(numbers)
        ]
        env.mem.latency(max(latency - 1, 0))
        self.meter = Meter(env)
        env.add_subscriber(self.meter.write, "meter")
        return cqs

    def send(self, beats: Sequence[tuple[Cq, ...]]) -> None:
        """Queues beats of one or two completions, and ahead of them requests for their credits."""
        env = self.env
        start = env.harness.cycle + LEAD
        for number, beat in enumerate(beats):
            pair = len(beat) > 1 and beat[0] is beat[1]
            for cq in beat[:1] if pair else beat:
                env.credits.post(cq.number, 1 + pair)
            lanes = [Cpl(cq.number, context=number) for cq in beat]
            env.completions.send_beat(lanes, at_cycle=start)

    async def finish(self, beats: Sequence[tuple[Cq, ...]], consumer: Consumer) -> None:
        """Waits for the end of the completions; all of them must have been placed."""
        while not self.env.completions.idle:
            await self.harness.cycles(CHUNK)
        consumer.running = False
        await self.env.drain(quiet=300)
        counters = await self.env.host.counters()
        wanted = sum(map(len, beats))
        assert counters["CPL_PLACED"] == wanted, f"{counters['CPL_PLACED']} of {wanted} placed"
        assert counters["DB_REFUSED"] == counters["WRITE_ERRORS"] == counters["LOG_LOST"] == 0


class RateTest(Load, CarillonTest):
    """Completions at full rate. The consumer of a plain run tells an index every 32 cycles."""

    async def run_load(self, beats: Sequence[tuple[Cq, ...]], consumer: Consumer) -> Meter:
        """Sends the beats while the consumer runs, to the end."""
        task = cocotb.start_soon(consumer.run())
        self.send(beats)
        await self.finish(beats, consumer)
        await task
        return self.meter

    async def plain(
        self, name: str, beats: Sequence[tuple[Cq, ...]], goal: Goal | None = None
    ) -> float:
        """Measures and reports completions per cycle alone."""
        cqs = list(dict.fromkeys(cq for beat in beats for cq in beat))
        consumer = Consumer(self, self.meter, cqs, doorbells_per_cycle=1 / 32)
        meter = await self.run_load(beats, consumer)
        rate = meter.rate(meter.cqes, meter.middle(meter.cqes))
        metric(f"cqe_per_cycle_{name}", rate, goal)
        return rate
