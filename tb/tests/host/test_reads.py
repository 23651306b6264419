# SPDX-License-Identifier: Apache-2.0
"""Reads of the doorbell pages, right and wrong ones, of both top levels (ISO-02)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import CQ_DB, Cause, Kind, PageReg
from tb.env.host.driver import LogEntry
from tb.tests.common.directed import SLVERR, DirectedTest

BUILD = ["default", "engine"]


@pyuvm.test()
class ReadsTest(DirectedTest):
    """Reads: one beat of PAGE_STATUS is OKAY; offsets, sizes, bursts, pages after the last one
    are SLVERR on each beat, counted and reported, and change no status word.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        host, post = self.env.host, self.env.doorbells.post_read
        cq = await self.queue(1)
        await host.write(1, PageReg.CQ_DB, CQ_DB.pack(cons=3, cq=cq.number))
        await host.read_log()
        status = (Cause.BAD_INDEX, 1)
        assert await host.page_status(1) == status
        behind = self.config.num_pages
        log = []
        async with self.no_effect():
            for page, offset, options, cause in [
                (1, PageReg.CQ_DB, {}, Cause.BAD_OFFSET),
                (1, PageReg.PAGE_STATUS, {"size": 2}, Cause.BAD_SIZE),
                (1, PageReg.PAGE_STATUS + 4, {}, Cause.BAD_SIZE),
                *((1, PageReg.PAGE_STATUS, {"length": 1 << n}, Cause.BURST) for n in range(8)),
                (1, PageReg.PAGE_STATUS, {"length": 15}, Cause.BURST),
                (1, PageReg.PAGE_STATUS, {"length": 255}, Cause.BURST),
                (behind, PageReg.PAGE_STATUS, {}, Cause.BAD_PAGE),
                (behind, 0, {}, Cause.BAD_PAGE),
                (behind, 1, {"length": 1, "size": 0}, Cause.BURST),
            ]:
                beats = await post(page, offset, axi_id=page & 0xFF, **options)
                assert len(beats) == options.get("length", 0) + 1
                assert all(beat == (SLVERR, 0) for beat in beats), (page, offset, beats)
                log.append(LogEntry(cause, Kind.PAGE, page, page))
            assert await host.read_log() == log
            for size in range(3, 7):
                assert (await host.read(1, PageReg.PAGE_STATUS, size=size)).resp == 0
            reads = {o: post(1, o) for o in range(0, 4096, 8)}
            for offset, read in reads.items():
                (beat,) = await read
                assert (beat.resp == 0) == (offset == PageReg.PAGE_STATUS), offset
            for low in range(1, 8):
                assert (await host.read(1, PageReg.PAGE_STATUS + low)).resp == SLVERR
            for length in range(1, 16):
                beats = await post(1, PageReg.PAGE_STATUS, length=length)
                assert beats == [(SLVERR, 0)] * (length + 1)
            assert await host.page_status(1) == status
