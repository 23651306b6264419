# SPDX-License-Identifier: Apache-2.0
"""Speed with the largest numbers of queues, pages and writes."""

from __future__ import annotations

import pyuvm

from tb.bench.load import MEMORY_CYCLES, RATE_1, RateTest

BUILD = "largest"
BEATS = 8_000


@pyuvm.test()
class UniformLargest(RateTest):
    """One completion per cycle, each for a random one of 4096 CQs."""

    async def scenario(self) -> None:
        cqs = await self.create(4096, 5, latency=MEMORY_CYCLES)
        rng = self.rng("beats")
        await self.plain("uniform_4096", [(rng.choice(cqs),) for _ in range(BEATS)], RATE_1)
