# SPDX-License-Identifier: Apache-2.0
"""Receive posts whose segments are checked against regions."""

from __future__ import annotations

from collections.abc import Iterable

from models.post.post import Segment
from tb.env.defs import Cause
from tb.env.host.recv import ReceiveQueue
from tb.tests.common.engine import EngineTest

ZONE = 0xA5C3


class SegmentTest(EngineTest):
    async def setup(self, zone: int = ZONE) -> None:
        """Queues on which a post with legal segments is refused after the checks of segments: a QP
        in ERROR, and a full SRQ.
        """
        self.zone = zone
        self.closed = await self.qp(recv_depth=1, zone=zone, log2=2)
        await self.closed.flush()
        self.srq = await self.env.host.create_srq(size=1, zone=zone)
        await self.supply(self.srq, 1, 0)
        self.targets: tuple[tuple[ReceiveQueue, Cause], ...] = (
            (self.closed, Cause.BAD_STATE),
            (self.srq, Cause.QUEUE_FULL),
        )

    async def judge(self, cases: Iterable[tuple[list[Segment], Cause]]) -> None:
        """What both kinds of queue answer; NONE: the segments are legal."""
        cases = list(cases)
        for queue, legal in self.targets:
            posts = [(queue.make_recv(s), cause or legal) for s, cause in cases]
            answers = queue.queue_recv_many(post for post, _ in posts)
            for (post, cause), answer in zip(posts, answers, strict=True):
                got = await answer
                assert got == (2, cause), f"{post.segments}: {got}, expected {cause.name}"
