# SPDX-License-Identifier: Apache-2.0
"""Smoke test of receives: a buffer is posted, taken, reported, completes; own and shared queues."""

from __future__ import annotations

import pyuvm

from tb.env.defs import CqeStatus, RecvFlag, Scatter
from tb.tests.common.posting import PostingTest

BUILD = ["engine", "engine_small"]
ICARUS_TESTS = ["OwnQueueSmokeTest", "SharedQueueSmokeTest"]


@pyuvm.test()
class OwnQueueSmokeTest(PostingTest):
    """A QP's own receive queue: scatter, length error, flush."""

    async def scenario(self) -> None:
        host = self.env.host
        qp = await self.idle_qp(recv_depth=4)
        region = await host.register(4096)
        segments = [region.segment(0, 16), region.segment(2048, 48)]
        posts = [qp.make_recv(segments) for _ in range(4)]
        for accepted in qp.queue_recv_many(posts):
            assert await accepted == (0, 0)
        await qp.connect(qp.number ^ 1)
        receiver = self.env.transport.receiver
        receiver.automatic = False
        answer = await receiver.request(qp.number, 20)
        assert (answer.code, answer.tag, answer.srq) == (Scatter.SCATTER, 0, False), answer
        assert [segment.length for segment in answer.segments] == [16, 4, 0]
        receiver.report(qp.number)
        found = await qp.cq.wait_results(1)
        assert found[0].nbytes == 20
        answer = await receiver.request(qp.number, 65)
        assert answer.code == Scatter.LENGTH_ERROR, answer
        receiver.report(qp.number, status=0)
        found += await qp.cq.wait_results(3)
        statuses = [CqeStatus.SUCCESS, CqeStatus.LENGTH_ERROR, *[CqeStatus.CANCELED] * 2]
        assert [result.status for result in found] == statuses
        assert [result.request_context for result in found] == [post.context for post in posts]
        await self.rest()
        await qp.destroy()


@pyuvm.test()
class SharedQueueSmokeTest(PostingTest):
    """Two QPs take the buffers of one SRQ; watermark, query, accounting."""

    async def scenario(self) -> None:
        host = self.env.host
        srq = await host.create_srq(size=4)
        flags = (RecvFlag.UNSIGNALLED, RecvFlag.SOLICITED_WAIT)
        qps = [await self.qp(srq=srq, recv_flag=flag) for flag in flags]
        region = await host.register(4096)
        for n in range(4):
            assert (await srq.post_recv([region.segment(64 * n, 64)])).accepted
        assert not (await srq.post_recv()).accepted
        await srq.set_lw(3)
        receiver = self.env.transport.receiver
        receiver.automatic = False
        for n, qp in enumerate((*qps, *qps)):
            answer = await receiver.request(qp.number, 10 * n)
            assert (answer.code, answer.srq) == (Scatter.SCATTER, True), answer
            assert answer.segments[0].address == region.base + 64 * n
        assert (await receiver.request(qps[0].number, 1)).code == Scatter.NOT_READY
        await srq.wait_events(1)
        assert await srq.query() == (0, 4)
        for qp in qps:
            receiver.report(qp.number)
            receiver.report(qp.number)
        for n, qp in enumerate(qps):
            found = await qp.cq.wait_results(2)
            assert [result.nbytes for result in found] == [10 * n, 10 * n + 20]
        await self.rest()
        assert await srq.query() == (0, 0)
        assert (await srq.post_recv([region.segment()])).accepted
        for qp in qps:
            await qp.destroy()
        await srq.free()
        assert len(srq.events) == 1
