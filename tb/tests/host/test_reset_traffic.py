# SPDX-License-Identifier: Apache-2.0
"""Reset at random cycles under full traffic of every kind: the engine starts from nothing, and
works. Memories and registers keep what the traffic left, so that
what the reset forgets to clear is found by the next life.
"""

from __future__ import annotations

import random
from typing import Any

import pyuvm

from tb.sequences import find
from tb.tests.common.soaking import SoakTest, demand_fresh

BUILD = ["engine", "engine_small", "engine_deep"]
SEEDS = [1, 2]


@pyuvm.test()
class RandomResetTest(SoakTest):
    """Traffic of a random kind, cut by a reset of 1 to 50 cycles after a random time, again and
    again; the last traffic of each kind runs to its end and is judged by its ledger.
    """

    kinds = ("post_life", "receive_life", "window_life")

    async def scenario(self) -> None:
        rng = self.rng("resets")
        count = 40 if self.long else 7
        done = 0
        for number in range(count):
            last = number >= count - len(self.kinds)
            name = self.kinds[number - count] if last else rng.choice(self.kinds)
            self.as_new()
            sequence: Any = find(name)(self.env, **self.options(name, rng, last))
            sequence.rng = random.Random(rng.getrandbits(64))
            if last:
                await sequence.run()
                self.env.release_all()
            else:
                await self.speed_up(sequence, rng)
                done += 1
            await self.env.reset(rng.choice((1, 2, 4, 50)), sequence.cancel)
            self.env.release_all()
            await demand_fresh(self.env)
        self.checking.facts.counts["resets"] = done

    def options(self, name: str, rng: random.Random, last: bool) -> dict[str, Any]:
        """Traffic that does not end before its reset, or a short one."""
        assert self.env.config is not None
        duration = 1200 if last else 100_000
        if name == "window_life":
            removal = last and rng.random() < 0.5
            return {"duration": duration, "threads": 5, "troubled": 0.4, "removal": removal}
        self.env.transport.error_rate = rng.choice((0.0, 0.01))
        if rng.random() < 0.5:
            self.stall(rng)
        chunk = 24 if self.env.config.num_qp < 16 else 64
        return {
            "duration": duration,
            "rate": 0.6,
            "chunk": chunk,
            "actions": rng.choice((0.0, 0.02)),
            "garbage": 0.1,
            "cq_failures": 0.0 if last else 0.02,
        }

    async def speed_up(self, sequence: Any, rng: random.Random) -> None:
        """Begins the traffic and waits, most times for its middle."""
        env = self.env
        wanted = rng.choice((0, 30, 150))
        sequence.begin()
        for _ in range(1000):
            await env.harness.cycles(rng.randint(1, 97))
            busy = env.transport.taken + len(env.transport.receiver.answers)
            if busy + len(env.transport.responder.judgements) >= wanted:
                break
        else:
            raise AssertionError("the traffic does not come to speed")
        await env.harness.cycles(rng.randint(1, 300))
