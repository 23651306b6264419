# SPDX-License-Identifier: Apache-2.0
"""Random posts on many queue pairs, each test with one emphasis."""

from __future__ import annotations

from typing import Any

import pyuvm

from tb.env.base_test import CarillonTest
from tb.env.defs import CqeStatus
from tb.env.host.consumer import Habits
from tb.sequences import find
from tb.tests.common.soaking import stall_everything

BUILD = ["engine", "engine_small", "engine_deep"]
SEEDS = [1, 2]


class _TrafficTest(CarillonTest):
    async def traffic(self, **options: Any) -> None:
        """Runs the sequence, ends all stalls, and asks for the state of every object at rest, which
        the scoreboard judges: credits are back, queue pairs are empty.
        """
        host = self.env.host
        if self.config.num_qp < 16:
            options["chunk"] = 24  # little room: consumers that look often
        await find("post_life")(self.env, **options).run()
        self.env.release_all()
        for cq in host.cqs.values():
            await cq.query()
        for qp in host.qps.values():
            await qp.query()
        assert await host.counter("POSTS") > 50


@pyuvm.test()
class PostThroughputTest(_TrafficTest):
    """Posts at full rate on all QPs, executed in a few cycles."""

    async def scenario(self) -> None:
        self.env.transport.loopback(latency=2)
        await self.traffic(
            duration=2500,
            chunk=48,
            rate=1.0,
            log2_min=8,
            log2_max=10,
            chains=0.2,
            bad=0.0,
            foreign=0.0,
        )


@pyuvm.test()
class PostChainsTest(_TrafficTest):
    """Long chains, watermarks, age limits, fences, slow and quick execution."""

    async def scenario(self) -> None:
        self.env.transport.latency = self.rng("test").choice(((1, 20), (1, 600), (200, 300)))
        await self.traffic(
            chains=0.9, chain_length=30, endless=0.3, fence=0.3, watermarks=0.6, ages=0.6
        )


@pyuvm.test()
class PostFailuresTest(_TrafficTest):
    """Inline failures of every cause at every position of the chains; bad transport beats."""

    async def scenario(self) -> None:
        await self.traffic(chains=0.8, bad=0.15, foreign=0.1, overrun=0.3, garbage=0.3)


@pyuvm.test()
class PostConnectionsTest(_TrafficTest):
    """Transport errors, flush, disconnect from both sides, destruction and new lives."""

    async def scenario(self) -> None:
        transport = self.env.transport
        transport.error_rate = 0.01
        transport.error_status = self.rng("test").choice((CqeStatus.TRANSPORT_ERROR, 0x7F, 0xFF))
        transport.after_error = (CqeStatus.CANCELED, CqeStatus.SUCCESS, 0x33)
        await self.traffic(actions=0.03, garbage=0.1)


@pyuvm.test()
class PostStallsTest(_TrafficTest):
    """Every channel stalls at random, the memory is slow; errors and commands with it."""

    async def scenario(self) -> None:
        stall_everything(self.env, self.rng("test"))
        self.env.transport.latency = (1, 400)
        self.env.transport.error_rate = 0.005
        await self.traffic(rate=0.3, actions=0.01)


@pyuvm.test()
class PostSmallQueuesTest(_TrafficTest):
    """CQs of two to eight entries, shared by QPs: credits run out all the time."""

    async def scenario(self) -> None:
        await self.traffic(
            duration=4000,
            chunk=32,
            cqs=6,
            log2_min=1,
            log2_max=3,
            overrun=0.1,
            habits=Habits(poll=0.8, tell=0.6, arm=0.4, return_delay=100),
        )


@pyuvm.test()
class PostBrokenQueuesTest(_TrafficTest):
    """CQE writes fail: the CQ refuses posts until it and its QPs have been made anew."""

    async def scenario(self) -> None:
        await self.traffic(cq_failures=0.1, actions=0.01, duration=6000)
