# SPDX-License-Identifier: Apache-2.0
"""Random receives and random posts, without changes of SRQs and regions. As well as the scoreboard,
a ledger judges what host and transport see.
"""

from __future__ import annotations

import pyuvm

from tb.env.host.consumer import Habits
from tb.tests.common.receive_traffic import ReceivingTest

BUILD = ["engine", "engine_small", "engine_least", "engine_deep"]
SEEDS = [1, 2]


@pyuvm.test()
class ReceiveSmallQueuesTest(ReceivingTest):
    """CQs of two to eight entries, slow consumers: credits run out."""

    async def scenario(self) -> None:
        await self.traffic(
            duration=4000,
            chunk=32,
            log2_min=1,
            log2_max=3,
            overrun=0.2,
            habits=Habits(poll=0.4, tell=0.4, arm=0.4, return_delay=200),
        )
