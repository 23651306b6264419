# SPDX-License-Identifier: Apache-2.0
"""Reset at random cycles under full traffic of every kind: the engine starts from nothing, and
works. Memories and registers keep what the traffic left, so that what the reset forgets to clear is
found by the next life.
"""

from __future__ import annotations

import random
from typing import Any

import pyuvm

from tb.env.host.consumer import Habits
from tb.sequences import find
from tb.tests.common.soaking import SoakTest, demand_fresh

BUILD = ["default", "small", "engine", "engine_small", "engine_deep"]
SEEDS = [1, 2]


@pyuvm.test()
class RandomResetTest(SoakTest):
    """Traffic of each kind in turn, cut by a reset of 1 to 50 cycles after a random time, again and
    again; the last traffic of each kind runs to its end.
    """

    async def scenario(self) -> None:
        rng, env, engine = self.rng("resets"), self.env, self.config.num_qp > 0
        kinds = ("post_life", "receive_life", "window_life") if engine else ("mixed_traffic",)
        count = (40 if self.long else 7) if engine else (61 if self.long else 13)
        for number in range(count):
            last = number >= count - len(kinds)
            name = kinds[number % len(kinds)]
            self.as_new()
            sequence: Any = find(name)(env, **self.options(name, rng, last))
            sequence.rng = random.Random(rng.getrandbits(64))
            if last:
                await sequence.run()
                env.release_all()
            else:
                await self.speed_up(sequence, rng)
            if number < count - 1:
                await env.reset(rng.choice((1, 2, 4, 50)), sequence.cancel)
                env.release_all()
                await demand_fresh(env)
        self.checking.facts.counts["resets"] = count - len(kinds)

    def options(self, name: str, rng: random.Random, last: bool) -> dict[str, Any]:
        """Traffic that does not end before its reset, or a short one."""
        duration = 1200 if last else 100_000
        if name == "window_life":
            removal = last and rng.random() < 0.5
            return {"duration": duration, "threads": 5, "troubled": 0.4, "removal": removal}
        if rng.random() < 0.5:
            self.stall(rng)
        if name == "mixed_traffic":
            return {
                "duration": duration,
                "rate": rng.choice((0.3, 0.9)),
                "habits": Habits(tell=0.3),
            }
        self.env.transport.error_rate = rng.choice((0.0, 0.01))
        return {
            "duration": duration,
            "rate": 0.6,
            "chunk": 24 if self.config.num_qp < 16 else 64,
            "actions": rng.choice((0.0, 0.02)),
            "garbage": 0.1,
            "cq_failures": 0.0 if last else 0.02,
        }

    async def speed_up(self, sequence: Any, rng: random.Random) -> None:
        """Begins the traffic and waits, most times for its middle."""
        env = self.env
        sequence.begin()
        if not self.config.num_qp:
            await env.harness.cycles(rng.choice((rng.randint(1, 500), rng.randint(2000, 6000))))
            return
        wanted = rng.choice((0, 30, 150))
        for _ in range(1000):
            await env.harness.cycles(rng.randint(1, 97))
            busy = env.transport.taken + len(env.transport.receiver.answers)
            if busy + len(env.transport.responder.judgements) >= wanted:
                break
        else:
            raise AssertionError("the traffic does not come to speed")
        await env.harness.cycles(rng.randint(1, 300))
