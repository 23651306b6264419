# SPDX-License-Identifier: Apache-2.0
"""Random lives of windows, each test with one emphasis."""

from __future__ import annotations

from typing import Any

import pyuvm

from tb.env.base_test import CarillonTest
from tb.sequences import find

BUILD = ["engine", "engine_small", "engine_least", "engine_deep"]
SEEDS = [1, 2]
# 3: checks by old keys of valid regions. 8: registers at power-up behind which a reset of one cycle
# shows what it leaves under way. 3 of a removal: a buffer is in flight.
TEST_SEEDS = {"WindowLivesTest": [1, 2, 3, 8], "WindowRemovalTest": [1, 2, 3]}


class _WindowsTest(CarillonTest):
    async def lives(self, **options: Any) -> Any:
        """Runs the sequence; keys are given, and Writes are granted."""
        env = self.env
        sequence: Any = find("window_life")(env, **options)
        await sequence.run()
        env.release_all()
        assert sequence.done["bind"] + sequence.done["fast"] > 1
        assert env.transport.responder.moved[1], "no byte was written"
        self.logger.info("%s", dict(sequence.done))
        return sequence


@pyuvm.test()
class WindowLivesTest(_WindowsTest):
    """Everything at once."""

    async def scenario(self) -> None:
        await self.lives()


@pyuvm.test()
class WindowAccessesTest(_WindowsTest):
    """Clean connections with many accesses, executed quickly."""

    async def scenario(self) -> None:
        self.env.transport.latency = (1, 30)
        await self.lives(troubled=0.1, accesses=16, threads=5, length=6, guarded=1.0)


@pyuvm.test()
class WindowTroublesTest(_WindowsTest):
    """Short connections, each of which one trouble ends."""

    async def scenario(self) -> None:
        self.env.transport.latency = (1, 60)
        await self.lives(troubled=0.95, threads=2, length=2, guarded=0.95, rebirths=0.1)


@pyuvm.test()
class WindowLeftBuffersTest(_WindowsTest):
    """Shared receive queues that are full of what ended connections have left."""

    async def scenario(self) -> None:
        sequence = await self.lives(shared=1.0, filled=True, troubled=0.3, threads=2)
        assert sequence.done["filled"] and sequence.done["received"]


@pyuvm.test()
class WindowStrangersTest(_WindowsTest):
    """Guarded and unguarded queue pairs side by side and connected."""

    async def scenario(self) -> None:
        await self.lives(guarded=0.5, troubled=0.3, rebirths=0.8)


@pyuvm.test()
class WindowRemovalTest(_WindowsTest):
    """The device is removed in the middle; everything can still be cleaned up (MW-09)."""

    async def scenario(self) -> None:
        await self.lives(removal=True)


@pyuvm.test()
class WindowStallsTest(_WindowsTest):
    """Every channel stalls at random."""

    async def scenario(self) -> None:
        env, rng = self.env, self.rng("test")
        for agent in env.agents:
            agent.stall(rng.choice((0.0, 0.2, 0.5, 0.8)), env.seed)
        await self.lives(duration=8000)
