# SPDX-License-Identifier: Apache-2.0
"""What the error log must say of refused accesses, by docs/interfaces.md; entries and outputs of
commands that cannot be.
"""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tb.env.defs import Cause, Cmd, Kind, PageReg, Result
from tb.env.harness.records import Command
from tb.env.host.log_entries import Entry, LogOfPages, sensible, shown
from tb.env.host.outputs import stray_outputs

PAGE = 0x123
NUMBER = 0x4567
WORD = 0xFEDC << 48 | NUMBER << 32 | 0x89AB_CDEF


def entries(
    log: LogOfPages,
    writes: list[tuple[int, int, int]],
    reads: list[tuple[int, int, int]] | None = None,
) -> list[Entry]:
    agent = SimpleNamespace(writes_refused=writes, reads_refused=reads or [])
    return list(log.entries(cast(Any, agent)).elements())


ENGINE = LogOfPages(8, posts=True, receives=True)
CORE = LogOfPages(8, posts=False, receives=False)


@pytest.mark.parametrize(
    ("offset", "kind"),
    [
        (PageReg.SEND, Kind.QP),
        (PageReg.RECV, Kind.QP),
        (PageReg.SRQ_RECV, Kind.SRQ),
        (PageReg.SRQ_DB, Kind.SRQ),
        (PageReg.CQ_DB, Kind.CQ),
        (PageReg.CB_RETURN, Kind.CQ),
    ],
)
def test_writes(offset: int, kind: Kind) -> None:
    at = PAGE << 12 | offset
    for cause in (Cause.BAD_ARM_TYPE, Cause.NOT_OWNER, Cause.BAD_STATE):
        assert entries(ENGINE, [(cause, at, WORD)]) == [(cause, kind, NUMBER, PAGE)]
    for cause in (Cause.BURST, Cause.BAD_SIZE, Cause.BAD_PAGE):
        assert entries(ENGINE, [(cause, at, WORD)]) == [(cause, Kind.PAGE, PAGE, PAGE)]
    (reserved,) = entries(ENGINE, [(Cause.RESERVED_BITS, at, WORD)])
    number = PAGE if kind is Kind.CQ else NUMBER
    assert reserved[1:] == (Kind.PAGE if kind is Kind.CQ else kind, number, PAGE)


def test_offsets_without_a_portal_are_about_the_page() -> None:
    want = (Cause.BAD_OFFSET, Kind.PAGE, PAGE, PAGE)
    assert entries(ENGINE, [(Cause.BAD_OFFSET, PAGE << 12 | 0x0C0, WORD)]) == [want]
    assert entries(CORE, [(Cause.BAD_OFFSET, PAGE << 12 | PageReg.SEND, WORD)]) == [want]


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
    page = read[0] >> 12
    assert entries(ENGINE, [], [read, read]) == [(cause, Kind.PAGE, page, page)] * 2


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
