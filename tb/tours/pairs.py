# SPDX-License-Identifier: Apache-2.0
"""Base of the tests that drive actions two at a time, back to back."""

from __future__ import annotations

import cocotb

from tb.tours.base import TourTest
from tb.tours.catalogue import explored
from tb.tours.graph import TourError, way
from tb.tours.report import Driven


class PairTest(TourTest):
    """Drives each pair of actions of a graph that is in its graph of pairs: both are handed to the
    engine at once. The scoreboard judges what becomes of them. Where they end in a state to which
    no single action leads, the next pair begins with a reset.
    """

    async def drive(self) -> Driven:
        """Takes all pairs; what is reported is of them, not of the transitions between them."""
        graph = self.driven.graph
        pairs = Driven(explored(f"pairs: {graph.name}"))
        left: dict[int, list[str]] = {}
        for pair in reversed(pairs.graph.transitions):
            left.setdefault(pair.source, []).append(pair.action)
        state: int | None = None
        while left:
            if state is None:
                state = await self.start()
            path = way(graph, state, left)
            if path is None:
                raise TourError(f"{pairs.graph.name}: pairs that cannot be reached")
            for number in path:
                state = await self.step(state, graph.transitions[number].action)
            action = left[state].pop()
            await self.meet(action)
            state = pairs.meet(state, action, self.state())
            left = {source: actions for source, actions in left.items() if actions}
        return pairs

    async def meet(self, pair: str) -> None:
        """Both actions of a pair."""
        self.seen.clear()
        for task in [cocotb.start_soon(self.act(action)) for action in pair.split(" + ")]:
            await task
        await self.rest()
        self.polled()
