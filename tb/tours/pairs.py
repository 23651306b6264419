# SPDX-License-Identifier: Apache-2.0
"""Base of the tests that drive actions two at a time, back to back."""

from __future__ import annotations

import cocotb

from tb.tours.base import TourTest
from tb.tours.catalogue import explored
from tb.tours.graph import TourError, way
from tb.tours.report import Driven


class PairTest(TourTest):
    """Drives each pair of actions of ``graph`` that is in its graph of pairs: both are handed to
    the engine at once. The scoreboard judges what becomes of them. Where they end in a state to
    which no single action leads, the next pair begins with a reset.
    """

    async def drive(self) -> None:
        graph, pairs = self.driven.graph, explored(f"pairs: {self.graph}")
        self.met = Driven(pairs)
        left: dict[int, list[str]] = {}
        for pair in reversed(pairs.transitions):
            left.setdefault(pair.source, []).append(pair.action)
        state: int | None = None
        while left:
            if state is None:
                state = await self.start()
            path = way(graph, state, left)
            if path is None:
                raise TourError(f"{pairs.name}: pairs that cannot be reached")
            for number in path:
                state = await self.step(state, graph.transitions[number].action)
            end = await self.meet(state, left[state].pop())
            left = {source: actions for source, actions in left.items() if actions}
            state = end
            if end is None:
                await self.end()
                await self.rest()
                await self.env.reset()

    async def meet(self, state: int, pair: str) -> int | None:
        """Both actions of a pair; returns the number of the state behind them."""
        self.seen.clear()
        for task in [cocotb.start_soon(self.act(action)) for action in pair.split(" + ")]:
            await task
        await self.rest()
        self.followed()
        return self.met.meet(state, pair, self.state())

    def report(self, driven: Driven) -> None:
        """Of pairs, not of the transitions between them."""
        assert driven is self.driven
        super().report(self.met)
