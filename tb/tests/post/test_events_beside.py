# SPDX-License-Identifier: Apache-2.0
"""Connection events close together: each refused one is reported once (ISO-02, ISO-03)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, Kind
from tb.tests.common.posting import PostingTest

BUILD = ["engine", "engine_small"]
#: Cycles in which a step comes back, and some more.
DISTANCES = range(12)


@pyuvm.test()
class RefusedEventsTest(PostingTest):
    """Events for a QP that is FREE and malformed ones, in trains, at each distance."""

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        free = self.config.num_qp - 1
        missed, bad = 1 << 16 | free, 2 << 16 | free
        for distance in DISTANCES:
            for train in ((missed, bad), (bad, missed), (missed, bad, bad), (missed, missed, bad)):
                await self.refuse(train, distance)

    async def refuse(self, train: tuple[int, ...], distance: int) -> None:
        """Each event is counted and logged."""
        host = self.env.host
        before = await host.counter("DONE_REFUSED")
        for word in train:
            self.env.conn.send_raw(word)
            await self.harness.cycles(distance)
        await self.rest(16)
        wanted = [Cause.CONN_NO_QP if word >> 16 == 1 else Cause.DONE_BAD for word in train]
        entries = await host.read_log()
        found = [entry.cause for entry in entries]
        what = f"{len(train)} events, {distance} cycles apart: {found}"
        assert sorted(found) == sorted(wanted), what
        assert all((e.kind, e.object) == (Kind.QP, train[0] & 0xFFFF) for e in entries), what
        assert await host.counter("DONE_REFUSED") == before + len(train), what
        self.checking.facts.counts["refused_beats"] += len(train)
