# SPDX-License-Identifier: Apache-2.0
"""A reset that another one follows while the memories are being cleared, under traffic, with every
sink held, with the first accesses already waiting.
"""

from __future__ import annotations

import cocotb
import pyuvm

from tb.tests.common.pairs import PairsTest
from tb.tests.common.soaking import LONG_SEED, demand_fresh

BUILD = ["engine_small", "engine"]


@pyuvm.test()
class ResetInWalkTest(PairsTest):
    """The second reset comes so many cycles after the first: within the clearing walk, at its end,
    just after it. Each time the engine is new, and a whole scenario works at the end.
    """

    async def scenario(self) -> None:
        env = self.env
        walk = await self.walk()
        rng = self.rng("again")
        gaps = [1, 2, 3, *range(walk - 3, walk + 4)]
        gaps += [rng.randrange(1, walk) for _ in range(12 if env.seed >= LONG_SEED else 2)]
        rng.shuffle(gaps)
        for turn, gap in enumerate(gaps):
            await self.bring_pairs()
            if turn % 2:
                env.interrupts.hold()
                for agent in (env.work, env.term, env.mem):
                    agent.stall(1.0)
            await self.traffic()
            await env.harness.cycles(rng.randrange(160))
            first = cocotb.start_soon(env.reset(1 + turn % 2))
            await env.harness.cycles(2)
            await env.harness.until(gap)
            first.cancel()
            await env.reset(1 + turn % 3)
            env.release_all()
            await demand_fresh(env)
        await self.bring_pairs()
        wanted = await self.traffic()
        await env.drain()
        for number, entries in wanted.items():
            await self.unharmed(number, entries)
        self.checking.facts.counts["resets"] = 2 * len(gaps)

    async def walk(self) -> int:
        """Cycles from a reset to the first access that is answered."""
        env = self.env
        first = cocotb.start_soon(env.reset(1))
        await env.harness.cycles(8)
        while not env.control.idle:
            await env.harness.cycles(1)
        walk = env.harness.cycle
        await first
        return walk
