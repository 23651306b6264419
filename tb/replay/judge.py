# SPDX-License-Identifier: Apache-2.0
"""Judges the events of a run, while it goes on or recorded, by the scoreboard of the bench."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tb.env.coverage.coverage import Coverage
from tb.env.coverage.lib import UpsetCoverage
from tb.env.harness.facts import Facts
from tb.env.harness.records import Access, Asked
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.replay.file import Block, End, Event, FileError, Life, Waited, read


class Judge:
    """Give it every event, in order; it raises ``Mismatch`` at the first contradiction. ``covers``:
    hits of the coverage are counted, too; ``counts``: facts are.

    ::

        header, events = read(path)
        judge = Judge(header.seed)
        judge(events)
        judge.board.judged, judge.counts
    """

    def __init__(self, seed: int = 0, covers: bool = True, counts: bool = True) -> None:
        self.seed = seed
        self._covers = covers
        self._counts = counts
        self.board: Scoreboard | None = None
        self.coverage: Coverage | None = None
        self.facts = Facts()
        #: The end of the latest life was judged, and nothing has come after it.
        self.ended = False
        self._asked: dict[int, Asked] = {}
        self._upsets = UpsetCoverage()
        self._commanding = False

    def __call__(self, events: Iterable[Event]) -> None:
        """Judges a whole run: its latest life must have an end."""
        for event in events:
            self.take(event)
        if not self.ended:
            raise FileError("the records end in the middle of a life: no line `end`")

    def take(self, event: Event) -> None:
        """One event."""
        match event:
            case Block():
                self._block(event)
            case Asked():
                self._asked[event.serial] = event
            case Access():
                self._upsets(event)
            case Life():
                self._life(event)
            case End():
                self._known().finish(event.allow, event.cycle)
                self.ended = True
            case Waited() if self.coverage is not None:
                self.coverage.waited(set(event.blocked), set(event.withheld))

    def _life(self, life: Life) -> None:
        for serial in [key for key, asked in self._asked.items() if asked.life != life.number]:
            del self._asked[serial]
        if self.board is None:
            self.board = Scoreboard(life.params, self.seed, lambda: self._commanding, self._asked)
            self.coverage = Coverage(self.board) if self._covers else None
            return
        if life.params != self.board.params:
            raise FileError("an engine has the same parameters in all of its lives")
        self.board.reset()
        if self.coverage is not None:
            self.coverage.reset()

    def _block(self, block: Block) -> None:
        board = self._known()
        self.ended = False
        self._commanding = block.commanding
        board.checks.stalled(block.stalled)
        board(block.records)
        if self._counts:
            self.facts(block.records)

    def _known(self) -> Scoreboard:
        if self.board is None:
            raise FileError("records in front of the first line `life`")
        return self.board

    @property
    def counts(self) -> Counter[str]:
        """Hits of the bins of functional coverage."""
        counts = Counter(self._upsets.counts)
        if self.coverage is not None:
            counts.update(self.coverage.counts)
        return counts

    def save(self, path: Path) -> None:
        """Adds the hits to those of a file; nothing if nothing was judged."""
        if self.coverage is not None:
            self.coverage.write(path, self.counts)


def judge_file(path: Path) -> tuple[Judge, float]:
    """Judges a file; seconds of processor time, with reading it. Raises ``Mismatch``,
    ``FileError``.
    """
    start = time.process_time()
    header, events = read(path)
    judge = Judge(header.seed)
    collected = gc.isenabled()
    gc.disable()  # records and what is known of them have no cycles
    try:
        judge(events)
    finally:
        if collected:
            gc.enable()
    return judge, time.process_time() - start
