# SPDX-License-Identifier: Apache-2.0
"""A moderated queue, and the times of its steps."""

from __future__ import annotations

from tb.env.defs import STATE
from tb.env.harness.records import Trace
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

OTHER_ONLY = 0xFFFF
LOG2 = 3


class ModerationBase(DirectedTest):
    """A queue with a setting, and the times of its steps."""

    @property
    def unit(self) -> int:
        """An interval long enough for a few answered steps (ticks)."""
        return -(-256 // self.config.mod_tick)

    async def moderated(self, count: int, interval: int, log2: int = LOG2) -> Cq:
        """A new queue."""
        return await self.queue(1, log2=log2, moderation=(count, interval))

    async def settle(self, cycles: int = 120) -> None:
        """Time enough for a callback that is due and not moderated."""
        await self.harness.cycles(cycles)
        await self.env.sync()

    async def consume(self, cq: Cq) -> None:
        """Everything read, told and returned."""
        await self.env.drain(16)
        cq.get_cq_results()
        assert await cq.update_consumer_index() == (0, 0)
        if (await cq.query()).in_callback:
            assert await cq.callback_return() == (0, 0)
        assert not (await cq.query()).due

    def waited(self, cq: Cq) -> int:
        """Cycles from the step that made the latest callback due to the step that called it."""
        became = called = -1
        for step in self.of(Trace):
            if step.cq == cq.number and step.lane > 0:
                due = STATE["due"]
                if due.get(step.new) and not due.get(step.old):
                    became = step.cycle
                if step.event:
                    if not due.get(step.old):
                        became = step.cycle
                    called = step.cycle
        assert 0 <= became <= called
        return called - became

    def scan(self, loaded: bool = True) -> int:
        """The longest time until a waiting queue is looked at, pipeline included."""
        number = self.config.num_cq
        return 2 * number + 48 * number if loaded else 2 * number + 48

    def in_bounds(self, cq: Cq, interval: int, loaded: bool = False) -> None:
        """More than the interval, at most one unit and a scan later."""
        tick = self.config.mod_tick
        low, high = interval * tick, (interval + 1) * tick + self.scan(loaded)
        waited = self.waited(cq)
        assert low < waited <= high, f"interval {interval}: {waited}, not in ({low}, {high}]"
