# SPDX-License-Identifier: Apache-2.0
"""Every interleaving of a small queue pair, and broken models that the same walk must catch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.codes import CommandResult, LogCause
from models.post.qp import Indication, QpModel, Retirement, StateStep
from models.rules import POSTING_RULES
from models.tests.post.posting_walk import PARAMS, Setup, ViolationError, walk

WALKS = {
    "two slots": Setup(),
    "two slots, watermark": Setup(watermark=2),
    "two slots, late news": Setup(lag=1, kinds=("send", "read", "local", "silent")),
    "three slots": Setup(slots=3, kinds=("read", "fenced")),
    "three slots, local": Setup(slots=3, kinds=("send", "local"), watermark=3),
}


@pytest.mark.parametrize("name", WALKS)
def test_walk(name: str, record_property: Callable[[str, object], None]) -> None:
    """No property is violated in histories of any length."""
    result = walk(WALKS[name])
    record_property("walk", f"{result.states} states, {result.transitions} transitions")
    assert result.states > 2000  # a walk that lost its moves proves nothing
    common = {"indicate", "late", "success", "failure", "retire", "age", "flush", "conn", "create"}
    assert result.moves >= common


#: Rules that one queue pair without several faults at once, and without portals, does not show.
ELSEWHERE = {"DF-10", "DF-14", "ISO-02"}


@pytest.mark.parametrize("rule", sorted(POSTING_RULES.keys() - ELSEWHERE))
def test_walk_catches_a_missing_rule(rule: str) -> None:
    with pytest.raises(ViolationError):
        walk(Setup(watermark=2, model=lambda: QpModel(0, PARAMS, [rule])))


class CountsLocal(QpModel):
    """Local requests use up tags."""

    def indicate(self, late: bool = False) -> Indication:
        beat = super().indicate(late)
        self.tags += beat.local
        return beat


class EndsEarly(QpModel):
    """A batch that is not indicated yet merges with the next one."""

    def _release(self) -> range:
        for request in self.requests:
            request.last = request.last and request.indicated
        return super()._release()


class ForgetsReports(QpModel):
    """Reports behind the end of the connection are refused."""

    def report(self, tag: int, status: int) -> tuple[LogCause, StateStep | None]:
        if self.state not in (2, 3):
            return LogCause.DONE_UNEXPECTED, None
        return super().report(tag, status)


class FailsForEver(QpModel):
    """A new connection is still cancelled by the old one's failure."""

    def connect(self, peer: int) -> tuple[CommandResult, StateStep | None]:
        failed = self.failed
        answer = super().connect(peer)
        self.failed = failed
        return answer


class CancelsSilently(QpModel):
    """What is skipped gives no completion if it has SILENT_SUCCESS."""

    def retire(self) -> Retirement:
        r = super().retire()
        silent = r.silent or (r.skipped and bool(r.post.flags & 1))
        return Retirement(**{**r.__dict__, "silent": silent})


@pytest.mark.parametrize(
    "model", [CountsLocal, EndsEarly, ForgetsReports, FailsForEver, CancelsSilently]
)
def test_walk_catches_a_broken_model(model: type[QpModel]) -> None:
    with pytest.raises(ViolationError):
        walk(Setup(model=lambda: model(0, PARAMS)))
