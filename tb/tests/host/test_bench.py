# SPDX-License-Identifier: Apache-2.0
"""The bench itself: exact cycles, order of records, stalls, holds, latencies and faults do what
they promise; items through the sequencers of the completion core's agents reach the pins as asked,
and nothing of them is left after a reset.
"""

from __future__ import annotations

from typing import Any

import pyuvm
from pyuvm import uvm_sequence

from tb.env.agents.completion import CompletionItem, Cpl, CreditItem
from tb.env.agents.control import CommandItem
from tb.env.agents.doorbell import PageItem
from tb.env.base_test import CarillonTest
from tb.env.defs import CQ_DB, ArmType, Cause, Cmd, PageReg, Result
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
from tb.env.subscribers import BlockSubscriber
from tb.sequences import CarillonSequence, find

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


class Everything(CarillonSequence):
    """An item of each agent that has a sequencer: creation, credit, two completions, index."""

    async def body(self) -> None:
        host = self.env.host
        cq = await host.create_cq(eq=await host.create_eq())
        credit = await self.do(CreditItem(cq=cq.number, count=2))
        assert await credit.answer is True
        first, second = (Cpl(cq.number, context=context) for context in (7, 8))
        await self.do(CompletionItem("pair", first, second))
        results = await cq.wait_results(2)
        assert [result.request_context for result in results] == [7, 8]

        # Neighbouring cycles: an item is done when it is queued.
        start = self.env.harness.cycle + 20
        words = [CQ_DB.pack(cons=index, cq=cq.number) for index in (1, 2)]
        bells = [
            await self.do(PageItem("index", cq.page, PageReg.CQ_DB, word, at=start + n))
            for n, word in enumerate(words)
        ]
        assert [await bell.answer for bell in bells] == [(0, 0), (0, 0)]
        assert bells[1].answer.cycle == bells[0].answer.cycle + 1

        # Two commands at the same time: one after the other.
        queries = [
            await self.do(CommandItem("query", code, cq.number))
            for code in (Cmd.QUERY_CQ, Cmd.DESTROY_CQ)
        ]
        query, destroy = [await item.answer for item in queries]
        assert (query.result, destroy.result) == (Result.OK, Result.OK)
        assert query.outs[2] == 2 and query.cycle < destroy.start


class Items(uvm_sequence):
    """A sequence of one agent, on its own sequencer, that waits for no answer."""

    def __init__(self, *items: Any) -> None:
        super().__init__("items")
        self.items = items

    async def body(self) -> None:
        for item in self.items:
            await self.start_item(item)
            await self.finish_item(item)


@pyuvm.test()
class ItemsAndResetTest(CarillonTest):
    """A reset while items of all kinds are under way; then all of them again."""

    def connect_checkers(self) -> None:
        # What one agent's monitor hands on.
        self.doorbells: list[Record] = []
        subscriber = BlockSubscriber("doorbell records", self.env, self.doorbells.extend)
        self.env.doorbells.monitor.ap.connect(subscriber.analysis_export)

    async def scenario(self) -> None:
        env = self.env
        for cycles in (2, 30):
            await Everything(env).run()
            await env.sync()
            assert {type(record) for record in self.doorbells} == {
                DoorbellRequest,
                DoorbellResponse,
            }
            words = [CQ_DB.pack(cons=cycles + n, cq=0) for n in range(40)]
            bells = [PageItem("index", 0, PageReg.CQ_DB, word) for word in words]
            await Items(*bells).start(env.doorbells.sequencer)
            queries = [CommandItem("query", Cmd.QUERY_CQ, 0) for _ in range(2)]
            await Items(*queries).start(env.control.sequencer)
            await env.harness.cycles(cycles)
            await env.reset()
            assert not env.control.commanding
            # What was asked for before the reset is asked of no write after it.
            word = CQ_DB.pack(cons=99, cq=1)
            for answer in env.host.write_many([(0, PageReg.CQ_DB, word)] * 100):
                assert (await answer).cause == Cause.NO_CQ
        await Everything(env).run()
