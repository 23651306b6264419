# SPDX-License-Identifier: Apache-2.0
"""Items through the sequencers of the completion core's agents: they reach the pins as asked, and
nothing of them is left after a reset.
"""

from __future__ import annotations

import pyuvm
from pyuvm import uvm_sequence

from tb.env.agents import CommandItem, CompletionItem, Cpl, CreditItem, PageItem
from tb.env.base_test import CarillonTest
from tb.env.defs import CQ_DB, Cause, Cmd, PageReg, Result
from tb.sequences import CarillonSequence


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
class SequencersTest(CarillonTest):
    """Each agent's items."""

    async def scenario(self) -> None:
        await Everything(self.env).run()


class Bells(uvm_sequence):
    """A sequence of one agent, on its own sequencer, that waits for no answer."""

    def __init__(self, first: int) -> None:
        super().__init__("bells")
        self.first = first

    async def body(self) -> None:
        for index in range(self.first, self.first + 40):
            item = PageItem("index", 0, PageReg.CQ_DB, CQ_DB.pack(cons=index, cq=0))
            await self.start_item(item)
            await self.finish_item(item)


class Queries(uvm_sequence):
    """The same, of commands."""

    async def body(self) -> None:
        for _ in range(2):
            item = CommandItem("query", Cmd.QUERY_CQ, 0)
            await self.start_item(item)
            await self.finish_item(item)


@pyuvm.test()
class ItemsAndResetTest(CarillonTest):
    """A reset while items of all kinds are under way; then all of them again."""

    async def scenario(self) -> None:
        env = self.env
        for cycles in (2, 30):
            await Everything(env).run()
            await Bells(cycles).start(env.doorbells.sequencer)
            await Queries("queries").start(env.control.sequencer)
            await env.harness.cycles(cycles)
            await env.reset()
            assert not env.control.commanding
            # What was asked for before the reset is asked of no write after it.
            word = CQ_DB.pack(cons=99, cq=1)
            for answer in env.host.write_many([(0, PageReg.CQ_DB, word)] * 100):
                assert (await answer).cause == Cause.NO_CQ
        await Everything(env).run()
