# SPDX-License-Identifier: Apache-2.0
"""Every field of the entries of the error log (ISO-02, ISO-03), with all of its bits at 0 and 1."""

from __future__ import annotations

import pyuvm

from tb.env.agents import Cpl
from tb.env.defs import ArmType, Cause, Kind, PageReg
from tb.env.host.cq import Cq, Eq
from tb.env.host.driver import LogEntry
from tb.tests.common.directed import SLVERR, DirectedTest

BUILD = "default"

#: Two numbers with other bits everywhere.
PATTERNS = (0x5555, 0xAAAA)


class LogTest(DirectedTest):
    """Compares the whole log."""

    async def logged(self, *entries: LogEntry) -> None:
        """These and no others, in this order."""
        await self.env.drain(32)
        log = await self.env.host.read_log()
        assert log == list(entries), f"{log}, not {list(entries)}"

    async def advance(self, cq: Cq, index: int) -> None:
        """Entries come and go until the next one has this index."""
        while cq.reader.index != index:
            # Half of a ring before it is polled.
            count = min(1 << (self.config.max_log2 - 1), index - cq.reader.index)
            base = cq.reader.index
            for number in range(0, count - 1, 2):
                first, second = (Cpl(cq.number, context=base + number + k) for k in (0, 1))
                self.env.completions.send_pair(first, second)
                if number % 512 == 0:
                    await self.harness.cycles(200)  # not more than the harness's queue holds
            if count % 2:
                self.env.completions.send(cq.number, context=base + count - 1)
            await self.env.drain(32)
            assert self.polled(cq) == list(range(base, base + count))
            assert await cq.update_consumer_index() == (0, 0)


@pyuvm.test()
class LoggedIndexTest(LogTest):
    """CQ-17: entries about a CQ name it and an index, each with any bits: an event entry's write
    that fails its `snap`, a completion the place it would have had; the write of an entry none.
    """

    max_cycles = 4_000_000

    async def scenario(self) -> None:
        eq = await self.env.host.create_eq(page=1, log2=4)
        mask = (1 << self.config.idx_w) - 1
        for pattern in (pattern & mask for pattern in PATTERNS):
            await self.event(eq, pattern)
            await self.entry(eq, pattern)
            await self.credit(eq, pattern)
            await self.overflow(eq, pattern)

    async def made(self, eq: Eq, pattern: int, log2: int = 4, reservation: bool = False) -> Cq:
        """A CQ with a number like the pattern."""
        number = pattern % self.config.num_cq
        return await self.env.host.create_cq(number, eq=eq, log2=log2, reservation=reservation)

    async def event(self, eq: Eq, pattern: int) -> None:
        """The write of an event entry fails once; then completions are dropped."""
        cq = await self.made(eq, pattern, log2=self.config.max_log2)
        await self.advance(cq, pattern - 1)
        assert await cq.arm(ArmType.ANY) == (0, 0)
        self.env.mem.fail(SLVERR, eq=eq.number, count=1)
        self.send(cq, [1])
        await self.logged(LogEntry(Cause.EQE_WRITE_ERROR, Kind.CQ, cq.number, pattern))
        self.send(cq, [2, 3])
        await self.logged(*[LogEntry(Cause.CPL_CQ_ERROR, Kind.CQ, cq.number, pattern)] * 2)
        assert await cq.callback_return() == (0, 0)
        await cq.destroy()

    async def entry(self, eq: Eq, pattern: int) -> None:
        """The write of an entry fails."""
        cq = await self.made(eq, pattern)
        self.env.mem.fail(SLVERR, cq=cq.number, count=1)
        self.send(cq, [1])
        await self.logged(LogEntry(Cause.CQE_WRITE_ERROR, Kind.CQ, cq.number, 0))
        await cq.destroy()

    async def credit(self, eq: Eq, pattern: int) -> None:
        """A completion without credit, behind some with."""
        cq = await self.made(eq, pattern, reservation=True)
        placed = pattern & 7
        for context in range(placed):
            assert await self.env.credits.reserve(cq.number)
            self.send(cq, [context])
        self.send(cq, [9])
        await self.logged(LogEntry(Cause.CPL_NO_CREDIT, Kind.CQ, cq.number, placed))
        assert self.polled(cq) == list(range(placed))
        await cq.destroy()

    async def overflow(self, eq: Eq, pattern: int) -> None:
        """The ring is full."""
        cq = await self.made(eq, pattern)
        self.send(cq, range(17))
        await self.logged(LogEntry(Cause.CQ_OVERFLOW, Kind.CQ, cq.number, 16))
        await cq.destroy()


@pyuvm.test()
class LoggedObjectTest(LogTest):
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
