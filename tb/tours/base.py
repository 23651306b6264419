# SPDX-License-Identifier: Apache-2.0
"""Base of the tests that drive tours through the pins."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Hashable, Iterable
from pathlib import Path
from typing import Any, ClassVar

from tb.env.agents.control import CommandError
from tb.env.base_test import CarillonTest
from tb.env.defs import Cause, Cmd, QpState, Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import Record
from tb.env.host.qp import Qp
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.tours.catalogue import SETUPS, explored
from tb.tours.graph import tour
from tb.tours.report import VARIABLE, Driven, write
from tb.tours.words import NAMES, PEER

#: Longest time from an action to the last thing that follows from it is shorter, in clock cycles.
QUIET = 32
#: Commands of queue pairs by the words of their actions.
_QP_COMMANDS: dict[str, tuple[int, ...]] = {
    "connect": (Cmd.CONNECT_QP, PEER),
    "idle": (Cmd.SET_QP_STATE, QpState.IDLE),
    "pending": (Cmd.SET_QP_STATE, QpState.DISCONNECT_PENDING),
    "disconnect": (Cmd.SET_QP_STATE, QpState.DISCONNECTED),
    "flush": (Cmd.FLUSH_QP,),
    "destroy": (Cmd.DESTROY_QP,),
}


def word_of(cause: int) -> str:
    """A cause as answers name it."""
    return "OK" if cause == Cause.NONE else Cause(cause).name


class TourTest(CarillonTest):
    """Drives graphs of the catalogue. Each action is placed alone; when nothing happens any more,
    its answer and the state that the scoreboard has replayed from the engine's records are compared
    with the graph; what else followed the scoreboard judges. Where a tour comes into a state for
    the first time, the engine is asked for it by query commands, whose answers the scoreboard
    judges, too.
    """

    graphs: tuple[str, ...] = ()
    #: What "stall" holds.
    channel: ClassVar[Channel | None] = None
    #: The half of the transport that reports.
    side: Any = None
    max_cycles = 50_000_000

    # -- what a tour says ----------------------------------------------------------------------

    async def begin(self) -> None:
        """Brings the engine from reset into state 0 of the graph."""
        raise NotImplementedError

    def state(self) -> Hashable:
        """The state as the scoreboard has replayed it."""
        raise NotImplementedError

    def queries(self) -> Iterable[tuple[int, int]]:
        """Commands and objects' numbers that ask for the state."""
        raise NotImplementedError

    async def end(self) -> None:
        """Ends what the tour itself holds back."""

    # -- actions -------------------------------------------------------------------------------

    async def act(self, action: str) -> str:
        """Does an action through the pins; returns its answer."""
        word, *rest = action.split()
        if hasattr(self, f"_do_{word}"):
            answer: str = await getattr(self, f"_do_{word}")(*rest)
            return answer
        code, *args = _QP_COMMANDS[word]
        return await self.result(code, self.qp(*rest).number, *args)

    def qp(self, name: str = NAMES[0]) -> Qp:
        """The QP of this name."""
        return self.qps[NAMES.index(name)]

    async def result(self, code: int, *args: int) -> str:
        """Result of a raw command."""
        return Result((await self.env.host.command(code, *args)).result).name

    @staticmethod
    async def made(command: Callable[[], Awaitable[object]]) -> str:
        """Result of a command of the driver."""
        try:
            await command()
        except CommandError as error:
            return Result(error.command.result).name
        return "OK"

    async def _do_event(self, *name: str) -> str:
        self.env.transport.disconnect(self.qp(*name).number)
        return ""

    async def _do_report(self, *words: str) -> str:
        *name, status = words
        self.side.report(self.qp(*name).number, status=int(status))
        return ""

    def stray(self, *name: str) -> tuple[int, int]:
        """QP and tag of what is after the oldest one that was not reported."""
        number = self.qp(*name).number
        waiting = self.side.outstanding(number)
        return number, (waiting[0].tag + 1 if waiting else 0) & self.index_mask

    async def report_all(self) -> None:
        """Everything that was taken succeeds."""
        for qp in self.qps:
            while self.side.outstanding(qp.number):
                self.side.report(qp.number, status=0)
                await self.rest()

    async def _do_go(self) -> str:
        return await self._do_stall(False)

    async def _do_stall(self, on: bool = True) -> str:
        assert self.channel is not None
        self.stalled = on
        self.harness.hold(self.channel, on)
        return ""

    def polled(self) -> None:
        """What a consumer does when all is at rest: results of each QP are taken."""
        for qp in self.qps:
            if qp.cq.get_cq_results_ex():
                qp.cq.post_consumer_index()

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
        return (1 << self.config.idx_w) - 1

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
        self._begun = False
        reports = []
        for name in self.graphs:
            self.setup: Any = SETUPS[name]
            self.driven = Driven(explored(name))
            self._asked: set[int] = set()
            reports.append(await self.drive())
            reports[-1].finish()
        await self.end()
        if out := os.environ.get(VARIABLE):
            write(Path(out), reports)

    async def drive(self) -> Driven:
        """Takes all walks."""
        graph = self.driven.graph
        for walk in tour(graph):
            state = await self.start()
            for number in walk:
                state = await self.step(state, graph.transitions[number].action)
        return self.driven

    async def start(self) -> int:
        """A walk begins, from reset; returns the number of its state."""
        if self._begun:
            await self.end()
            await self.rest()
            await self.env.reset()
        self._begun, self.stalled = True, False
        self.qps: list[Qp] = []
        await self.begin()
        await self.rest()
        return self.driven.starts(self.state())

    async def step(self, state: int, action: str) -> int:
        """One action; returns the number of the state after it."""
        self.driven.ahead(state, self.state())
        self.seen.clear()
        answer = await self.act(action)
        await self.rest()
        self.polled()
        state = self.driven.note(state, action, answer, self.state())
        if state not in self._asked:
            self._asked.add(state)
            for code, number in self.queries():
                await self.env.host.command(code, number)
        return state
