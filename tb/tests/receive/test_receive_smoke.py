# SPDX-License-Identifier: Apache-2.0
"""Smoke test of receives: buffers are posted, taken, reported, complete."""

from __future__ import annotations

import pyuvm

from tb.env.defs import RecvFlag, Scatter
from tb.tests.common.engine import EngineTest

BUILD = ["engine", "engine_small"]
ICARUS_TESTS = ["SharedQueueSmokeTest"]


@pyuvm.test()
class SharedQueueSmokeTest(EngineTest):
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
