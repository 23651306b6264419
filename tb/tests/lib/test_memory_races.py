# SPDX-License-Identifier: Apache-2.0
"""Wrong bits at the edges: an injection that another one replaces, and a wrong word that is read in
the cycle of a short reset.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, PageReg, Reg
from tb.env.host.cq import Cq
from tb.tests.common.directed import SLVERR
from tb.tests.common.soaking import demand_fresh
from tb.tests.common.upsetting import UpsetsTest
from tb.tests.lib.test_memory_words import READ_RAM, STATUS_BITS

BUILD = ["default"]

NO_BIT = 1023


@pyuvm.test()
class ReplacedInjectionTest(UpsetsTest):
    """An injection waits in a memory at the far end of the bus when another one takes its place:
    from then on no bit of the first memory is inverted, whenever a word is written into it.
    """

    async def scenario(self) -> None:
        await self.start()
        env, upsets = self.env, self.upsets
        eq = await env.host.create_eq(log2=3)
        cq = await env.host.create_cq(eq=eq, log2=10, reservation=False)
        far = await self.farthest(cq)
        self.logger.info("memory %d of %d", far, upsets.memories)
        for delay in range(far + 6):
            assert await upsets.inject(far, 0) == 0
            await env.drain(upsets.memories + 16)
            at = env.harness.cycle + 20
            word = NO_BIT << 8 | NO_BIT << 18  # memory 0, no bit of it
            if delay % 2:
                word = 1 << 8 | 2 << 18
            answer = env.control.post_write(Reg.MEM_INJECT, word, at=at)
            # Taken in the second cycle from `at` at the earliest: what comes later is behind it.
            env.completions.send(cq.number, context=delay, at_cycle=at + 2 + delay)
            assert await answer == 0
            await env.drain()
            env.completions.send(cq.number, context=delay)
            await env.drain()
            cq.get_cq_results()
            assert await cq.update_consumer_index() == (0, 0)
            assert await upsets.inject(0, NO_BIT) == 0
            before = upsets.corrected[far]
            await upsets.collect()
            wrong = upsets.corrected[far] - before, upsets.lost[far]
            assert wrong == (0, 0), f"a replaced injection acts {delay} cycles later: {wrong}"
        await self.finish()

    async def farthest(self, cq: Cq) -> int:
        """The last memory on the bus that a completion writes, and the next one reads."""
        for memory in reversed(range(self.upsets.memories)):
            assert await self.upsets.inject(memory, 0) == 0
            for _ in range(2):
                self.env.completions.send(cq.number)
                await self.env.drain()
            await self.upsets.collect()
            if self.upsets.corrected[memory]:
                return memory
        raise AssertionError("no memory reports")


@pyuvm.test()
class ReadInResetTest(UpsetsTest):
    """A word that is lost for good is read all the time; a reset of one cycle forgets it, whatever
    was on its way: no count, no entry in the log is left.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        await self.start()
        env, upsets = self.env, self.upsets
        reported = 0
        for delay in range(12):
            assert await upsets.inject(READ_RAM, STATUS_BITS, STATUS_BITS + 3) == 0
            refused = (SLVERR, Cause.BAD_OFFSET)
            assert await env.doorbells.write(1, 0xF00, 0) == refused
            assert await env.host.page_status(1) == (Cause.BAD_OFFSET, 1)
            await env.drain()
            lost = (await upsets.counted())[1]
            assert lost, "the word is good"
            reported += lost
            at = env.harness.cycle + 20
            for n in range(60):
                env.doorbells.post_read(n % 2, PageReg.PAGE_STATUS, at=at)
            await env.harness.until(at + 25 + delay)
            await env.reset(1)
            await demand_fresh(env)
        self.checking.facts.counts["words_lost"] = reported
