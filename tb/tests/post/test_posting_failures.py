# SPDX-License-Identifier: Apache-2.0
"""Known failures of drivers and engines around posted lists: requests that are dropped, doubled or
stale.
"""

from __future__ import annotations

import pyuvm

from models.post.post import Post, Segment
from models.verbs import VERBS
from tb.env.defs import WORK_USER, Cause
from tb.env.harness.records import WorkBeat
from tb.tests.common.posting import OK, TARGET, PostingTest

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


@pyuvm.test()
class WrapsTest(PostingTest):
    """Stale contents of a slot, or of an index that is used again: many wraps with requests that
    differ in everything; indices and tags go up by one, and no index is in use twice.
    """

    manual = False

    async def scenario(self) -> None:
        rng = self.rng("wraps")
        self.env.transport.latency = (1, 40)
        qps = [await self.qp() for _ in range(2)]
        made: dict[int, list[Post]] = {qp.number: [] for qp in qps}
        for _ in range(60):
            for qp in qps:
                posts = []
                for _ in range(rng.randint(1, qp.depth)):
                    verb = rng.choice(list(VERBS.values()))
                    count = rng.randint(verb.least().num_segments, verb.max_segments)
                    lengths = [rng.getrandbits(29) for _ in range(count)]
                    if verb.exact_length is not None:
                        lengths = [verb.exact_length, *[0] * count][:count]
                    posts.append(
                        qp.make(
                            verb.opcode,
                            segments=[
                                Segment(rng.getrandbits(64), nbytes, rng.getrandbits(32))
                                for nbytes in lengths
                            ],
                            target=TARGET if verb.has_target else None,
                            context=rng.getrandbits(64),
                            fence=rng.random() < 0.2,
                            defer=rng.random() < 0.5,
                        )
                    )
                posts.append(Post(0, qp=qp.number))  # releases all
                answers = qp.queue_many(posts)
                posts.pop()
                assert [(await answer).cause for answer in answers[:-1]] == [0] * len(posts)
                made[qp.number] += posts
                found = await qp.cq.wait_results(len(posts))
                await qp.cq.update_consumer_index()
                for result, post in zip(found, posts, strict=True):
                    assert result.request_context == post.context
                    verb = VERBS[post.opcode]
                    assert (result.type, result.status) == (verb.result_type, 0)
                    assert result.nbytes == (post.length if verb.transfers else 0)
        for qp in qps:
            beats = self.beats(qp)
            assert [b.data for b in beats] == [p.encode() for p in made[qp.number]]
            users = [WORK_USER.unpack(b.user) for b in beats]
            assert [user["index"] for user in users] == [n & self.mask for n in range(len(beats))]
            tags = [user["tag"] for user in users if not user["local"]]
            assert tags == [n & self.mask for n in range(len(tags))]
            assert len(beats) > 3 * qp.depth
