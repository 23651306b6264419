# SPDX-License-Identifier: Apache-2.0
"""Event entries that were given up: how a test finds and ends them."""

from __future__ import annotations

from tb.env.defs import Life
from tb.env.harness.records import MemWrite
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import DirectedTest


class HoleTest(DirectedTest):
    """How each round ends."""

    @staticmethod
    def cq_of(write: MemWrite) -> int | None:
        """The CQ that an event entry is of; none if no byte of it is written."""
        if not write.strb:
            return None
        return write.data >> 8 * ((write.strb & -write.strb).bit_length() - 1) & 0xFFFF

    async def ends(self, eq: Eq, *cqs: Cq) -> None:
        """Everything can be destroyed."""
        await self.env.sync()
        for cq in cqs:
            self.polled(cq)
            state = await cq.query()
            if state.life == Life.READY:
                await cq.update_consumer_index()
            if state.in_callback:
                await cq.callback_return()
            await cq.destroy()
        await self.env.host.destroy_eq(eq)
