# SPDX-License-Identifier: Apache-2.0
"""Every interleaving of a small queue pair, and broken models that the same walk must catch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.post.qp import QpModel
from models.tests.broken.post import (
    BROKEN,
    CancelsSilently,
    CountsLocal,
    EndsEarly,
    FailsForEver,
    ForgetsReports,
)
from models.tests.helpers import in_tiers
from models.tests.post.posting_walk import PARAMS, Setup, ViolationError, walk

WALKS = {
    "two slots": Setup(),
    "two slots, watermark": Setup(watermark=2),
    "two slots, late news": Setup(lag=1, kinds=("send", "read", "local", "silent")),
    "three slots": Setup(slots=3, kinds=("read", "fenced")),
    "three slots, local": Setup(slots=3, kinds=("send", "local"), watermark=3),
}
#: The longest walks run in the full tier only.
LONG = ("two slots, watermark", "three slots, local")


@pytest.mark.parametrize("name", in_tiers(WALKS, LONG))
def test_walk(name: str, record_property: Callable[[str, object], None]) -> None:
    """No property is violated in histories of any length."""
    result = walk(WALKS[name])
    record_property("walk", f"{result.states} states, {result.transitions} transitions")
    assert result.states > 2000  # a walk that lost its moves proves nothing
    common = {"indicate", "late", "success", "failure", "retire", "age", "flush", "conn", "create"}
    assert result.moves >= common


#: Rules that one queue pair without several faults at once, and without portals, does not show.
ELSEWHERE = {"DF-10", "DF-14", "ISO-02"}


@pytest.mark.parametrize("rule", sorted(BROKEN.keys() - ELSEWHERE))
def test_walk_catches_a_missing_rule(rule: str) -> None:
    with pytest.raises(ViolationError):
        walk(Setup(watermark=2, model=lambda: BROKEN[rule].qp(0, PARAMS)))


@pytest.mark.parametrize(
    "model", [CountsLocal, EndsEarly, ForgetsReports, FailsForEver, CancelsSilently]
)
def test_walk_catches_a_broken_model(model: type[QpModel]) -> None:
    with pytest.raises(ViolationError):
        walk(Setup(model=lambda: model(0, PARAMS)))
