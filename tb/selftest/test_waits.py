# SPDX-License-Identifier: Apache-2.0
"""bfm_waits tells the next block who was kept waiting for three cycles in a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb.selftest.icarus import run_text

# Cycle by cycle: reset, valid, ready, withhold, change of the toggle. Two channels; what a
# recorder that changes the toggle at this edge would hand over is printed.
BENCH = """
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


def run(tmp_path: Path, steps: list[Step]) -> list[tuple[int, int]]:
    """(blocked, withheld) of each block."""
    names = ("rst", "valid", "ready", "withhold", "change")
    text = "\n".join(
        " ".join(f"{name} = {value};" for name, value in zip(names, step, strict=True))
        + " @(negedge clk);"
        for step in steps
    )
    out = run_text(tmp_path, BENCH, "bfm_waits", STEPS=text)
    return [(int(a), int(b)) for a, b in (line.split() for line in out.splitlines())]


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
    assert run(tmp_path, [RESET, *steps]) == expected
