# SPDX-License-Identifier: Apache-2.0
"""Objects and details of entries of the error log (ISO-02, ISO-03), with all of their bits at 0 and
1.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, Kind, PageReg
from tb.tests.common.directed import SLVERR, DirectedTest

BUILD = "default"

#: Two numbers with other bits everywhere.
PATTERNS = (0x5555, 0xAAAA)


@pyuvm.test()
class LoggedObjectTest(DirectedTest):
    """Entries about what is not there name it with all bits of its number; a response that belongs
    to nothing has neither number nor index; refused reads and writes name their page.
    """

    allow = ("no_doorbells", "no_completions", "no_traffic")

    async def scenario(self) -> None:
        env = self.env
        for pattern in (*PATTERNS, 0xFFFF, 0xCC33):
            env.completions.send(pattern)
            await self.logged((Cause.CPL_BAD_CQ, Kind.PORT, pattern))
            number = pattern % self.config.num_cq
            env.completions.send(number)
            await self.logged((Cause.CPL_NO_CQ, Kind.CQ, number))
            env.mem.stray(number)
            env.mem.stray(number, SLVERR)
            await self.logged(*[(Cause.STRAY_B, Kind.PORT, 0)] * 2)
            page = pattern % self.config.num_pages
            word = number << 32
            await self.refused(Cause.NO_CQ, page, PageReg.CQ_DB, word)
            await self.refused(Cause.BAD_CQ, page, PageReg.CQ_DB, pattern << 32)
            await self.refused(Cause.BAD_OFFSET, page, 0xFF8, word)
            # A page after the last one has all bits of its number, too.
            await self.refused(Cause.BAD_PAGE, pattern, PageReg.CQ_DB, word)
            for read in (page, pattern):
                cause = Cause.BAD_PAGE if read >= self.config.num_pages else Cause.BAD_OFFSET
                assert (await env.doorbells.read(read, PageReg.CQ_DB)).resp == SLVERR
                await self.logged((cause, Kind.PAGE, read))

    async def logged(self, *wanted: tuple[Cause, Kind, int]) -> None:
        """These entries and no others, in this order; the scoreboard judges the rest of each."""
        await self.env.drain(32)
        log = [(entry.cause, entry.kind, entry.object) for entry in await self.env.host.read_log()]
        assert log == [*wanted], f"logged {log}, not {wanted}"
