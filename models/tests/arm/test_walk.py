# SPDX-License-Identifier: Apache-2.0
"""Every interleaving of a small queue, and broken models that the same walk must catch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.arm.arm import CqModel
from models.tests.arm.walk import INDEX_BITS, Setup, ViolationError, walk
from models.tests.broken.arm import (
    BROKEN,
    CallsAfterDestroy,
    CallsPerArm,
    ComparesNoIndex,
    CountsWritten,
    DropsWhenDrained,
    ForgetsAtReturn,
    PublishesAfterHole,
)
from models.tests.helpers import in_tiers

#: Moves that reach no state that another one does not reach: used once, left out elsewhere.
SAME = frozenset({"failure", "bad index"})

WALKS = {
    "literal": (Setup(), True),
    "literal, re-arm": (Setup(rearm=True, skip=SAME), True),
    "typed": (Setup(typed=True, skip=SAME), True),
    "typed, re-arm": (Setup(typed=True, rearm=True, skip=SAME), True),
    "moderated": (Setup(mod_count=2, skip=SAME), True),
    "resized": (Setup(sizes=(1, 2), skip=SAME, depth=8), False),
}
#: The longest walks run in the full tier only.
LONG = ("literal, re-arm", "typed, re-arm", "moderated")


@pytest.mark.parametrize("name", in_tiers(WALKS, LONG))
def test_walk(name: str, record_property: Callable[[str, object], None]) -> None:
    """No property is violated; all but the resizing walk cover histories of any length."""
    setup, closes = WALKS[name]
    result = walk(setup)
    print(f"walk {name}: {result}")
    record_property("walk", str(result))
    assert result.closed == closes
    assert result.states > 5000  # a walk that lost its moves proves nothing


def without(rule: str) -> Callable[[], CqModel]:
    """The model without one rule."""
    return broken(BROKEN[rule].cq)


def broken(kind: type[CqModel]) -> Callable[[], CqModel]:
    """A model with a mistake of its own."""
    return lambda: kind(INDEX_BITS)


@pytest.mark.parametrize(
    ("model", "prop"),
    [
        (without("CQ-06"), "unarmed"),
        (without("CQ-07"), "lost"),
        (without("CQ-08"), "lost"),
        (without("CQ-09"), "lost"),
        (without("CQ-10"), "spurious"),
        (without("CQ-10a"), "empty"),
        (without("CQ-11"), "overlap"),
        (without("CQ-12"), "lost"),
        (without("CQ-13"), "spurious"),
        (without("CQ-14"), "lost"),
        (without("CQ-16"), "lost"),
        (without("CQ-17"), "lost"),
        (without("CQ-18"), "lost"),
        (without("CQ-20"), "hole"),
        (without("CQ-22"), "refused"),
        (broken(DropsWhenDrained), "lost"),
        (broken(CallsAfterDestroy), "ended"),
        (broken(CallsPerArm), "unarmed"),
        (broken(CountsWritten), "early"),
        (broken(ForgetsAtReturn), "lost"),
        (broken(PublishesAfterHole), "hole"),
        (broken(ComparesNoIndex), "refused"),
    ],
)
def test_walk_catches(model: Callable[[], CqModel], prop: str) -> None:
    """Each property fails for a model that breaks it."""
    only = frozenset({"failure"})
    with pytest.raises(ViolationError) as caught:
        walk(Setup(model=model, depth=8, skip=only))
    assert caught.value.prop == prop, caught.value.__notes__


def test_walk_catches_hasty_callback() -> None:
    """Moderation that does not delay."""
    with pytest.raises(ViolationError) as caught:
        walk(Setup(model=without("CQ-21"), mod_count=2, depth=6, skip=SAME))
    assert caught.value.prop == "hasty"


def test_walk_catches_wrong_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resize that the reader applies one entry late."""
    from models.cq.queue import RingReader

    right = RingReader.switch

    def late(self: RingReader, base: int, log2: int, index: int, index_bits: int = 16) -> None:
        right(self, base, log2, index + 1, index_bits)

    monkeypatch.setattr(RingReader, "switch", late)
    with pytest.raises(ViolationError) as caught:
        walk(Setup(sizes=(1, 2), depth=8, skip=SAME))
    assert caught.value.prop == "unread"
