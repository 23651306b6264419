# SPDX-License-Identifier: Apache-2.0
"""Commands of CQs behind completions that memory does not take: each waits, none is lost, and none
goes past them; behind writes that memory does not answer none waits (CQ-01, ISO-04).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import cocotb
import pyuvm

from tb.env.defs import Result
from tb.env.harness.harness import Channel
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

#: More than the output of the completion core holds.
BURST = 64
#: Cycles that a command has before memory goes on.
WAIT = 300
#: Cycles in which it ends when memory has gone on.
LIMIT = 3000


@pyuvm.test()
class StalledCommandsTest(DirectedTest):
    """Each command in turn, about the CQ whose entries wait and about another one."""

    async def scenario(self) -> None:
        host = self.env.host
        busy, other = await self.queue(log2=7), await self.queue(log2=5)
        for cq in (busy, other):

            async def grow(cq: Cq = cq) -> None:
                log2 = 8 if cq is busy else 6
                await host.resize_cq(cq, log2)

            async def settle(cq: Cq = cq) -> None:
                await host.modify_cq(cq, rearm_old=True)

            async def look(cq: Cq = cq) -> None:
                assert (await host.query_cq(cq)).status == 0

            for command in (look, settle, grow, look):
                await self.behind(busy, command)

        async def create_and_destroy() -> None:
            cq = await host.create_cq(eq=other.eq, log2=2, reservation=False)
            assert await host.destroy_cq(cq) == Result.OK

        async def destroy_other() -> None:
            assert await host.destroy_cq(other) == Result.OK

        await self.behind(busy, create_and_destroy)
        await self.behind(busy, destroy_other)

    async def behind(self, busy: Cq, command: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """The command begins when the output is full; all completions arrive, in their order."""
        hold = self.harness.hold
        hold(Channel.MEM_AW, True)
        self.send_pairs(busy, range(BURST))
        await self.harness.cycles(BURST)
        done = cocotb.start_soon(command())
        await self.harness.cycles(WAIT)
        hold(Channel.MEM_AW, False)
        for _ in range(LIMIT // 10):
            if done.done():
                break
            await self.harness.cycles(10)
        assert done.done(), "the command does not end when memory goes on"
        await done
        await self.env.drain()
        assert self.polled(busy) == list(range(BURST))
        assert await busy.update_consumer_index() == (0, 0)


@pyuvm.test()
class UnansweredWritesTest(DirectedTest):
    """As many writes of one CQ are under way as there may be, and memory answers none: commands
    about other CQs end, since what they wait for writes nothing.
    """

    async def scenario(self) -> None:
        host, mem = self.env.host, self.env.mem
        writes = self.config.max_writes
        busy = await self.queue(log2=min(self.config.max_log2, 9))
        other = await self.queue(log2=2)
        mem.hold_cq(busy.number)
        for context in range(writes):
            self.send(busy, [context])
            await self.harness.cycles(12)
        await self.harness.cycles(WAIT)

        async def commands() -> None:
            await host.modify_cq(other, rearm_old=True)
            await host.resize_cq(other, 3)
            assert await host.destroy_cq(other) == Result.OK
            cq = await host.create_cq(eq=busy.eq, log2=2, reservation=False)
            assert await host.destroy_cq(cq) == Result.OK

        done = cocotb.start_soon(commands())
        for _ in range(LIMIT // 10):
            if done.done():
                break
            await self.harness.cycles(10)
        assert done.done(), "a command waits for answers to the writes of another CQ"
        await done
        mem.release_cq(busy.number)
        await self.env.drain()
        assert self.polled(busy) == list(range(writes))
        assert await busy.update_consumer_index() == (0, 0)
