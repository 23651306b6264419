# SPDX-License-Identifier: Apache-2.0
"""The harness: its protocol checks find what they are there for, who was kept waiting is told,
words of the recorder become records. Keys and rights as the driver counts them.
"""

from __future__ import annotations

import functools
import operator
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from tb.env.agents.keys import Judgement
from tb.env.defs import CHECK as CHECK_WORD
from tb.env.defs import VERDICT as VERDICT_WORD
from tb.env.defs import CheckKind, Verdict
from tb.env.failure import ProtocolError
from tb.env.harness.decode import (
    CHECK,
    MEM_WRITE,
    ROW_WORDS,
    VERDICT,
    VIOLATION,
    Decoder,
)
from tb.env.harness.records import AccessCheck, AccessVerdict, MemWrite
from tb.runner.common import hdl_files
from tb.selftest.icarus import run_cycles


def seen(found: list[tuple[int, ...]]) -> int:
    """Every violation of a run."""
    return functools.reduce(operator.or_, (row[0] for row in found))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("1", "0", "5"), ("1", "0", "5"), ("1", "1", "5"), ("0", "1", "6")], 0),
        ([("1", "1", "5"), ("1", "1", "6"), ("0", "0", "7")], 0),
        ([("1", "0", "5"), ("0", "0", "5"), ("0", "0", "5")], 1),
        ([("1", "0", "5"), ("1", "0", "6"), ("1", "1", "6")], 2),
        ([("1'bx", "1", "5"), ("0", "0", "5")], 4),
        ([("1", "1", "4'b01x1"), ("0", "0", "5")], 4),
    ],
)
def test_handshake_rules(tmp_path: Path, steps: list[tuple[str, str, str]], expected: int) -> None:
    """Cycle by cycle: valid, ready, payload."""
    widths = {"rst": 1, "valid": 1, "ready": 1, "payload": 4}
    rows = [("1", "0", "0", "0"), *(("0", *step) for step in steps)]
    assert seen(run_cycles(tmp_path, "bfm_stable #(4)", widths, {"violation": 3}, rows)) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("0", "2'b01", "2'b01", "8'bxxxx1010"), 0),
        (("0", "2'bx1", "2'b00", "8'd0"), 1),
        (("0", "2'b01", "2'bx0", "8'd0"), 1),
        (("0", "2'b01", "2'b10", "8'b1x101010"), 1),
        (("1", "2'bxx", "2'bxx", "8'bx"), 0),
    ],
)
def test_unknown_outputs(tmp_path: Path, row: tuple[str, ...], expected: int) -> None:
    widths = {"rst": 1, "signals": 2, "lane_valid": 2, "lane_data": 8}
    found = run_cycles(tmp_path, "bfm_known #(2, 2, 4)", widths, {"violation": 1}, [row])
    assert seen(found) == expected


@pytest.mark.parametrize(
    ("engine", "ready", "valid", "expected"),
    [
        (0, 99, 99, 0),
        (0, 2, 2, 0),  # before the first edge of the reset
        (0, 3, 99, 1),
        (0, 99, 3, 2),
        (0, 4, 4, 3),
        (0, 5, 99, 1),
        (0, 99, 8, 2),
        (0, 9, 9, 0),
        (1, 9, 99, 1),
        (1, 99, 12, 2),
        (1, 13, 13, 0),
        # Before the first clock edge; an unknown value is a fault there.
        (0, "1", "0", 1),
        (0, "0", "1", 2),
        (0, "2'b0x", "0", 1),
        (0, "0", "2'bx0", 2),
    ],
)
def test_outputs_while_cleared(
    tmp_path: Path, engine: int, ready: int | str, valid: int | str, expected: int
) -> None:
    """Cycles in which an output is high, or its values at power-up."""
    first = (ready, valid) if isinstance(ready, str) else (0, 0)
    rows: list[tuple[object, ...]] = [(0, engine, *first)]
    for cycle in range(20):
        high = 2 * (cycle == ready), int(cycle == valid)
        rows.append((int(2 <= cycle < 5), engine, *high))
    module = (
        "bfm_cleared #(.READIES(2), .VALIDS(2), .CORES(2), .CORE({32'd2, 32'd4}), .ENGINE(32'd8))"
    )
    widths = {"rst": 1, "engine": 1, "ready": 2, "valid": 2}
    found = run_cycles(tmp_path, module, widths, {"violation": 2}, rows)
    assert seen([told for told, row in zip(found, rows, strict=True) if not row[0]]) == expected


def test_only_handshakes_have_initial_values() -> None:
    """Memories and data begin unknown: a chip without initial values depends on none."""
    for path in hdl_files():
        text = re.sub(r"//.*", "", path.read_text())
        text = re.sub(r"^`ifdef FORMAL$.*?^`endif$", "", text, flags=re.M | re.S)  # not hardware
        assert not re.search(r"^\s*reg\b[^;=(]*=", text, re.M), path
        for statement in re.findall(r"\binitial\b[^;]*;", text):
            assert re.fullmatch(r"initial \w+ = [12]'b[01]+;", statement), (path, statement)


