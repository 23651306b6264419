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

from tb.env.agents.completion import Cpl
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
    more, in any mixture of queues; with each answer the next one goes, and nothing is lost. CQ-01:
    commands about other CQs end meanwhile, since what they wait for writes nothing.
    """

    async def scenario(self) -> None:
        env, most = self.env, self.config.max_writes
        cqs = [await self.queue(n % 2, log2=self.config.max_log2) for n in range(8)]
        other = await self.queue(log2=2)
        fit = most // len(cqs)
        # More than waits for room on the way there: entries, data of completions, the port.
        each = fit + 10
        assert fit * len(cqs) == most and each <= 1 << cqs[0].log2
        env.mem.hold_responses()
        await self.complete(cqs, range(fit))
        assert len(self.of(MemWrite)) == most
        done = cocotb.start_soon(self.commands(other))
        ended = await self.happens(done.done, LIMIT)
        assert ended, "a command waits for answers to the writes of another CQ"
        await done
        await self.complete(cqs, range(fit, each))
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

    async def complete(self, cqs: list[Cq], contexts: range) -> None:
        """Neighbours of different queues: each entry is a write of its own."""
        for context in contexts:
            for cq in cqs:
                self.send(cq, [context])
        await self.harness.cycles(4 * len(contexts) * len(cqs) + 200)
        await self.env.sync()

    async def commands(self, cq: Cq) -> None:
        """Each that waits for what is ahead of it."""
        await cq.modify(rearm_old=True)
        await cq.resize(3)
        assert await cq.destroy() == Result.OK
        (new,) = await self.queues(1, cq.eq, log2=2)
        assert await new.destroy() == Result.OK


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
                await self.while_full(busy, command)

        async def create_and_destroy() -> None:
            cq = await host.create_cq(eq=other.eq, log2=2, reservation=False)
            assert await cq.destroy() == Result.OK

        await self.while_full(busy, create_and_destroy)
        await self.while_full(busy, other.destroy)

    async def while_full(self, busy: Cq, command: Command) -> None:
        """The command begins when the output is full; all completions arrive, in their order."""
        hold = self.harness.hold
        hold(Channel.MEM_AW, True)
        for n in range(0, BURST, 2):
            self.env.completions.send_pair(Cpl(busy.number, n), Cpl(busy.number, n + 1))
        await self.harness.cycles(BURST)
        done = cocotb.start_soon(command())
        await self.harness.cycles(WAIT)
        hold(Channel.MEM_AW, False)
        ended = await self.happens(done.done, LIMIT)
        assert ended, "the command does not end when memory goes on"
        await done
        await self.env.drain()
        assert await self.consumed(busy) == [*range(BURST)]
