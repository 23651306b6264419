# SPDX-License-Identifier: Apache-2.0
"""Pace of receives in clock cycles (architecture.md, "The way of a receive"; receive.md): ways
through an idle engine, and streams (SRQ-09, ISO-04).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import TraceOp
from tb.env.harness.records import (
    DoorbellRequest,
    DoorbellResponse,
    MemWrite,
    RecvDone,
    RecvRequest,
    ScatterAnswer,
)
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.tests.common.engine import EngineTest
from tb.tests.common.pacing import LEAD, Pacing
from tb.tests.common.receiving import Want, canceled

BUILD = ["engine", "engine_small"]

ROUNDS = 4


class ReceivePaceTest(Pacing, EngineTest):
    """QPs with queues of their own, or with an SRQ."""

    async def receivers(self) -> list[tuple[Qp, ReceiveQueue]]:
        """Two QPs with a queue of their own each, two that share one."""
        own = [await self.own() for _ in range(2)]
        srq, users = await self.shared(2)
        return [*((qp, qp) for qp in own), *((qp, srq) for qp in users)]


@pyuvm.test()
class ReceiveWayTest(ReceivePaceTest):
    """A receive post to its response, a request to its answer, a report to the entry (three cycles
    in which memories are read, one in which it is judged); of own queues and of an SRQ. Class: a
    stage more, or a bypass that is never taken.
    """

    async def scenario(self) -> None:
        receivers = await self.receivers()
        for turn in range(ROUNDS):
            for number, (qp, queue) in enumerate(receivers):
                await self.rest(16)
                await self.harness.cycles((turn + number) % 7)
                await self.buffer(qp, queue)
        self.demand_ways(response=9, answer=9, entry=13)

    async def buffer(self, qp: Qp, queue: ReceiveQueue) -> None:
        mark = self.mark
        cookies = await self.supply(queue, 1)
        await self.rest(16)
        self.note("response", self.one(DoorbellRequest, mark), self.one(DoorbellResponse, mark))
        await self.take(qp, 8)
        await self.rest(16)
        self.note("answer", self.one(RecvRequest, mark), self.one(ScatterAnswer, mark))
        self.settle(qp)
        await self.rest(16)
        self.note("entry", self.one(RecvDone, mark), self.one(MemWrite, mark))
        await self.demand(qp, [Want(cookies[0], 8)])


@pyuvm.test()
class ReceiveStreamTest(ReceivePaceTest):
    """A request in every cycle, over all QPs in turns or on one, then a report in every cycle, in
    the other order: none waits, answers and entries follow as fast. Each QP's messages complete in
    their order (SRQ-10); buffers of the SRQ are taken in post order.
    """

    async def scenario(self) -> None:
        receivers = await self.receivers()
        qps = [qp for qp, _ in receivers]
        turns, one_by_one = qps * self.most, [qp for qp in qps for _ in range(self.most)]
        for order, other in ((turns, one_by_one), (one_by_one, turns)):
            cookies: dict[int, list[int]] = {}
            for qp, queue in receivers[:2]:
                cookies[qp.number] = await self.supply(queue, self.most)
            shared = await self.supply(receivers[2][1], 2 * self.most)
            for qp in order:
                if qp in qps[2:]:
                    cookies.setdefault(qp.number, []).append(shared.pop(0))
            await self.rest(16)
            mark, at = self.mark, self.harness.cycle + LEAD
            for length, qp in enumerate(order):
                self.ask(qp, length, at=at)
            await self.harness.until(at)
            await self.rest(16)
            self.in_a_row(self.of(RecvRequest, mark), len(order))
            self.in_a_row(self.of(ScatterAnswer, mark), len(order))
            at = self.harness.cycle + LEAD
            for qp in other:
                self.settle(qp, at=at)
            await self.harness.until(at)
            await self.rest(16)
            self.in_a_row(self.of(RecvDone, mark), len(order))
            self.in_a_row(self.of(MemWrite, mark), len(order))
            for qp in qps:
                lengths = [length for length, to in enumerate(order) if to is qp]
                await self.demand(qp, list(map(Want, cookies[qp.number], lengths)))


@pyuvm.test()
class FlushPaceTest(ReceivePaceTest):
    """SRQ-14, SRQ-19: the available buffers of a queue pair that fails take four cycles each on
    average, at most: none waits for the end of the one before. Class: a flush that looks at what is
    in flight each time.
    """

    async def scenario(self) -> None:
        qps = [await self.own() for _ in range(2)]
        for qp in (*qps, *qps):
            cookies = await self.supply(qp, self.most)
            await self.rest(16)
            mark = self.mark
            await qp.flush()
            await self.rest(16)
            cycles = [step.cycle for step in self.steps(qp, TraceOp.TAKE, mark)]
            took = cycles[-1] - cycles[0]
            assert len(cycles) == self.most and took <= 4 * self.most, f"cycles: {cycles}"
            await self.demand(qp, canceled(cookies))
            await self.reconnect(qp)
