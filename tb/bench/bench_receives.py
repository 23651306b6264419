# SPDX-License-Identifier: Apache-2.0
"""Speed of receives at the pins, from requests and posts to completions in memory, taken as in
bench_core.py. Buffers have three segments; a message reaches the third.
"""

from __future__ import annotations

from typing import TypeVar

import pyuvm

from tb.bench.load import MEMORY_CYCLES, RATE_1, Goal
from tb.bench.recv_load import MESSAGE, REPORT_CYCLES, RecvLoadTest
from tb.bench.report import config, metric
from tb.env.defs import Scatter
from tb.env.harness.records import (
    DoorbellRequest,
    DoorbellResponse,
    MemWrite,
    Record,
    RecvDone,
    RecvRequest,
    ScatterAnswer,
)
from tb.env.host.recv import ReceiveQueue

BUILD = "engine_bench"
QPS = 64
SRQS = 16
DEPTH = 256
#: Messages for each QP, buffers for each that are posted before, and while they arrive.
MESSAGES = 128
BEFORE = 32
#: Posts for each QP during receives.
POSTS = 32
SAMPLES = 32
#: Ceilings.
SCATTER: Goal = ("<=", 9)
WRITE: Goal = ("<=", 10, 13)  # four of them read and judge the report
R = TypeVar("R", bound=Record)


class _RatesTest(RecvLoadTest):
    """A request per cycle, each for the next QP; with it a receive post per cycle."""

    shared = 0
    suffix = ""

    async def scenario(self) -> None:
        depth = 0 if self.shared else DEPTH
        qps = await self.create_receivers(
            QPS, log2=10, latency=MEMORY_CYCLES, shared=self.shared, depth=depth
        )
        queues: list[ReceiveQueue] = list(self.queues(qps))
        each = QPS // len(queues)
        await self.buffers(queues, BEFORE * each)
        seen = len(self.meter.doorbells)
        self.env.transport.receiver.loopback(latency=REPORT_CYCLES)
        start = self.messages(qps, MESSAGES)
        later = (MESSAGES - BEFORE) * each
        await self.write_all((queue for _ in range(later) for queue in queues), start)
        await self.settle(MESSAGES * QPS)
        meter = self.meter
        rate = meter.rate(self.scattered, meter.middle(self.scattered))
        metric(f"receive_requests_per_cycle{self.suffix}", rate, RATE_1)
        answers = meter.doorbells[seen:]
        rate = meter.rate(answers, meter.middle(answers))
        metric(f"receive_posts_per_cycle{self.suffix}", rate, RATE_1)
        rate = meter.rate(meter.cqes, meter.middle(meter.cqes))
        metric(f"receive_cqe_per_cycle{self.suffix}", rate, RATE_1)


@pyuvm.test()
class OwnQueues(_RatesTest):
    """QPs with queues of their own."""


@pyuvm.test()
class SharedQueues(_RatesTest):
    """Four QPs on each SRQ."""

    suffix = "_shared"
    shared = SRQS


@pyuvm.test()
class OneQp(RecvLoadTest):
    """All messages for one QP."""

    async def scenario(self) -> None:
        qps = await self.create_receivers(2, log2=10, latency=MEMORY_CYCLES, shared=2)
        (count,) = {srq.size for srq in self.srqs}
        await self.buffers(self.queues(qps)[:1], count)
        self.env.transport.receiver.loopback(latency=REPORT_CYCLES)
        self.messages(qps[:1], count)
        await self.settle()
        meter = self.meter
        rate = meter.rate(self.scattered, meter.middle(self.scattered))
        metric("receive_requests_per_cycle_one_qp", rate, RATE_1)


@pyuvm.test()
class BothDirections(RecvLoadTest):
    """A post per cycle and a request per cycle. Both complete, by turns, until the posts are done;
    requests wait for reports, and reports for completions.
    """

    async def scenario(self) -> None:
        qps = await self.create_receivers(QPS, log2=10, latency=MEMORY_CYCLES, depth=DEPTH)
        await self.buffers(qps, MESSAGES)
        seen = len(self.meter.doorbells)
        self.env.transport.loopback(latency=REPORT_CYCLES)
        self.env.transport.receiver.loopback(latency=REPORT_CYCLES)
        start = self.messages(qps, MESSAGES // 2)
        lines = [line for _ in range(POSTS) for qp in qps for line in self.lines([qp], 1)]
        await self.write_all(lines, start)
        await self.settle()
        meter = self.meter
        answers = meter.doorbells[seen : seen + len(lines)]
        window = meter.middle(answers)
        metric("posts_per_cycle_with_receives", meter.rate(answers, window), RATE_1)
        metric("receive_requests_per_cycle_with_posts", meter.rate(self.requests, window))
        metric("cqe_per_cycle_both_directions", meter.rate(meter.cqes, window))
        receives = meter.rate(self.reported, window)
        metric("receive_reports_per_cycle_both_directions", receives)


@pyuvm.test()
class ReceiveLatencies(RecvLoadTest):
    """Way of one buffer of an own queue through an idle engine, on each of several QPs."""

    shared = 0
    suffix = ""

    async def scenario(self) -> None:
        self.seen: list[Record] = []
        self.longest: dict[str, int] = {}
        self.env.add_subscriber(self.seen.extend, "samples")
        depth = 0 if self.shared else 4
        qps = await self.create_receivers(
            SAMPLES, log2=4, latency=0, shared=self.shared, depth=depth
        )
        for number, qp in enumerate(qps):
            await self.harness.cycles(number % 7)
            await self._one_buffer(qp.srq or qp, qp.number)
        assert self.env.config is not None
        config("receive queue", 1 << self.env.config.rq_log2)
        config("SRQ", 1 << self.env.config.srq_log2)
        config("segments of a buffer", 3)
        config("receive reports after", f"{REPORT_CYCLES} cycle")
        config("receive requests per run", QPS * MESSAGES)
        metric(f"receive_post_response_cycles{self.suffix}", self.longest["response"])
        metric(f"receive_request_to_scatter_cycles{self.suffix}", self.longest["scatter"], SCATTER)
        metric(f"receive_report_to_write_cycles{self.suffix}", self.longest["write"], WRITE)

    def _one(self, kind: type[R]) -> R:
        found = [record for record in self.seen if isinstance(record, kind)]
        assert len(found) == 1, f"{len(found)} {kind.__name__} instead of one"
        return found[0]

    def _note(self, name: str, first: Record, second: Record) -> None:
        cycles = second.cycle - first.cycle
        self.longest[name] = max(self.longest.get(name, cycles), cycles)

    async def _one_buffer(self, queue: ReceiveQueue, qp: int) -> None:
        """It is posted, taken, reported, and completes."""
        self.seen.clear()
        receiver = self.env.transport.receiver
        receiver.automatic = False
        assert await self.buffer(queue) == (0, 0)
        answer = await receiver.request(qp, MESSAGE)
        assert answer.code == Scatter.SCATTER and answer.nbytes == MESSAGE, answer
        receiver.report(qp)
        await self.env.drain()
        self._note("response", self._one(DoorbellRequest), self._one(DoorbellResponse))
        self._note("scatter", self._one(RecvRequest), self._one(ScatterAnswer))
        self._note("write", self._one(RecvDone), self._one(MemWrite))


@pyuvm.test()
class SharedReceiveLatencies(ReceiveLatencies):
    """The same with buffers of SRQs."""

    shared = SRQS
    suffix = "_shared"
