# SPDX-License-Identifier: Apache-2.0
"""Shares of the work port: order and turns of the dispatcher (DF-09, ISO-04)."""

from __future__ import annotations

from itertools import permutations

import pyuvm

from models.post.post import Post
from tb.tests.common.posting import CANCELED, OK, PostingTest

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class IndicationOrderTest(PostingTest):
    """DF-09: random chains on all QPs over a stalling work sink; each accepted post is indicated
    once, in post order, none is left out.
    """

    async def scenario(self) -> None:
        rng = self.rng("chains")
        count = min(4, self.config.num_qp)
        qps = [await self.qp() for _ in range(count)]
        accepted: dict[int, list[Post]] = {qp.number: [] for qp in qps}
        for probability in (0.0, 0.3, 0.9):
            self.env.work.stall(probability, self.env.seed)
            for _ in range(12):
                mark = self.mark
                tried = []
                for _ in range(4 * qps[0].depth):
                    qp = rng.choice(qps)
                    post = self.write_post(qp, defer=rng.random() < 0.7)
                    line = post.encode() if rng.random() < 0.9 else post.encode() | 1 << 60
                    tried.append((qp, post, qp.queue(line)))
                for qp in qps:
                    post = self.write_post(qp)
                    tried.append((qp, post, qp.queue(post)))
                new: dict[int, list[Post]] = {qp.number: [] for qp in qps}
                for qp, post, answer in tried:
                    if not (await answer).resp:
                        new[qp.number].append(post)
                # A sink that stalls in nine cycles of ten is quiet for long.
                await self.rest(512)
                for qp in qps:
                    accepted[qp.number] += new[qp.number]
                    beats = self.beats(qp, mark)
                    assert [b.data for b in beats] == [p.encode() for p in new[qp.number]]
                    assert beats[-1].last
                    self.report(qp, *[0] * len(beats))
                    await self.demand_results(qp, new[qp.number], OK)
        self.env.work.stall(0.0)
        assert all(len(posts) > 20 for posts in accepted.values())


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
