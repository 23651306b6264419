# SPDX-License-Identifier: Apache-2.0
"""Actions at clock cycles to come, for models that give items to the harness shortly before their
time.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import cocotb
from cocotb.triggers import Event

from tb.env.harness.harness import Harness

if TYPE_CHECKING:
    from cocotb.task import Task

LEAD = 16  # cycles between giving an item to the harness and its earliest cycle
_STEP = 64  # most cycles that the pump sleeps


class Schedule:
    """Runs actions in the order of their cycles, ``LEAD`` cycles before them. ``harness`` is asked
    for when it is needed first, since it may not exist before.
    """

    def __init__(self, harness: Callable[[], Harness]) -> None:
        self._harness = harness
        self.clear()

    def clear(self) -> None:
        """After a reset: nothing is to come."""
        self._heap: list[tuple[int, int, Callable[[int], None]]] = []
        self._order = 0
        self._pump: Task[None] | None = None
        self._wake = Event()

    @property
    def busy(self) -> bool:
        """Actions are to come."""
        return bool(self._heap)

    def at(self, cycle: int, action: Callable[[int], None]) -> None:
        """Runs ``action(cycle)`` shortly before that cycle; at once if it is near or over."""
        self._order += 1
        heappush(self._heap, (cycle, self._order, action))
        if cycle <= self._harness().cycle + LEAD:
            self._run_due()
        elif self._pump is None:
            self._pump = cocotb.start_soon(self._run())
        else:
            self._wake.set()

    def _run_due(self) -> None:
        limit = self._harness().cycle + LEAD
        heap = self._heap
        while heap and heap[0][0] <= limit:
            at, _, action = heappop(heap)
            action(at)

    async def _run(self) -> None:
        harness = self._harness()
        heap = self._heap
        while self._heap is heap:
            self._run_due()
            if heap:
                now = harness.cycle
                await harness.until(min(max(heap[0][0] - LEAD, now + 1), now + _STEP))
            else:
                self._wake.clear()
                await self._wake.wait()
