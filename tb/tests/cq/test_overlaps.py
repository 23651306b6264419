# SPDX-License-Identifier: Apache-2.0
"""Rare things that meet: two overflows, a destruction and an overflow, a resize and credits (CQ-17,
CQ-19, CQ-20).
"""

from __future__ import annotations

import cocotb
import pyuvm

from tb.env.agents import Cpl
from tb.env.defs import ArmType, Cmd, CqStatus, Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import Trace
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

LOG2 = 1


class OverlapTest(DirectedTest):
    """Helper for full rings."""

    async def full(self, count: int, armed: bool = False) -> list[Cq]:
        """Queues whose rings are full, with an arm that only an error satisfies if ``armed``."""
        eq = await self.env.host.create_eq(log2=5)
        found = await self.queues(count, eq, log2=LOG2)
        for cq in found:
            if armed:
                assert await cq.arm(ArmType.ERRORS) == (0, 0)
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
                if pairs:
                    env.completions.send_pair(Cpl(first.number, 9), Cpl(second.number, 9))
                else:
                    self.send(first, [9])
                    self.send(second, [9])
            await env.drain(64)
            for cq in full:
                state = await cq.query()
                told = [(call.status, call.snap) for call in cq.callbacks]
                assert state.status == CqStatus.BUFFER_OVERFLOW, f"CQ {cq.number}: {state}"
                assert told == [(CqStatus.BUFFER_OVERFLOW, 1 << LOG2)], f"CQ {cq.number}: {told}"
                assert await cq.callback_return() == (0, 0)
                assert self.polled(cq) == [*range(1 << LOG2)]
                assert await cq.destroy() == Result.OK
            for cq in others:
                assert await cq.destroy() == Result.OK
            await env.host.read_log()


@pyuvm.test()
class DestroyInOverflowTest(OverlapTest):
    """CQ-20, CQ-17: a queue is destroyed while its overflow still waits behind a stalled memory,
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
            assert (await new.query()).status == CqStatus.OK
            assert await new.arm(ArmType.ANY) == (0, 0)
            self.send(new, [5])
            calls = await new.wait_callbacks(1)
            assert [call.status for call in calls] == [CqStatus.OK]
            await new.wait_results(1)
            assert await new.callback_return() == (0, 0)
            assert (await new.query()).status == CqStatus.OK
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
            assert done or command.result == Result.TOO_SMALL
            assert not done or granted <= 4, f"offset {offset}: {granted} credits for 4 entries"
            assert (await cq.query()).credits == granted
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
