# SPDX-License-Identifier: Apache-2.0
"""Random receives with everything that can happen with them: watermarks, resizes, regions that go
and come, ends of connections, new lives of QPs, SRQs and CQs, stalls, bad beats.
"""

from __future__ import annotations

from typing import Any

import pyuvm

from tb.env.base_test import CarillonTest
from tb.env.defs import CqeStatus
from tb.env.host.consumer import Habits
from tb.sequences import find
from tb.tests.common.soaking import stall_everything

BUILD = ["engine", "engine_small", "engine_least", "engine_deep"]
SEEDS = [1, 2]


class ReceivingTest(CarillonTest):
    """``sequence``: its name."""

    sequence = "receive_life"

    async def traffic(self, **options: Any) -> None:
        """Runs the sequence; buffers are posted and taken."""
        env, host = self.env, self.env.host
        assert env.config is not None
        if env.config.num_qp < 16:
            options.setdefault("chunk", 32)
        await find(self.sequence)(env, **options).run()
        env.release_all()
        for name in ("RECV_POSTS", "TAKEN", "RECV_DONE"):
            assert await host.counter(name), name


@pyuvm.test()
class ReceiveLifeTest(ReceivingTest):
    """Everything at once, at moderate rates."""

    async def scenario(self) -> None:
        rng, transport = self.rng("test"), self.env.transport
        transport.error_rate = 0.003
        transport.receiver.error_rate = 0.005
        transport.receiver.error_status = rng.choice((CqeStatus.TRANSPORT_ERROR, 0x03, 0x7F, 0xFF))
        transport.after_error = (CqeStatus.CANCELED, CqeStatus.SUCCESS, 0x33)
        await self.traffic(duration=8000, actions=0.02, garbage=0.3)


@pyuvm.test()
class ReceiveWatermarksTest(ReceivingTest):
    """SRQs alone: watermarks set and fired, resizes, new SRQs, interrupts that wait."""

    async def scenario(self) -> None:
        await self.traffic(
            shared=0.95, srq_actions=0.9, rebirths=0.05, stalls=0.6, too_long=0.0, actions=0.002
        )


@pyuvm.test()
class ReceiveRegionsTest(ReceivingTest):
    """Regions go and come all the time; many posts name what is not there."""

    async def scenario(self) -> None:
        await self.traffic(duration=5000, renewals=0.5, bad_receives=0.4, huge=0.3, rebirths=0.0)


@pyuvm.test()
class ReceiveConnectionsTest(ReceivingTest):
    """Connections end in every way with buffers in flight and available."""

    async def scenario(self) -> None:
        transport = self.env.transport
        transport.receiver.error_rate = 0.02
        transport.receiver.length_status = (CqeStatus.SUCCESS, CqeStatus.CANCELED, 0x7F)
        await self.traffic(actions=0.05, too_long=0.05, garbage=0.2, unusual=0.5, sends=0.6)


@pyuvm.test()
class ReceiveStallsTest(ReceivingTest):
    """Every channel stalls at random, the memory is slow."""

    async def scenario(self) -> None:
        stall_everything(self.env, self.rng("test"))
        await self.traffic(actions=0.01, garbage=0.1, stalls=0.5)


@pyuvm.test()
class ReceiveBrokenQueuesTest(ReceivingTest):
    """CQE writes fail: CQs with their QPs are made anew."""

    async def scenario(self) -> None:
        await self.traffic(duration=5000, cq_failures=0.05, actions=0.005, queries=0.5)


@pyuvm.test()
class ReceiveSmallQueuesTest(ReceivingTest):
    """Without changes of SRQs and regions: CQs of two to eight entries, slow consumers: credits run
    out.
    """

    sequence = "receive_traffic"

    async def scenario(self) -> None:
        await self.traffic(
            duration=4000,
            chunk=32,
            log2_min=1,
            log2_max=3,
            overrun=0.2,
            habits=Habits(poll=0.4, tell=0.4, arm=0.4, return_delay=200),
        )
