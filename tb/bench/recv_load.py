# SPDX-License-Identifier: Apache-2.0
"""Load for the measurements of receives: buffers posted before and while they are taken, messages
for many queue pairs at full rate, reports by the harness.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from tb.bench.load import AHEAD, CHUNK, Load, Window
from tb.bench.post_load import Line, PostLoad
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.base_test import CarillonTest
from tb.env.defs import Scatter
from tb.env.harness.records import Record, RecvDone, RecvRequest, ScatterAnswer
from tb.env.host.qp import Qp, connect_pair
from tb.env.host.recv import ReceiveQueue, Srq
from tb.env.host.regions import Region

#: Bytes of each of the three segments of a buffer, and bytes of a message: it reaches the third.
SEGMENT = 64
MESSAGE = 2 * SEGMENT + 8
#: Cycles from an answer to its report.
REPORT_CYCLES = 1
_LEAD = 64
_OK = (0, 0)


class RecvLoadTest(PostLoad, Load, CarillonTest):
    """Base of the measurements of receives; the harness is the transport."""

    region: Region

    async def create_receivers(
        self, count: int, *, log2: int, latency: int, shared: int = 0, depth: int = 0
    ) -> list[Qp]:
        """So many connected QPs, each with a CQ of 2^``log2`` entries. They use ``shared`` SRQs in
        turn, or have queues of ``depth`` buffers of their own.
        """
        host = self.env.host
        cqs = await self.create(count, log2, latency=latency)
        self.srqs = [await host.create_srq(page=cq.page) for cq in cqs[:shared]]
        qps = []
        for number, cq in enumerate(cqs):
            srq = self.srqs[number % shared] if shared else None
            qps.append(await host.create_qp(cq=cq, srq=srq, recv_depth=depth))
        for first, second in zip(qps[::2], qps[1::2], strict=True):
            await connect_pair(first, second)
        self.region = await host.register(4096)
        self.requests: list[tuple[int, int]] = []
        self.scattered: list[tuple[int, int]] = []
        self.reported: list[tuple[int, int]] = []
        self.indicated: list[tuple[int, int]] = []
        self.told = dict.fromkeys((cq.number for cq in cqs), 0)
        self.env.add_subscriber(self._count, "receives")
        self.env.add_subscriber(self._take, "work beats")
        return qps

    def _count(self, records: list[Record]) -> None:
        for record in records:
            if isinstance(record, RecvRequest):
                self.requests.append((record.cycle, 1))
            elif isinstance(record, RecvDone):
                self.reported.append((record.cycle, 1))
            elif isinstance(record, ScatterAnswer) and record.user & 0xF == Scatter.SCATTER:
                self.scattered.append((record.cycle, 1))

    def buffer(self, queue: ReceiveQueue, at: int = 0) -> Pending[WriteResult]:
        """Queues the post of a buffer of three segments."""
        segments = [self.region.segment(256 * k, SEGMENT) for k in range(3)]
        return queue.queue_recv(queue.make_recv(segments), at=at)

    async def buffers(self, queues: Sequence[ReceiveQueue], count: int) -> Window:
        """Posts so many buffers on each queue, one per cycle in turns. Returns the middle half of
        the time of their answers.
        """
        seen = len(self.meter.doorbells)
        await self.write_all(queue for _ in range(count) for queue in queues)
        return self.meter.middle(self.meter.doorbells[seen:])

    async def write_all(self, todo: Iterable[ReceiveQueue | Line], start: int = 0) -> None:
        """Writes receive posts on queues, or posts, one per cycle; all must be accepted."""
        harness = self.harness
        start = start or harness.cycle + _LEAD
        answers: deque[Pending[WriteResult]] = deque()
        for writes, item in enumerate(todo):
            while writes >= harness.cycle - start + CHUNK + AHEAD:
                await harness.cycles(CHUNK)
                self._settle(answers)
            if isinstance(item, Line):
                answers.append(item.qp.queue(item.bits, at=start))
            else:
                answers.append(self.buffer(item, at=start))
        while answers:
            await harness.cycles(CHUNK)
            self._settle(answers)

    @staticmethod
    def _settle(answers: deque[Pending[WriteResult]]) -> None:
        while answers and answers[0].done:
            answer = answers.popleft().result
            assert answer == _OK, f"refused: {answer}"

    def messages(self, qps: Sequence[Qp], count: int) -> int:
        """Queues so many messages for each QP, one per cycle in turns; returns the cycle of the
        first.
        """
        receiver = self.env.transport.receiver
        start = self.harness.cycle + _LEAD
        for _ in range(count):
            for qp in qps:
                receiver.post_request(qp.number, MESSAGE, at_cycle=start)
        return start

    async def settle(self, taken: int | None = None) -> None:
        """Waits for the end; ``taken``: so many buffers were taken, each message got one."""
        await self.env.drain(quiet=600)
        counters = await self.env.host.counters()
        assert counters["DB_REFUSED"] == counters["WRITE_ERRORS"] == counters["LOG_LOST"] == 0
        assert counters["RECV_REFUSED"] == 0 and counters["RECV_DONE"] == counters["TAKEN"]
        if taken is not None:
            assert counters["TAKEN"] == taken and counters["NOT_READY"] == 0, counters

    def queues(self, qps: Sequence[Qp]) -> Sequence[Qp | Srq]:
        """Where the QPs take their buffers."""
        return self.srqs or qps
