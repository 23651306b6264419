# SPDX-License-Identifier: Apache-2.0
"""Wrong bits in single words of the pages' status (ISO-05): each bit is corrected, reported once,
and right again, each pair of check bits is lost; bits that a word does not have; an injection that
another one replaces, and a wrong word that is read in the cycle of a short reset.
"""

from __future__ import annotations

from itertools import combinations

import pyuvm

from tb.env.defs import Cause, PageReg, Reg
from tb.env.host.cq import Cq
from tb.tests.common.directed import SLVERR
from tb.tests.common.memory_words import CHECKS
from tb.tests.common.soaking import demand_fresh
from tb.tests.common.upsetting import READ_RAM, STATUS_BITS, Bits, UpsetsTest

BUILD = ["default"]

NO_BIT = 1023
CHECK_BITS = range(STATUS_BITS, STATUS_BITS + CHECKS)  # of the first lane
#: At a word, until it is written again.
LOOKS = 3


@pyuvm.test()
class WordBitsTest(UpsetsTest):
    """One wrong bit is reported once, and the word is right again; two are reported on each look
    until the word is written. A bit that the word does not have is not inverted, whichever bit of
    its number says so, and does not change what the other number means.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        await self.start()
        single, nothing, lost = (1, 0), (0, 0), (0, LOOKS)
        wanted = {(bit, bit): single for bit in (*range(STATUS_BITS), *CHECK_BITS)}
        # Of data bits two would leave the scoreboard with another value.
        wanted |= dict.fromkeys(combinations(CHECK_BITS, 2), lost)
        for n in (NO_BIT, *(1 << k | 2 for k in range(6, 10))):
            wanted |= {(n, NO_BIT): nothing, (NO_BIT, n): nothing}
        for n in (NO_BIT, 1 << 6, NO_BIT ^ 1 << 6):
            wanted |= {(2, n): single, (n, 2): single}
        for count, (bits, reports) in enumerate(wanted.items(), 1):
            assert await self.told(bits, count) == reports, f"bits {bits}"
        await self.finish()

    async def told(self, bits: Bits, count: int) -> tuple[int, int]:
        """Reports, corrected and lost, of a word that counts so many refused writes."""
        upsets, status = self.upsets, self.env.host.page_status
        before = upsets.corrected[READ_RAM], upsets.lost[READ_RAM]
        assert await upsets.inject(READ_RAM, *bits) == 0
        assert await self.env.doorbells.write(1, 0xF00, 0) == (SLVERR, Cause.BAD_OFFSET)
        for _ in range(LOOKS):
            # Another page in between: what was read last is not looked at again.
            assert await status(1) == (Cause.BAD_OFFSET, count), f"bits {bits}"
            await status(0)
        await upsets.collect()
        return upsets.corrected[READ_RAM] - before[0], upsets.lost[READ_RAM] - before[1]


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
            # Taken in the second cycle from `at` at the earliest: what comes later is after it.
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
