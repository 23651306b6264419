# SPDX-License-Identifier: Apache-2.0
"""Known failures of drivers and engines around posted lists: requests that are dropped, doubled or
stale.
"""

from __future__ import annotations

import pyuvm

from models.post.post import Post
from tb.env.defs import Cause
from tb.env.harness.records import WorkBeat
from tb.tests.common.posting import OK, PostingTest

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class StalledSinkTest(PostingTest):
    """Posts back to back while the work sink is stalled: none is dropped, doubled or reordered; a
    list that fails half-way is rung all the same, up to its failure.
    """

    async def scenario(self) -> None:
        qps = [await self.qp() for _ in range(4)]
        for extra in (0, 1, 3):
            mark = self.mark
            self.env.work.hold()
            posts: dict[int, list[Post]] = {qp.number: [] for qp in qps}
            answers = []
            for qp in qps:
                made = [self.write_post(qp, defer=extra == 3) for _ in range(qp.depth + extra)]
                if not extra:
                    made[-1] = self.write_post(qp)
                posts[qp.number] = made[: qp.depth]
                answers += qp.queue_many(made)
            causes = [(await answer).cause for answer in answers]
            wanted = [Cause.NONE] * qps[0].depth + [Cause.QUEUE_FULL] * extra
            assert causes == wanted * len(qps)
            await self.harness.cycles(300)
            assert self.of(WorkBeat, mark) == []
            self.env.work.hold(False)
            await self.rest()
            for qp in qps:
                accepted = posts[qp.number]
                ends = None if extra == 3 else range(qp.depth)
                self.demand_beats(qp, accepted, mark, ends)
                self.report(qp, *[0] * qp.depth)
                await self.demand_results(qp, accepted, OK)
