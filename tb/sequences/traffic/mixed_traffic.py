# SPDX-License-Identifier: Apache-2.0
"""Random traffic on many queues at once: reservations, completions, polls, arms of every type, late
callback returns.

Python wakes once per ``chunk`` of cycles, looks at every queue, and places what it wants at exact
cycles of the next chunk.
"""

from __future__ import annotations

from typing import ClassVar

from tb.env.agents.base import Pending
from tb.env.agents.completion import Cpl
from tb.env.defs import CqeType
from tb.env.host.consumer import Consumer, Habits
from tb.env.host.cq import Cq, Eq
from tb.sequences import CarillonSequence

_TYPES = (CqeType.RECEIVE, CqeType.RECEIVE, CqeType.RECEIVE_AND_INVALIDATE, 0x0002, 0x0004)


class _Queue:
    """One CQ with its consumer, and what the transport knows of it."""

    def __init__(self, cq: Cq, habits: Habits) -> None:
        self.cq = cq
        self.consumer = Consumer(cq, habits, lambda *_: None)
        self.credits = 0
        self.asked: list[tuple[Pending[bool], int]] = []
        self.sent = 0

    @property
    def room(self) -> int:
        """Entries that may still be asked for; an index counts when its doorbell is answered."""
        asked = sum(count for _, count in self.asked)
        return (1 << self.cq.log2) - (self.sent - self.consumer.freed) - self.credits - asked


class MixedTraffic(CarillonSequence):
    """Random traffic. Ends with everything consumed and returned."""

    name: ClassVar[str] = "mixed_traffic"

    #: Queues; their rings have 2^log2_min to 2^log2_max entries.
    queues = 16
    eqs = 4
    log2_min = 3
    log2_max = 7
    #: Clock cycles of traffic, and cycles between two looks of the consumers.
    duration = 20_000
    chunk = 128
    #: Completions wanted per cycle; share of them in pairs, silent, solicited, with an error
    #: status.
    rate = 0.25
    pairs = 0.2
    silent = 0.03
    solicited = 0.3
    errors = 0.02
    habits = Habits(poll=0.7, tell=0.3, arm=0.5, return_delay=400)
    #: Share of queues with typed reading (CQ-09), with re-arm on old (CQ-10), without reservation.
    typed = 0.25
    rearm_old = 0.25
    unreserved = 0.25

    async def body(self) -> None:
        await self._create()
        harness = self.env.harness
        end = harness.cycle + self.duration
        while harness.cycle < end:
            begin = harness.cycle + 4
            self._produce(begin)
            self._consume(begin)
            await harness.until(begin + self.chunk - 4)
        await self._finish()

    async def _create(self) -> None:
        host, rng = self.env.host, self.rng
        config = self.env.config
        assert config is not None
        count = min(self.queues, config.num_cq)
        eqs: list[Eq] = []
        log2 = max(1, (count - 1).bit_length())
        for number in range(min(self.eqs, config.num_eq)):
            page = rng.randrange(config.num_pages)
            eqs.append(await host.create_eq(log2=log2, page=page, vector=100 + number))
        self.all: list[_Queue] = []
        for _ in range(count):
            cq = await host.create_cq(
                eq=rng.choice(eqs),
                log2=min(rng.randint(self.log2_min, self.log2_max), config.max_log2),
                reservation=rng.random() >= self.unreserved,
                typed=rng.random() < self.typed,
                rearm_old=rng.random() < self.rearm_old,
            )
            self.all.append(_Queue(cq, self.habits))

    # -- transport ---------------------------------------------------------------------------------

    def _produce(self, begin: int) -> None:
        """Reservations and completions of one chunk."""
        rng, credits = self.rng, self.env.credits
        for queue in self.all:
            if not queue.cq.reservation:
                # The transport keeps within the ring by itself.
                queue.credits += queue.room
                continue
            waiting = []
            for answer, count in queue.asked:
                if not answer.done:
                    waiting.append((answer, count))
                elif answer.result:
                    queue.credits += count
            queue.asked = waiting
            while len(queue.asked) < 16 and queue.credits < 32 and queue.room > 1:
                count = rng.randint(1, 2)
                queue.asked.append((credits.post(queue.cq.number, count, begin), count))
        cycles = sorted(
            begin + rng.randrange(self.chunk) for _ in range(round(self.rate * self.chunk))
        )
        for cycle in cycles:
            queue = rng.choice(self.all)
            lanes = [self._completion(queue)]
            if rng.random() < self.pairs:
                same = lanes[0] is not None and rng.random() < 0.5
                lanes.append(self._completion(queue if same else rng.choice(self.all)))
            if any(lanes):
                self.env.completions.send_beat(lanes, at_cycle=cycle)

    def _completion(self, queue: _Queue) -> Cpl | None:
        if not queue.credits:
            return None
        rng = self.rng
        queue.credits -= 1
        kind = rng.random()
        if kind < self.silent:
            return Cpl(queue.cq.number, silent=True)
        queue.sent += 1
        return Cpl(
            queue.cq.number,
            context=queue.sent,
            qp_context=queue.cq.number << 32 | queue.sent,
            bytes=rng.getrandbits(32),
            token=rng.getrandbits(32),
            type=rng.choice(_TYPES),
            qp=rng.getrandbits(24),
            status=1 if kind > 1 - self.errors else 0,
            solicited=rng.random() < self.solicited,
        )

    # -- consumers ---------------------------------------------------------------------------------

    def _consume(self, begin: int, greedy: bool = False) -> bool:
        """Doorbells of one chunk, in the order of their cycles; whether there are any."""
        doorbells = [
            one
            for queue in self.all
            for one in queue.consumer.look(self.rng, begin, self.chunk, greedy)
        ]
        for _, ring in sorted(doorbells, key=lambda item: item[0]):
            ring()
        return bool(doorbells)

    async def _finish(self) -> None:
        """Everything that was sent is polled, every callback returned."""
        env = self.env
        await env.drain()
        while self._consume(env.harness.cycle + 4, greedy=True):
            await env.drain()
        assert all(queue.consumer.check() for queue in self.all)
