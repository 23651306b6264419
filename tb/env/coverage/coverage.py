# SPDX-License-Identifier: Apache-2.0
"""Functional coverage: counts which situations a run has met, from the records as the scoreboard
judges them and from what its model knows then. Plain counters; the bins are in bins.py, what hits
them is in a file for each subject.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any, TypeVar

from models.codes import CQ_COMMANDS, QP_COMMANDS, RECEIVE_COMMANDS, WINDOW_COMMANDS
from models.layouts import PAGE_BYTES
from tb.env.coverage.arm import ArmCoverage
from tb.env.coverage.bins import (
    BINS,
    COMMAND_BINS,
    INPUTS,
    QP_COMMAND_BINS,
    RECEIVE_COMMAND_BINS,
    WINDOW_COMMAND_BINS,
)
from tb.env.coverage.cq import CqCoverage
from tb.env.coverage.group import Group, Look
from tb.env.coverage.host import HostCoverage
from tb.env.coverage.keys import KeyCoverage
from tb.env.coverage.post import PostCoverage
from tb.env.coverage.receive import ReceiveCoverage
from tb.env.harness.records import Command, DoorbellResponse, Record, Trace
from tb.env.scoreboard.scoreboard import Scoreboard

K = TypeVar("K")


def _merged(tables: Iterable[Mapping[K, Any]]) -> dict[K, tuple[Any, ...]]:
    """Everybody who looks, by what is looked at."""
    found: defaultdict[K, tuple[Any, ...]] = defaultdict(tuple)
    for table in tables:
        for key, looks in table.items():
            found[key] += looks if isinstance(looks, tuple) else (looks,)
    return dict(found)


class Coverage:
    """Looks at each record that a scoreboard has judged. ``counts``: hits of each bin."""

    def __init__(self, board: Scoreboard) -> None:
        self.board = board
        self.counts: Counter[str] = Counter()
        board.observe = self.sample
        self.reset()

    def reset(self) -> None:
        """The engine was reset, and the scoreboard has begun anew."""
        kinds: list[type[Group]] = [ArmCoverage, CqCoverage]
        self._results: dict[tuple[int, int], str] = dict(COMMAND_BINS)
        self._known = set(CQ_COMMANDS)
        if self.board.params.num_qp:
            kinds += [PostCoverage, ReceiveCoverage, KeyCoverage]
            self._results |= QP_COMMAND_BINS | RECEIVE_COMMAND_BINS | WINDOW_COMMAND_BINS
            self._known |= {*QP_COMMANDS, *RECEIVE_COMMANDS, *WINDOW_COMMANDS}
        self._host = host = HostCoverage(self.counts, self.board)
        groups = [host, *(kind(self.counts, self.board) for kind in kinds)]
        self._steps = _merged(group.steps for group in groups)
        self._commands = _merged(group.commands for group in groups)
        self._answers = _merged(group.answers for group in groups)
        self._pins: dict[type, tuple[Look, ...]] = _merged(group.pins for group in groups)
        self._pins |= {Command: (self._command,), DoorbellResponse: (self._response,)}

    def sample(self, record: Record) -> None:
        """A record was judged just now."""
        if type(record) is Trace:
            looks = self._steps.get((record.lane, record.op), ())
        else:
            looks = self._pins.get(type(record), ())
        for look in looks:
            look(record)

    def _command(self, record: Command) -> None:
        name = self._results.get((record.code, record.result))
        if name is not None:
            self.counts[name] += 1
        elif record.code not in self._known:
            self.counts["command/UNKNOWN"] += 1
        if not record.result:
            for look in self._commands.get(record.code, ()):
                look(record)

    def _response(self, record: DoorbellResponse) -> None:
        offset = self.board.checks.pages.answered.request.addr % PAGE_BYTES
        for look in self._answers.get(offset, (self._host.response,)):
            look(record, offset)

    def waited(self, blocked: Set[str], withheld: Set[str]) -> None:
        """Channels on which a stall kept somebody waiting: the engine, ``blocked`` by a low
        ready at an output for some cycles; an item ``withheld`` at an input (tb.env.harness).
        """
        for channel in blocked - INPUTS | withheld & INPUTS:
            self.counts[f"stall/{channel}"] += 1

    @staticmethod
    def write(path: Path, counts: Counter[str]) -> None:
        """Adds the counts to those of the file: a job may run several tests."""
        if path.is_file():
            counts = counts + Counter(json.loads(path.read_text()))
        unknown = counts.keys() - BINS.keys()
        assert not unknown, f"hits of bins that do not exist: {sorted(unknown)}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")
