# SPDX-License-Identifier: Apache-2.0
"""What changes under random receives: watermarks, sizes and lives of SRQs, regions, reaping, ports
that stall, consumers and transport that are quick and slow in turn, and what must be refused.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, ClassVar, Protocol

from tb.env.agents.base import Pending
from tb.env.agents.control import CommandError
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import RREQ, SRQ_DB, Cmd, CqStatus, PageReg, Result, Right
from tb.env.host.consumer import Consumer, Habits
from tb.env.host.regions import RegionStatus
from tb.env.host.srq import Srq
from tb.env.scoreboard.post.ledger import Life
from tb.env.scoreboard.receive.ledger import Queue
from tb.sequences.traffic.receive_traffic import ReceiveTraffic

_LEAST_ROOM = 4096  # bytes left in a region that has to be renewed


class _Busy(Protocol):
    busy: bool


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
        self._reaps: list[tuple[Pending[WriteResult], bool]] = []
        self._next_phase = 0
        self._rates = self.recv_rate, self.message_rate
        await super().body()

    async def _create(self) -> None:
        self._actions = (*self._actions, self._hold, self._hold, self._query)  # type: ignore[assignment]
        await super()._create()

    async def _new_srq(self, number: int, page: int) -> Queue:
        queue = await super()._new_srq(number, page)
        assert isinstance(queue.handle, Srq)
        queue.handle.auto_reap = self.rng.random() < 0.5
        return queue

    def _launch(self, thing: _Busy | None, action: Coroutine[Any, Any, None]) -> None:
        async def run() -> None:
            await action
            if thing is not None:
                thing.busy = False
            self._tasks -= 1

        if thing is not None:
            thing.busy = True
        self._tasks += 1
        self.spawn(run())

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
                self._launch(place, self.pool.renew(place))
        idle = [queue for queue in self.queues if not queue.busy]
        if idle and self._tasks < 6 and rng.random() < self.srq_actions:
            queue = rng.choice(idle)
            kind = rng.choice((self._watermark, self._watermark, self._resize, self._query_srq))
            self._launch(queue, kind(queue))
        if idle and self._tasks < 4 and rng.random() < self.rebirths:
            queue = rng.choice(idle)
            if not queue.busy:
                self._launch(queue, self._rebirth(queue))
        if self._tasks < 6 and rng.random() < self.renewals:
            there = [place for place in self.pool.places if not place.busy]
            if len(there) > 2:
                place = rng.choice(there)
                self._launch(place, self.pool.renew(place))
        if self._tasks < 6 and rng.random() < self.queries:
            self._launch(None, self._inspect())

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
        while self._reaps and self._reaps[0][0].done:
            answer, good = self._reaps.pop(0)
            result = answer.result
            assert result is not None and (result == (0, 0)) is good, f"SRQ_DB: {result}, {good}"
        for queue in self.queues:
            srq = queue.handle
            assert isinstance(srq, Srq)
            if not queue.closing and not srq.auto_reap and rng.random() < 0.2:
                self._reaps.append((srq.post_reap(), True))
        queue = rng.choice(self.queues)
        if rng.random() < self.bad_reaps and not queue.closing:
            self._reaps.append((self._bad_reap(queue), False))

    def _bad_reap(self, queue: Queue) -> Pending[WriteResult]:
        rng, config = self.rng, self.config
        srq = queue.handle
        assert isinstance(srq, Srq)
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
        return self.env.doorbells.post(page, PageReg.SRQ_DB, bad[kind], size=size)

    # -- SRQs --------------------------------------------------------------------------------------

    async def _watermark(self, queue: Queue) -> None:
        srq, rng = queue.handle, self.rng
        assert isinstance(srq, Srq)
        most = srq.size
        mark = rng.choice((0, 1, most, rng.randint(0, most), most + 1))
        queue.sets += mark > 0
        result = (await self.env.host.command(Cmd.SET_SRQ_WATERMARK, srq.number, mark)).result
        wanted = {Result.BAD_SIZE} if mark > most else {Result.OK}
        assert result in wanted or (mark and result == Result.BUSY), Result(result).name
        if result != Result.OK and mark > 0:
            queue.sets -= 1

    async def _resize(self, queue: Queue) -> None:
        srq, rng = queue.handle, self.rng
        assert isinstance(srq, Srq)
        size = rng.randint(1, 1 << self.config.srq_log2)
        result = (await self.env.host.command(Cmd.RESIZE_SRQ, srq.number, size)).result
        assert result in (Result.OK, Result.TOO_SMALL), Result(result).name
        assert result == Result.OK or size < srq.size
        if result == Result.OK:
            srq.size = size

    async def _query_srq(self, queue: Queue) -> None:
        srq = queue.handle
        assert isinstance(srq, Srq)
        status = await srq.status()
        assert status.available <= status.outstanding <= status.size == srq.size, status
        assert status.watermark <= status.size, status
        assert (status.zone, status.page, status.vector) == (queue.zone, srq.page, srq.vector)

    async def _rebirth(self, queue: Queue) -> None:
        """The SRQ loses its users, goes, and comes again as another."""
        srq = queue.handle
        assert isinstance(srq, Srq)
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
        while True:
            try:
                await srq.free()
                break
            except CommandError as error:
                assert error.command.result == Result.BUSY, error
                await self.env.harness.cycles(32)
        await self._quiet(queue)
        new = await self._new_srq(srq.number, self._srq_page())
        self.queues[self.queues.index(queue)] = new

    # -- queries, transport ------------------------------------------------------------------------

    async def _inspect(self) -> None:
        rng = self.rng
        kind = rng.randrange(3)
        if kind == 0:
            consumer: Consumer = rng.choice(self.consumers)
            if not consumer.failed and (await consumer.cq.query()).status != CqStatus.OK:
                self._repair(consumer)
        elif kind == 1:
            there = [place for place in self.pool.places if not place.busy]
            if not there:
                return
            place = rng.choice(there)
            place.busy = True
            region = place.region
            status = await region.query()
            # Read after the answer: a place's first registration may still be under way before it.
            assert status == RegionStatus(
                region.key,
                region.base,
                region.length,
                region.zone,
                Right(region.rights),
                valid=True,
            )
            place.busy = False
        else:
            life = rng.choice(self.lives)
            if not life.busy:
                life.busy = True
                await self._query(life)
                life.busy = False

    async def _query(self, life: Life) -> None:
        qp = life.qp
        status = await qp.query()
        srq = None if qp.srq is None else qp.srq.number
        assert (status.srq, status.recv_depth, status.zone) == (srq, qp.recv_depth, qp.zone)
        assert (status.recv_cq, status.recv_flag) == (qp.recv_cq.number, qp.recv_flag)

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
