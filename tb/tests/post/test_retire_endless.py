# SPDX-License-Identifier: Apache-2.0
"""Retirement of a queue pair that never pauses gives way to others (ISO-04)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import DONE, Cause, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import DoneReport, Trace
from tb.env.host.qp import Qp
from tb.tests.common.posting import PostingTest

# Send queues that are deep enough for posts and reports in every cycle.
BUILD = ["engine", "engine_deep"]

#: Requests that a QP retires while another one waits.
_TURN = 16


@pyuvm.test()
class EndlessRunTest(PostingTest):
    """ISO-04: a QP posts without end, local requests among remote ones, and its reports come as
    fast as its requests retire; another QP's request retires meanwhile, in its turn.
    """

    length = 400
    manual = False

    async def scenario(self) -> None:
        first, second = await self.qp(), await self.qp()
        self.env.transport.loopback(latency=1)
        for period in (2, 7, 16, 40):
            for backlog in (8, 12, 16):
                await self.endless(first, second, period, backlog)

    async def endless(self, first: Qp, second: Qp, period: int, backlog: int) -> None:
        """Each ``period``-th request is local. Reports begin when so many were posted."""
        mark, start = self.mark, self.harness.cycle + 64
        hold = self.harness.hold
        hold(Channel.DONE)
        posts = []
        for n in range(self.length):
            make = self.local_post if n % period == period - 1 else self.write_post
            posts.append((first, make(first, silent=True)))
        # Behind the first half, in which the run gets long.
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
