# SPDX-License-Identifier: Apache-2.0
"""How far a run is: one line with the time left, rewritten where the terminal allows it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from tb.runner.items import job_of
from tb.runner.tiers import Costs

#: Seconds between two lines where they cannot be rewritten.
_EVERY_S = 20.0
#: Of an item without a recorded cost.
_UNKNOWN_S = 0.5


def duration(seconds: float) -> str:
    """As 1:02:03."""
    return str(timedelta(seconds=round(max(seconds, 0.0))))


class Progress:
    """Takes the place of pytest's dots in runs with simulations, proofs or lint."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._left: dict[str, float] = {}
        self._total = self._failed = 0
        self._done_s = 0.0
        self._start = self._told = time.monotonic()
        self._active = False

    @property
    def _terminal(self) -> Any:
        return self._config.pluginmanager.get_plugin("terminalreporter")

    def begin(self, ids: Sequence[str]) -> None:
        """These items are to run."""
        others = any(".py::" not in nodeid or job_of(nodeid) for nodeid in ids)
        self._active = bool(others and self._terminal and self._config.option.verbose <= 0)
        if not self._active:
            return
        self._terminal._show_progress_info = False
        costs, files = Costs(), Counter(nodeid.partition("::")[0] for nodeid in ids)
        for nodeid in ids:
            job, file = job_of(nodeid), nodeid.partition("::")[0]
            own, of_file = costs.of(job.id if job else nodeid), costs.of(file)
            self._left[nodeid] = own or (of_file / files[file] if of_file else _UNKNOWN_S)
        self._total = len(ids)
        self._config.pluginmanager.register(self, "carillon-progress")

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, Any, Any]:
        """No dots."""
        category, _, word = yield
        return category, "", word

    def ended(self, report: pytest.TestReport, facts: dict[str, Any]) -> None:
        """One item has ended."""
        if not self._active:
            return
        if len(self._left) == self._total:
            self._start = self._told = time.monotonic()
        self._done_s += self._left.pop(report.nodeid, 0.0)
        if report.failed:
            self._failed += 1
            self.line(f"FAILED {report.nodeid}: {facts.get('cause', '')}")
        now = time.monotonic()
        if self._terminal.isatty():
            self._terminal.rewrite(self._words(now), erase=True)
        elif now - self._told > _EVERY_S:
            self._told = now
            self.line(self._words(now))

    def _words(self, now: float) -> str:
        elapsed = now - self._start
        done = self._total - len(self._left)
        left = elapsed * sum(self._left.values()) / self._done_s if self._done_s else 0.0
        return (
            f"[{done:>{len(str(self._total))}}/{self._total}] {self._failed} failed, "
            f"{duration(elapsed)} elapsed, about {duration(left)} left"
        )

    def line(self, text: str) -> None:
        """A line that stays."""
        if terminal := self._terminal:
            if terminal.isatty():
                terminal.rewrite("", erase=True)
            terminal.write_line(text)
            terminal.flush()

    def end(self) -> None:
        """All items have ended."""
        if self._active:
            self.line(self._words(time.monotonic()))
