# SPDX-License-Identifier: Apache-2.0
"""Memory that takes nothing or answers nothing: a queue delays no other one, as many writes are
under way as there is room for, commands wait for what is ahead of them alone (CQ-01, CQ-16, CQ-17,
ISO-04).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import cocotb
import pyuvm

from tb.env.defs import ArmType, Result, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import MemResponse, MemWrite, Trace
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

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
        for cq in cqs:
            assert self.polled(cq) == list(range(each))
            assert await cq.update_consumer_index() == (0, 0)


@pyuvm.test()
class OverflowBesideAnswersTest(DirectedTest):
    """CQ-17, ISO-04: an overflow, while memory answers a write of other CQs in each cycle, takes
    its turn among them: its CQ is in error long before the last answer.
    """

    async def scenario(self) -> None:
        env = self.env
        eq = await env.host.create_eq(page=0, log2=4)
        cqs = [await self.queue(n % 2, log2=5) for n in range(8)]
        (full,) = await self.queues(1, eq, log2=1)
        self.send(full, [0, 1])
        await env.drain(32)
        for ahead in (20, 4, 0):
            await self.round(cqs, full, ahead)
            (full,) = await self.queues(1, eq, log2=1)
            self.send(full, [0, 1])
            await env.drain(32)

    async def round(self, cqs: Sequence[Cq], full: Cq, ahead: int) -> None:
        """``ahead``: cycles from the first answer to the completion that is one too many."""
        env, count = self.env, min(self.config.max_writes * 3 // 4 // len(cqs), 1 << cqs[0].log2)
        env.mem.hold_responses()
        for number in range(count):
            for cq in cqs:
                self.send(cq, [number])
        await self.harness.cycles(8 * count * len(cqs))
        env.mem.release_responses()
        mark = len(self.seen)
        await self.harness.cycles(ahead)
        self.send(full, [2])
        await env.drain(64)
        answers = [r.cycle for r in self.of(MemResponse, mark)]
        steps = [s for s in self.of(Trace, mark) if s.op == TraceOp.CQ_ERROR]
        assert len(answers) == count * len(cqs) and [s.cq for s in steps] == [full.number]
        behind = sum(cycle > steps[0].cycle for cycle in answers)
        assert behind > len(answers) - ahead - 32, f"{behind} of {len(answers)} answers behind it"
        for cq in cqs:
            assert self.polled(cq) == list(range(count))
            assert await cq.update_consumer_index() == (0, 0)


@pyuvm.test()
class OverflowMeetsEventTest(DirectedTest):
    """CQ-17: an overflow in any cycle around the answer to another CQ's event entry is not lost."""

    async def scenario(self) -> None:
        env = self.env
        env.mem.latency(4)
        eq = await env.host.create_eq(page=0, log2=4)
        (cq,) = await self.queues(1, eq)
        for offset in range(40):
            (full,) = await self.queues(1, eq, log2=1)
            self.send(full, [0, 1])
            await cq.arm(ArmType.ANY)
            await env.drain(32)
            mark = len(self.seen)
            self.send(cq, [offset])
            await self.harness.cycles(offset)
            self.send(full, [2])
            await env.drain(64)
            steps = [s for s in self.of(Trace, mark) if s.op == TraceOp.CQ_ERROR]
            assert [s.cq for s in steps] == [full.number], f"offset {offset}: {steps}"
            assert self.polled(cq) == [offset]
            assert await cq.callback_return() == (0, 0)
            await full.destroy()


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
