# SPDX-License-Identifier: Apache-2.0
"""When a life of receives must have compared a payload."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tb.env.defs import CqeStatus
from tb.env.scoreboard.receive.ledger import ReceiveLedger


def life(*ends: tuple[bool, list[int]]) -> ReceiveLedger:
    """QPs: whether the CQ failed, statuses of the completions."""
    none: Any = None
    ledger = ReceiveLedger(none)
    for lossy, statuses in ends:
        end: Any = SimpleNamespace(
            lossy=lossy, seen=[SimpleNamespace(status=status) for status in statuses]
        )
        ledger.ends.append(end)
    return ledger


@pytest.mark.parametrize(
    ("ends", "comparable"),
    [
        ([], False),
        ([(False, [CqeStatus.SUCCESS])], True),
        ([(False, [CqeStatus.CANCELED, CqeStatus.SUCCESS])], True),
        ([(False, [CqeStatus.CANCELED])], False),
        ([(True, [CqeStatus.SUCCESS])], False),
        ([(True, [CqeStatus.SUCCESS]), (False, [])], False),
        ([(True, [CqeStatus.SUCCESS]), (False, [CqeStatus.SUCCESS])], True),
    ],
)
def test_comparable(ends: list[tuple[bool, list[int]]], comparable: bool) -> None:
    """Success on a QP that has lost nothing, whatever others lost."""
    assert life(*ends).comparable() is comparable
