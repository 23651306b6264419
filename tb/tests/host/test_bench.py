# SPDX-License-Identifier: Apache-2.0
"""The bench itself: exact cycles, order of records, stalls, holds, latencies and faults do what
they promise; items through the sequencers of the completion core's agents reach the pins as asked,
and nothing of them is left after a reset.
"""

from __future__ import annotations

from itertools import pairwise

import pyuvm

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
from tb.tests.common.directed import DirectedTest

ICARUS_TESTS = ["ExactCycles"]

#: Records of one cycle in their order.
_ORDER = (
    *(Trace, MemResponse, MemWrite, Completion, DoorbellRequest, DoorbellResponse),
    *(CreditRequest, CreditAnswer, Interrupt, Command),
)


class BenchTest(DirectedTest):
    """Checks the order of all records."""

    def check_not_vacuous(self) -> None:
        super().check_not_vacuous()
        places = [(record.cycle, _ORDER.index(type(record))) for record in self.seen]
        for number, (before, after) in enumerate(pairwise(places)):
            assert before <= after, f"{self.seen[number + 1]} came after {self.seen[number]}"


@pyuvm.test()
class ExactCycles(BenchTest):
    """Items are offered in the cycle asked for, whatever the offset between two channels."""

    async def scenario(self) -> None:
        env = self.env
        cq = await self.queue(log2=6)
        base = self.harness.cycle + 10
        wanted = []
        for step, offset in enumerate(range(-20, 21)):
            cycle = base + 60 * step + 30
            wanted.append((cycle, cycle + offset))
            env.completions.send(cq.number, context=step, at_cycle=cycle)
            cq.post_arm(ArmType.SOLICITED, index=0, at=cycle + offset)
        await env.drain()
        assert [record.cycle for record in self.of(Completion)] == [c for c, _ in wanted]
        assert [record.cycle for record in self.of(DoorbellRequest)] == [d for _, d in wanted]
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
        self.send(cq, range(3000))
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


@pyuvm.test()
class ItemsAndResetTest(CarillonTest):
    """A reset while items of any kind are under way; then all of them again."""

    def connect_checkers(self) -> None:
        # What one agent's monitor hands on.
        self.doorbells: list[Record] = []
        subscriber = BlockSubscriber("doorbell records", self.env, self.doorbells.extend)
        self.env.doorbells.monitor.ap.connect(subscriber.analysis_export)

    async def scenario(self) -> None:
        env = self.env
        for cycles in range(20, 500, 30):
            sequence = Everything(env)
            sequence.begin()
            await env.harness.cycles(cycles)
            await env.reset(cut=sequence.cancel)
            assert not env.control.commanding
            # What was asked for before the reset is asked of no write after it.
            word = CQ_DB.pack(cons=99, cq=1)
            for answer in [env.doorbells.post(0, PageReg.CQ_DB, word) for _ in range(10)]:
                assert (await answer).cause == Cause.NO_CQ
        await Everything(env).run()
        await env.sync()
        assert {type(record) for record in self.doorbells} == {DoorbellRequest, DoorbellResponse}
