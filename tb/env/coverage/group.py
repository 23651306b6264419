# SPDX-License-Identifier: Apache-2.0
"""What the groups of bins share: what they count, the scoreboard, and how they say what they look
at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from models.codes import QpState
from tb.env.coverage.bins import BINS
from tb.env.defs import QSTATE, STATE
from tb.env.harness.records import DoorbellResponse
from tb.env.scoreboard.scoreboard import Scoreboard

Look = Callable[[Any], None]

_state = QSTATE["state"].get


class Group:
    """Bins about one subject: looks, each at records that were judged just now. What a record does
    not tell is asked of the scoreboard's model; of earlier records a group remembers no more than
    its bins are about.
    """

    def __init__(self, counts: Counter[str], board: Scoreboard) -> None:
        self.counts = counts
        self.board = board
        self.ctx = board.ctx
        self.params = board.params
        self.half = 1 << self.params.idx_w - 1
        self.mask = (1 << self.params.idx_w) - 1
        #: Looks by lane and operation of a step, by type of another record, by offset of an
        #: answered write in its page, by code of a command that was executed.
        self.steps: Mapping[tuple[int, int], tuple[Look, ...]] = {}
        self.pins: Mapping[type, Look] = {}
        self.answers: Mapping[int, Callable[[DoorbellResponse, int], None]] = {}
        self.commands: Mapping[int, Look] = {}

    def hit(self, name: str) -> None:
        """Counts a hit of a bin."""
        self.counts[name] += 1

    def hit_if(self, condition: object, name: str) -> None:
        """Counts one if the condition holds."""
        if condition:
            self.counts[name] += 1

    def hit_if_known(self, name: str) -> None:
        """Counts one if there is such a bin."""
        if name in BINS:
            self.counts[name] += 1

    def hit_each(self, group: str, cases: Mapping[str, object], more: str = "") -> None:
        """Counts one for each case that holds."""
        for case, holds in cases.items():
            if holds:
                self.counts[f"{group}/{case}{more}"] += 1

    def in_error(self, cq: int) -> bool:
        """The status of a CQ, as its latest step showed it, is an error."""
        return bool(STATE["status"].get(self.ctx.state[cq]))


class EngineGroup(Group):
    """Bins of the full engine."""

    def __init__(self, counts: Counter[str], board: Scoreboard) -> None:
        super().__init__(counts, board)
        self.checks = checks = board.engine_checks
        self.qps, self.rqs, self.srqs = checks.qpc.qps, checks.rc.rqs, checks.rc.srqs
        self.table = checks.kc.table

    def states(self, qp: int, since: int) -> set[QpState]:
        """The states that a QP had from a cycle on."""
        return {QpState(_state(state)) for state in self.checks.qpc.states_since(qp, since)}

    def taken(self, qp: int) -> int:
        """Index after the latest request of a QP whose beat was taken."""
        dispatch = self.checks.dispatch
        ahead = (qp in dispatch.ahead) - len(dispatch.owed[qp])
        return self.params.index(self.qps[qp].indicated + ahead)


def some(count: int, most: int = 2, more: str = "or more") -> str:
    """A count, as bins name it."""
    return str(count) if count < most else f"{most} {more}"
