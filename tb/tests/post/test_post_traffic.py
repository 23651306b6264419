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
    """No stalls; requests fail, and connections end and are made again."""

    async def scenario(self) -> None:
        self.env.transport.error_rate = 0.01
        chunk = 128 if self.config.num_qp >= 16 else 24  # little room: consumers that look often
        await find("post_life")(self.env, duration=4000, chunk=chunk, actions=0.02).run()
