# SPDX-License-Identifier: Apache-2.0
"""Doorbells are taken in every cycle, and what moderation looks at takes few of them (ISO-04)."""

from __future__ import annotations

import pyuvm

from tb.env.harness.records import DoorbellRequest
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

BUILD = "default"

COUNT = 2000
QUERIES = 100
WAITING = 3
#: Cycles of a look beside doorbells in every cycle: 16 of them go first, then the pipeline.
LOOK = 24
LONGEST = (1000, 10_000)  # entries, ticks


@pyuvm.test()
class DoorbellRateTest(DirectedTest):
    """One doorbell in each cycle, unless callbacks wait for moderation: then a queue that waits
    takes one cycle in each scan; the scan takes two cycles for each queue, and the looks.
    """

    async def scenario(self) -> None:
        idle = [await self.queue(0) for _ in range(3)]
        assert await self.stalls(idle) == 0
        for _ in range(WAITING):
            cq = await self.queue(1, moderation=LONGEST)
            assert await cq.arm() == (0, 0)
            self.send(cq, [7])
            await self.env.drain(16)
            assert (await cq.query()).due
        scans = COUNT // (2 * self.config.num_cq + LOOK * WAITING) + 1
        found = await self.stalls(idle)
        assert 0 < found <= WAITING * scans, f"{found} cycles lost in {scans} scans"

    async def stalls(self, cqs: list[Cq]) -> int:
        """Cycles in which none of many doorbells was taken."""
        mark, start = len(self.seen), self.harness.cycle + 100
        answers = [cqs[n % len(cqs)].post_consumer_index(at=start) for n in range(COUNT)]
        for answer in answers:
            assert await answer == (0, 0)
        await self.env.sync()
        cycles = [record.cycle for record in self.of(DoorbellRequest, mark)]
        assert len(cycles) == COUNT
        return cycles[-1] - cycles[0] - (COUNT - 1)


@pyuvm.test()
class CommandsBesideLooksTest(DirectedTest):
    """Doorbells in every cycle, commands about a queue at any time, and looks: each gets its turn,
    also where a command and a look have waited equally long.
    """

    async def scenario(self) -> None:
        waiting = [await self.queue(0, moderation=LONGEST) for _ in range(WAITING)]
        for cq in waiting:
            assert await cq.arm() == (0, 0)
            self.send(cq, [7])
        await self.env.drain(16)
        idle, asked = await self.queue(1), await self.queue(2)
        rng = self.rng("queries")
        start = self.harness.cycle + 100
        answers = [idle.post_consumer_index(at=start) for _ in range(QUERIES * 200)]
        done = 0
        while not answers[-1].done:
            await self.harness.cycles(rng.randrange(20))
            assert (await asked.query()).cons == 0
            done += 1
        assert done > QUERIES, f"{done} queries beside the doorbells"
        for answer in answers:
            assert await answer == (0, 0)
        for cq in waiting:
            assert (await cq.query()).due
