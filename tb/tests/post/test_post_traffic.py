# SPDX-License-Identifier: Apache-2.0
"""Random posts on many queue pairs."""

from __future__ import annotations

import pyuvm

from tb.env.base_test import CarillonTest
from tb.sequences import find

BUILD = ["engine", "engine_small", "engine_least"]
SEEDS = [1, 2]


@pyuvm.test()
class PostTrafficTest(CarillonTest):
    """No stalls."""

    async def scenario(self) -> None:
        await find("post_traffic")(self.env).run()


@pyuvm.test()
class StalledPostTrafficTest(CarillonTest):
    """Random stalls on every channel, random memory latency; the transport reports anything behind
    a failed request.
    """

    async def scenario(self) -> None:
        self.env.stall_all(0.3)
        self.env.mem.latency(5, 200, self.env.seed)
        self.env.transport.after_error = (0, 1, 2, 0xFF)
        await find("post_traffic")(self.env, posts=1000, rate=0.1).run()
