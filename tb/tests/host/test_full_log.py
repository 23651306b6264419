# SPDX-License-Identifier: Apache-2.0
"""Errors at all ports at once, more than the log holds."""

from __future__ import annotations

import pyuvm

from tb.env.defs import CheckKind, Kind
from tb.env.harness.harness import Channel
from tb.tests.common.directed import DirectedTest

BUILD = "engine"

#: Errors of each port, one a cycle.
_EACH = 64
_LOG = 16
_SOURCES = 8


@pyuvm.test()
class FullLogTest(DirectedTest):
    """ISO-02: eight ports report an error in every cycle. Log and places before it fill, each port
    has a place; what found none is counted, and nothing else is lost.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        env = self.env
        rng = self.rng("errors")
        for channel in (Channel.MEM_B, Channel.AW, Channel.AR):
            self.harness.hold(channel)
        await self.harness.cycles(8)
        start = self.harness.cycle + 1500
        far = self.config.num_qp
        for _ in range(_EACH):
            number = rng.randrange(far, 1 << 16)
            env.doorbells.post(rng.randrange(self.config.num_pages), 0xF00, 0)
            env.doorbells.post_read(rng.randrange(self.config.num_pages), 0xF00)
            env.mem.stray(rng.randrange(1 << 7))
            env.done.send(number, rng.getrandbits(16), rng.getrandbits(8), at_cycle=start)
            env.conn.send(number, at_cycle=start)
            env.rreq.send(number, 8, at_cycle=start)
            env.rdone.send(number, rng.getrandbits(16), rng.getrandbits(8), at_cycle=start)
            env.check.send(number, CheckKind.READ, rng.getrandbits(32), 0, 8, at_cycle=start)
        await self.harness.until(start - 2)
        for channel in (Channel.MEM_B, Channel.AW, Channel.AR):
            self.harness.hold(channel, False)
        await env.drain(200)
        log = await env.host.read_log()
        assert len(log) == _LOG + _SOURCES, log
        kinds = {Kind(entry.kind) for entry in log[-_SOURCES:]}
        assert kinds == {Kind.PAGE, Kind.PORT, Kind.QP}, kinds
        # Two refusals in each cycle, of two ports, count as two.
        refused = await env.host.counter("DONE_REFUSED")
        assert refused == 2 * _EACH, f"{refused} refusals counted"
        lost = await env.host.counter("LOG_LOST")
        assert lost == _EACH * _SOURCES - len(log), lost
