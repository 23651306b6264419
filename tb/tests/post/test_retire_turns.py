# SPDX-License-Identifier: Apache-2.0
"""Retirement in turns: a long run of a QP gives way to others and goes on (DF-12, ISO-04)."""

from __future__ import annotations

import pyuvm

from models.post.post import Post
from tb.env.defs import Opcode, TraceOp
from tb.env.harness.records import Trace
from tb.tests.common.posting import CANCELED, OK, PostingTest

BUILD = ["engine", "engine_small", "engine_deep"]

#: Requests that a QP retires while another one waits.
_TURN = 16


@pyuvm.test()
class RetireTurnsTest(PostingTest):
    """Behind one remote request stand more local or skipped ones than one turn retires, while
    another QP has something to retire: all retire.
    """

    async def scenario(self) -> None:
        first, second = await self.qp(), await self.qp()
        for skipped in (False, True):
            for count in (first.depth // 2, first.depth - 1):
                posts = [self.write_post(first)]
                if skipped:
                    posts += [self.local_post(first, defer=True) for _ in range(count)]
                else:
                    posts += [self.local_post(first) for _ in range(count)]
                await self.accept(first, posts)
                others = [self.write_post(second) for _ in range(second.depth)]
                await self.accept(second, others)
                await self.rest()
                if skipped:
                    await first.flush()
                at = self.harness.cycle + 40
                self.report(first, at=at)
                self.report(second, *[0] * len(others), at=at)
                behind = CANCELED if skipped else OK
                await self.demand_results(first, posts, OK, *[behind] * count)
                await self.demand_results(second, others, OK)
                if skipped:
                    await self.reconnect(first)


@pyuvm.test()
class RetireRunTest(PostingTest):
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
            await self.demand_results(first, posts, *[OK] * len(posts))
            await self.demand_results(second, others, *[OK] * len(others))
        assert waited == min(_TURN, first.depth)


@pyuvm.test()
class AcrossQpsTest(PostingTest):
    """DF-12: reports of several QPs in every order of the QPs; each QP completes in its post order,
    local requests in their place, and none waits for another QP.
    """

    async def scenario(self) -> None:
        rng = self.rng("order")
        qps = [await self.qp() for _ in range(4)]
        last = qps[-1]
        kept = await self.accept(last, [self.write_post(last), self.local_post(last)])
        for _ in range(20):
            posts: dict[int, list[Post]] = {}
            turns = []
            for qp in qps[:3]:
                made = [
                    self.local_post(qp) if rng.random() < 0.4 else self.write_post(qp)
                    for _ in range(rng.randint(1, qp.depth))
                ]
                posts[qp.number] = await self.accept(qp, made)
                turns += [qp] * sum(post.opcode == Opcode.WRITE for post in made)
            await self.rest(16)
            rng.shuffle(turns)
            for qp in turns:
                self.report(qp)
            for qp in qps[:3]:
                await self.demand_results(qp, posts[qp.number], OK)
        assert last.cq.get_cq_results() == []
        self.report(last)
        await self.demand_results(last, kept, OK)
