# SPDX-License-Identifier: Apache-2.0
"""Every interleaving of small receive queues, and broken models that the same walk must catch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.receive.receive_qp import ReceiveQp
from models.receive.srq import SrqModel
from models.tests.broken.receive import (
    BROKEN,
    ArmsForTomorrow,
    CountsTaken,
    EndsAtOnce,
    ForgetsReports,
    LosesTheFirst,
    NeverBusy,
    ReapsFree,
    RunsOver,
    SkipsOne,
    TakesAtAReport,
    TakesNothingTooLong,
)
from models.tests.helpers import in_tiers
from models.tests.receive.receive_walk import Setup, ViolationError, walk

QUIET = ("watermark", "interrupt", "creditless")
LIFE = ("destroy", "create", "idle", "connect", "renew")
WALKS = {
    "own queue": Setup(shared=False, qps=1),
    "SRQ, one queue pair, all lives": Setup(qps=1),
    "SRQ, two queue pairs, connections": Setup(
        skip=(*QUIET, "destroy", "create", "renew", "pending")
    ),
    "SRQ, two queue pairs, lives": Setup(size=1, skip=("watermark", "creditless")),
    "SRQ, two queue pairs, watermark": Setup(
        skip=("creditless", *LIFE, "pending", "cancel", "failure")
    ),
}
#: The longest walks run in the full tier only.
LONG = ("SRQ, two queue pairs, connections", "SRQ, two queue pairs, watermark")


@pytest.mark.parametrize("name", in_tiers(WALKS, LONG))
def test_walk(name: str, record_property: Callable[[str, object], None]) -> None:
    """No property is violated in histories of any length."""
    result = walk(WALKS[name])
    record_property("walk", f"{result.states} states, {result.transitions} transitions")
    assert result.states > 400  # a walk that lost its moves proves nothing
    common = {"post", "bad post", "take 0", "long 0", "success 0", "complete 0", "conn 0"}
    assert result.moves >= common
    if WALKS[name].shared:
        assert result.moves >= {"reap 0", "reap 1"}
    else:
        assert result.moves >= {"flush 0", "idle 0", "destroy 0", "create 0"}


#: Rules about what a post, a CQE or a page looks like, and the resize: the walk does not show them.
ELSEWHERE = {"DF-10", "ISO-01", "ISO-02", "SRQ-03", "SRQ-04", "SRQ-05", "SRQ-07", "SRQ-17"}
OWN = Setup(shared=False, qps=1)
#: Rules that show with an own queue only.
OWN_ONLY = {"SRQ-06", "SRQ-10", "SRQ-19"}


@pytest.mark.parametrize("rule", sorted(BROKEN.keys() - ELSEWHERE))
def test_walk_catches_a_missing_rule(rule: str) -> None:
    own = rule in OWN_ONLY
    with pytest.raises(ViolationError):
        walk(Setup(shared=not own, qps=1 if own else 2, qp=BROKEN[rule].rq, srq=BROKEN[rule].srq))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    "model",
    [SkipsOne, TakesAtAReport, EndsAtOnce, TakesNothingTooLong, ForgetsReports, NeverBusy],
)
def test_walk_catches_a_broken_queue_pair(model: type[ReceiveQp], shared: bool) -> None:
    skip = (*QUIET, "connect", "create", "renew")
    with pytest.raises(ViolationError):
        walk(Setup(shared=shared, qps=1, size=3, qp=model, skip=skip))


@pytest.mark.parametrize(
    "model", [ReapsFree, LosesTheFirst, ArmsForTomorrow, CountsTaken, RunsOver]
)
def test_walk_catches_a_broken_srq(model: type[SrqModel]) -> None:
    with pytest.raises(ViolationError):
        walk(Setup(qps=1, srq=model))
