# SPDX-License-Identifier: Apache-2.0
"""Every interleaving of a few keys, and broken models that the same walk must catch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from models.keys.keys import KeyTable
from models.post.qp import QpModel
from models.tests.broken.keys import (
    BROKEN,
    AnyQueuePair,
    BindsToNothing,
    CloseForgets,
    KeepsCounting,
    NeverEnds,
    OldKeys,
    RunsWhatIsSkipped,
    SameKey,
    StartsAgain,
    ThePeerLoses,
)
from models.tests.helpers import in_tiers
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
#: The longest walks run in the full tier only.
LONG = ("a window, requests in queues", "two windows on a region")


@pytest.mark.parametrize("name", in_tiers(WALKS, LONG))
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


#: Rules about entries, credits, segments and buffers, what comes after a request, queue pairs
#: that are not guarded, and accesses of 0 bytes: the walk does not show them.
ELSEWHERE = {
    "CQ-17",
    "DF-15a",
    "MW-02a",
    "MW-07",
    "MW-07a",
    "MW-08",
    "MW-10b",
    "MW-10d",
    "MW-10f",
    "MW-12",
}


@pytest.mark.parametrize("rule", sorted(BROKEN.keys() - ELSEWHERE))
def test_walk_catches_a_missing_rule(rule: str) -> None:
    setup = {"MW-11a": BOTH, "CQ-05": QUEUED}.get(rule, Setup(lives=3))
    with pytest.raises(ViolationError):
        walk(replace(setup, table=BROKEN[rule].keys, qp=BROKEN[rule].qp))


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


@pytest.mark.parametrize("qp", [NeverEnds, RunsWhatIsSkipped])
def test_walk_catches_a_broken_queue_pair(qp: type[QpModel]) -> None:
    setup = replace(QUEUED, skip=("remove", "deregister", "register", "connect"))
    with pytest.raises(ViolationError):
        walk(replace(setup, qp=qp))
