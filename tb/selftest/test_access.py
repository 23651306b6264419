# SPDX-License-Identifier: Apache-2.0
"""Checks of remote accesses, memory writes and trace lanes above 7: from the recorder's words to
records; keys and rights as the driver counts them.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest

from tb.env.agents.access import Judgement
from tb.env.defs import CHECK as CHECK_WORD
from tb.env.defs import VERDICT as VERDICT_WORD
from tb.env.defs import CheckKind, PostFlag, Right, Verdict
from tb.env.harness.decode import CHECK, MEM_WRITE, ROW_WORDS, TRACE, VERDICT, Decoder, Hooks
from tb.env.harness.records import AccessCheck, AccessVerdict, MemWrite, Trace
from tb.env.host.keyed import next_key, rights_flags


def nothing(*_: Any) -> None:
    """Hook that does nothing."""


def decode(*words: int) -> tuple[list[Any], list[Any]]:
    """The records of a row, and what its hooks for checks and verdicts were told."""
    told: list[Any] = []
    records: list[Any] = []
    hooks = Hooks(*[nothing] * 10)
    decoder = Decoder(replace(hooks, check=told.append, verdict=told.append))
    row = [*words] + [0] * (ROW_WORDS - len(words))
    decoder.row(struct.pack(f"<{ROW_WORDS}Q", *row), 0, records)
    return records, told


def test_check_and_verdict() -> None:
    check = CHECK_WORD.pack(
        qp=3, kind=CheckKind.WRITE, key=0x1802, address=0xFEDC << 48 | 5, length=0x8000_0000
    )
    words = [check >> 64 * k & (1 << 64) - 1 for k in range(3)]
    verdict = VERDICT_WORD.pack(qp=3, code=Verdict.NO_RIGHT)
    records, told = decode(CHECK | 5 << 32, *words, VERDICT | 9 << 32, verdict)
    assert records == told == [AccessCheck(5, check), AccessVerdict(9, verdict)]
    assert Judgement.decode(records[1]) == Judgement(9, 3, Verdict.NO_RIGHT)


@pytest.mark.parametrize("strb", [0, 0xFFFF, 0xFFFF << 48, 0x7FFF_FFFF_FFFF_FFF0, (1 << 64) - 1])
def test_bytes_without_strobe_say_nothing(strb: int) -> None:
    line = bytes(range(1, 65))
    records, _ = decode(MEM_WRITE | 5 << 32, 0x1000, strb, *struct.unpack("<8Q", line))
    told = bytes(byte if strb >> k & 1 else 0 for k, byte in enumerate(line))
    assert records == [MemWrite(5, 0, 0x1000, strb, int.from_bytes(told, "little"))]


@pytest.mark.parametrize("data", [6 << 16, 1 << 20, 1 << 31])
def test_an_odd_verdict_is_refused(data: int) -> None:
    with pytest.raises(ValueError, match=r"Verdict|reserved"):
        Judgement.decode(AccessVerdict(1, data))


@pytest.mark.parametrize("lane", [7, 8, 9])
def test_lane_of_a_trace_record(lane: int) -> None:
    (record,), _ = decode(TRACE | lane << 8 | 1 << 32, 0x70 | 2 << 8, 0, 0, 0)
    assert isinstance(record, Trace)
    assert (record.lane, record.op, record.cq) == (lane, 0x70, 2)


def test_next_key() -> None:
    assert next_key(0x0000_1802) == 0x0000_2802
    assert next_key(0xFFFF_F802) == 0x0000_0802


@pytest.mark.parametrize(
    ("rights", "flags"),
    [
        (0, 0),
        (Right.LOCAL_WRITE, PostFlag.ALLOW_LOCAL_WRITE),
        (Right.REMOTE_READ, PostFlag.ALLOW_REMOTE_READ),
        (Right.REMOTE_WRITE, PostFlag.ALLOW_REMOTE_WRITE),
        (7, PostFlag.ALLOW_REMOTE_READ | PostFlag.ALLOW_REMOTE_WRITE),
    ],
)
def test_flags_of_rights(rights: int, flags: int) -> None:
    assert rights_flags(rights) == flags
