# SPDX-License-Identifier: Apache-2.0
"""Every interleaving of a few keys, and broken models that the same walk must catch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from models.codes import By, CommandResult, Status
from models.keys.keys import KeyTable
from models.keys.region import Region
from models.keys.window_types import KeyStep, Window
from models.layouts import WINDOW_BIT
from models.post.post import Segment
from models.post.qp import QpModel
from models.post.qp_types import StateStep
from models.rules import WINDOW_RULES
from models.tests.keys.window_walk import Setup, ViolationError, walk

QUIET = ("connect", "end")
QUEUED = Setup(queued=True, lives=2, skip=("remove", *QUIET, "deregister", "register", "close"))
BOTH = Setup(fast=True, lives=2, skip=(*QUIET, "close", "remove", "deregister 0"))
WALKS = {
    "a window, all lives": Setup(lives=3),
    "a window, requests in queues": QUEUED,
    "a window, requests in queues, ends": replace(
        QUEUED, lives=1, skip=("remove", "deregister", "register")
    ),
    "two windows on a region": Setup(windows=2, lives=2, skip=(*QUIET, "deregister", "remove")),
    "an allocated region": Setup(fast=True, windows=0, lives=3, skip=("deregister 0", "connect")),
    "a window on an allocated region": BOTH,
}


@pytest.mark.parametrize("name", WALKS)
def test_walk(name: str, record_property: Callable[[str, object], None]) -> None:
    """No property is violated in histories of any length."""
    setup = WALKS[name]
    result = walk(setup)
    record_property("walk", f"{result.states} states, {result.transitions} transitions")
    assert result.states > 1000  # a walk that lost its moves proves nothing
    assert result.moves >= {"invalidate", "peer", "fail"}
    assert ("bind" in result.moves) is (setup.windows > 0)
    assert ({"allocate", "fast"} <= result.moves) is setup.fast
    if setup.queued:
        assert result.moves >= {"execute", "retire"}
    if not setup.skip:
        moves = {"create", "close", "register", "deregister", "remove", "end", "connect"}
        assert result.moves >= moves


#: Rules about entries, credits, segments and buffers, what stands behind a request, and queue pairs
#: that are not guarded: the walk does not show them.
ELSEWHERE = {"CQ-17", "DF-15a", "MW-02a", "MW-07", "MW-07a", "MW-08", "MW-10b", "MW-10d", "MW-12"}


@pytest.mark.parametrize("rule", sorted(WINDOW_RULES.keys() - ELSEWHERE))
def test_walk_catches_a_missing_rule(rule: str) -> None:
    setup = {"MW-11a": BOTH, "CQ-05": QUEUED}.get(rule, Setup(lives=3))
    with pytest.raises(ViolationError):
        walk(replace(setup, without=(rule,)))


class KeepsCounting(KeyTable):
    """An invalidation leaves the window counted at its region."""

    def _invalidate(self, token: int) -> None:
        regions = list(self.regions)
        super()._invalidate(token)
        if token & WINDOW_BIT:
            self.regions = regions


class CloseForgets(KeyTable):
    """A window that is closed while it is valid stays counted."""

    def close(self, number: int) -> CommandResult:
        self.windows[number] = None
        return CommandResult.OK


class StartsAgain(KeyTable):
    """A creation starts with the first generation."""

    def create(self, number: int, zone: int = 0, context: int = 0) -> int:
        self.window_serials[number] -= 1
        return super().create(number, zone, context)


class OldKeys(KeyTable):
    """Only the object's number counts, not the generation."""

    def window(self, key: int) -> Window | None:
        number = key & 0x7FF
        known = key & WINDOW_BIT and number < self.params.num_mw
        return self.windows[number] if known else None


class SameKey(KeyTable):
    """Bind gives no new key."""

    def bind(
        self, qp: int, zone: int, target: int, segment: Segment | None, rights: int
    ) -> KeyStep:
        step = super().bind(qp, zone, target, segment, rights)
        window = self.windows[0]
        if step.okay and window is not None:
            self.windows[0] = replace(window, key=target)
            return replace(step, new_key=target)
        return step


class AnyQueuePair(KeyTable):
    """Every queue pair can invalidate a window."""

    def invalidate(self, qp: int, token: int, by: By = By.REQUEST) -> KeyStep:
        window = self.window(token)
        return super().invalidate(qp if window is None else window.qp, token, by)


class ThePeerLoses(KeyTable):
    """Of two invalidations that meet neither succeeds if the peer's comes first."""

    def invalidate(self, qp: int, token: int, by: By = By.REQUEST) -> KeyStep:
        step = super().invalidate(qp, token, by)
        if by is By.PEER and step.okay:
            return replace(step, code=Status.INVALID_TOKEN)
        return step


class BindsToNothing(KeyTable):
    """A window can be bound to a region that is not valid."""

    def find(self, key: int) -> Region | None:
        return self.region(key)


@pytest.mark.parametrize(
    "table",
    [
        KeepsCounting,
        CloseForgets,
        StartsAgain,
        OldKeys,
        SameKey,
        AnyQueuePair,
        ThePeerLoses,
        BindsToNothing,
    ],
)
def test_walk_catches_a_broken_table(table: type[KeyTable]) -> None:
    setup = BOTH if table is BindsToNothing else Setup(lives=3)
    with pytest.raises(ViolationError):
        walk(replace(setup, table=table))


class NeverEnds(QpModel):
    """A failure is reported, and the connection goes on."""

    def fail(self) -> StateStep | None:
        self.ending = None
        return None


class RunsWhatIsSkipped(QpModel):
    """Requests are executed when they are posted, not in their place."""

    def _skip(self) -> None:
        super()._skip()
        for request in self.requests:
            if request.skipped and self.keys is not None:
                request.verb.execute(self.keys, self.number, self.zone, request.post)


@pytest.mark.parametrize("qp", [NeverEnds, RunsWhatIsSkipped])
def test_walk_catches_a_broken_queue_pair(qp: type[QpModel]) -> None:
    setup = replace(QUEUED, skip=("remove", "deregister", "register", "connect"))
    with pytest.raises(ViolationError):
        walk(replace(setup, qp=qp))
