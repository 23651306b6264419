# SPDX-License-Identifier: Apache-2.0
"""The harness: its protocol checks find what they are there for, who was kept waiting is told,
words of the recorder become records. Keys and rights as the driver counts them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tb.env.agents.access import Judgement
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
from tb.selftest.icarus import run_text

# Cycle by cycle: valid, ready, payload.
BENCH = """
`timescale 1ns / 1ps
module bench;
    reg clk = 0, rst = 1, valid = 0, ready = 0;
    reg [3:0] payload = 0;
    wire [2:0] violation;
    reg [2:0] seen = 0;
    bfm_stable #(.W(4)) dut (
        .clk(clk), .rst(rst), .valid(valid), .ready(ready), .payload(payload), .violation(violation)
    );
    always #1 clk = !clk;
    always @(posedge clk) seen <= seen | violation;
    initial begin
        repeat (2) @(negedge clk);
        rst = 0;
        {STEPS}
        $display("seen %0d", seen);
        $finish;
    end
endmodule
"""


def cycles(names: str, steps: Sequence[tuple[object, ...]]) -> str:
    """Verilog that gives signals their values, cycle by cycle."""
    return "\n".join(
        "".join(f"{name} = {value}; " for name, value in zip(names.split(), step, strict=True))
        + "@(negedge clk);"
        for step in steps
    )


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
    text = cycles("valid ready payload", steps)
    assert int(run_text(tmp_path, BENCH, "bfm_stable", STEPS=text).split()[1]) == expected


KNOWN = """
`timescale 1ns / 1ps
module bench;
    reg rst, seen = 0;
    reg [1:0] signals, lane_valid;
    reg [7:0] lane_data;
    wire violation;
    bfm_known #(.W(2), .LANES(2), .LANE_W(4)) dut (
        .rst(rst), .signals(signals), .lane_valid(lane_valid), .lane_data(lane_data),
        .violation(violation)
    );
    initial begin
        rst = {RST}; signals = {SIGNALS}; lane_valid = {VALID}; lane_data = {DATA};
        #1 $display("seen %0d", violation);
    end
endmodule
"""


@pytest.mark.parametrize(
    ("rst", "signals", "valid", "data", "expected"),
    [
        ("0", "2'b01", "2'b01", "8'bxxxx1010", "0"),
        ("0", "2'bx1", "2'b00", "8'd0", "1"),
        ("0", "2'b01", "2'bx0", "8'd0", "1"),
        ("0", "2'b01", "2'b10", "8'b1x101010", "1"),
        ("1", "2'bxx", "2'bxx", "8'bx", "0"),
    ],
)
def test_unknown_outputs(
    tmp_path: Path, rst: str, signals: str, valid: str, data: str, expected: str
) -> None:
    values = {"RST": rst, "SIGNALS": signals, "VALID": valid, "DATA": data}
    assert run_text(tmp_path, KNOWN, "bfm_known", **values).split()[1] == expected


CLEARED = """
`timescale 1ns / 1ps
module bench;
    reg clk = 0, rst = 0;
    reg [1:0] ready = {READY0}, valid = {VALID0};
    reg [1:0] seen = 0;
    integer cycle;
    wire [1:0] violation;
    bfm_cleared #(
        .READIES(2), .VALIDS(2), .CORES(2), .CORE({32'd2, 32'd4}), .ENGINES(1), .ENGINE(32'd8)
    ) dut (
        .clk(clk), .rst(rst), .engine({ENGINE}), .ready(ready), .valid(valid), .violation(violation)
    );
    always #1 clk = !clk;
    always @(posedge clk) if (!rst) seen <= seen | violation;
    initial begin
        for (cycle = 0; cycle < 20; cycle = cycle + 1) begin
            @(negedge clk);
            rst = cycle >= 2 && cycle < 5;
            ready = cycle == {READY} ? 2'b10 : 2'b00;
            valid = cycle == {VALID} ? 2'b01 : 2'b00;
        end
        $display("seen %0d", seen);
        $finish;
    end
endmodule
"""


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
    values: dict[str, int | str] = {"READY": 99, "VALID": 99, "READY0": 0, "VALID0": 0}
    first = "0" * isinstance(ready, str)
    values |= {"ENGINE": engine, f"READY{first}": ready, f"VALID{first}": valid}
    assert int(run_text(tmp_path, CLEARED, "bfm_cleared", **values).split()[1]) == expected


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


# Cycle by cycle: reset, valid, ready, withhold, change of the toggle. Two channels; what a
# recorder that changes the toggle at this edge would hand over is printed.
WAITS = """
`timescale 1ns / 1ps
module bench;
    reg clk = 0, rst = 1, toggle = 0, change = 0;
    reg [1:0] valid = 0, ready = 0, withhold = 0;
    wire [1:0] blocked, withheld;
    bfm_waits #(.N(2)) dut (
        .clk(clk), .rst(rst), .toggle(toggle), .valid(valid), .ready(ready), .withhold(withhold),
        .blocked(blocked), .withheld(withheld)
    );
    always #1 clk = !clk;
    always @(posedge clk) if (change) begin
        $display("%0d %0d", blocked, withheld);
        toggle <= !toggle;
    end
    initial begin
        @(negedge clk);
        {STEPS}
        $finish;
    end
endmodule
"""

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
        # Before ready was high for the first time, also behind a reset
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
    text = cycles("rst valid ready withhold change", [RESET, *steps])
    out = run_text(tmp_path, WAITS, "bfm_waits", STEPS=text)
    assert [tuple(map(int, line.split())) for line in out.splitlines()] == expected


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
