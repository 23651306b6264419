# SPDX-License-Identifier: Apache-2.0
"""Resize of the CQ of queue pairs, among their posts and results (CQ-17, CQ-19)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import Result
from tb.env.host.driver import CommandError
from tb.tests.common.posting import OK, PostingTest

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class ResizeUnderPostsTest(PostingTest):
    """Up and down, to each size, with a result that nobody has read and a request on its way: the
    index of the change is where the next result goes, and no result is lost. Results and credits
    that do not fit: refused, and nothing changes.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        cq, placed = qp.cq, 0
        for log2 in (3, 1, 2, 1, 3, 2):
            posts = [self.write_post(qp), self.write_post(qp)]
            await self.accept(qp, posts)
            await self.rest()
            self.report(qp)
            await self.rest()
            placed += 1
            assert await cq.resize(log2) == placed & self.mask
            self.report(qp)
            placed += 1
            await self.demand_results(qp, posts, OK)
        posts = [self.write_post(qp) for _ in range(3)]
        await self.accept(qp, posts)
        await self.rest()
        self.report(qp)
        await self.rest()
        try:
            await cq.resize(1)
            raise AssertionError("a result and two credits in a ring of two")
        except CommandError as error:
            assert error.command.result == Result.TOO_SMALL
        self.report(qp, OK, OK)
        await self.demand_results(qp, posts, OK)
