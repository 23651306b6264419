# SPDX-License-Identifier: Apache-2.0
"""Attaches scoreboard and coverage to a test, and makes the scoreboard judge the end."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from models.params import Params
from tb.env.coverage.coverage import Coverage
from tb.env.coverage.post import EngineCoverage
from tb.env.coverage.receive import ReceiveCoverage
from tb.env.coverage.upsets import UpsetCoverage
from tb.env.coverage.windows import WindowCoverage
from tb.env.defs import Reg
from tb.env.harness.facts import Facts, wanted
from tb.env.harness.harness import Channel
from tb.env.harness.records import Record
from tb.env.host.log_entries import LogOfPages, sensible, shown
from tb.env.scoreboard.engine_board import EngineScoreboard
from tb.env.scoreboard.receive_board import ReceiveScoreboard
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.env.scoreboard.windows_board import WindowScoreboard

if TYPE_CHECKING:
    from tb.env.env import CarillonEnv, Config


#: Probability and hold in the settings word of a channel.
_STALLS = 0x1FF

#: A setting takes effect after so many cycles.
_SETTLED = 8

#: Causes of refused writes, 0 for none.
_CAUSES = 32

#: Environment variable: where the counts of coverage go; set and empty: nothing is counted.
_COVERAGE = "CARILLON_COVERAGE_OUT"


class Checking:
    """Scoreboard and coverage of one test. Both begin anew when the engine is reset."""

    def __init__(self, env: CarillonEnv) -> None:
        self._env = env
        self._config: Config | None = None
        self.board: Scoreboard | None = None
        self.coverage: Coverage | None = None
        #: Numbers for campaigns; tests may add their own to ``facts.counts``.
        self.facts = Facts()
        self._covers = os.environ.get(_COVERAGE) != ""
        #: Learns from register accesses, which come before the engine's parameters are known.
        self._upsets = UpsetCoverage()
        if self._covers:
            env.control.observers.append(self._upsets)
        env.add_subscriber(self._judge, "scoreboard")
        if wanted() is not None:
            env.add_subscriber(self.facts, "facts")

    def _judge(self, records: list[Record]) -> None:
        env = self._env
        if env.config is not self._config:
            self._config = env.config
            self._renew()
        assert self.board is not None, "records before the engine's parameters are known"
        if isinstance(self.board, EngineScoreboard):
            self.board.dispatch.stalled(self._stalled(Channel.WORK))
        if isinstance(self.board, ReceiveScoreboard):
            self.board.takes.stalled(self._stalled(Channel.SCATTER))
        if isinstance(self.board, WindowScoreboard):
            self.board.access.stalled(self._stalled(Channel.VERDICT))
        self.board(records)
        if self.coverage is not None:
            self.coverage(records)

    def _stalled(self, channel: Channel) -> int:
        """The cycle up to which a channel was stalled."""
        harness = self._env.harness
        if harness.setting(channel) & _STALLS:
            return harness.cycle
        return harness.configured(channel) + _SETTLED

    def _renew(self) -> None:
        config = self._config
        assert config is not None
        if self.board is not None:
            self.board.reset()
            if self.coverage is not None:
                self.coverage.reset()
            return
        params = Params(
            config.num_cq,
            config.num_eq,
            config.num_pages,
            config.idx_w,
            config.mod_tick,
            config.num_qp,
            config.sq_log2,
            config.burst,
            config.num_srq,
            config.rq_log2,
            config.srq_log2,
            config.rx_log2,
            config.num_mr,
            config.num_mw,
        )
        board: type[Scoreboard] = Scoreboard
        coverage: type[Coverage] = Coverage
        if config.num_mw:
            board, coverage = WindowScoreboard, WindowCoverage
        elif config.num_srq:
            board, coverage = ReceiveScoreboard, ReceiveCoverage
        elif config.num_qp:
            board, coverage = EngineScoreboard, EngineCoverage
        if self._covers:
            self.coverage = coverage(params)
        self.board = board(params, self._env.seed, lambda: self._env.control.commanding)

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
        if self.board is not None and self._config is self._env.config:
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
        if board is None or config is None or self._config is not config:
            return
        await host.read_log()
        refused = LogOfPages(config.num_pages, config.num_qp > 0, config.num_srq > 0)
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
        allowed = set(allow)
        if self.board is None:
            assert "no_traffic" in allowed, "the scoreboard saw nothing"
            await self._check_counters()
            return
        self.board.finish(allowed, self._env.harness.cycle)
        await self._check_counters()
        await self._check_log()
        # Only what ran and was judged to its end counts.
        out = os.environ.get(_COVERAGE)
        if out and self.coverage is not None:
            harness = self._env.harness
            self.coverage.waited(
                {channel.name for channel in harness.blocked},
                {channel.name for channel in harness.withheld},
            )
            self.coverage.counts.update(self._upsets.counts)
            self.coverage.write(Path(out))
        if facts := wanted():
            self.facts.write(facts)
