# SPDX-License-Identifier: Apache-2.0
"""Completions that race with the grant of a credit (CQ-17, ISO-03)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause
from tb.tests.common.directed import DirectedTest


@pyuvm.test()
class CreditRaceTest(DirectedTest):
    """CQ-17, ISO-03: two completions without a credit around a request for one. One at most gets
    it, whichever it is; each other one is refused, counted and logged.
    """

    async def scenario(self) -> None:
        winners = {tuple(await self.race(offset)) for offset in range(-6, 12)}
        assert winners == {(), (1,), (2,)}, f"the race was not met: {winners}"

    async def race(self, offset: int) -> list[int]:
        """Contexts placed if the first completion comes so many cycles after the request."""
        env, host = self.env, self.env.host
        cq = await self.queue(1, reservation=True)
        refused = await host.counter("CPL_REFUSED")
        cycle = self.harness.cycle + 40
        env.credits.post(cq.number, 1, cycle)
        for i in (0, 1):
            env.completions.send(cq.number, context=1 + i, at_cycle=cycle + offset + i)
        await env.drain()
        placed = self.polled(cq)
        assert len(placed) <= 1
        assert (await cq.query()).credits == 1 - len(placed)
        lost = 2 - len(placed)
        assert await host.counter("CPL_REFUSED") == refused + lost
        assert [entry.cause for entry in await host.read_log()] == [Cause.CPL_NO_CREDIT] * lost
        await cq.update_consumer_index()
        assert await cq.destroy() == 0
        return placed
