# SPDX-License-Identifier: Apache-2.0
"""Base of the tests that drive a tour through the pins."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import TypeVar

from tb.env.base_test import CarillonTest
from tb.env.defs import Cause, Result
from tb.env.harness.records import Record
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.tours.catalogue import explored
from tb.tours.graph import Outcome, tour
from tb.tours.report import VARIABLE, Driven

R = TypeVar("R")

#: Longest time from an action to the last thing that follows from it is shorter, in clock cycles.
QUIET = 32


def word_of(cause: int) -> str:
    """A cause as outcomes name it."""
    return "OK" if cause == Cause.NONE else Cause(cause).name


class TourTest(CarillonTest):
    """Drives a graph of the catalogue. Each action is placed alone; when nothing happens any more,
    what was seen of it and the state that the scoreboard has replayed from the engine's records are
    compared with the graph. Where a tour comes into a state for the first time, the engine is asked
    for it by query commands, whose answers the scoreboard judges.
    """

    graph = ""
    max_cycles = 50_000_000

    # -- what a tour says ----------------------------------------------------------------------

    async def begin(self) -> None:
        """Brings the engine from reset into state 0 of the graph."""
        raise NotImplementedError

    def state(self) -> Hashable:
        """The state as the scoreboard has replayed it."""
        raise NotImplementedError

    async def act(self, action: str) -> str:
        """Does an action through the pins; returns its answer."""
        raise NotImplementedError

    def followed(self) -> Outcome:
        """What else was seen of the action, when all is at rest."""
        raise NotImplementedError

    def queries(self) -> Iterable[tuple[int, int]]:
        """Commands and objects' numbers that ask for the state."""
        raise NotImplementedError

    async def end(self) -> None:
        """Ends what the tour itself holds back."""

    # -- driving -------------------------------------------------------------------------------

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self.seen: list[Record] = []
        self.env.add_subscriber(self.seen.extend, "records of the tour")

    @property
    def board(self) -> Scoreboard:
        """The scoreboard."""
        board = self.checking.board
        assert isinstance(board, Scoreboard)
        return board

    @property
    def index_mask(self) -> int:
        """All bits of an index."""
        assert self.env.config is not None
        return (1 << self.env.config.idx_w) - 1

    def of(self, kind: type[R]) -> list[R]:
        """Records of the present action."""
        return [record for record in self.seen if isinstance(record, kind)]

    async def rest(self) -> None:
        """Waits until nothing happens any more."""
        env, harness = self.env, self.harness
        begin = harness.cycle
        await env.sync()
        while True:
            latest = max(begin, self.seen[-1].cycle if self.seen else 0)
            left = latest + QUIET - harness.cycle
            if left <= 0 and all(agent.idle for agent in env.agents):
                return
            await harness.cycles(max(left, 4))
            await env.sync()

    async def scenario(self) -> None:
        self.driven = Driven(explored(self.graph))
        self._asked: set[int] = set()
        await self.drive()
        await self.end()
        self.report(self.driven)

    async def drive(self) -> None:
        """Takes all walks."""
        graph = self.driven.graph
        begun = False
        for walk in tour(graph):
            if begun:
                await self.end()
                await self.rest()
                await self.env.reset()
            begun = True
            state = await self.start()
            for number in walk:
                state = await self.step(state, graph.transitions[number].action)

    async def start(self) -> int:
        """A walk begins; returns the number of its state."""
        await self.begin()
        await self.rest()
        return self.driven.starts(self.state())

    async def step(self, state: int, action: str) -> int:
        """One action; returns the number of the state behind it."""
        self.driven.ahead(state, self.state())
        self.seen.clear()
        answer = await self.act(action)
        await self.rest()
        state = self.driven.note(state, action, (answer, *self.followed()), self.state())
        if state not in self._asked:
            self._asked.add(state)
            for code, number in self.queries():
                await self.env.host.command(code, number)
        return state

    def report(self, driven: Driven) -> None:
        """Demands that nothing is missing, and says so."""
        driven.finish()
        if out := os.environ.get(VARIABLE):
            driven.write(Path(out))

    async def result(self, code: int, *args: int) -> str:
        """Result of a raw command."""
        return Result((await self.env.host.command(code, *args)).result).name
