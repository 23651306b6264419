# SPDX-License-Identifier: Apache-2.0
"""Contexts of regions and of QPs that are not guarded."""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cmd, Result
from tb.tests.common.taking import TAKEN
from tb.tests.common.windowing import ZONE, WindowTest, plain, result_of

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class ContextsTest(WindowTest):
    """NetworkDirect 1: the invalidate result of a region has context 0, whatever stood in unused
    arguments of its allocation; that of a QP that is not guarded knows no window.
    """

    async def scenario(self) -> None:
        qp = await self.guarded(nd1=True)
        buffer, region = await self.memory(64), await self.memory(64)
        window = await self.window(context=0x1234_5678_9ABC)
        plain_qp = await self.qp(zone=ZONE, recv_depth=4, nd1=True)
        await self.bind(window, qp, region)
        fast = await self.allocated(64)
        await fast.deregister()
        answer = await self.env.host.command(
            Cmd.ALLOC_MR, fast.number, 0x5555_5555, 0x6666_6666, 0, 0, ZONE
        )
        assert answer.result == Result.OK
        fast.key = answer.outs[0]
        self.env.host.regions[fast.number] = fast
        await self.fast_register(fast, qp)
        for user, key in ((qp, fast.key), (plain_qp, window.key)):
            recv = user.make_recv([buffer.segment(0, 8)])
            assert await user.queue_recv(recv) == (0, 0)
            # The table has been asked for a window last.
            assert (await window.query()).valid
            await self.answers([self.send_invalidate(user, key)], TAKEN)
            self.settle(user)
            await self.demand_entries(user, [result_of(0, key), plain(recv.context)])
        assert (await window.query()).valid
