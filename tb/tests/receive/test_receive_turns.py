# SPDX-License-Identifier: Apache-2.0
"""Turns of the receive side (ISO-04): sends and receives complete by turns, flushes and reports,
flushes and requests go on side by side, each in bounded time; failures of two QPs in one cycle
(SRQ-18, SRQ-19).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyuvm

from tb.env.defs import QpState, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import RecvDone, Trace
from tb.env.host.qp import Qp
from tb.tests.common.posting import FAILED
from tb.tests.common.taking import (
    LENGTH,
    LENGTH_ERROR,
    NOT_READY,
    REFUSED,
    TOO_LONG,
    TakingTest,
    Want,
    canceled,
)

BUILD = ["engine", "engine_small"]

LEAD = 64  # cycles from setting a trial up to its centre


class TurnsTest(TakingTest):
    def completed_at(self, op: TraceOp, qps: Sequence[Qp], since: int) -> list[int]:
        """Cycles of the completions of these QPs, sends' or receives'."""
        numbers = {qp.number for qp in qps}
        return [t.cycle for t in self.of(Trace, since) if t.op == op and t.cq in numbers]

    async def all_flushed(
        self, cookies: dict[Qp, list[int]], since: int, last: int, by: str
    ) -> None:
        """All buffers of these QPs completed before ``last``; they are connected again."""
        over = self.completed_at(TraceOp.RECEIVE, list(cookies), since)
        assert len(over) == self.depth * len(cookies)
        assert over[-1] < last, f"the flushes waited for the {by} to end"
        for qp, found in cookies.items():
            await self.demand(qp, canceled(found))
            await self.reconnect(qp)


@pyuvm.test()
class SharedPathTest(TurnsTest):
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
class FlushBesideReportsTest(TurnsTest):
    """Reports in every cycle, good ones and such that are refused, beside QPs that are flushed, one
    or many: a report waits for one flushed buffer at most, and the flushes are over meanwhile.
    Class: the engine's own reports or the transport's go first whenever they can.
    """

    #: Cycles from a report that is taken to the next one: one flushed buffer may come between.
    gap = 2
    #: Cycles of a flushed buffer, if its QP alone is flushed.
    each = 12

    async def scenario(self) -> None:
        other, *qps = [await self.own() for _ in range(min(8, self.config.num_qp))]
        for flushed in (qps[:1], qps, qps[-1:], qps):
            cookies = {qp: await self.supply(qp, self.depth) for qp in flushed}
            theirs = await self.supply(other, self.most)
            await self.take(other, *[1] * self.most)
            await self.rest()
            mark, at = self.mark, self.harness.cycle + LEAD
            for qp in flushed:
                self.env.conn.send(qp.number, at_cycle=at)
            count = self.each * self.depth * len(flushed)
            for n in range(count):
                if n % (count // self.most) == 0 and self.tags[other.number]:
                    self.settle(other, at=at)
                else:
                    # No tag of its QP.
                    self.env.rdone.send(other.number, 1 << 15, at_cycle=at)
            await self.rest()
            taken = [record.cycle for record in self.of(RecvDone, mark)]
            waited = max(b - a for a, b in pairwise(taken))
            assert waited <= self.gap, f"a report waited {waited} cycles"
            await self.all_flushed(cookies, mark, taken[-1], "reports")
            await self.demand(other, [Want(cookie, 1) for cookie in theirs])
            await self.env.host.read_log()


@pyuvm.test()
class RequestsBesideFlushesTest(TurnsTest):
    """Requests in every cycle beside as many QPs as there are that are flushed: each request waits
    for one flushed buffer at most and is answered, and all flushes are over meanwhile. Class:
    flushes go before requests whenever they can, or wait for a cycle without one.
    """

    #: Cycles from a request that is taken to the next one: one flushed buffer may come between.
    gap = 2
    #: Cycles of an answer behind its request.
    latency = 8

    async def scenario(self) -> None:
        qps = [await self.own() for _ in range(min(8, self.config.num_qp))]
        asked, *flushed = qps
        count = 8 * self.depth * len(flushed)
        for _ in range(2):
            cookies = {qp: await self.supply(qp, self.depth) for qp in flushed}
            await self.rest()
            mark, at = self.mark, self.harness.cycle + LEAD
            pending = self.ask(asked, *[1] * count, at=at)
            for qp in flushed:
                self.env.conn.send(qp.number, at_cycle=at + 8)
            await self.answers(pending, NOT_READY)
            await self.rest()
            requests, answers = self.asked_at(mark), self.answered_at(mark)
            gaps = [b - a for a, b in pairwise(requests)]
            assert max(gaps) <= self.gap, f"a request waited {max(gaps)} cycles"
            waits = [b - a for a, b in zip(requests, answers, strict=True)]
            assert max(waits) <= self.latency, f"an answer after {max(waits)} cycles"
            await self.all_flushed(cookies, mark, requests[-1], "requests")


@pyuvm.test()
class HeldFlushTest(TurnsTest):
    """Queues of several QPs are flushed while nothing can complete, for memory stalls, and reports
    of others wait as well: when it goes on each buffer completes once, in order. Class: flushed
    buffers are lost when too many wait to be reported.
    """

    async def scenario(self) -> None:
        other, *qps = [await self.own() for _ in range(min(6, self.config.num_qp))]
        for turn in range(4):
            cookies = [await self.supply(qp, self.depth) for qp in qps]
            theirs = await self.supply(other, self.most)
            await self.take(other, *[1] * self.most)
            await self.rest()
            self.harness.stall(Channel.MEM_AW, hold=True)
            await self.harness.cycles(8)
            at = self.harness.cycle + LEAD
            for qp in qps:
                self.env.conn.send(qp.number, at_cycle=at)
            self.settle(other, *[0] * self.most, at=at + 4 + 2 * turn)
            await self.harness.cycles(LEAD + 300)
            refused = self.ask(qps[0], 1)
            await self.answers(refused, REFUSED)
            self.harness.stall(Channel.MEM_AW, hold=False)
            for qp, found in zip(qps, cookies, strict=True):
                await self.demand(qp, canceled(found))
                await self.reconnect(qp)
            await self.demand(other, [Want(cookie, 1) for cookie in theirs])


@pyuvm.test()
class TwoQpsFailTest(TurnsTest):
    """SRQ-18, SRQ-19: a failing report of a QP in each cycle around the message that is too long
    for another: both QPs go to ERROR, the transport is told of both. Class: of two failures in one
    cycle one is lost.
    """

    async def scenario(self) -> None:
        long, failing = await self.own(), await self.own()
        for offset in range(-2, 12):
            (first,) = await self.supply(long, 1)
            (second,) = await self.supply(failing, 1)
            await self.take(failing, 1)
            await self.rest()
            mark, at = self.mark, self.harness.cycle + LEAD
            pending = self.ask(long, LENGTH + 1, at=at)
            self.settle(failing, FAILED, at=at + offset)
            await self.answers(pending, TOO_LONG)
            await self.rest()
            for qp in (long, failing):
                assert (await qp.query()).state == QpState.ERROR, f"QP {qp.number}, {offset}"
            ends = [(qp.number, QpState.ERROR) for qp in (long, failing)]
            assert sorted(self.terms(mark)) == sorted(ends), (offset, self.terms(mark))
            self.settle(long)
            await self.demand(long, [Want(first, status=LENGTH_ERROR)])
            await self.demand(failing, [Want(second, status=FAILED)])
            await self.reconnect(long)
            await self.reconnect(failing)
