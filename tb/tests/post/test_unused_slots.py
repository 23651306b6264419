# SPDX-License-Identifier: Apache-2.0
"""Posts whose unused slots hold live keys: what is not a segment of a request is nobody's key."""

from __future__ import annotations

from dataclasses import replace

import pyuvm

from models.post.post import Segment
from tb.env.defs import Opcode, PostFlag
from tb.tests.common.windowing import WindowTest

BUILD = ["engine", "engine_small"]
SEEDS = [1, 2]


@pyuvm.test()
class NoSegmentReadTest(WindowTest):
    """MW-05: a Read that is to invalidate its sink, without a segment: what lies in slot 0 is not
    its key, and stays valid.
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        region = await self.allocated(256)
        key = await self.fast_register(region, qp)
        post = qp.make(
            Opcode.READ,
            segments=[Segment(region.base, 16, key)],
            target=Segment(0x1000, 0, 5),
            flags=int(PostFlag.RDMA_READ_LOCAL_INVALIDATE),
        )
        await self.accept(qp, [replace(post, num_segments=0)])
        await self.rest()
        self.report(qp)
        await self.rest()
        assert (await region.query()).valid, "a key in an unused slot was invalidated"
        qp.cq.get_cq_results_ex()
        await qp.cq.update_consumer_index()
