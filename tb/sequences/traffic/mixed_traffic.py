# SPDX-License-Identifier: Apache-2.0
"""Random traffic on many queues at once: reservations, completions, polls, arms of every type, late
callback returns.

Python wakes once per ``chunk`` of cycles, looks at every queue, and places what it wants at exact
cycles of the next chunk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tb.env.agents import Cpl
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import ArmType, CqeType
from tb.env.host.cq import Cq, Eq
from tb.sequences import CarillonSequence

_TYPES = (CqeType.RECEIVE, CqeType.RECEIVE, CqeType.RECEIVE_AND_INVALIDATE, 0x0002, 0x0004)
_INDEX, _RETURN = -1, -2  # doorbells that are no arm
_ARMS = (ArmType.ANY, ArmType.SOLICITED, ArmType.ERRORS)


@dataclass
class _Queue:
    """One CQ with what the transport and its consumer know of it."""

    cq: Cq
    credits: int = 0
    asked: list[tuple[Pending[bool], int]] = field(default_factory=list)
    sent: int = 0
    polled: int = 0
    told: int = 0
    freed: int = 0
    returned: int = 0
    return_at: int = 0
    answers: list[tuple[Pending[WriteResult], int]] = field(default_factory=list)

    @property
    def room(self) -> int:
        """Entries that may still be asked for; an index counts when its doorbell is answered."""
        asked = sum(count for _, count in self.asked)
        return (1 << self.cq.log2) - (self.sent - self.freed) - self.credits - asked

    def expect(self, answer: Pending[WriteResult]) -> None:
        """A doorbell with what was polled so far, or a callback return."""
        self.answers.append((answer, self.told))

    def check(self) -> None:
        """Looks at the answers that have come: all must be OKAY."""
        while self.answers and self.answers[0][0].done:
            answer, told = self.answers.pop(0)
            assert answer.result == (0, 0), f"CQ {self.cq.number}: {answer.result}"
            self.freed = told


class MixedTraffic(CarillonSequence):
    """Random traffic. Ends with everything consumed, returned and checked for order."""

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
    #: Per look of a consumer: probability to poll, to tell the index, to arm; arm types drawn
    #: evenly.
    poll = 0.7
    tell = 0.3
    arm = 0.5
    #: A callback returns up to this many cycles after it was seen.
    return_delay = 400
    #: Share of queues with typed reading (CQ-09), with re-arm on old (CQ-10), without reservation.
    typed = 0.25
    rearm_old = 0.25
    unreserved = 0.25

    async def body(self) -> None:
        await self._create()
        self._doorbells: list[tuple[int, _Queue, int]] = []
        harness = self.env.harness
        end = harness.cycle + self.duration
        while harness.cycle < end:
            begin = harness.cycle + 4
            self._produce(begin)
            for queue in self.all:
                self._consume(queue, begin)
            self._ring()
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
            self.all.append(_Queue(cq))

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

    def _poll(self, queue: _Queue, limit: int) -> int:
        results = queue.cq.get_cq_results(limit)
        for result in results:
            queue.polled += 1
            want = queue.cq.number << 32 | queue.polled
            assert result.qp_context == want, (
                f"CQ {queue.cq.number}: entry {queue.polled - 1} holds {result.qp_context:#x}, "
                f"not {want:#x}"
            )
        return len(results)

    def _consume(self, queue: _Queue, begin: int) -> None:
        rng, cq = self.rng, queue.cq
        queue.check()
        if rng.random() < self.poll:
            self._poll(queue, rng.choice((1, 4, 1 << 16)))
        at = begin + rng.randrange(self.chunk)
        if rng.random() < self.arm:
            queue.told = queue.polled
            self._doorbells.append((at, queue, rng.choice(_ARMS)))
        elif rng.random() < self.tell and queue.told != queue.polled:
            queue.told = queue.polled
            self._doorbells.append((at, queue, _INDEX))
        if len(cq.callbacks) > queue.returned:
            if not queue.return_at:
                queue.return_at = begin + rng.randint(0, self.return_delay)
            elif queue.return_at <= begin:
                queue.returned += 1
                queue.return_at = 0
                self._doorbells.append((at, queue, _RETURN))

    def _ring(self) -> None:
        """Posts the doorbells of one chunk in the order of their cycles."""
        self._doorbells.sort(key=lambda item: item[0])
        for at, queue, what in self._doorbells:
            if what == _RETURN:
                queue.expect(queue.cq.post_callback_return(at=at))
            elif what == _INDEX:
                queue.expect(queue.cq.post_consumer_index(at=at))
            else:
                queue.expect(queue.cq.post_arm(what, at=at))
        self._doorbells.clear()

    async def _finish(self) -> None:
        """Everything that was sent is polled, every callback returned."""
        env = self.env
        await env.drain()
        for _ in range(100):
            busy = False
            for queue in self.all:
                cq = queue.cq
                self._poll(queue, 1 << 16)
                if queue.told != queue.polled:
                    queue.told = queue.polled
                    queue.expect(cq.post_consumer_index())
                    busy = True
                while len(cq.callbacks) > queue.returned:
                    queue.returned += 1
                    queue.expect(cq.post_callback_return())
                    busy = True
            await env.drain()
            if not busy:
                break
        for queue in self.all:
            assert queue.polled == queue.sent, (
                f"CQ {queue.cq.number}: {queue.polled} results of {queue.sent} completions"
            )
            queue.check()
