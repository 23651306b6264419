# SPDX-License-Identifier: Apache-2.0
"""Resize of completion queues: order, arm and contents are kept (CQ-19)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import ArmType, CqStatus, Result
from tb.env.harness.harness import Channel
from tb.env.host.cq import Cq
from tb.env.host.driver import CommandError
from tb.tests.common.directed import DirectedTest


class ResizeBase(DirectedTest):
    """Counts contexts, so that order and completeness are plain."""

    async def start(self, log2: int, **options: int) -> Cq:
        """A queue, and the two counts."""
        self.sent = self.read = 0
        return await self.queue(1, log2=log2, **options)

    def put(self, cq: Cq, count: int) -> None:
        """The next completions."""
        self.send(cq, range(self.sent, self.sent + count))
        self.sent += count

    async def take(self, cq: Cq, count: int, tell: bool = True) -> None:
        """The next results are the right ones."""
        results = await cq.wait_results(count)
        assert [r.request_context for r in results] == list(range(self.read, self.read + count))
        self.read += count
        if tell:
            assert await cq.update_consumer_index() == (0, 0)

    async def too_small(self, cq: Cq, log2: int, result: Result = Result.TOO_SMALL) -> None:
        """A resize is refused, and nothing changes."""
        async with self.no_effect():
            try:
                await cq.resize(log2)
                raise AssertionError(f"resize to 2^{log2} was accepted")
            except CommandError as error:
                assert error.command.result == result


@pyuvm.test()
class ResizeRefusedTest(ResizeBase):
    """Too small counts present, in flight and reserved entries; an error is named first; the
    exact size is enough; nothing is lost either way.
    """

    async def scenario(self) -> None:
        env = self.env
        cq = await self.start(4)
        await cq.arm(ArmType.ERRORS)
        self.put(cq, 5)
        await env.drain()
        for log2 in (1, 2):
            await self.too_small(cq, log2)
        await self.take(cq, 1)
        await cq.resize(2)  # exactly the entries present
        await self.take(cq, 4)
        self.put(cq, 4)
        await self.take(cq, 4)

        reserved = await env.host.create_cq(eq=cq.eq, log2=4)
        for count in (2, 2, 1):
            assert await env.credits.reserve(reserved.number, count)
        for log2 in (1, 2):
            await self.too_small(reserved, log2)
        # Refused, and nothing has changed: all entries of the old size can be reserved.
        other = await env.host.create_cq(eq=cq.eq, log2=4)
        for _ in range(3):
            assert await env.credits.reserve(other.number, 1)
        await self.too_small(other, 1)
        for _ in range(13):
            assert await env.credits.reserve(other.number, 1), "the old size counts"
        assert not await env.credits.reserve(other.number, 1)
        for _ in range(16):
            env.completions.send(other.number, silent=True)
        await env.drain()
        await other.destroy()
        await reserved.resize(3)
        assert await env.credits.reserve(reserved.number, 2)
        assert not await env.credits.reserve(reserved.number, 2)
        assert await env.credits.reserve(reserved.number, 1)
        assert not await env.credits.reserve(reserved.number, 1)
        self.send(reserved, range(8))
        await env.drain()
        await self.too_small(reserved, 2)
        assert (await reserved.query()).credits == 0
        await reserved.resize(4)
        assert await env.credits.reserve(reserved.number, 2), "the new size counts"
        assert self.polled(reserved) == list(range(8))
        for _ in range(2):
            env.completions.send(reserved.number, silent=True)

        # In flight: the response is held, then the write itself.
        env.mem.hold_cq(cq.number)
        self.put(cq, 3)
        await self.harness.cycles(60)
        try:
            await cq.resize(1)
            raise AssertionError("three entries in flight, resized to two")
        except CommandError as error:
            assert error.command.result == Result.TOO_SMALL
        assert await cq.resize(3) == self.sent
        self.put(cq, 3)
        await self.harness.cycles(60)
        env.mem.release_cq(cq.number)
        await self.take(cq, 6)

        # An error: refused by this name, whether too small or not, entries stay readable.
        small = await env.host.create_cq(eq=cq.eq, log2=2, reservation=False)
        self.send(small, range(5))
        await env.drain()
        assert (await small.query()).status == CqStatus.BUFFER_OVERFLOW
        for log2 in (1, 5):
            await self.too_small(small, log2, Result.CQ_ERROR)
        assert self.polled(small) == [0, 1, 2, 3]
        await env.host.read_log()


@pyuvm.test()
class ResizeInFlightTest(ResizeBase):
    """Resizes while completions stream, memory stalls and callbacks run; the order is kept."""

    async def scenario(self) -> None:
        env, rng = self.env, self.rng("resize")
        cq = await self.start(6)
        env.mem.latency(5, 120, env.seed)
        self.harness.stall(Channel.MEM_AW, 0.4, seed=1)
        self.harness.stall(Channel.MEM_W, 0.4, seed=2)
        await cq.arm(ArmType.ANY)
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
                assert await cq.arm(ArmType.ANY) == (0, 0)
        await self.take(cq, self.sent - self.read)
        await env.drain()
        assert resized > 20 and returned > 10
        assert await env.host.counter("CPL_DROPPED") == 0


@pyuvm.test()
class ResizeEverySizeTest(ResizeBase):
    """To each size with one entry too many, then with as many as it has; the same with credits."""

    async def scenario(self) -> None:
        env = self.env
        most = min(self.config.max_log2, 11)
        cq = await self.start(most)
        for log2 in range(1, most):
            self.put(cq, (1 << log2) + 1 - (self.sent - self.read))
            await env.drain()
            await self.too_small(cq, log2)
            await self.take(cq, 1)
            for size in (log2, most):
                await cq.resize(size)
        await self.take(cq, self.sent - self.read)

        reserved = await env.host.create_cq(eq=cq.eq, log2=most)
        held = 0
        for log2 in range(1, most):
            for _ in range(((1 << log2) + 1 - held) // 2):
                assert await env.credits.reserve(reserved.number, 2)
                held += 2
            if held <= 1 << log2:
                assert await env.credits.reserve(reserved.number, 1)
                held += 1
            await self.too_small(reserved, log2)
            env.completions.send(reserved.number, silent=True)
            held -= 1
            await env.drain()
            for size in (log2, most):
                await reserved.resize(size)
        for _ in range(held):
            env.completions.send(reserved.number, silent=True)
