# SPDX-License-Identifier: Apache-2.0
"""Turns of the receive side (ISO-04): sends and receives complete by turns, flushes and reports,
flushes and requests go on side by side, each in bounded time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyuvm

from tb.env.defs import TraceOp
from tb.env.harness.records import RecvDone, RecvRequest, ScatterAnswer, Trace
from tb.env.host.qp import Qp
from tb.tests.common.engine import EngineTest
from tb.tests.common.receiving import NOT_READY, Want, canceled

BUILD = ["engine", "engine_small"]

LEAD = 64  # cycles from setting a trial up to its centre


@pyuvm.test()
class SharedPathTest(EngineTest):
    """Completions of sends and of receives that are always ready share the path: of either at most
    two go before one of the other, whichever began. Class: one side goes first whenever it can.
    """

    #: Completions that go before the one that waits.
    bound = 2

    async def scenario(self) -> None:
        count = min(4, self.config.num_qp)
        qps = [await self.qp(recv_depth=self.depth) for _ in range(count)]
        for late in (2, 4, 8):
            sends = min(qps[0].depth, 2 * self.most)
            for qp in qps:
                await self.accept(qp, [self.write_post(qp) for _ in range(sends)])
            cookies = {qp: await self.supply(qp, self.most) for qp in qps}
            for qp in qps:
                await self.take(qp, *[1] * self.most)
            await self.rest()
            mark, at = self.mark, self.harness.cycle + LEAD
            for _ in range(self.most):
                for qp in qps:
                    self.settle(qp, at=at + late)
            for _ in range(sends):
                for qp in qps:
                    self.report(qp, at=at)
            await self.rest()
            steps = [t for t in self.of(Trace, mark) if t.op in (TraceOp.RETIRE, TraceOp.RECEIVE)]
            self.shares(steps)
            for qp in qps:
                found = await qp.cq.wait_results(sends + self.most)
                contexts = [result.request_context for result in found]
                assert [c for c in contexts if c in set(cookies[qp])] == cookies[qp]
                assert len(contexts) == sends + self.most
                await qp.cq.update_consumer_index()

    def shares(self, steps: Sequence[Trace]) -> None:
        """While both have more to come, neither has a longer run than the bound."""
        kinds = [step.op for step in sorted(steps, key=lambda step: step.cycle)]
        both = (TraceOp.RETIRE, TraceOp.RECEIVE)
        first = max(kinds.index(kind) for kind in both)
        last = min(len(kinds) - 1 - kinds[::-1].index(kind) for kind in both)
        assert last - first >= 2 * self.most, f"one waited for the other to end: {kinds}"
        run = 0
        for place in range(first, last + 1):
            run = run + 1 if kinds[place] == kinds[place - 1] else 1
            assert run <= self.bound, f"{run} completions in a row: {kinds}"


@pyuvm.test()
class FlushDuringTrafficTest(EngineTest):
    """Reports in every cycle, good ones and such that are refused, and then requests in every
    cycle, while QPs are flushed, one or many: each waits for one flushed buffer at most, and
    the flushes are over meanwhile. Class: the engine's own reports, the transport's or requests go
    first whenever they can, or wait for a cycle without another.
    """

    #: Cycles from what is taken to the next one: one flushed buffer may come between.
    gap = 2
    #: Cycles of an answer after its request.
    latency = 9

    async def scenario(self) -> None:
        self.other, *qps = [await self.own() for _ in range(min(8, self.config.num_qp))]
        for flushed in (qps[:1], qps, qps[-1:], qps):
            await self.during_reports(flushed)
        for _ in range(2):
            await self.during_requests(qps)

    async def flushed(self, qps: Sequence[Qp], late: int) -> dict[Qp, list[int]]:
        """Connections of these are to end so late; their buffers."""
        cookies = {qp: await self.supply(qp, self.depth) for qp in qps}
        await self.rest()
        self.begin, self.at = self.mark, self.harness.cycle + LEAD
        for qp in qps:
            self.env.conn.send(qp.number, at_cycle=self.at + late)
        return cookies

    async def over(self, cookies: dict[Qp, list[int]], taken: list[int], what: str) -> None:
        """Each of these was taken in time; all buffers completed before the last one, and the QPs
        are connected again.
        """
        waited = max(b - a for a, b in pairwise(taken))
        assert waited <= self.gap, f"a {what} waited {waited} cycles"
        flushed = {qp.number for qp in cookies}
        steps = [t for t in self.of(Trace, self.begin) if t.op == TraceOp.RECEIVE]
        over = [t.cycle for t in steps if t.cq in flushed]
        assert len(over) == self.depth * len(cookies)
        assert over[-1] < taken[-1], f"the flushes waited for the {what}s to end"
        for qp, found in cookies.items():
            await self.demand(qp, canceled(found))
            await self.reconnect(qp)

    async def during_reports(self, qps: Sequence[Qp]) -> None:
        other = self.other
        theirs = await self.supply(other, self.most)
        await self.take(other, *[1] * self.most)
        cookies = await self.flushed(qps, 0)
        count = 12 * self.depth * len(qps)
        for n in range(count):
            if n % (count // self.most) == 0 and self.tags[other.number]:
                self.settle(other, at=self.at)
            else:
                # No tag of its QP.
                self.env.rdone.send(other.number, 1 << 15, at_cycle=self.at)
        await self.rest()
        taken = [record.cycle for record in self.of(RecvDone, self.begin)]
        await self.over(cookies, taken, "report")
        await self.demand(other, [Want(cookie, 1) for cookie in theirs])
        await self.env.host.read_log()

    async def during_requests(self, qps: Sequence[Qp]) -> None:
        cookies = await self.flushed(qps, 8)
        pending = self.ask(self.other, *[1] * (8 * self.depth * len(qps)), at=self.at)
        await self.answers(pending, NOT_READY)
        await self.rest()
        requests = [record.cycle for record in self.of(RecvRequest, self.begin)]
        answers = [record.cycle for record in self.of(ScatterAnswer, self.begin)]
        waits = [b - a for a, b in zip(requests, answers, strict=True)]
        assert max(waits) <= self.latency, f"an answer after {max(waits)} cycles"
        await self.over(cookies, requests, "request")
