# SPDX-License-Identifier: Apache-2.0
"""Resize of completion queues: order, arm and contents are kept (CQ-19)."""

from __future__ import annotations

import pyuvm

from tb.env.agents.control import CommandError
from tb.env.defs import Result
from tb.env.harness.harness import Channel
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest
from tb.tests.common.steps import ERRORS, UNSOLICITED, StepTest


@pyuvm.test()
class ResizeInFlightTest(DirectedTest):
    """Resizes while completions stream, memory stalls and callbacks run; the order is kept."""

    async def scenario(self) -> None:
        env, rng = self.env, self.rng("resize")
        self.sent = self.read = 0
        cq = await self.queue(1, log2=6)
        env.mem.latency(5, 120, env.seed)
        self.harness.stall(Channel.MEM_AW, 0.4, seed=1)
        self.harness.stall(Channel.MEM_W, 0.4, seed=2)
        await self.armed([cq])
        returned = resized = 0
        for _ in range(60):
            self.put(cq, rng.randint(0, min((1 << cq.log2) - (self.sent - self.read), 12)))
            log2 = rng.randint(3, 7)
            try:
                await cq.resize(log2)
                resized += 1
                # Completions under way may be placed in either ring.
            except CommandError as error:
                assert error.command.result == Result.TOO_SMALL
                assert self.sent - self.read > 1 << log2
            for _ in range(2):  # once around: a place by the size before would show
                self.put(cq, (1 << cq.log2) - (self.sent - self.read))
                await self.take(cq, max(0, self.sent - self.read - rng.randint(0, 8)))
            if len(cq.callbacks) > returned:
                returned += 1
                assert await cq.callback_return() == (0, 0)
                await self.armed([cq])
        await self.take(cq, self.sent - self.read)
        await env.drain()
        assert resized > 20 and returned > 10
        assert await env.host.counter("CPL_DROPPED") == 0

    def put(self, cq: Cq, count: int) -> None:
        """The next completions."""
        self.send(cq, range(self.sent, self.sent + count))
        self.sent += count

    async def take(self, cq: Cq, count: int) -> None:
        """The next results are the right ones."""
        results = await cq.wait_results(count)
        assert [r.request_context for r in results] == list(range(self.read, self.read + count))
        self.read += count
        assert await cq.update_consumer_index() == (0, 0)


@pyuvm.test()
class ResizeEverySizeTest(StepTest):
    """To each size with one entry too many, then with as many as it has; the same with credits. A
    refusal leaves all of the old size to be reserved, a resize all of the new one.
    """

    async def scenario(self) -> None:
        most = min(self.config.max_log2, 11)
        q = await self.consumer(log2=most)
        await q.arm(ERRORS)
        reserved = await self.queue(1, log2=most, reservation=True)
        held = 0
        for log2 in range(1, most):
            await q.place(*[UNSOLICITED] * ((1 << log2) + 1 - (q.placed - q.polled)))
            await self.too_small(q.cq, log2)
            await q.poll(1)
            missing = (1 << log2) + 1 - held
            await self.grants(reserved, *[(2, True)] * (missing // 2), *[(1, True)] * (missing % 2))
            await self.too_small(reserved, log2)
            await self.grants(reserved, (2, True))
            await self.silent(reserved, 3)
            held += missing - 1
            for cq in (q.cq, reserved):
                await cq.resize(log2)
            await self.grants(reserved, (1, False))
            for cq in (q.cq, reserved):
                await cq.resize(most)
        await self.silent(reserved, held)
        await q.proves_fit()

    async def too_small(self, cq: Cq, log2: int) -> None:
        """A resize is refused, and nothing changes."""
        async with self.no_effect():
            await self.fails_with(Result.TOO_SMALL, cq.resize(log2))

    async def silent(self, cq: Cq, count: int) -> None:
        """So many credits are given back."""
        for _ in range(count):
            self.env.completions.send(cq.number, silent=True)
        await self.env.drain()
