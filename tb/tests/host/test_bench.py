# SPDX-License-Identifier: Apache-2.0
"""The bench itself: exact cycles, order of records, stalls, holds, latencies and faults do what
they promise.
"""

from __future__ import annotations

import pyuvm

from tb.env.base_test import CarillonTest
from tb.env.defs import ArmType, PageReg
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

ICARUS_TESTS = ["ExactCycles"]

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
