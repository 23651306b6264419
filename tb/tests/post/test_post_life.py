# SPDX-License-Identifier: Apache-2.0
"""Random posts on many queue pairs, each test with one emphasis. Besides the scoreboard, the tests
judge what a host sees: one completion for each accepted post, in order, and nothing left over.
"""

from __future__ import annotations

from typing import Any

import pyuvm

from tb.env.base_test import CarillonTest
from tb.env.defs import CqeStatus, CqStatus
from tb.env.host.consumer import Habits
from tb.env.scoreboard.ledger import Ledger
from tb.sequences import find
from tb.tests.common.soaking import stall_everything

BUILD = ["engine", "engine_small", "engine_deep"]
SEEDS = [1, 2]


class _TrafficTest(CarillonTest):
    async def traffic(self, **options: Any) -> Ledger:
        """Runs the sequence, ends all stalls, and looks at every object."""
        if self.config.num_qp < 16:
            options["chunk"] = 24  # little room: consumers that look often
        sequence: Any = find("post_life")(self.env, **options)
        await sequence.run()
        self.env.release_all()
        await self.at_rest(sequence.ledger)
        return sequence.ledger

    async def at_rest(self, ledger: Ledger) -> None:
        """Credits are back, queue pairs are empty, the counters agree."""
        env, host = self.env, self.env.host
        mask = (1 << self.config.idx_w) - 1
        for cq in host.cqs.values():
            queue = await cq.query()
            if queue.status == CqStatus.OK:
                assert queue.credits == 0, f"CQ {cq.number}: {queue}"
                assert queue.prod == queue.cons == queue.alloc == cq.consumer_index
        for qp in host.qps.values():
            status = await qp.query()
            tail = ledger.accepted(qp.number) & mask
            indices = {status.tail, status.released, status.indicated, status.retired}
            assert indices == {tail}, f"QP {qp.number}: {status}, {tail} accepted"
            assert (status.cq, status.page, status.depth) == (qp.cq.number, qp.page, qp.depth)
        assert ledger.accepted() > 50
        assert await host.counter("POSTS") == ledger.accepted()
        done = env.transport.taken
        assert await host.counter("DONE") == done
        assert await host.counter("INDICATED") == done + env.transport.local
        self.logger.info("%s %s", dict(ledger.causes), dict(ledger.statuses))


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
