# SPDX-License-Identifier: Apache-2.0
"""A reset while windows are bound: no queue pair and no region is in use behind it."""

from __future__ import annotations

import pyuvm

from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.tests.common.windowing import WindowTest

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class ResetWithKeysTest(WindowTest):
    """MW-03, MW-11: windows are bound, each to another region and valid on another queue pair; a
    reset later each queue pair and each region that is made again can go at once.
    """

    async def scenario(self) -> None:
        config = self.config
        count = min(config.num_qp, config.num_mr, config.num_mw)
        for shift in range(3):
            qps, regions = await self.life(count)
            # Numbers are given in order: another region for each queue pair.
            for n, qp in enumerate(qps):
                await self.bind(await self.window(), qp, regions[(n + shift) % count])
            for n, qp in enumerate(qps):
                assert (await regions[(n + shift) % count].query()).windows == 1, qp.number
            await self.rest()
            await self.env.reset()
            for counts in (self.reports, self.tags, self.early, self.next_tag):
                counts.clear()
            qps, regions = await self.life(count)
            for region in regions:
                assert (await region.query()).windows == 0
                await region.deregister()
            for qp in qps:
                await qp.destroy()
            await self.env.reset()

    async def life(self, count: int) -> tuple[list[Qp], list[Region]]:
        """Queue pairs with one CQ, and regions, from the lowest numbers on."""
        qps = [await self.guarded()]
        while len(qps) < count:
            qps.append(await self.guarded(share=qps[0]))
        regions = [await self.memory() for _ in range(count)]
        for objects in (qps, regions):
            assert sorted(one.number for one in objects) == list(range(count))
        return qps, regions
