# SPDX-License-Identifier: Apache-2.0
"""Indication and retirement stand still: what may go by then is not forgotten (DF-03, DF-12)."""

from __future__ import annotations

import pyuvm

from models.post.post import Post
from tb.env.defs import POST, TraceOp
from tb.env.harness.harness import Channel
from tb.env.host.qp import Qp
from tb.tests.common.posting import OK, PostingTest

# Small queues hold too few completions to stall those that come behind.
BUILD = "engine"

#: Completions that wait in front of memory, at most.
_ROOM = 24


@pyuvm.test()
class RetireStallTest(PostingTest):
    """Memory takes no entry, and behind each number of completions of others a QP begins to retire
    what was reported; the rest of its requests is reported, or a local one is executed, while it
    stands still, each in a cycle of its own, and is the last that happens to the QP.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        others = [await self.qp() for _ in range(3)]
        still = 0
        for local in (False, True):
            for before in range(min(_ROOM, 3 * qp.depth) + 1):
                still += await self.trial(qp, others, before, local)
        assert still > 4 or 3 * qp.depth < _ROOM, still

    async def trial(self, qp: Qp, others: list[Qp], before: int, local: bool) -> bool:
        """Whether the QP stood still with a part of what had been reported first."""
        shares = [before // 3 + (n < before % 3) for n in range(3)]
        made: list[tuple[Qp, list[Post]]] = []
        for other, share in zip(others, shares, strict=True):
            wanted = [self.write_post(other) for _ in range(share)]
            made.append((other, await self.accept(other, wanted)))
        first = 2 + before % 2 if qp.depth > 3 else 2
        late = 0 if local else qp.depth - first
        posts = await self.accept(qp, [self.write_post(qp) for _ in range(first + late)])
        await self.rest()
        self.harness.hold(Channel.MEM_AW)
        mark = self.mark
        for other, share in zip(others, shares, strict=True):
            for _ in range(share):
                self.report(other)
        await self.harness.cycles(60)
        self.report(qp, *[0] * first)
        await self.harness.cycles(40)
        part = len(self.steps(qp, TraceOp.RETIRE, mark))
        for _ in range(late):
            self.report(qp)
            await self.harness.cycles(20)
        if local:
            posts += await self.accept(qp, [self.local_post(qp)])
            await self.harness.cycles(40)
        still = part < first and part == len(self.steps(qp, TraceOp.RETIRE, mark))
        self.harness.hold(Channel.MEM_AW, False)
        await self.demand_results(qp, posts, OK)
        for other, wanted in made:
            await self.demand_results(other, wanted, OK)
        return still


@pyuvm.test()
class DispatchStallTest(PostingTest):
    """The transport takes no work, and behind each number of requests of others a QP begins to
    indicate its first ones; the rest is posted, or what was held is released, one in a cycle of
    its own, while indication stands still, and is the last that happens to the QP.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        others = [await self.qp() for _ in range(2)]
        still = 0
        for held in (False, True):
            for before in range(7):
                still += await self.trial(qp, others[before % 2], before, held)
        assert still > 4, still

    async def trial(self, qp: Qp, other: Qp, before: int, held: bool) -> bool:
        """Whether nothing of the QP was indicated before the transport went on."""
        await self.rest()
        self.harness.hold(Channel.WORK)
        mark = self.mark
        ahead = min(before, other.depth)
        made = await self.accept(other, [self.write_post(other) for _ in range(ahead)])
        await self.harness.cycles(20)
        posts = await self.hold(qp, 1, watch=False)
        posts += await self.accept(qp, [self.write_post(qp)])
        while len(posts) < min(qp.depth, 6):
            await self.harness.cycles(20)
            if held and len(posts) + 2 <= qp.depth:
                posts += await self.hold(qp, 1, watch=False)
                await self.harness.cycles(20)
            posts += await self.accept(qp, [self.write_post(qp)])
        await self.harness.cycles(20)
        still = not self.beats(qp, mark)
        self.harness.hold(Channel.WORK, False)
        await self.rest()
        indicated = [POST["context"].get(beat.data) for beat in self.beats(qp, mark)]
        assert indicated == [post.context for post in posts], indicated
        for owner, wanted in ((qp, posts), (other, made)):
            for _ in wanted:
                self.report(owner)
            await self.demand_results(owner, wanted, OK)
        return still
