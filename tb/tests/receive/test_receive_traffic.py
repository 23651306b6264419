# SPDX-License-Identifier: Apache-2.0
"""Random receives beside random posts, without changes of SRQs and regions; each test with one
emphasis. Beside the scoreboard, a ledger judges what host and transport see.
"""

from __future__ import annotations

import pyuvm

from tb.env.host.consumer import Habits
from tb.tests.common.receive_traffic import ReceivingTest

BUILD = ["engine", "engine_small", "engine_least", "engine_deep"]
SEEDS = [1, 2]


@pyuvm.test()
class ReceiveRateTest(ReceivingTest):
    """Many small messages, reported at once; buffers enough."""

    async def scenario(self) -> None:
        self.env.transport.receiver.latency = (1, 2)
        await self.traffic(
            duration=3000,
            recv_rate=0.4,
            message_rate=0.4,
            bad_receives=0.0,
            too_long=0.0,
            rate=0.05,
        )


@pyuvm.test()
class ReceiveSendsTest(ReceivingTest):
    """Sends of peers, with chains and failing posts, take buffers."""

    async def scenario(self) -> None:
        self.env.transport.latency = (1, 60)
        self.env.transport.receiver.retry = (16, 60)
        await self.traffic(
            duration=5000, rate=0.3, sends=0.8, served=1.0, message_rate=0.02, recv_rate=0.3
        )


@pyuvm.test()
class ReceiveStarvationTest(ReceivingTest):
    """Hardly any buffers: NOT_READY, asked again and again."""

    async def scenario(self) -> None:
        await self.traffic(
            duration=4000, recv_rate=0.05, message_rate=0.3, patient=0.6, overrun=0.0
        )


@pyuvm.test()
class ReceiveOverrunTest(ReceivingTest):
    """Full queues, slow reports, many in flight."""

    async def scenario(self) -> None:
        self.env.transport.receiver.latency = (200, 500)
        await self.traffic(
            duration=4000, recv_rate=0.5, message_rate=0.15, overrun=0.3, bad_receives=0.3
        )


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
