# SPDX-License-Identifier: Apache-2.0
"""Posts that are held longer than any age limit counts."""

from __future__ import annotations

import pyuvm

from tb.tests.posting import PostingTest

BUILD = "engine_small"

#: Ticks after which the clock of ages has gone round.
_ROUND = 1 << 20
_STEPS = 18


@pyuvm.test()
class OldPostTest(PostingTest):
    """DF-01: posts that are held at all times of the clock of ages, one nearly for its whole
    round, wait as long as no limit is set; with a limit that is over they go at once, and one is
    held while the clock goes round.
    """

    max_cycles = 6_000_000

    async def scenario(self) -> None:
        qps = [await self.qp(page=0) for _ in range(2)]
        old, young = qps
        self.harness.recorder(age=1 << 14)
        (kept,) = await self.hold(old, 1)
        cycles = _ROUND * self.config.mod_tick // _STEPS
        for number in range(_STEPS - 1):
            await self.hold(young, 1)
            await self.harness.cycles(cycles)
            # Both are looked at; neither goes.
            await old.modify(watermark=100)
            mark = self.mark
            await self.accept(young, [self.write_post(young)])
            await self.rest()
            assert len(self.beats(young, mark)) == 2 and not self.beats(old, mark), number
            self.report(young)
            self.report(young)
            await young.cq.wait_results(2)
            await young.cq.update_consumer_index()
        mark = self.mark
        await old.modify(age=0xFFFF)
        await self.rest(400)
        self.demand_beats(old, [kept], mark)
        self.report(old)
        await old.cq.wait_results(1)
        await old.modify()
        mark = self.mark
        (kept,) = await self.hold(old, 1)
        await self.harness.cycles(2 * cycles)
        assert not self.beats(old, mark)
        await old.modify(age=1)
        await self.rest(400)
        self.demand_beats(old, [kept], mark)
        self.report(old)
        await old.cq.wait_results(1)
