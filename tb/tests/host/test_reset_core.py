# SPDX-License-Identifier: Apache-2.0
"""Reset at random cycles under full traffic of the completion core: everything starts from nothing,
again and again; the traffic after the last one runs to its end.
"""

from __future__ import annotations

import random
from typing import Any

import pyuvm

from tb.env.host.consumer import Habits
from tb.sequences import find
from tb.tests.common.soaking import SoakTest, demand_fresh

BUILD = ["default", "small"]
SEEDS = [1, 2]


@pyuvm.test()
class CoreResetTest(SoakTest):
    """Completions, credits, doorbells, callbacks at up to the full rate, sinks stalled or not."""

    async def scenario(self) -> None:
        rng, env = self.rng("resets"), self.env
        count = 60 if self.long else 12
        for _ in range(count):
            self.begin(rng, 100_000)
            await env.harness.cycles(rng.choice((rng.randint(1, 500), rng.randint(2000, 6000))))
            await env.reset(rng.choice((1, 2, 4, 50)), self.sequence.cancel)
            env.release_all()
            await demand_fresh(env)
        await self.begin(rng, 2000)
        env.release_all()
        self.checking.facts.counts["resets"] = count

    def begin(self, rng: random.Random, duration: int) -> Any:
        """Traffic, in a task."""
        self.as_new()
        if rng.random() < 0.5:
            self.stall(rng)
        options = {"rate": rng.choice((0.3, 0.9)), "habits": Habits(tell=0.3)}
        self.sequence: Any = find("mixed_traffic")(self.env, duration=duration, **options)
        self.sequence.rng = random.Random(rng.getrandbits(64))
        return self.sequence.begin()
