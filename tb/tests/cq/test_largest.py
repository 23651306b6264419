# SPDX-License-Identifier: Apache-2.0
"""The largest configuration elaborates and keeps its speed."""

from __future__ import annotations

import pyuvm

from tb.bench.load import MEMORY_CYCLES, RateTest

BUILD = "largest"


@pyuvm.test()
class LargestTest(RateTest):
    """One completion per cycle over the lowest and the highest CQ numbers; no CQ loses an entry."""

    async def scenario(self) -> None:
        assert self.env.config is not None
        found = self.env.config
        assert (found.num_cq, found.num_eq, found.num_pages) == (4096, 256, 4096)
        assert found.max_writes == 1024
        numbers = [*range(64), *range(2048 - 32, 2048 + 32), *range(4096 - 64, 4096)]
        cqs = await self.create(numbers, 6, latency=3 * MEMORY_CYCLES)
        rng = self.rng("beats")
        beats = [(rng.choice(cqs),) for _ in range(3_000)]
        rate = await self.plain("uniform_4096", beats)
        assert rate == 1.0, f"{rate} completions per cycle"
        assert self.meter.outstanding_max > 700, "memory's latency did not show"
        for cq in cqs:
            wanted = [n for n, beat in enumerate(beats) if beat[0] is cq]
            got = [result.request_context for result in cq.get_cq_results()]
            assert got == wanted, f"CQ {cq.number}: {got} instead of {wanted}"
