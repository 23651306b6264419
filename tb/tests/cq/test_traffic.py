# SPDX-License-Identifier: Apache-2.0
"""Random traffic on many queues."""

from __future__ import annotations

import pyuvm

from tb.env.base_test import CarillonTest
from tb.sequences import find


@pyuvm.test()
class MixedTrafficTest(CarillonTest):
    """No stalls: the engine at speed."""

    async def scenario(self) -> None:
        await find("mixed_traffic")(self.env, duration=100_000).run()


@pyuvm.test()
class StalledTrafficTest(CarillonTest):
    """Random stalls on every channel, random memory latency, responses reordered between queues."""

    async def scenario(self) -> None:
        self.env.stall_all(0.3)
        self.env.mem.latency(5, 200, self.env.seed)
        await find("mixed_traffic")(self.env, duration=20_000, rate=0.2).run()
