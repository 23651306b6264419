# SPDX-License-Identifier: Apache-2.0
"""Retirement in turns: a long run of a QP, or one that never pauses, gives way to others and goes
on (DF-12, ISO-04).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import DONE, Cause, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import DoneReport, Trace
from tb.env.host.qp import Qp
from tb.tests.common.engine import EngineTest
from tb.tests.common.posting import OK

# Send queues that are deep enough for more than a turn, and for posts and reports in every cycle.
BUILD = ["engine", "engine_deep"]

#: Requests that a QP retires while another one waits.
_TURN = 16


@pyuvm.test()
class RetireRunTest(EngineTest):
    """ISO-04: of a long run of local requests no more than one turn retires while another QP has
    something to retire.
    """

    async def scenario(self) -> None:
        first, second = await self.qp(), await self.qp()
        waited = 0
        for distance in range(1, 8):
            posts = [self.write_post(first)]
            posts += [self.local_post(first) for _ in range(first.depth - 1)]
            await self.accept(first, posts)
            others = await self.accept(second, [self.write_post(second) for _ in range(4)])
            await self.rest()
            mark, at = self.mark, self.harness.cycle + 40
            self.report(first, at=at)
            self.report(second, *[0] * len(others), at=at + distance)
            await self.rest()
            order = [step.cq for step in self.of(Trace, mark) if step.op == TraceOp.RETIRE]
            behind = len(order) - 1 - order[::-1].index(second.number)
            run = 0
            for qp in order[:behind]:
                run = run + 1 if qp == first.number else 0
                assert run <= _TURN, order
                waited = max(waited, run)
            await self.demand_results(first, posts, OK)
            await self.demand_results(second, others, OK)
        assert waited == min(_TURN, first.depth)


@pyuvm.test()
class EndlessRunTest(EngineTest):
    """ISO-04: a QP posts without end, local requests among remote ones, and its reports come as
    fast as its requests retire; another QP's request retires meanwhile, in its turn.
    """

    length = 400
    manual = False

    async def scenario(self) -> None:
        first, second = await self.qp(), await self.qp()
        self.env.transport.loopback(latency=1)
        for period in (2, 7, 16, 40):
            for backlog in (8, 12, 15):  # one more finds the queue full
                await self.endless(first, second, period, backlog)

    async def endless(self, first: Qp, second: Qp, period: int, backlog: int) -> None:
        """Each ``period``-th request is local. Reports begin when so many were posted."""
        mark, start = self.mark, self.harness.cycle + 64
        hold = self.harness.hold
        hold(Channel.DONE)
        makes = [*[self.write_post] * (period - 1), self.local_post]
        posts = [(first, makes[n % period](first, silent=True)) for n in range(self.length)]
        # After the first half, in which the run gets long.
        posts.insert(self.length // 4, (second, self.write_post(second)))
        answers = [qp.queue(post, at=start) for qp, post in posts]
        await self.harness.cycles(start + backlog + 8 - self.harness.cycle)
        hold(Channel.DONE, False)
        for answer in answers:
            assert await answer == (0, Cause.NONE)
        await self.rest()
        told = self.of(DoneReport, mark)
        reports = [r.cycle for r in told if DONE["qp"].get(r.data) == second.number]
        order = [step for step in self.of(Trace, mark) if step.op == TraceOp.RETIRE]
        (done,) = (n for n, step in enumerate(order) if step.cq == second.number)
        before = sum(step.cycle > reports[0] for step in order[:done])
        assert len(order) == self.length + 1
        assert before <= 3 * _TURN, f"{before} others retire before, {period}, {backlog}"
        await self.harness.cycles(8)
        assert await second.cq.update_consumer_index() == (0, 0)
