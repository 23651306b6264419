# SPDX-License-Identifier: Apache-2.0
"""Memory that takes nothing or answers nothing: a queue delays no other one, as many writes are
under way as there is room for, commands wait for what is ahead of them alone (CQ-01, CQ-16,
ISO-04).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import cocotb
import pyuvm

from tb.env.defs import Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import MemResponse, MemWrite
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

Command = Callable[[], Coroutine[Any, Any, Any]]

#: More than the output of the completion core holds.
BURST = 64
#: Cycles that a command has before memory goes on.
WAIT = 300
#: Cycles in which it ends when memory has gone on.
LIMIT = 3000


@pyuvm.test()
class OutstandingWritesTest(DirectedTest):
    """CQ-16: memory answers nothing: as many writes are under way as ``MAX_WRITES`` says, not one
    more, in any mixture of queues; with each answer the next one goes, and nothing is lost.
    """

    async def scenario(self) -> None:
        env, most = self.env, self.config.max_writes
        cqs = [await self.queue(n % 2, log2=self.config.max_log2) for n in range(8)]
        env.mem.hold_responses()
        # Neighbours of different queues: each entry is a write of its own.
        # More than waits for room on the way there: entries, data of completions, the port.
        each = min(most // len(cqs) + 10, 1 << cqs[0].log2)
        for number in range(each):
            for cq in cqs:
                self.send(cq, [number])
        await self.harness.cycles(4 * each * len(cqs) + 200)
        await env.sync()
        assert each * len(cqs) > most
        count = len(self.of(MemWrite))
        assert count == most, f"{count} writes under way, there is room for {most}"
        env.mem.release_cq(cqs[0].number)
        await self.harness.cycles(4 * each * len(cqs) + 200)
        await env.sync()
        count, answered = len(self.of(MemWrite)), len(self.of(MemResponse))
        assert answered and count - answered == most, f"{count} written, {answered} answered"
        env.mem.release_responses()
        await env.drain()
        assert await self.consumed(*cqs) == [*range(each)] * len(cqs)


@pyuvm.test()
class StalledCommandsTest(DirectedTest):
    """Each command in turn, about the CQ whose entries wait and about another one."""

    async def scenario(self) -> None:
        host = self.env.host
        busy, other = await self.queue(log2=7), await self.queue(log2=5)
        for cq in (busy, other):
            change, grow = partial(cq.modify, rearm_old=True), partial(cq.resize, cq.log2 + 1)
            commands: list[Command] = [cq.query, change, grow, cq.query]
            for command in commands:
                await self.behind(busy, command)

        async def create_and_destroy() -> None:
            cq = await host.create_cq(eq=other.eq, log2=2, reservation=False)
            assert await cq.destroy() == Result.OK

        await self.behind(busy, create_and_destroy)
        await self.behind(busy, other.destroy)

    async def behind(self, busy: Cq, command: Command) -> None:
        """The command begins when the output is full; all completions arrive, in their order."""
        hold = self.harness.hold
        hold(Channel.MEM_AW, True)
        self.send_pairs(busy, range(BURST))
        await self.harness.cycles(BURST)
        done = cocotb.start_soon(command())
        await self.harness.cycles(WAIT)
        hold(Channel.MEM_AW, False)
        ended = await self.happens(done.done, LIMIT)
        assert ended, "the command does not end when memory goes on"
        await done
        await self.env.drain()
        assert await self.consumed(busy) == [*range(BURST)]


@pyuvm.test()
class UnansweredWritesTest(DirectedTest):
    """As many writes of one CQ are under way as there may be, and memory answers none: commands
    about other CQs end, since what they wait for writes nothing.
    """

    async def scenario(self) -> None:
        mem, writes = self.env.mem, self.config.max_writes
        busy = await self.queue(log2=min(self.config.max_log2, 9))
        other = await self.queue(log2=2)
        mem.hold_cq(busy.number)
        for context in range(writes):
            self.send(busy, [context])
            await self.harness.cycles(12)
        await self.harness.cycles(WAIT)

        async def commands() -> None:
            await other.modify(rearm_old=True)
            await other.resize(3)
            assert await other.destroy() == Result.OK
            (cq,) = await self.queues(1, busy.eq, log2=2)
            assert await cq.destroy() == Result.OK

        done = cocotb.start_soon(commands())
        ended = await self.happens(done.done, LIMIT)
        assert ended, "a command waits for answers to the writes of another CQ"
        await done
        mem.release_cq(busy.number)
        await self.env.drain()
        assert await self.consumed(busy) == [*range(writes)]
