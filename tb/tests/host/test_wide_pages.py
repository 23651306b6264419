# SPDX-License-Identifier: Apache-2.0
"""Wide values at the host's two ports: counts of refused writes, IDs of reads, accesses refused in
one cycle, reports that nobody reads.

Counts of 32 bits do not grow old in a test: bits of a page's status turn over in memory
(``MEM_INJECT``), each with a check bit, which the engine reports; it uses the word.
"""

from __future__ import annotations

import pyuvm

from tb.env.agents.base import Pending
from tb.env.agents.doorbell import ReadResult
from tb.env.defs import PAGE_STATUS, Cause, PageReg, Reg
from tb.tests.common.directed import SLVERR
from tb.tests.common.memory_words import check_bit
from tb.tests.common.upsetting import READ_RAM, STATUS_BITS, UpsetsTest

BUILD = "default"

COUNT_RAM = READ_RAM - 1  # the copy that a refused write counts on
COUNT = 8  # its lowest bit in the stored word
M32 = (1 << 32) - 1
BAD_OFFSET = 0xF00


class PageBase(UpsetsTest):
    allow = ("no_traffic",)

    async def refused(self, page: int) -> None:
        """One more refused write."""
        answer = await self.env.doorbells.write(page, BAD_OFFSET, 0)
        assert answer == (SLVERR, Cause.BAD_OFFSET)

    def post_status(self, page: int) -> Pending[list[ReadResult]]:
        """A read of PAGE_STATUS with any ID; the agent compares the ID of the answer."""
        axi_id = self.ids.getrandbits(8)
        return self.env.doorbells.post_read(page, PageReg.PAGE_STATUS, axi_id=axi_id)

    async def status(self, page: int) -> tuple[int, int]:
        """Cause and count of a page."""
        ((resp, data),) = await self.post_status(page)
        assert resp == 0
        fields = PAGE_STATUS.unpack(data)
        return fields["cause"], fields["refused"]

    async def turn(self, memory: int, bit: int) -> None:
        """A bit of the next word of a memory of the pages."""
        assert await self.upsets.inject(memory, bit, check_bit(STATUS_BITS, bit)) == 0
        await self.env.harness.cycles(self.upsets.memories)

    async def demand(self, page: int, cause: int, count: int) -> None:
        """PAGE_STATUS has these two."""
        found = await self.status(page)
        assert found == (cause, count), f"page {page}: {found}, not {(cause, count)}"

    async def start(self) -> None:
        await super().start()
        self.ids = self.rng("IDs")


@pyuvm.test()
class WideCountTest(PageBase):
    """ISO-05: a page's count has 32 bits, goes on from any value, and from the last one to 0; what
    is read is what is in memory, bit for bit, cause included.
    """

    async def scenario(self) -> None:
        await self.start()
        rng, upsets = self.rng("pairs"), self.upsets
        self.page = page = rng.randrange(1, 64)
        count = 0
        for _ in range(2):
            for bit in rng.sample(range(32), 32):
                await self.turn(COUNT_RAM, COUNT + bit)
                count = await self.counts(count)
                await upsets.collect()
                count = await self.counts(count ^ 1 << bit)
        # The other copy, cause included: what is read, and forgotten by the next refused write.
        for bit in (39, 38, 37, 36, 10, 9, 7, 6, 5, 4):
            await self.turn(READ_RAM, bit)
            await self.refused(page)
            count = count + 1 & M32
            wrong = (count << COUNT | Cause.BAD_OFFSET) ^ 1 << bit
            await self.demand(page, wrong & 0xFF, wrong >> COUNT)
            # A log with room for the reports.
            await upsets.collect()
            count = await self.counts(count)
        # The cause is not counted on.
        for bit in (7, 6, 5, 4):
            await self.turn(COUNT_RAM, bit)
            for _ in range(2):
                count = await self.counts(count)
            await upsets.collect()
        # Bits that are 0 become 1, the highest first, until few counts are left to the last one.
        while count < M32 - 64:
            bit = max(bit for bit in range(32) if not count + 1 >> bit & 1)
            await self.turn(COUNT_RAM, COUNT + bit)
            await self.refused(page)
            count = count + 1 ^ 1 << bit
        while count:
            await self.refused(page)
            count = count + 1 & M32
        await self.demand(page, Cause.BAD_OFFSET, 0)
        await upsets.collect()
        assert upsets.lost.keys() == {COUNT_RAM, READ_RAM} and not upsets.corrected
        self.checking.facts.counts["words_lost"] = (await upsets.counted())[1]

    async def counts(self, count: int) -> int:
        """One more refused write is one more than ``count``."""
        await self.refused(self.page)
        await self.demand(self.page, Cause.BAD_OFFSET, count + 1 & M32)
        return count + 1 & M32


@pyuvm.test()
class LostReportsTest(PageBase):
    """ISO-02, ISO-05: reports of a word that stays wrong fill the log; each is counted, and what
    the log has no room for is counted there.
    """

    async def scenario(self) -> None:
        await self.start()
        env, upsets = self.env, self.upsets
        assert await upsets.inject(READ_RAM, STATUS_BITS, STATUS_BITS + 3) == 0
        await env.harness.cycles(upsets.memories)
        await self.refused(1)
        assert [entry.cause for entry in await env.host.read_log()] == [Cause.BAD_OFFSET]
        reads = 60
        answers = [self.post_status(number % 2) for number in range(2 * reads)]
        for number, answer in enumerate(answers):
            ((resp, data),) = await answer
            assert resp == 0 and PAGE_STATUS.unpack(data)["refused"] == number % 2
        await env.drain()
        lost = await env.host.counter("LOG_LOST")
        await upsets.collect()
        assert upsets.lost.keys() == {READ_RAM}
        corrected, found = await upsets.counted()
        logged = upsets.lost[READ_RAM]
        assert (corrected, found) == (0, logged + lost), f"{found}: {logged} logged, {lost} not"
        assert found >= reads
        # An empty log.
        assert [await env.control.value(reg) for reg in (Reg.LOG0, Reg.LOG1)] == [0, 0]
        self.checking.facts.counts["words_lost"] = found


@pyuvm.test()
class RefusedTogetherTest(PageBase):
    """ISO-02: a register write and a register read that are refused in the same cycle are two."""

    async def scenario(self) -> None:
        control, counter = self.env.control, self.env.host.counter
        rng = self.rng("registers")
        before = await counter("CTRL_REFUSED")
        for pairs, distance in enumerate(range(-3, 4), 1):
            at = self.harness.cycle + 40
            written = control.post_write(rng.randrange(0xE00, 0x1000), rng.getrandbits(32), at=at)
            read = control.post_read(rng.randrange(0xE00, 0x1000), at=at + distance)
            assert await written == SLVERR and (await read).resp == SLVERR
            found = await counter("CTRL_REFUSED")
            assert found - before == 2 * pairs, f"{distance} cycles apart"
        assert await self.env.doorbells.write(0, BAD_OFFSET, 0) == (SLVERR, Cause.BAD_OFFSET)
        assert await self.env.host.page_status(0) == (Cause.BAD_OFFSET, 1)
