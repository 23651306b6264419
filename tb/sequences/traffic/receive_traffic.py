# SPDX-License-Identifier: Apache-2.0
"""Random receives on many queue pairs along with random posts: own queues and SRQs, messages of the
transport and Sends of peers, ends of connections, new lives of everything.

What happens to SRQs, regions and ports meanwhile is in :mod:`tb.sequences.life.receive_life`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from models.codes import Cause, PostFlag
from models.cq.queue import NdResultEx
from models.post.post import Post, Segment
from models.receive.receive_post import RecvPost
from models.verb import Limits
from models.verbs import VERBS
from tb.env.defs import CqeType, RecvFlag
from tb.env.host.consumer import Consumer
from tb.env.transport.receive import Arrival, Taken
from tb.sequences.life.objects import Life, Posted, Queue, answered
from tb.sequences.life.post_life import PostLife
from tb.sequences.receive_pool import QUEUE_CAUSES, REGION_CAUSES, WRITE_CAUSES, Pool, bad_receive

_SENDS = tuple(opcode for opcode, verb in VERBS.items() if verb.message)
_RECEIVES = (CqeType.RECEIVE, CqeType.RECEIVE_AND_INVALIDATE)
_FREE_FLAGS = ~(PostFlag.DEFER | PostFlag.SILENT_SUCCESS | PostFlag.READ_FENCE) & 0xFFFF
_MOST_ASKED = 200  # requests that wait for their answers
_SOURCE = 4096  # bytes that Sends come from


class ReceiveTraffic(PostLife):
    """Receives and messages, without any change to SRQs, regions and ports."""

    name: ClassVar[str] = "receive_traffic"

    rate = 0.1
    #: Receive posts and messages of the transport wanted per cycle.
    recv_rate = 0.2
    message_rate = 0.1
    #: SRQs at most; share of QPs that use one; of QPs whose peers' Sends take buffers.
    srqs = 4
    shared = 0.6
    served = 0.8
    #: Share of Sends among the posts, and of messages that the transport asks for until they are
    #: received.
    sends = 0.4
    patient = 0.3
    #: Usual bytes of a buffer; share of other sizes; of segments of some gigabytes.
    usual = 48
    unusual = 0.3
    huge = 0.05
    #: Share of messages that are too long for the buffer that seems to be next, of those that fit
    #: exactly.
    too_long = 0.01
    exact = 0.2
    #: Share of receive posts that must fail.
    bad_receives = 0.1
    #: Share of contexts that are 0 or those of the buffer before.
    twins = 0.1

    async def body(self) -> None:
        #: Of each QP that there was, by its context; of those that there are, by number.
        self._queue_of: dict[int, Queue] = {}
        self._queue_at: dict[int, Queue] = {}
        self.receiver = self.env.transport.receiver
        self.receiver.inject = self._took
        self.receiver.fill = True
        self._asked = 0
        self._waiting = 0
        self._cookie = 0
        self.queues: list[Queue] = []
        await super().body()
        await self._close()

    # -- objects -----------------------------------------------------------------------------------

    async def _create(self) -> None:
        config = self.env.config
        assert config is not None and config.num_srq
        self.pool = Pool(self.env.host, self.rng, config)
        await self.pool.create()
        self._source = self.env.memory.allocate(_SOURCE)
        self.env.memory.write(self._source, self.rng.randbytes(_SOURCE))
        await super()._create()

    async def _new_srq(self, number: int, page: int) -> Queue:
        rng = self.rng
        config = self.config
        zone = rng.choice(self.pool.zones)
        eq = self.env.host.eqs.get(rng.randrange(config.num_eq))
        vector = rng.choice((None, None, None if eq is None else eq.vector))
        size = rng.choice((1 << config.srq_log2, rng.randint(1, 1 << config.srq_log2)))
        srq = await self.env.host.create_srq(number, size=size, page=page, zone=zone, vector=vector)
        return Queue(srq, zone)

    def _srq_page(self) -> int:
        return self.rng.choice(self.consumers).cq.page

    async def _new_life(self, number: int, consumer: Consumer) -> Life:
        rng, config = self.rng, self.config
        if not self.queues:
            for index in range(min(self.srqs, config.num_srq)):
                page = self.consumers[index % len(self.consumers)].cq.page
                self.queues.append(await self._new_srq(index, page))
        page = consumer.cq.page
        mates = [c for c in self.consumers if c.cq.page == page and not c.failed]
        queues = [q for q in self.queues if q.handle.page == page and not q.closing]
        queue = rng.choice(queues) if queues and rng.random() < self.shared else None
        most = 1 << config.sq_log2
        watermark, age = self._hold_limits()
        deepest = 1 << config.rq_log2
        own_depth = rng.choice((deepest, rng.randint(1, deepest))) if rng.random() < 0.9 else 0
        if queue is not None:
            queue.users += 1
        qp = await self.env.host.create_qp(
            number,
            cq=consumer.cq,
            recv_cq=rng.choice(mates or [consumer]).cq,
            depth=rng.randint(1, most) if rng.random() < self.shallow else most,
            context=rng.getrandbits(48) << 16 | number,
            watermark=watermark,
            age=age,
            recv_depth=own_depth if queue is None else 0,
            zone=rng.choice(self.pool.zones),
            srq=None if queue is None else queue.srq,
            recv_flag=rng.choice(list(RecvFlag)),
        )
        if queue is not None:
            queue.users -= 1
        else:
            queue = Queue(qp, qp.zone)
        self._queue_of[qp.context] = self._queue_at[number] = queue
        if self.receiver.enabled is not None:
            self.receiver.enabled.discard(number)
            if rng.random() < self.served:
                self.receiver.enable(number)
        return Life(qp)

    def _ended(self, life: Life) -> bool:
        known = self.lost < 1 and self.receiver.ended(life.qp.number)
        return known or super()._ended(life)

    def _queue(self, life: Life) -> Queue:
        return self._queue_of[life.qp.context]

    async def _destroy(self, life: Life) -> None:
        await super()._destroy(life)
        queue = self._queue(life)
        if not queue.shared:
            await self._quiet(queue)

    async def _quiet(self, queue: Queue) -> None:
        """No more posts, and all answered."""
        queue.paused = True
        while any(not buffer.answer.done for buffer in queue.unanswered):
            await self.env.harness.cycles(16)
        self._answers(queue, None)

    # -- what is heard -----------------------------------------------------------------------------

    def _completed(self, cq: int, result: NdResultEx) -> None:
        if result.type in _RECEIVES:
            self._queue_of[result.qp_context].polled += 1
        else:
            super()._completed(cq, result)

    def _took(self, taken: Taken) -> None:
        self._queue_at[taken.qp].taken += 1

    def _answers(self, queue: Queue, life: Life | None) -> None:
        for cause, buffer in answered(queue.unanswered):
            if cause is Cause.OK:
                queue.accepted.append(buffer.post.length)
            if life is None:
                continue
            if cause is Cause.BAD_STATE and buffer.epoch == life.epoch:
                life.down += 1
            if cause is Cause.CQ_ERROR:
                self._repair(self._receiver_of(life))

    def _receiver_of(self, life: Life) -> Consumer:
        return next(c for c in self.consumers if c.cq is life.qp.recv_cq)

    async def _look(self, traffic: Callable[[int], None] | None, greedy: bool = False) -> None:
        for life in self.lives:
            queue = self._queue(life)
            if not queue.shared:
                self._answers(queue, life)
        for queue in self.queues:
            self._answers(queue, None)
        await super()._look(traffic, greedy)

    # -- receive posts -----------------------------------------------------------------------------

    def _traffic(self, begin: int) -> None:
        super()._traffic(begin)
        if self.env.doorbells.driver.outstanding < 3 * self.chunk:
            self._receives(begin)
        self._messages(begin)

    def _every(self, begin: int, rate: float) -> list[int]:
        """Cycles of the next chunk, in order."""
        rng = self.rng
        count = int(rate * self.chunk + rng.random())
        return sorted(begin + rng.randrange(self.chunk) for _ in range(count))

    def _receives(self, begin: int) -> None:
        rng = self.rng
        cycles = self._every(begin, self.recv_rate)
        while cycles:
            life = self._whose()
            queue = self._queue(life)
            if queue.shared and rng.random() < 0.3:
                queue = rng.choice(self.queues)  # which may have no user
            for _ in range(min(len(cycles), rng.randint(1, self.run_length))):
                self._receive(queue, life, cycles.pop(0))

    def _receive(self, queue: Queue, life: Life, at: int) -> None:
        """One receive post, good or bad, or none if the queue looks full."""
        rng = self.rng
        if queue.paused:
            return
        post = self._random_receive(queue)
        page, options = queue.handle.page, dict[str, Any]()
        if rng.random() < self.bad_receives:
            foreign = Cause.BAD_SRQ if queue.shared else Cause.BAD_QP
            cause = rng.choice((*WRITE_CAUSES, *QUEUE_CAUSES, *REGION_CAUSES * 2, foreign))
            bad = bad_receive(
                rng, cause, post, page, queue.zone, queue.shared, self.pool, self.config
            )
            if bad is None:
                return
            page, post, options = bad.page, bad.post, bad.options
        elif queue.room <= 0 and rng.random() >= self.overrun:
            return
        epoch = life.epoch
        # Else several posts may be planned for the same room.
        planned = self.lost < 1
        queue.planned += planned

        def ring() -> None:
            queue.planned -= planned
            answer = queue.handle.queue_recv(post, page=page, at=at, **options)
            queue.unanswered.append(Posted(answer, epoch, post))

        self._doorbells.append((at, ring))

    def _random_receive(self, queue: Queue) -> RecvPost:
        rng = self.rng
        capacity = self.usual
        if rng.random() < self.unusual:
            more = 4 * self.usual
            capacity = rng.choice((rng.randint(self.usual, more), more, rng.randint(0, more)))
            capacity = 0 if rng.random() < 0.1 else capacity
        segments = self.pool.segments(queue.zone, capacity, self.huge)
        if rng.random() >= self.twins:
            self._cookie = rng.getrandbits(64)
        cookie = 0 if rng.random() < self.twins / 2 else self._cookie
        return queue.handle.make_recv(segments, cookie)

    # -- messages ----------------------------------------------------------------------------------

    def _random_post(self, life: Life, need: int = 0) -> Post:
        rng = self.rng
        if rng.random() >= self.sends:
            verb = VERBS[rng.choice([code for code in VERBS if code not in _SENDS])]
            post = verb.fields(rng, Limits(life.qp.number, _FREE_FLAGS, need))
            return replace(post, context=self._context(life))
        verb = VERBS[rng.choice(_SENDS)]
        most = self.usual if rng.random() >= self.too_long else 6 * self.usual
        post = verb.fields(rng, Limits(life.qp.number, _FREE_FLAGS, need, most))
        if not post.has(PostFlag.INLINE):
            slots = list(post.slots)
            for index, segment in enumerate(post.segments):
                start = self._source + rng.randrange(_SOURCE - min(segment.length, _SOURCE))
                slots[index] = Segment(start, segment.length, segment.key).encode()
            post = replace(post, slots=(slots[0], slots[1], slots[2]))
        return replace(post, context=self._context(life))

    def _messages(self, begin: int) -> None:
        rng = self.rng
        for at in self._every(begin, self.message_rate):
            life = self._whose()
            fields = self._message(life)
            if rng.random() < self.patient:
                if self._waiting < 2 * len(self.lives):
                    self._waiting += 1
                    arrival = Arrival(**fields, settled=self._settled, at=at)
                    self.receiver.arrive(arrival)
            elif self.env.rreq.driver.outstanding < _MOST_ASKED:
                self.receiver.post_request(**fields, at_cycle=at)

    def _settled(self, _: int) -> None:
        self._waiting -= 1

    def _message(self, life: Life) -> dict[str, Any]:
        rng = self.rng
        number = life.qp.number
        next_one = self._next_capacity(life)
        length = rng.choice((0, self.usual, rng.randint(0, self.usual)))
        if rng.random() < self.exact:
            length = min(next_one, 4 * self.usual)
        if rng.random() < self.too_long and next_one <= 4 * self.usual:
            more = 100 if self.huge else (1 << 32) - 1 - next_one
            length = next_one + rng.choice((1, rng.randint(1, 100), more))
        invalidate = rng.random() < 0.2
        return {
            "qp": number,
            "length": length,
            "solicited": rng.random() < 0.4,
            "invalidate": invalidate,
            "token": rng.getrandbits(32) if invalidate else 0,
        }

    def _next_capacity(self, life: Life) -> int:
        """Bytes of the buffer that seems to be the next one."""
        queue, index = self._queue(life), self._queue(life).taken
        if not queue.shared:  # which flushes have taken from, too
            index = queue.polled + len(self.receiver.outstanding(life.qp.number))
        return queue.accepted[index] if index < len(queue.accepted) else self.usual

    # -- CQs that fail -----------------------------------------------------------------------------

    def _users(self, consumer: Consumer) -> list[Life]:
        return [x for x in self.lives if consumer.cq in (x.qp.cq, x.qp.recv_cq)]

    # -- the end -----------------------------------------------------------------------------------

    def _closers(self, begin: int) -> None:
        super()._closers(begin)
        self._receives(begin)

    def _resting(self) -> bool:
        queues = [*self.queues, *(self._queue(life) for life in self.lives)]
        return super()._resting() and not any(queue.unanswered for queue in queues)

    async def _finish(self) -> None:
        self.receiver.tries = 4
        for life in self.lives:
            self.receiver.release(life.qp.number)
        for agent in (self.env.interrupts, self.env.rdone, self.env.rreq):
            agent.stall(0.0)
        await super()._finish()

    async def _close(self) -> None:
        """At rest everything is looked at; then it goes, and every buffer has completed or is given
        back.
        """
        await self._settle()
        for consumer in self.consumers:
            await consumer.cq.query()
        for queue in self.queues:
            await self._account(queue)
        for life in self.lives:
            await life.qp.flush()
        await self._settle()
        for life in self.lives:
            await life.qp.destroy()
        await self._settle()
        for queue in self.queues:
            await self._account(queue)
            await queue.srq.free()

    async def _settle(self) -> None:
        """Everything is written, polled and reaped."""
        for _ in range(2):
            await self.env.drain()
            for consumer in self.consumers:
                consumer.poll()
                if consumer.told != consumer.polled:
                    consumer.told = consumer.polled
                    assert await consumer.cq.update_consumer_index() == (0, 0)

    async def _account(self, queue: Queue) -> None:
        """Everything is reaped, also of CQs that have failed; what is left nobody took (SRQ-17)."""
        srq = queue.srq
        status = await srq.status()
        assert await srq.reap(status.completed) == (0, 0), f"SRQ {srq.number}: {status}"
        await srq.status()
