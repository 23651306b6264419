# SPDX-License-Identifier: Apache-2.0
"""Rare things that meet: two overflows, a destruction and an overflow, a resize and credits; what
happens between the answers to entries that were written together (CQ-17 to CQ-20).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import product

import cocotb
import pyuvm

from tb.env.agents.completion import Cpl
from tb.env.defs import ArmType, Cmd, CqStatus, Result, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import MemResponse, Trace
from tb.env.host.cq import Cq
from tb.tests.common.directed import SLVERR, DirectedTest

LOG2 = 1
#: Cycles until the answers to the entries after the failed one.
_LATE = 1500
ACTIONS: dict[str, Callable[[Cq], Awaitable[object]]] = {
    "told": Cq.update_consumer_index,
    "armed": Cq.arm,
    "returned": Cq.callback_return,
    "queried": Cq.query,
    "modified": lambda cq: cq.modify(moderation=(2, 5)),
}
TRIALS = (
    *((), *((action,) for action in ACTIONS)),
    *(("armed", second) for second in ("told", "returned", "modified")),
)


class OverlapTest(DirectedTest):
    """Helper for full rings."""

    async def full(self, count: int, armed: bool = False) -> list[Cq]:
        """Queues whose rings are full, with an arm that only an error satisfies if ``armed``."""
        found = [await self.queue(0, log2=LOG2) for _ in range(count)]
        if armed:
            await self.armed(found, ArmType.ERRORS)
        for cq in found:
            self.send(cq, range(1 << LOG2))
        await self.env.drain()
        return found


@pyuvm.test()
class OverflowsTogetherTest(OverlapTest):
    """CQ-17: queues overflow in consecutive cycles, two by two in a beat or beat by beat, while
    answers of memory come in every cycle, so that the first overflow still waits for its step. Each
    armed queue gets its callback with BUFFER_OVERFLOW.
    """

    async def scenario(self) -> None:
        env = self.env
        for pairs in (True, False):
            full = await self.full(8, armed=True)
            others = await self.queues(8, full[0].eq, log2=6)
            start = self.harness.cycle + 200
            for number in range(160):
                cq = others[number % len(others)]
                env.completions.send(cq.number, context=number, at_cycle=start)
                if number % 40 != 39:
                    continue
                first, second = full[number // 40 * 2 : number // 40 * 2 + 2]
                both = [Cpl(first.number, 9), Cpl(second.number, 9)]
                for beat in [both] if pairs else zip(both):
                    env.completions.send_beat(beat)
            await env.drain(64)
            for cq in full:
                state = await cq.query()
                told = [(call.status, call.snap) for call in cq.callbacks]
                assert state.status == CqStatus.BUFFER_OVERFLOW, f"CQ {cq.number}: {state}"
                assert told == [(CqStatus.BUFFER_OVERFLOW, 1 << LOG2)], f"CQ {cq.number}: {told}"
                assert await self.consumed(cq) == [*range(1 << LOG2)]
            for cq in full + others:
                assert await cq.destroy() == Result.OK
            await env.host.read_log()


@pyuvm.test()
class OverflowDuringAnswersTest(OverlapTest):
    """CQ-17, ISO-04: an overflow, while memory answers a write of other CQs in each cycle, takes
    its turn among them: its CQ is in error long before the last answer.
    """

    async def scenario(self) -> None:
        cqs = [await self.queue(n % 2, log2=5) for n in range(8)]
        for ahead in (20, 4, 0):
            await self.round(cqs, ahead)

    async def round(self, cqs: list[Cq], ahead: int) -> None:
        """``ahead``: cycles from the first answer to the completion that is one too many."""
        (full,) = await self.full(1)
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
        later = sum(cycle > steps[0].cycle for cycle in answers)
        assert later > len(answers) - ahead - 32, f"{later} of {len(answers)} answers after it"
        assert await self.consumed(*cqs) == [*range(count)] * len(cqs)


@pyuvm.test()
class OverflowMeetsEventTest(OverlapTest):
    """CQ-15, CQ-17, CQ-18: an overflow, and then answers in every cycle, around the answer to
    another CQ's event entry, which may fail: none is lost.
    """

    async def scenario(self) -> None:
        env = self.env
        env.mem.latency(4)
        other = await self.queue(1, log2=4)
        for offset, fails in product(range(40), (False, True)):
            (full,) = await self.full(1)
            cq = await self.queue(0)
            await self.armed([cq])
            await env.drain(32)
            mark = len(self.seen)
            if fails:
                env.mem.fail(SLVERR, eq=cq.eq.number)
            self.send(cq, [offset])
            await self.harness.cycles(offset)
            self.send(full, [2])
            self.send(other, range(12))
            await env.drain(64)
            steps = [s for s in self.of(Trace, mark) if s.op == TraceOp.CQ_ERROR]
            assert [s.cq for s in steps] == [full.number], f"offset {offset}: {steps}"
            failed = [s.cq for s in self.of(Trace, mark) if s.op == TraceOp.EVENT_FAILED]
            assert failed == [cq.number] * fails
            assert await self.consumed(cq, other) == [offset, *range(12)]
            await cq.destroy()
            await full.destroy()


@pyuvm.test()
class DestroyInOverflowTest(OverlapTest):
    """CQ-20, CQ-17: a queue is destroyed while its overflow still waits for a stalled memory,
    and is created again: the new life knows nothing of it.
    """

    async def scenario(self) -> None:
        env = self.env
        other = await self.queue(log2=5)
        for wait in (60, 200, 400):
            (cq,) = await self.full(1)
            self.harness.hold(Channel.MEM_AW)
            self.send(other, range(4))
            self.send(cq, [9])
            await self.harness.cycles(40)
            since = len(self.seen)
            destroy = cocotb.start_soon(env.host.command(Cmd.DESTROY_CQ, cq.number))
            await self.harness.cycles(wait)
            await env.sync()
            freed = [t for t in self.of(Trace, since) if t.cq == cq.number and t.lane == 2]
            assert not freed, f"freed with an overflow under way: {freed}"
            self.harness.hold(Channel.MEM_AW, False)
            assert (await destroy).result == Result.OK
            del env.host.cqs[cq.number]
            new = await env.host.create_cq(cq.number, eq=cq.eq, log2=2, reservation=False)
            await self.armed([new])
            self.send(new, [5])
            (call,) = await new.wait_callbacks(1)
            assert call.status == CqStatus.OK
            assert await self.consumed(new) == [5]
            assert await new.destroy() == Result.OK
            await other.wait_results(4)
            assert await other.update_consumer_index() == (0, 0)
            await env.host.read_log()


@pyuvm.test()
class ShrinkInRequestsTest(OverlapTest):
    """CQ-17, CQ-19: a resize to fewer entries meets credit requests, one per cycle, at each moment
    of the command: what is granted always fits the ring.
    """

    async def scenario(self) -> None:
        env = self.env
        cq = await self.queue(log2=4, reservation=True)
        outcomes = set()
        for offset in range(130):
            start = self.harness.cycle + 20 + offset
            requests = [env.credits.post(cq.number, 1, at_cycle=start) for _ in range(8)]
            base = env.memory.allocate(4 * 32)
            command = await env.host.command(
                Cmd.RESIZE_CQ, cq.number, base & 0xFFFFFFFF, base >> 32, 2
            )
            granted = [await request for request in requests].count(True)
            done = command.result == Result.OK
            await cq.query()
            assert await cq.update_consumer_index() == (0, 0)
            outcomes.add((done, granted))
            if done:
                cq.switched(base, 2, command.outs[0])
            for _ in range(granted):
                env.completions.send(cq.number, silent=True)
            await env.drain(16)
            if done:
                await cq.resize(4)
        assert {(True, 4), (False, 8)} <= outcomes, f"not at each moment: {outcomes}"


@pyuvm.test()
class AfterFailureTest(DirectedTest):
    """CQ-17, CQ-18: the write of an entry failed, and the entries after it were under way.
    Whatever the queue's page does before their answers come, they publish nothing and call nobody.
    """

    async def scenario(self) -> None:
        for steps in TRIALS:
            await self.between(*steps)

    async def between(self, *steps: str) -> None:
        mem = self.env.mem
        cq = await self.queue(1, log2=3)
        await self.armed([cq])
        mem.fail(SLVERR, cq=cq.number, lands=True)
        mem.latency(150)
        self.send(cq, [0])
        await self.harness.cycles(60)
        mem.latency(_LATE)
        # One at a time, so that each has a write of its own.
        for context in (1, 2):
            self.send(cq, [context])
            await self.harness.cycles(40)
        mem.latency(0)
        await cq.wait_callbacks(1)
        for step in steps:
            answer = await ACTIONS[step](cq)
            assert answer in ((0, 0), None) or step == "queried", f"{step}: {answer}"
        await self.harness.cycles(40)
        assert len(self.of(MemResponse, 0, cq)) == 1
        await self.env.drain()
        assert len(self.of(MemResponse, 0, cq)) == 3
        state = await cq.query()
        assert (state.prod, state.status) == (0, CqStatus.INTERNAL_ERROR), f"{steps}: {state}"
        assert len(cq.callbacks) == 1
