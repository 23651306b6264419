# SPDX-License-Identifier: Apache-2.0
"""More errors than the log holds, one by one and at all ports at once."""

from __future__ import annotations

from collections.abc import Callable

import pyuvm

from tb.env.defs import CheckKind, Kind, Reg
from tb.env.harness.harness import Channel
from tb.tests.common.directed import DirectedTest

BUILD = ["engine", "default"]

_LOG = 16

#: Makes an error in a cycle, or as soon as may be.
Source = Callable[[int | None], object]


class LogTest(DirectedTest):
    allow = ("no_traffic",)

    def sources(self) -> list[Source]:
        """Errors of each port, about any number that nothing has."""
        env, rng, pages = self.env, self.rng("errors"), self.config.num_pages

        def far() -> int:
            return rng.randrange(max(self.config.num_qp, self.config.num_cq), 1 << 16)

        host: list[Source] = [
            lambda _: env.doorbells.post_read(rng.randrange(pages), 0xF00),
            lambda _: env.doorbells.post(rng.randrange(pages), 0xF00, 0),
            lambda _: env.mem.stray(rng.randrange(1 << 7)),
        ]
        if not self.config.num_qp:
            return [*host, lambda at: env.completions.send(far(), at_cycle=at)]
        return [
            *host,
            lambda at: env.done.send(far(), rng.getrandbits(16), rng.getrandbits(8), at_cycle=at),
            lambda at: env.conn.send(far(), at_cycle=at),
            lambda at: env.rreq.send(far(), 8, at_cycle=at),
            lambda at: env.rdone.send(far(), rng.getrandbits(16), rng.getrandbits(8), at_cycle=at),
            lambda at: env.check.send(
                far(), CheckKind.READ, rng.getrandbits(32), 0, 8, at_cycle=at
            ),
        ]

    async def demand_lost(self, lost: int) -> None:
        """CNT_LOG_LOST."""
        found = await self.env.host.counter("LOG_LOST")
        assert found == lost, f"{found} reports lost, not {lost}"


@pyuvm.test()
class FullLogTest(LogTest):
    """ISO-02: every port reports an error in every cycle. Log and places before it fill, each port
    has a place; what found none is counted, and nothing else is lost.
    """

    #: Errors of each port, one a cycle.
    each = 64

    async def scenario(self) -> None:
        env, sources = self.env, self.sources()
        for channel in (Channel.MEM_B, Channel.AW, Channel.AR):
            self.harness.hold(channel)
        await self.harness.cycles(8)
        start = self.harness.cycle + 1500
        for _ in range(self.each):
            for source in sources:
                source(start)
        await self.harness.until(start - 2)
        for channel in (Channel.MEM_B, Channel.AW, Channel.AR):
            self.harness.hold(channel, False)
        await env.drain(200)
        log = await env.host.read_log()
        assert len(log) == _LOG + len(sources), log
        kinds = {Kind(entry.kind) for entry in log[-len(sources) :]}
        assert kinds == {Kind.PAGE, Kind.PORT, *[Kind.QP] * (self.config.num_qp > 0)}, kinds
        if self.config.num_qp:
            # Two refusals in each cycle, of two ports, count as two.
            refused = await env.host.counter("DONE_REFUSED")
            assert refused == 2 * self.each, f"{refused} refusals counted"
        await self.demand_lost(self.each * len(sources) - len(log))


@pyuvm.test()
class LostEntriesTest(LogTest):
    """ISO-02: with a full log each source has one place; each further report of it, alone or with
    those of all others, is counted once, and the entries stay.
    """

    async def scenario(self) -> None:
        env, sources = self.env, self.sources()
        for _ in range(_LOG):
            sources[0](None)
            await env.drain(16)
        oldest = [await env.control.value(reg) for reg in (Reg.LOG0, Reg.LOG1)]
        lost = 0
        for source in sources:
            for turn in range(4):
                source(None)
                await env.drain(16)
                lost += turn > 0
                await self.demand_lost(lost)
        for source in sources:
            source(None)
        await env.drain(16)
        lost += len(sources)
        await self.demand_lost(lost)
        found = [await env.control.value(reg) for reg in (Reg.LOG0, Reg.LOG1)]
        assert found == oldest, f"oldest entry {found}, not {oldest}"
        log = await env.host.read_log()
        assert len(log) == _LOG + len(sources), log
        await self.demand_lost(lost)
