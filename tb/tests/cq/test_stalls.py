# SPDX-License-Identifier: Apache-2.0
"""Stalled sinks lose nothing (CQ-16); a stalled queue delays no other (CQ-01, ISO-04)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyuvm

from tb.env.defs import ArmType, TraceOp
from tb.env.harness.records import MemResponse, MemWrite, Trace
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

Action = Callable[[bool], None]


@pyuvm.test()
class IndependenceTest(DirectedTest):
    """One queue's memory does not answer, one overflows, one is in error, one dies: the others
    flow exactly as fast as without them (CQ-01, ISO-04).
    """

    #: Entries whose responses are held.
    stuck = 200

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        eq = await host.create_eq(page=1, log2=5)
        other = await host.create_eq(page=2, log2=5)
        log2 = min(12, self.config.max_log2)
        cqs = [*await self.queues(3, eq, log2=log2), *await self.queues(3, other, log2=log2)]
        alone = await self.speed(cqs)

        held = await host.create_cq(eq=eq, log2=log2, reservation=False)
        full = await host.create_cq(eq=eq, log2=1, reservation=False)
        failed = await host.create_cq(eq=eq, log2=4, reservation=False)
        dying = await host.create_cq(eq=other, log2=4, reservation=False)
        for cq in (held, dying):
            env.mem.hold_cq(cq.number)
        await held.arm(ArmType.ANY)
        self.send(held, range(self.stuck))
        self.send(dying, range(3))
        self.send(full, range(3))
        env.mem.fail(cq=failed.number)
        self.send(failed, range(2))
        await self.harness.cycles(600)
        await dying.destroy(wait=False)
        assert (await held.query()).prod == 0
        together = await self.speed(cqs)
        assert together <= alone + 32, f"{together} cycles instead of {alone}"
        assert not held.callbacks
        for cq in (held, dying):
            env.mem.release_cq(cq.number)
        await held.wait_callbacks(1)
        await env.drain()
        assert self.polled(held) == list(range(self.stuck))
        await dying.destroy()
        await host.read_log()

    async def speed(self, cqs: list[Cq]) -> int:
        """Cycles for some hundred rounds of completions and callbacks on all queues."""
        await self.env.drain()
        calls = [len(cq.callbacks) for cq in cqs]
        for cq in cqs:
            cq.get_cq_results()
            assert await cq.arm(ArmType.ANY) == (0, 0)
        await self.env.drain()
        start = self.harness.cycle
        for n in range(300):
            for cq in cqs:
                self.send(cq, [n])
        await self.env.drain(16)
        cycles = max(w.cycle for w in self.of(MemWrite)) - start
        for cq, count in zip(cqs, calls, strict=True):
            assert len(cq.callbacks) == count + 1
            assert self.polled(cq) == list(range(300))
            await cq.callback_return()
        return cycles


@pyuvm.test()
class UnansweredMemoryTest(DirectedTest):
    """As many writes of one queue unanswered as leave the engine room for two more: another queue
    still gets its entry and its callback (CQ-01). With all outstanding writes used up every queue
    would wait: completions come in one stream.
    """

    async def scenario(self) -> None:
        env = self.env
        held = await self.queue(1, log2=self.config.max_log2)
        other = await self.queue(2)
        entries = min(self.config.max_writes - 2, 1 << held.log2)
        env.mem.hold_cq(held.number)
        self.send(held, range(entries))
        await self.harness.cycles(2 * entries)
        assert await other.arm(ArmType.ANY) == (0, 0)
        self.send(other, [1])
        await other.wait_callbacks(1, 2000)
        assert self.polled(other) == [1]
        env.mem.release_cq(held.number)
        await env.drain()
        assert self.polled(held) == list(range(entries))


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
        each = min(most // len(cqs) + 5, 1 << cqs[0].log2)
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
