# SPDX-License-Identifier: Apache-2.0
"""Attaches scoreboard and coverage to a test, and makes the scoreboard judge the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING

from pyuvm import uvm_component

from models.params import Params
from tb.env.config import RUN, Config, RunConfig
from tb.env.defs import Reg
from tb.env.harness.facts import Facts, wanted
from tb.env.harness.harness import Channel
from tb.env.harness.records import Record
from tb.env.host.log_entries import LogOfPages, sensible, shown
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.env.subscribers import BlockSubscriber
from tb.replay.file import Block, End, Life
from tb.replay.recorder import Recorder

if TYPE_CHECKING:
    from tb.env.env import CarillonEnv


#: Probability and hold in the settings word of a channel.
_STALLS = 0x1FF

#: A setting takes effect after so many cycles.
_SETTLED = 8

#: Causes of refused writes, 0 for none.
_CAUSES = 32


class ScoreboardSubscriber(BlockSubscriber):
    """The scoreboard of one test; it begins anew when the engine is reset."""

    def connect(self, env: CarillonEnv, covers: bool) -> None:
        """Where records and stalls come from; ``covers``: coverage is counted."""
        self._env = env
        self.config: Config | None = None
        self.recorder = Recorder(env, covers, wanted() is not None)

    @property
    def board(self) -> Scoreboard | None:
        """The scoreboard, from the first record on."""
        return self.recorder.judge.board

    def take(self, records: list[Record]) -> None:
        """Judges a block of records."""
        env, take = self._env, self.recorder.take
        if env.config is not self.config:
            assert env.config is not None, "records before the engine's parameters are known"
            self.config = env.config
            take(Life(env.doorbells.life, params_of(env.config)))
        assert self.board is not None
        stalled = {name: self._stalled(Channel[name]) for name in self.board.checks.bounded}
        take(Block(env.control.commanding, stalled, records))

    def finish(self, allow: Iterable[str]) -> None:
        """Judges the end of a life of the engine."""
        self.recorder.take(End(tuple(sorted(allow)), self._env.harness.cycle))

    def _stalled(self, channel: Channel) -> int:
        """The cycle up to which a channel was stalled."""
        harness = self._env.harness
        if harness.setting(channel) & _STALLS:
            return harness.cycle
        return harness.configured(channel) + _SETTLED


def params_of(config: Config) -> Params:
    """The model's parameters."""
    return Params(**{field.name: getattr(config, field.name) for field in fields(Params)})


class Checking(uvm_component):
    """Scoreboard, coverage and facts of one test."""

    def build_phase(self) -> None:
        self._run: RunConfig = self.cdb_get(RUN)
        self.scoreboard = ScoreboardSubscriber("scoreboard", self)

    def connect(self, env: CarillonEnv) -> None:
        """Subscribes to the records."""
        self._env = env
        self.scoreboard.connect(env, self._run.covers)
        env.tell_cq = self.tell_cq
        env.connect_subscriber(self.scoreboard)

    @property
    def facts(self) -> Facts:
        """Numbers for campaigns; tests may add their own to ``facts.counts``."""
        return self.scoreboard.recorder.judge.facts

    @property
    def board(self) -> Scoreboard | None:
        """The scoreboard, from the first record on."""
        return self.scoreboard.board

    def tell_cq(self, cq: int) -> str:
        """How a CQ stands, in words."""
        return self.board.tell_cq(cq) if self.board is not None else "nothing was seen of it"

    def grace(self) -> int:
        """Cycles to wait before the end: a callback may be waiting for nothing but the engine."""
        return self.board.grace(self._env.harness.cycle) if self.board is not None else 0

    def counters(self) -> dict[Reg, int]:
        """What counters must show when all is quiet, by what crossed the ports since the reset."""
        doorbells = self._env.doorbells
        causes = doorbells.causes
        refused = causes.total() - causes[0] + len(doorbells.reads_refused)
        wanted = {
            Reg.CNT_DB_OK: causes[0],
            Reg.CNT_DB_REFUSED: refused,
            Reg.CNT_CTRL_REFUSED: self._env.control.refused,
            **{Reg[f"CNT_CAUSE{cause}"]: causes[cause] for cause in range(1, _CAUSES)},
        }
        # Before the first record of a life the scoreboard has not begun anew.
        if self.board is not None and self.scoreboard.config is self._env.config:
            wanted |= self.board.counters()
        return wanted

    async def _check_counters(self) -> None:
        """Compares them (ISO-02, ISO-03)."""
        if self._env.config is None:
            return  # nothing was asked of the engine
        wanted = self.counters()
        found = await self._env.host.counters()
        wrong = {
            reg.name: (found[reg.name.removeprefix("CNT_")], count)
            for reg, count in wanted.items()
            if found[reg.name.removeprefix("CNT_")] != count
        }
        assert not wrong, f"counters, and what they should show: {wrong}"

    async def _check_log(self) -> None:
        """Compares what the error log says (ISO-02, ISO-03): nothing but what happened, and all of
        it unless entries were lost.
        """
        board, host, config = self.board, self._env.host, self._env.config
        if board is None or config is None or self.scoreboard.config is not config:
            return
        await host.read_log()
        refused = LogOfPages(config)
        told = Counter(shown(e.cause, e.kind, e.object, e.detail) for e in host.logged)
        wanted = refused.entries(self._env.doorbells) + Counter(
            shown(*entry) for entry in board.log()
        )
        certain = refused.causes | board.logs
        found = Counter({entry: count for entry, count in told.items() if entry[0] in certain})
        wanted = Counter({entry: count for entry, count in wanted.items() if entry[0] in certain})
        more = found - wanted - Counter(board.log_maybe())
        assert not more, f"log entries of what was not refused: {dict(more)}"
        strange = [entry for entry in told if not sensible(entry, config.num_cq)]
        assert not strange, f"log entries that name no object that they can: {strange}"
        moved = board.strange(told)
        assert not moved, f"log entries of dropped completions: wrong index, CQs {moved}"
        missing, lost = wanted - found, await host.counter("LOG_LOST")
        assert missing.total() <= lost, f"{lost} log entries lost, but not there: {dict(missing)}"

    async def finish(self, allow: Iterable[str] = ()) -> None:
        """End of the test; ``allow``: see ``scoreboard.ALLOWANCES``."""
        assert self.board is not None  # there were records
        self.scoreboard.finish(allow)
        await self._check_counters()
        await self._check_log()
        self.scoreboard.recorder.close()
        # Only what ran and was judged to its end counts.
        if self._run.coverage is not None:
            self.scoreboard.recorder.judge.save(self._run.coverage)
        if facts := wanted():
            self.facts.write(facts)
