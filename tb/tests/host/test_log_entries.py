# SPDX-License-Identifier: Apache-2.0
"""Objects and details of entries of the error log (ISO-02, ISO-03), with all of their bits at 0 and
1.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, Kind, PageReg
from tb.env.host.driver import LogEntry
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
            await self.named(Cause.CPL_BAD_CQ, Kind.PORT, pattern)
            number = pattern % self.config.num_cq
            env.completions.send(number)
            await self.named(Cause.CPL_NO_CQ, Kind.CQ, number)
            env.mem.stray(number)
            await self.logged(LogEntry(Cause.STRAY_B, Kind.PORT, 0, 0))
            env.mem.stray(number, SLVERR)
            await self.logged(LogEntry(Cause.STRAY_B, Kind.PORT, 0, 0))
            page = pattern % self.config.num_pages
            word = number << 32
            await self.refused(Cause.NO_CQ, page, PageReg.CQ_DB, word)
            await self.refused(Cause.BAD_CQ, page, PageReg.CQ_DB, pattern << 32)
            await self.refused(Cause.BAD_OFFSET, page, 0xFF8, word)
            # A page behind the last one has all bits of its number, too.
            await self.refused(Cause.BAD_PAGE, pattern, PageReg.CQ_DB, word)
            for read in (page, pattern):
                cause = Cause.BAD_PAGE if read >= self.config.num_pages else Cause.BAD_OFFSET
                assert (await env.doorbells.read(read, PageReg.CQ_DB)).resp == SLVERR
                await self.logged(LogEntry(cause, Kind.PAGE, read, read))

    async def named(self, cause: Cause, kind: Kind, number: int) -> None:
        """One entry; its index means nothing."""
        await self.env.drain(32)
        (entry,) = await self.env.host.read_log()
        assert (entry.cause, entry.kind, entry.object) == (cause, kind, number), entry

    async def logged(self, *entries: LogEntry) -> None:
        """These and no others, in this order."""
        await self.env.drain(32)
        log = await self.env.host.read_log()
        assert log == list(entries), f"{log}, not {list(entries)}"
