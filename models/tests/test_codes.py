# SPDX-License-Identifier: Apache-2.0
"""The tables of the source documents, written out a second time, cell by cell."""

from __future__ import annotations

import pytest

from models.arm.arm import MERGE, CqConfig, CqModel, Moderation, moderation_mode
from models.codes import ArmType, ResultType
from models.cq.entries import Cqe

ANY, ERRORS, SOLICITED = ArmType.ANY, ArmType.ERRORS, ArmType.SOLICITED

# The table of the NDKPI page, read row by row: (first arm, second arm, result).
MERGE_CELLS = [
    (ANY, ANY, ANY),
    (ANY, ERRORS, ANY),
    (ANY, SOLICITED, ANY),
    (ERRORS, ANY, ANY),
    (ERRORS, ERRORS, ERRORS),
    (ERRORS, SOLICITED, SOLICITED),
    (SOLICITED, ANY, ANY),
    (SOLICITED, ERRORS, SOLICITED),
    (SOLICITED, SOLICITED, SOLICITED),
]


@pytest.mark.parametrize(("first", "second", "result"), MERGE_CELLS)
def test_merge_cell(first: ArmType, second: ArmType, result: ArmType) -> None:
    """CQ-12, in the table and through two arm calls on an empty queue."""
    assert MERGE[first][second] is result
    cq = CqModel()
    cq.create(CqConfig(entries=4))
    cq.doorbell(0, first)
    cq.doorbell(0, second)
    assert cq.arm is result


def test_merge_table_has_no_other_cells() -> None:
    assert sum(len(row) for row in MERGE.values()) == len(MERGE_CELLS) == 9


def test_public_codes() -> None:
    """CQ-12: with these codes neither the larger one nor the bitwise OR merges."""
    assert (ERRORS, ANY, SOLICITED) == (0, 1, 2)
    assert MERGE[ANY][SOLICITED] != max(ANY, SOLICITED)
    assert MERGE[ANY][SOLICITED] != ANY | SOLICITED


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("RECEIVE", 0x0001),
        ("RECEIVE_AND_INVALIDATE", 0x8001),
        ("SEND", 0x0002),
        ("FAST_REGISTER", 0x0004),
        ("BIND", 0x0008),
        ("INVALIDATE", 0x0010),
        ("READ", 0x0020),
        ("WRITE", 0x0040),
    ],
)
def test_result_type_codes(name: str, code: int) -> None:
    assert ResultType[name] == code


def test_solicited_class() -> None:
    """CQ-08: errors of any type; success only for receives with the solicit flag."""
    for kind in ResultType:
        receive = kind in (ResultType.RECEIVE, ResultType.RECEIVE_AND_INVALIDATE)
        for flags in (0, 1, 0x7FFE, 0x7FFF):
            assert Cqe(type=kind, flags=flags, status=1).solicited_class
            assert Cqe(type=kind, flags=flags).solicited_class == (receive and bool(flags & 1))


@pytest.mark.parametrize(
    ("count", "interval", "entries", "mode"),
    [
        # Off: interval 0, or count 0 or 1, whatever the other one says.
        (0, 0, 8, (False, False)),
        (5, 0, 8, (False, False)),
        (0xFFFF, 0, 8, (False, False)),
        (0, 9, 8, (False, False)),
        (1, 9, 8, (False, False)),
        (1, 0xFFFF, 8, (False, False)),
        (0, 0xFFFF, 8, (False, False)),
        # Both.
        (2, 1, 8, (True, True)),
        (8, 0xFFFE, 8, (True, True)),
        # Count only.
        (2, 0xFFFF, 8, (True, False)),
        (8, 0xFFFF, 8, (True, False)),
        # Interval only: all-ones, or more than there are entries.
        (0xFFFF, 1, 8, (False, True)),
        (9, 1, 8, (False, True)),
        # Each says "the other one only".
        (0xFFFF, 0xFFFF, 8, None),
        (9, 0xFFFF, 8, None),
    ],
)
def test_moderation_modes(
    count: int, interval: int, entries: int, mode: tuple[bool, bool] | None
) -> None:
    """CQ-21."""
    assert moderation_mode(count, interval, entries) == (mode and Moderation(*mode))
