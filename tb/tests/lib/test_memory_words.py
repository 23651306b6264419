# SPDX-License-Identifier: Apache-2.0
"""Wrong bits in single words of the pages' status: corrected, healed, lost; the register that
injects them; wrong bits in random traffic.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, Reg
from tb.tests.common.directed import SLVERR
from tb.tests.common.upsetting import LifeUpsetsTest, UpsetsTest

BUILD = ["default", "engine"]
STATUS_BITS = 40  # of a word of the pages' status, memories 1 and 2
READ_RAM = 2  # the copy that PAGE_STATUS reads


@pyuvm.test()
class LostWordTest(UpsetsTest):
    """Two wrong bits in one word are reported as lost on every look that is not the one before
    again; the word is not healed until it is written. Two check bits leave the data as they are.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        await self.start()
        env, upsets = self.env, self.upsets
        assert await upsets.inject(READ_RAM, STATUS_BITS, STATUS_BITS + 3) == 0
        refused = (SLVERR, Cause.BAD_OFFSET)
        assert await env.doorbells.write(1, 0xF00, 0) == refused
        for reads in (1, 2, 3):
            assert await env.host.page_status(1) == (Cause.BAD_OFFSET, 1)
            await env.host.page_status(0)
            await upsets.collect()
            assert (await upsets.counted())[0] == 0
            assert upsets.lost == {READ_RAM: reads}, upsets.lost
        assert await env.doorbells.write(1, 0xF00, 0) == refused
        assert await env.host.page_status(1) == (Cause.BAD_OFFSET, 2)
        await upsets.collect()
        assert upsets.lost == {READ_RAM: 3} and await upsets.counted() == (0, 3)
        # One bit: corrected once, then healed.
        assert await upsets.inject(READ_RAM, 2) == 0
        assert await env.doorbells.write(1, 0xF00, 0) == refused
        for _ in range(3):
            assert await env.host.page_status(1) == (Cause.BAD_OFFSET, 3)
            await env.host.page_status(0)
        await upsets.collect()
        assert upsets.corrected == {READ_RAM: 1} and await upsets.counted() == (1, 3)
        self.checking.facts.counts["words_lost"] = 3


@pyuvm.test()
class InjectionRegisterTest(UpsetsTest):
    """Numbers that no memory has, and reserved bits, are refused."""

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        await self.start()
        control, memories = self.env.control, self.upsets.memories
        assert memories > 1
        for value in (memories, 0xFE, 1 << 28, 1 << 31):
            assert await control.write(Reg.MEM_INJECT, value) == SLVERR
        assert await control.write(Reg.MEM_INJECT, memories - 1 | 0x3FF << 8 | 0x3FF << 18) == 0
        assert (await control.read(Reg.MEM_INJECT)).resp == SLVERR
        for page in range(2):
            assert await self.env.doorbells.write(page, 0xF00, 0) == (SLVERR, Cause.BAD_OFFSET)
            assert await self.env.host.page_status(page) == (Cause.BAD_OFFSET, 1)
        assert await self.upsets.counted() == (0, 0)


@pyuvm.test()
class BitsBeyondTest(UpsetsTest):
    """A bit that the word does not have is not inverted, whichever bit of its number says so."""

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        await self.start()
        beyond = [2 + (1 << n) for n in range(6, 10)]
        found = 0
        for first, second in [(bit, None) for bit in beyond] + [(1023, bit) for bit in beyond]:
            assert await self.upsets.inject(READ_RAM, first, second) == 0
            assert await self.env.doorbells.write(1, 0xF00, 0) == (SLVERR, Cause.BAD_OFFSET)
            found += 1
            # Reading another page in between: what was read last is not looked at again.
            assert await self.env.host.page_status(1) == (Cause.BAD_OFFSET, found)
            await self.env.host.page_status(0)
        assert await self.upsets.counted() == (0, 0)
        # The same with a bit that it has.
        assert await self.upsets.inject(READ_RAM, 1023, 2) == 0
        assert await self.env.doorbells.write(1, 0xF00, 0) == (SLVERR, Cause.BAD_OFFSET)
        assert await self.env.host.page_status(1) == (Cause.BAD_OFFSET, found + 1)
        await self.upsets.collect()
        assert self.upsets.corrected == {READ_RAM: 1} and await self.upsets.counted() == (1, 0)


@pyuvm.test()
class TrafficUpsetsTest(LifeUpsetsTest):
    """Random traffic of completions, or of posts."""

    async def scenario(self) -> None:
        assert self.env.config is not None
        if self.env.config.num_qp:
            await self.life("post_life")
        else:
            await self.life("mixed_traffic", duration=30_000)
