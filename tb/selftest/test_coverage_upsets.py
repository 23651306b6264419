# SPDX-License-Identifier: Apache-2.0
"""Each bin of wrong bits is hit by what it stands for, and by nothing less."""

from __future__ import annotations

import pytest

from tb.env.coverage.bins import BINS
from tb.env.coverage.lib import COUNTERS, GROUPS, NO_BIT, UPSET_BINS, UpsetCoverage, group_of
from tb.env.defs import CAP7, LOG0, LOG1, Cause, Kind, Reg
from tb.env.harness.records import Access

OKAY, SLVERR = 0, 2
Steps = list[tuple[bool, int, int, int]]  # write, offset, data, response
EMPTY: Steps = [(False, Reg.LOG1, 0, OKAY)]


def caps(memories: int = 77, ecc: int = 1) -> Steps:
    return [(False, Reg.CAP7, CAP7.pack(memories=memories, ecc=ecc), OKAY)]


def inject(memory: int, first: int = 0, second: int | None = None, resp: int = OKAY) -> Steps:
    second = first if second is None else second
    return [(True, Reg.MEM_INJECT, memory | first << 8 | second << 18, resp)]


def entry(memory: int, cause: int = Cause.MEM_CORRECTED, kind: int = Kind.MEMORY) -> Steps:
    """One entry is read and taken."""
    return [
        (False, Reg.LOG1, LOG1.pack(detail=0, valid=1), OKAY),
        (False, Reg.LOG0, LOG0.pack(cause=cause, kind=kind, object=memory), OKAY),
        (True, Reg.LOG_POP, 1, OKAY),
    ]


def lost(memory: int) -> Steps:
    return entry(memory, Cause.MEM_LOST)


def counts(steps: Steps) -> set[str]:
    coverage = UpsetCoverage()
    for cycle, step in enumerate(steps):
        coverage(Access(cycle, *step))
    return set(coverage.counts)


AGAIN = "upset/lost again, nothing injected meanwhile"
HEALED = "upset/corrected, lost before"
ROW = "upset/reports of two memories in a row"
NOTHING = "injection/beyond the word, nothing reported"
ANOTHER = "injection/another memory before a report"

#: Of each bin: accesses that hit it, and ones that come close.
CASES: dict[str, tuple[Steps, Steps]] = {
    "upset/corrected, completion core": (entry(22), entry(23)),
    "upset/corrected, posting": (entry(47), entry(48)),
    "upset/corrected, receive": (entry(48), entry(68)),
    "upset/corrected, windows": (entry(76), [*entry(77), *entry(76)[:2], *lost(76)]),
    "upset/lost": (lost(2), [*entry(2), *entry(2, Cause.MEM_LOST, Kind.PAGE)]),
    AGAIN: ([*lost(2), *EMPTY, *lost(2)], [*lost(2), *lost(3), *inject(2), *lost(2)]),
    HEALED: ([*lost(2), *inject(2), *entry(2)], [*entry(2), *lost(2), *entry(3)]),
    ROW: (
        [*entry(2), *lost(3)],
        [*entry(2), *entry(2), *EMPTY, *entry(3), *entry(4, kind=Kind.CQ)],
    ),
    "upset/corrected words counted": (
        [(False, Reg.CNT_MEM_CORRECTED, 1, OKAY)],
        [(False, Reg.CNT_MEM_CORRECTED, 0, OKAY), (False, Reg.CNT_MEM_CORRECTED, 1, SLVERR)],
    ),
    "upset/lost words counted": (
        [(False, Reg.CNT_MEM_LOST, 1, OKAY)],
        [(False, Reg.CNT_MEM_LOST, 0, OKAY)],
    ),
    "injection/one bit": (
        inject(2, 5),
        [*inject(2, 5, 6), *inject(2, NO_BIT), *inject(2, 5, resp=2), *inject(COUNTERS, 5)],
    ),
    "injection/two bits": (
        inject(2, 5, 6),
        [*inject(2, 5), *inject(2, 5, NO_BIT), *inject(COUNTERS, 5, 6)],
    ),
    NOTHING: (
        [*inject(2, NO_BIT), *entry(3), *EMPTY],
        [
            *(*inject(2, 5), *EMPTY, *inject(2, NO_BIT), *entry(2), *EMPTY),
            *(*inject(2, NO_BIT), *inject(COUNTERS, 7, 31), *EMPTY),
        ],
    ),
    ANOTHER: (
        [*inject(2), *inject(COUNTERS, resp=SLVERR), *inject(3)],
        [*inject(2), *inject(2), *entry(2), *inject(3), *inject(COUNTERS), *inject(2)],
    ),
    "injection/refused, no such memory": (
        [*caps(23), *inject(23, resp=SLVERR)],
        [
            *(*inject(23, resp=SLVERR), *caps(23), *inject(22, resp=SLVERR), *inject(23)),
            *inject(COUNTERS, resp=SLVERR),
        ],
    ),
    "injection/refused, reserved bits": (
        [*caps(), *inject(2, 0, 1 << 10, SLVERR)],
        [*caps(), *inject(77, 0, 1 << 10, SLVERR), *inject(2, 0, 0, SLVERR)],
    ),
    "injection/refused, no code": (
        [*caps(ecc=0), *inject(2, resp=SLVERR)],
        [*caps(), *inject(2, resp=SLVERR), *caps(ecc=0), *inject(77, resp=SLVERR), *inject(2)],
    ),
}


def test_every_bin_has_a_case() -> None:
    assert CASES.keys() == UPSET_BINS.keys() <= BINS.keys()
    assert {name for names in UPSET_BINS.values() for name in names} == {"ISO-05"}


@pytest.mark.parametrize("name", CASES)
def test_hit_or_not(name: str) -> None:
    hit, close = map(counts, CASES[name])
    assert name in hit - close and close <= UPSET_BINS.keys()


def test_a_reset_ends_all() -> None:
    coverage = UpsetCoverage()
    for step in lost(2):
        coverage(Access(100, *step))
    for step in lost(2):
        coverage(Access(5, *step))
    assert coverage.counts == {"upset/lost": 2}


def test_groups_are_those_of_the_design() -> None:
    """Ends of the groups are the numbers of memories of the tops; the core alone has 7 less."""
    from pathlib import Path

    hdl = Path(__file__).resolve().parents[2] / "hdl"
    ends = list(GROUPS.values())
    assert f".MEMORIES({ends[0] - 7})" in (hdl / "cde_cpl_top.v").read_text()
    assert f".MEMORIES({ends[-1]})" in (hdl / "cde_top.v").read_text()
    assert [group_of(n) for n in (0, 22, 23, 76, 77)] == [
        *("completion core", "completion core", "posting", "windows"),
        None,
    ]