def nothing(*_: Any) -> None:
    """Hook that does nothing."""


def decode(*words: int) -> tuple[list[Any], list[Any]]:
    """The records of a row, and what its hooks for checks and verdicts were told."""
    told: list[Any] = []
    records: list[Any] = []
    decoder = Decoder({AccessCheck: told.append, AccessVerdict: told.append}, nothing)
    row = [*words] + [0] * (ROW_WORDS - len(words))
    decoder.row(struct.pack(f"<{ROW_WORDS}Q", *row), 0, records)
    return records, told


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        (1 << 0, "s_axi_b: valid fell"),
        (1 << 19, "m_axi_aw: payload changed"),
        (1 << 25, "m_axi_w: no last beat"),
        (1 << 27, "m_axis_work: payload changed"),
        (1 << 29, "m_axis_term: valid fell"),
        (1 << 34, "m_axis_scatter: unknown (X)"),
        (1 << 36, "m_axis_verdict: payload changed"),
        (1 << 38, "a ready or a trace lane: unknown"),
        (1 << 39, "a ready while memories are cleared"),
        (1 << 40, "a valid while memories are cleared"),
    ],
)
def test_violation_raises(bits: int, text: str) -> None:
    with pytest.raises(ProtocolError, match=re.escape(f"cycle 77: {text}")):
        decode(VIOLATION | 77 << 32, bits)


def test_overrun_raises() -> None:
    with pytest.raises(ProtocolError, match="ran over"):
        decode(VIOLATION | 1 << 8, 0)


# -- bfm_waits -------------------------------------------------------------------------------------


#: A cycle: reset, valid, ready, withhold, change of the toggle. Two channels; what a recorder that
#: changes the toggle at this edge would hand over is expected.
Step = tuple[int, int, int, int, int]
OPEN: Step = (0, 0, 3, 0, 0)
IDLE: Step = (0, 0, 0, 0, 0)
BLOCK: Step = (0, 2, 1, 0, 0)
KEEP: Step = (0, 0, 3, 1, 0)
TAKE: Step = (0, 0, 3, 0, 1)
RESET: Step = (1, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # Three cycles in a row, two, two twice
        ([OPEN, BLOCK, BLOCK, BLOCK, TAKE], [(2, 0)]),
        ([OPEN, BLOCK, BLOCK, TAKE], [(0, 0)]),
        ([OPEN, BLOCK, BLOCK, IDLE, BLOCK, BLOCK, TAKE], [(0, 0)]),
        # Nothing offered, or taken at once
        ([OPEN, IDLE, IDLE, IDLE, TAKE], [(0, 0)]),
        ([OPEN, (0, 3, 3, 0, 0), (0, 3, 3, 0, 0), (0, 3, 3, 0, 0), TAKE], [(0, 0)]),
        # Before ready was high for the first time, also after a reset
        ([RESET, BLOCK, BLOCK, BLOCK, BLOCK, TAKE], [(0, 0)]),
        ([OPEN, RESET, BLOCK, BLOCK, BLOCK, TAKE], [(0, 0)]),
        ([OPEN, BLOCK, BLOCK, RESET, BLOCK, BLOCK, TAKE], [(0, 0)]),
        # A source keeps its item back
        ([KEEP, KEEP, KEEP, TAKE], [(0, 1)]),
        ([KEEP, KEEP, TAKE], [(0, 0)]),
        # Told once, twice by blocks in a row; what is seen in the cycle of a block is in the next
        ([KEEP, KEEP, KEEP, TAKE, IDLE, TAKE], [(0, 1), (0, 0)]),
        ([KEEP, KEEP, (0, 0, 3, 1, 1), IDLE, TAKE, IDLE, TAKE], [(0, 0), (0, 1), (0, 0)]),
        ([KEEP, KEEP, (0, 0, 3, 1, 1), IDLE, TAKE, TAKE, TAKE], [(0, 0), (0, 1), (0, 1), (0, 0)]),
        ([KEEP, KEEP, KEEP, TAKE, TAKE, TAKE], [(0, 1), (0, 1), (0, 0)]),
    ],
)
def test_waits(tmp_path: Path, steps: list[Step], expected: list[tuple[int, int]]) -> None:
    toggle, rows = 0, []
    for rst, valid, ready, withhold, change in (RESET, *steps):
        rows.append((rst, toggle, valid, ready, withhold))
        toggle ^= change
    widths = {"rst": 1, "toggle": 1, "valid": 2, "ready": 2, "withhold": 2}
    found = run_cycles(tmp_path, "bfm_waits #(2)", widths, {"blocked": 2, "withheld": 2}, rows)
    changes = (step[-1] for step in (RESET, *steps))
    assert [told for told, change in zip(found, changes, strict=True) if change] == expected


# -- records of checks, memory writes and trace lanes; keys and rights -----------------------------


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
