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
