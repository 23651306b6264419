# SPDX-License-Identifier: Apache-2.0
"""What the error log must say of refused reads, by docs/interfaces.md; entries and outputs of
commands that cannot be.
"""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tb.env.defs import Cause, Cmd, Kind, Result
from tb.env.harness.records import Command
from tb.env.host.log_entries import LogOfPages, sensible, shown
from tb.env.host.outputs import stray_outputs


@pytest.mark.parametrize(
    ("read", "cause"),
    [
        ((9 << 12 | 0x141, 1, 2), Cause.BURST),
        ((9 << 12 | 0x141, 0, 3), Cause.BAD_SIZE),
        ((9 << 12 | 0x140, 0, 2), Cause.BAD_SIZE),
        ((8 << 12 | 0x140, 0, 3), Cause.BAD_PAGE),
        ((7 << 12 | 0x148, 0, 3), Cause.BAD_OFFSET),
    ],
)
def test_reads(read: tuple[int, int, int], cause: Cause) -> None:
    agent = SimpleNamespace(writes_refused=[], reads_refused=[read, read])
    found = LogOfPages(8, posts=True, receives=True).entries(cast(Any, agent))
    page = read[0] >> 12
    assert list(found.elements()) == [(cause, Kind.PAGE, page, page)] * 2


def test_strange_entries() -> None:
    assert sensible((Cause.CPL_BAD_CQ, Kind.PORT, 99, 0), 8)
    assert sensible((Cause.CQ_OVERFLOW, Kind.CQ, 7, 0), 8)
    assert sensible((Cause.BAD_CQ, Kind.CQ, 99, 0), 8)
    assert not sensible((Cause.CQ_OVERFLOW, Kind.CQ, 8, 0), 8)
    assert not sensible((Cause.CQ_OVERFLOW, Kind.CQ | 0x80, 7, 0), 8)
    assert not sensible((Cause.STRAY_B, Kind.CQ, 0, 0), 8)
    assert not sensible((0x7F, Kind.CQ, 0, 0), 8)


def test_what_has_no_meaning_is_not_compared() -> None:
    assert shown(Cause.CPL_NO_CQ, Kind.CQ, 1, 5) == shown(Cause.CPL_NO_CQ, Kind.CQ, 1, 6)
    kept = Counter(shown(Cause.CQ_OVERFLOW, Kind.CQ, 1, detail) for detail in (5, 6))
    assert kept.total() == len(kept) == 2


# -- outputs of commands ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "result", "word", "wrong"),
    [
        (Cmd.QUERY_CQ, Result.OK, 5, False),
        (Cmd.QUERY_CQ, Result.OK, 6, True),
        (Cmd.QUERY_CQ, Result.NO_OBJECT, 0, True),
        (Cmd.CREATE_SRQ, Result.OK, 0, False),
        (Cmd.REGISTER_MR, Result.OK, 0, False),
        (Cmd.REGISTER_MR, Result.OK, 1, True),
        (Cmd.QUERY_MW, Result.OK, 7, False),
        (Cmd.CLOSE_MW, Result.OK, 0, True),
        (Cmd.DESTROY_CQ, Result.PENDING, 0, True),
        (0xEE, Result.UNKNOWN, 7, True),
    ],
)
def test_words(code: int, result: int, word: int, wrong: bool) -> None:
    outs = tuple(9 * (n == word) for n in range(8))
    found = stray_outputs(Command(1, 1, code, (0,) * 8, result, outs))
    assert found == (f"command {code:#x}, result {result:#x}: OUT{word} 0x9, expected 0") * wrong
