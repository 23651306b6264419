# SPDX-License-Identifier: Apache-2.0
"""Failing reports of many queue pairs, one each, beside posts of another one: of receives whose
reports stand for some cycles, and of requests whose connections have ended (ISO-04).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pyuvm

from tb.env.defs import Cause, CqeStatus
from tb.env.harness.records import DoorbellResponse
from tb.env.host.qp import Qp
from tb.tests.common.report_times import LEAD, SOON
from tb.tests.common.taking import TakingTest

BUILD = ["engine"]


class FailingTest(TakingTest):
    async def many(
        self, count: int, make: Callable[..., Awaitable[Qp]], **options: Any
    ) -> list[Qp]:
        """So many QPs on eight CQs."""
        qps: list[Qp] = []
        for number in range(count):
            share = qps[number % 8] if number >= 8 else None
            qps.append(await make(share=share, **options))
        return qps

    async def beside(self, victim: Qp, times: range, what: str) -> None:
        """Posts of ``victim`` at these times are answered soon."""
        mark = self.mark
        posts = [self.write_post(victim) for _ in times]
        answers = [victim.queue(post, at=at) for post, at in zip(posts, times, strict=True)]
        for answer in answers:
            assert await answer == (0, Cause.NONE)
        await self.rest()
        answered = [response.cycle for response in self.of(DoorbellResponse, mark)]
        waits = [b - a for a, b in zip(times, answered, strict=True)]
        assert max(waits) <= SOON, f"posts beside {what} waited {waits}"
        self.report(victim, *[0] * len(posts))
        await self.demand_results(victim, posts, 0)

    async def read(self, qps: list[Qp]) -> None:
        """What has completed for them."""
        for cq in {qp.cq.number: qp.cq for qp in qps}.values():
            cq.get_cq_results_ex()
            await cq.update_consumer_index()


@pyuvm.test()
class StandingReportsTest(FailingTest):
    """Each receive has two entries, and completions of another QP take turns with them: a report
    stands for three cycles. One that fails ends its connection by one step.
    """

    async def scenario(self) -> None:
        victim, sender = await self.qp(), await self.qp()
        qps = await self.many(self.config.num_qp - 2, self.own, nd1=True)
        for status in (CqeStatus.SUCCESS, CqeStatus.TRANSPORT_ERROR):
            for qp in qps:
                await self.supply(qp, 1)
                await self.take(qp, 1)
            count = min(30, 1 << self.config.sq_log2)
            await self.accept(sender, [self.write_post(sender) for _ in range(count)])
            await self.rest()
            start = self.harness.cycle + LEAD
            for qp in qps:
                self.settle(qp, status, at=start)
            self.report(sender, *[0] * count, at=start - 2)
            times = range(start + 8, start + 3 * len(qps), 16)
            await self.beside(victim, times, f"receive reports {status.name}")
            await sender.cq.wait_results(count)
            await sender.cq.update_consumer_index()
            await self.read(qps)


@pyuvm.test()
class EndedRequestsTest(FailingTest):
    """Reports about requests of connections that have ended change nothing any more."""

    async def scenario(self) -> None:
        victim = await self.qp()
        qps = await self.many(self.config.num_qp - 1, self.qp)
        for status in (CqeStatus.SUCCESS, CqeStatus.TRANSPORT_ERROR):
            for qp in qps:
                await self.accept(qp, [self.write_post(qp)])
                self.env.conn.send(qp.number)
            await self.rest()
            start = self.harness.cycle + LEAD
            for qp in qps:
                self.report(qp, status, at=start)
            await self.beside(victim, range(start + 3, start + 4), f"reports {status.name}")
            await self.read(qps)
            for qp in qps:
                await self.reconnect(qp)
