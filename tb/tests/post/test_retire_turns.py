# SPDX-License-Identifier: Apache-2.0
"""Retirement in turns: a long run of a QP gives way to others and goes on (DF-12, ISO-04)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import TraceOp
from tb.env.harness.records import Trace
from tb.tests.common.posting import OK, PostingTest

BUILD = ["engine", "engine_small", "engine_deep"]

#: Requests that a QP retires while another one waits.
_TURN = 16


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
