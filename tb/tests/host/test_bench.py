# SPDX-License-Identifier: Apache-2.0
"""The bench itself: exact cycles, order of records, stalls, holds, latencies and faults do what
they promise.
"""

from __future__ import annotations

import pyuvm

from tb.env.agents import Cpl
from tb.env.agents.memory import DECERR
from tb.env.base_test import CarillonTest
from tb.env.defs import ArmType, Cause, CqStatus, PageReg
from tb.env.harness.harness import Channel
from tb.env.harness.records import (
    Command,
    Completion,
    CreditAnswer,
    CreditRequest,
    DoorbellRequest,
    DoorbellResponse,
    Interrupt,
    MemResponse,
    MemWrite,
    Record,
    Trace,
)
from tb.sequences import find

ICARUS_TESTS = ["ExactCycles", "MemoryResponses"]

_RANK = {
    kind: rank
    for rank, kind in enumerate(
        (
            Trace,
            MemResponse,
            MemWrite,
            Completion,
            DoorbellRequest,
            DoorbellResponse,
            CreditRequest,
            CreditAnswer,
            Interrupt,
            Command,
        )
    )
}


class BenchTest(CarillonTest):
    """Keeps all records and checks their order."""

    def connect_checkers(self) -> None:
        self.seen: list[Record] = []
        self.checked = 0
        self.env.add_subscriber(self._check_order, "record order", lambda: self.checked)

    def _check_order(self, records: list[Record]) -> None:
        last = self.seen[-1:]
        for before, after in zip(last + records, records if last else records[1:], strict=False):
            assert (before.cycle, _RANK[type(before)]) <= (after.cycle, _RANK[type(after)]), (
                f"{after} came after {before}"
            )
        self.seen += records
        self.checked += len(records)

    def of(self, kind: type) -> list[Record]:
        """Records of one kind."""
        return [record for record in self.seen if type(record) is kind]


@pyuvm.test()
class ExactCycles(BenchTest):
    """Items are offered in the cycle asked for, whatever the offset between two channels."""

    async def scenario(self) -> None:
        env = self.env
        eq = await env.host.create_eq()
        cq = await env.host.create_cq(eq=eq, log2=6, reservation=False)
        base = self.harness.cycle + 10
        wanted = []
        for step, offset in enumerate(range(-20, 21)):
            cycle = base + 60 * step + 30
            wanted.append((cycle, cycle + offset))
            env.completions.send(cq.number, context=step, at_cycle=cycle)
            cq.post_arm(ArmType.SOLICITED, index=0, at=cycle + offset)
        await env.drain()
        completions = [record.cycle for record in self.of(Completion)]
        doorbells = [record.cycle for record in self.of(DoorbellRequest)]
        assert completions == [c for c, _ in wanted]
        assert doorbells == [d for _, d in wanted]
        assert len(cq.get_cq_results()) == len(wanted)

        # Data before its address, and a gap.
        at = self.harness.cycle + 20
        cq.post_consumer_index(index=1, at=at)
        await env.doorbells.post(0, PageReg.CQ_DB, cq.number << 32 | 2, at=at + 50, data_at=at + 10)
        assert [r.cycle for r in self.of(DoorbellRequest)][-2:] == [at, at + 50]
        env.completions.send(cq.number)
        env.completions.send(cq.number, gap=7)
        await env.drain()
        first, second = self.of(Completion)[-2:]
        assert second.cycle - first.cycle == 8


@pyuvm.test()
class MemoryResponses(BenchTest):
    """Latency, hold of one queue, failing writes, stray responses."""

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        eq = await host.create_eq(log2=3)
        slow = await host.create_cq(eq=eq, reservation=False)
        fast = await host.create_cq(eq=eq, reservation=False)
        await slow.arm()
        await fast.arm()

        env.mem.hold_cq(slow.number)
        env.completions.send(slow.number)
        env.completions.send(fast.number)
        await fast.wait_callbacks(1)
        await self.harness.cycles(100)
        await env.sync()
        assert not slow.callbacks, "called back before the write was acknowledged"
        assert len(slow.get_cq_results()) == 1, "the entry is in memory all the same"
        env.mem.release_cq(slow.number)
        await slow.update_consumer_index(0)
        await slow.wait_callbacks(1)

        env.mem.latency(300)
        await self.harness.cycles(2)
        start = self.harness.cycle
        env.completions.send(fast.number)
        await env.drain(quiet=500)
        written = [r.cycle for r in self.of(MemWrite) if r.cycle > start]
        answered = [r.cycle for r in self.of(MemResponse) if r.cycle > start]
        assert [b - a for a, b in zip(written, answered, strict=True)] == [301]
        env.mem.latency(0)

        env.mem.fail(DECERR, cq=fast.number, skip=1)
        await fast.callback_return()
        await fast.arm(ArmType.ERRORS, index=2)
        env.completions.send(fast.number)
        await env.drain()
        assert (await fast.query()).status == CqStatus.OK
        before = len(host.callbacks)
        env.completions.send(fast.number)
        await env.drain()
        assert (await fast.query()).status == CqStatus.INTERNAL_ERROR
        assert host.callbacks[before:] and host.callbacks[-1].status == CqStatus.INTERNAL_ERROR
        assert (await slow.query()).status == CqStatus.OK

        env.mem.stray(env.mem.id_of(cq=9))
        await env.drain()
        assert await host.counter("STRAY_B") == 1
        causes = [entry.cause for entry in await host.read_log()]
        assert causes == [Cause.CQE_WRITE_ERROR, Cause.STRAY_B]


@pyuvm.test()
class HeldChannels(BenchTest):
    """A stalled interrupt sink holds a callback back; a reset forgets everything."""

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        eq = await host.create_eq(log2=3)
        cq = await host.create_cq(eq=eq, reservation=False)
        env.interrupts.hold()
        await cq.arm()
        env.completions.send_pair(Cpl(cq.number, context=1), Cpl(cq.number, context=2))
        await self.harness.cycles(200)
        await env.sync()
        assert not cq.callbacks
        env.interrupts.hold(False)
        await cq.wait_callbacks(1)
        env.mem.hold_responses()
        env.completions.send(cq.number)
        await self.harness.cycles(50)
        env.mem.release_responses()
        await env.drain()
        assert [r.request_context for r in cq.get_cq_results()] == [1, 2, 0]

        self.harness.hold(Channel.B)
        held = [cq.post_arm(index=n) for n in (0, 1, 2)]
        await self.harness.cycles(100)
        await env.sync()
        assert not any(answer.done for answer in held)
        self.harness.hold(Channel.B, False)
        assert [await answer for answer in held] == [(0, 0)] * 3
        await env.sync()
        self.seen = []
        await env.reset()
        assert (await host.counters())["DB_OK"] == 0


@pyuvm.test()
class StalledOrder(BenchTest):
    """Records stay in order, and more completions than a queue of the harness holds get through."""

    async def scenario(self) -> None:
        env = self.env
        env.stall_all(0.4)
        env.mem.latency(0, 300, env.seed)
        await find("mixed_traffic")(env, duration=5_000).run()
        eq = await env.host.create_eq(63 if env.config and env.config.num_eq > 63 else None)
        cq = await env.host.create_cq(eq=eq, log2=13, reservation=False)
        for number in range(3000):
            env.completions.send(cq.number, context=number)
        results = await cq.wait_results(3000, 100_000)
        assert [result.request_context for result in results] == list(range(3000))
