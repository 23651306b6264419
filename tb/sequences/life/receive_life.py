# SPDX-License-Identifier: Apache-2.0
"""What changes under random receives: watermarks, sizes and lives of SRQs, regions, reaping, ports
that stall, consumers and transport that are quick and slow in turn, and what must be refused.
"""

from __future__ import annotations

from typing import ClassVar

from tb.env.defs import RREQ, SRQ_DB, Cmd, CqStatus, PageReg, Result
from tb.env.host.consumer import Consumer, Habits
from tb.sequences.life.objects import Life, Queue, allowed
from tb.sequences.traffic.receive_traffic import ReceiveTraffic

_LEAST_ROOM = 4096  # bytes left in a region that has to be renewed


class ReceiveLife(ReceiveTraffic):
    """Random receives with everything that can happen at the same time."""

    name: ClassVar[str] = "receive_life"

    #: Per look: probability of a change of an SRQ, of a region that goes and comes, of a query, of
    #: a bad ``SRQ_DB``, of an SRQ that goes and comes.
    srq_actions = 0.3
    renewals = 0.05
    queries = 0.1
    bad_reaps = 0.1
    rebirths = 0.02
    #: Cycles between two changes of rates and habits; 0: none.
    phase = 800
    #: Share of phases in which a port stalls.
    stalls = 0.3

    async def body(self) -> None:
        self._next_phase = 0
        self._rates = self.recv_rate, self.message_rate
        await super().body()

    async def _create(self) -> None:
        self._actions = (*self._actions, self._hold, self._hold, self._query)  # type: ignore[assignment]
        await super()._create()

    async def _new_srq(self, number: int, page: int) -> Queue:
        queue = await super()._new_srq(number, page)
        queue.srq.auto_reap = self.rng.random() < 0.5
        return queue

    # -- one look ----------------------------------------------------------------------------------

    def _traffic(self, begin: int) -> None:
        if self.phase and begin >= self._next_phase:
            self._next_phase = begin + self.phase
            self._change()
        super()._traffic(begin)
        rng = self.rng
        self._reap()
        for place in self.pool.places:
            if not place.busy and not place.huge and place.high - place.low < _LEAST_ROOM:
                self._start(place, self.pool.renew(place))
        idle = [queue for queue in self.queues if not queue.busy]
        if idle and self._tasks < 6 and rng.random() < self.srq_actions:
            queue = rng.choice(idle)
            kind = rng.choice((self._watermark, self._watermark, self._resize, self._query_srq))
            self._start(queue, kind(queue))
        if idle and self._tasks < 4 and rng.random() < self.rebirths:
            queue = rng.choice(idle)
            if not queue.busy:
                self._start(queue, self._rebirth(queue))
        if self._tasks < 6 and rng.random() < self.renewals:
            there = [place for place in self.pool.places if not place.busy]
            if len(there) > 2:
                place = rng.choice(there)
                self._start(place, self.pool.renew(place))
        if self._tasks < 6 and rng.random() < self.queries:
            self._start(None, self._inspect())

    def _change(self) -> None:
        """Another phase."""
        rng, env = self.rng, self.env
        self.recv_rate = self._rates[0] * rng.choice((0.0, 0.1, 1.0, 1.0, 4.0))
        self.message_rate = self._rates[1] * rng.choice((0.1, 1.0, 1.0, 5.0))
        self.receiver.latency = rng.choice(((1, 2), (1, 20), (1, 200), (300, 600)))
        self.receiver.retry = rng.choice(((16, 40), (16, 200)))
        slow = Habits(poll=0.1, tell=0.3, arm=0.2, return_delay=1000)
        for consumer in self.consumers:
            consumer.habits = rng.choice((self.habits, self.habits, slow))
        for agent in (env.interrupts, env.rdone, env.rreq):
            stall = rng.choice((0.5, 0.9, 0.97)) if rng.random() < self.stalls else 0.0
            agent.stall(stall, env.seed)

    # -- reaping -----------------------------------------------------------------------------------

    def _reap(self) -> None:
        """``SRQ_DB`` of SRQs whose driver does not, and bad ones."""
        rng = self.rng
        for queue in self.queues:
            srq = queue.srq
            if not queue.closing and not srq.auto_reap and rng.random() < 0.2:
                srq.post_reap()
        queue = rng.choice(self.queues)
        if rng.random() < self.bad_reaps and not queue.closing:
            self._bad_reap(queue)

    def _bad_reap(self, queue: Queue) -> None:
        rng, config = self.rng, self.config
        srq = queue.srq
        mask = (1 << config.idx_w) - 1
        srqs = SRQ_DB.pack(index=srq.index, srq=srq.number)
        beyond = srq.index + (1 << config.srq_log2) + 1 & mask
        bad = {
            "index": SRQ_DB.pack(index=beyond, srq=srq.number),
            "reserved": srqs | 1 << rng.choice([*range(16, 32), *range(48, 64)]),
            "number": SRQ_DB.pack(index=srq.index, srq=config.num_srq + rng.randrange(4)),
            "owner": srqs,
            "size": srqs,
        }
        if config.idx_w < 16:
            bad["wide"] = srqs | 1 << rng.randrange(config.idx_w, 16)
        kind = rng.choice(list(bad))
        page = srq.page
        if kind == "owner":
            page = (page + rng.randrange(1, config.num_pages)) % config.num_pages
        size = 2 if kind == "size" else 3
        self.env.doorbells.post(page, PageReg.SRQ_DB, bad[kind], size=size)

    # -- SRQs --------------------------------------------------------------------------------------

    async def _watermark(self, queue: Queue) -> None:
        srq, rng = queue.srq, self.rng
        most = srq.size
        mark = rng.choice((0, 1, most, rng.randint(0, most), most + 1))
        await self.env.host.command(Cmd.SET_SRQ_WATERMARK, srq.number, mark)

    async def _resize(self, queue: Queue) -> None:
        srq, rng = queue.srq, self.rng
        size = rng.randint(1, 1 << self.config.srq_log2)
        if (await self.env.host.command(Cmd.RESIZE_SRQ, srq.number, size)).result == Result.OK:
            srq.size = size

    async def _query_srq(self, queue: Queue) -> None:
        await queue.srq.status()

    async def _rebirth(self, queue: Queue) -> None:
        """The SRQ loses its users, goes, and comes again as another."""
        srq = queue.srq
        queue.closing = True
        while queue.users:
            await self.env.harness.cycles(32)
        while users := [life for life in self.lives if life.qp.srq is srq]:
            for life in users:
                if not life.busy and life in self.lives:
                    life.busy = True
                    await self._recreate(life)
            await self.env.harness.cycles(32)
        srq.auto_reap = False
        # What was written before has come when this is answered.
        assert await srq.reap() == (0, 0)
        while not await allowed(srq.free()):
            await self.env.harness.cycles(32)
        await self._quiet(queue)
        new = await self._new_srq(srq.number, self._srq_page())
        self.queues[self.queues.index(queue)] = new

    # -- queries, transport ------------------------------------------------------------------------

    async def _inspect(self) -> None:
        """A query, which the scoreboard judges."""
        rng = self.rng
        kind = rng.randrange(3)
        if kind == 0:
            consumer: Consumer = rng.choice(self.consumers)
            if not consumer.failed and (await consumer.cq.query()).status != CqStatus.OK:
                self._repair(consumer)
        elif kind == 1:
            there = [place for place in self.pool.places if not place.busy]
            if there:
                place = rng.choice(there)
                place.busy = True
                await place.region.query()
                place.busy = False
        else:
            life = rng.choice(self.lives)
            if not life.busy:
                life.busy = True
                await self._query(life)
                life.busy = False

    async def _query(self, life: Life) -> None:
        await life.qp.query()

    async def _hold(self, life: Life) -> None:
        """The transport leaves a QP alone for a while."""
        self.receiver.hold(life.qp.number)
        await self.env.harness.cycles(self.rng.randint(100, 1500))
        self.receiver.release(life.qp.number)

    def _refused_beat(self) -> None:
        """What must be refused on the receive ports, too."""
        super()._refused_beat()
        rng, env, config = self.rng, self.env, self.config
        number = rng.randrange(config.num_qp)
        taken = self.receiver.outstanding(number)
        kind = rng.randrange(6)
        if kind == 0:
            env.rreq.send_raw(number | 1 << rng.choice((*range(18, 32), *range(96, 128))))
        elif kind == 1:
            number = config.num_qp + rng.randrange(8)
            env.rreq.send_raw(RREQ.pack(qp=number, length=rng.randrange(100)))
        elif kind == 2:  # a token for nothing
            env.rreq.send_raw(RREQ.pack(qp=number, token=1, length=rng.randrange(100)))
        elif kind == 3:
            env.rdone.send(config.num_qp + rng.randrange(8), 0)
        elif kind == 4:
            env.rdone.send_raw(number | 1 << rng.randrange(40, 64))
        elif len(taken) > 1:
            env.rdone.send(number, taken[-1].tag, rng.choice((0, 1, 2)))
        elif config.idx_w < 16:
            env.rdone.send(number, 1 << config.idx_w, rng.choice((0, 2)))
