# SPDX-License-Identifier: Apache-2.0
"""Keys whose numbers differ in one bit, in cycles next to each other."""

from __future__ import annotations

from itertools import product

import pyuvm

from tb.env.defs import Cause
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.posting import OK
from tb.tests.common.taking import TAKEN
from tb.tests.common.windowing import WindowTest, bad_token, received, segment

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class NextKeyTest(WindowTest):
    """MW-10: two messages in consecutive cycles invalidate two keys: both do, whatever their
    numbers, a region's or a window's; of two that invalidate the same key the second one fails.
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        memory = await self.memory(256)
        windows = [await self.window() for _ in range(min(4, self.config.num_mw))]
        regions = [await self.allocated(256) for _ in range(min(3, self.config.num_mr - 1))]
        keyed: list[Region | MemoryWindow] = [*windows, *regions]
        for first, second in product(keyed, keyed):
            for one in {first, second}:
                if isinstance(one, MemoryWindow):
                    await self.bind(one, qp, memory)
                else:
                    await self.fast_register(one, qp)
            posts = [qp.make_recv([segment(memory)]) for _ in range(2)]
            for answer in qp.queue_recv_many(posts):
                assert await answer == (0, Cause.NONE)
            cookies = [post.context for post in posts]
            at = self.harness.cycle + 64
            keys = first.key, second.key
            pending = [self.send_invalidate(qp, key, at=at) for key in keys]
            if first is second:
                codes = [(await answer).code for answer in pending]
                assert codes[0] == TAKEN and codes[1] != TAKEN, codes
                wanted = [received(cookies[0], keys[0]), bad_token(cookies[1], keys[1])]
            else:
                await self.answers(pending, TAKEN)
                wanted = [received(*one) for one in zip(cookies, keys, strict=True)]
            self.settle(qp, OK, OK)
            await self.demand_entries(qp, wanted)
            for one in (first, second):
                assert not (await one.refresh()).valid, f"{one.key:#x}"
            await self.revive(qp)
