# SPDX-License-Identifier: Apache-2.0
"""Shares of the work port: order and turns of the dispatcher (DF-09, ISO-04)."""

from __future__ import annotations

from itertools import permutations

import pyuvm

from tb.tests.common.posting import CANCELED, OK, PostingTest

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class FlushedForGoodTest(PostingTest):
    """DF-11: two QPs are flushed one after the other while the work port is taken by a third: what
    either held is never indicated, whoever was flushed last. Every pair of QPs.
    """

    async def scenario(self) -> None:
        qps = [await self.qp() for _ in range(4)]
        held = qps[0].depth - 1
        for first, second, busy, _ in permutations(qps, 4):
            mark = self.mark
            self.env.work.hold()
            taken = await self.accept(busy, [self.write_post(busy)])
            await self.harness.cycles(32)
            posts = {}
            for qp in (first, second):
                posts[qp.number] = await self.hold(qp, held, watch=False)
                await qp.flush()
            self.env.work.hold(False)
            await self.rest()
            self.demand_beats(busy, taken, mark)
            self.report(busy)
            await self.demand_results(busy, taken, OK)
            for qp in (first, second):
                assert self.beats(qp, mark) == [], f"QP {qp.number} is flushed"
                await self.demand_results(qp, posts[qp.number], CANCELED)
                await self.reconnect(qp)
