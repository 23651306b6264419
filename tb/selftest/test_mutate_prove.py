# SPDX-License-Identifier: Apache-2.0
"""Proofs of equivalence of mutants: scopes, verdicts, the state they start in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tb.runner.common import prepare_environment
from tb.runner.mutate_ladder import EQUIVALENT, SURVIVED, UNDECIDED
from tb.runner.mutate_netlist import Mutation, run_yosys
from tb.runner.mutate_prove import (
    Prover,
    Scope,
    outer_modules,
    parents_of,
    read_abc,
    resettable,
    scopes,
)


def test_scopes_widen() -> None:
    text = "module \\cde_a__1\n  cell \\cde_b__2 \\x\nmodule \\cde_b__2\n  cell \\cde_c__1 \\y\n"
    parents = parents_of(text)
    assert parents == {"cde_b__2": {"cde_a__1"}, "cde_c__1": {"cde_b__2"}}
    assert outer_modules(text) == {"cde_b__2": {"cde_a"}, "cde_c__1": {"cde_a", "cde_b"}}
    assert scopes("cde_c__1", parents) == [
        [Scope("cde_c__1")],
        [Scope("cde_b__2", ("cde_c__1",))],
        [Scope("cde_c__1", whole=True)],
        [Scope("cde_a__1", ("cde_b__2", "cde_c__1"))],
    ]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Status =  0  Frames = 2   Status =  1  Frames = 0".replace("=  ", "= "), SURVIVED),
        ("Status = -1  Frames = 12\nStatus = 1  Frames = -1", EQUIVALENT),
        ("Status = -1  Frames = 12\nStatus = -1  Frames = 2\nStatus = -1  Frames = 9", UNDECIDED),
        ("", UNDECIDED),
    ],
)
def test_verdicts_of_abc(text: str, status: str) -> None:
    assert read_abc(text).status == status


RTLIL = """
module \\cde_x__1
  wire input 1 \\clk
  wire input 2 \\a
  wire input 3 \\b
  wire \\q
  wire output 4 \\y
  wire \\both
  cell $dff \\r
    parameter \\CLK_POLARITY 1'1
    parameter \\WIDTH 1
    connect \\CLK \\clk
    connect \\D \\a
    connect \\Q \\q
  end
  cell $and \\g
    parameter \\A_SIGNED 0
    parameter \\A_WIDTH 1
    parameter \\B_SIGNED 0
    parameter \\B_WIDTH 1
    parameter \\Y_WIDTH 1
    connect \\A \\q
    connect \\B \\b
    connect \\Y \\both
  end
  cell $or \\o
    parameter \\A_SIGNED 0
    parameter \\A_WIDTH 1
    parameter \\B_SIGNED 0
    parameter \\B_WIDTH 1
    parameter \\Y_WIDTH 1
    connect \\A \\q
    connect \\B \\both
    connect \\Y \\y
  end
end
"""


@pytest.mark.parametrize(
    ("cell", "port", "mode", "status"),
    # q | (q & b): what b is makes no difference; what q is does, a cycle after a.
    [("g", "B", "inv", EQUIVALENT), ("g", "Y", "const0", EQUIVALENT), ("r", "D", "inv", SURVIVED)],
)
def test_proof_on_a_small_module(
    tmp_path: Path, cell: str, port: str, mode: str, status: str
) -> None:
    assert proof(tmp_path, RTLIL, Mutation(mode, "cde_x__1", f"\\{cell}", f"\\{port}", 0)) == status


def proof(folder: Path, rtlil: str, mutation: Mutation) -> str:
    prepare_environment()
    base = folder / "base.il"
    base.write_text(rtlil)
    return Prover(base, folder / "prove", 20.0)(mutation, "m").status


def test_modules_with_a_reset() -> None:
    ports = "  wire input 1 \\clk\n  wire width 2 input 3 \\a\n"
    both = f"module \\a\n{ports}  wire input 2 \\rst\nend\nmodule \\b\n{ports}end\n"
    assert resettable(both) == {"a"}


VERILOG = """module cde_x__1(input clk, input rst, input a, input b, output y);
    reg q, n, e;
    always @(posedge clk) begin
        q <= a | (a & b);
        if (rst) n <= 1'b1;
        if (!a && !b) e <= q;
    end
    assign y = (q & (n | b)) ^ e;
endmodule
"""


@pytest.mark.parametrize(
    ("cell", "port", "mode", "status"),
    [
        # The register behind it, which has no reset, starts alike in both copies.
        (r"\$and\S*:4", "B", "inv", EQUIVALENT),
        # 1 after the reset, whatever it was before.
        (r"\$or\S*:8", "B", "inv", EQUIVALENT),
        (r"\$or\S*:8", "A", "const0", SURVIVED),
        (r"\$or\S*:4", "A", "const0", SURVIVED),
        # Only where a and b are 0: the register with an enable.
        (r"\$logic_and\S*:6", "A", "const0", SURVIVED),
    ],
)
def test_proofs_start_in_the_reset_state(
    tmp_path: Path, cell: str, port: str, mode: str, status: str
) -> None:
    prepare_environment()
    source, made = tmp_path / "x.v", tmp_path / "x.il"
    source.write_text(VERILOG)
    run_yosys(f"read_verilog {source}\nproc\nopt_clean\nwrite_rtlil {made}", tmp_path, "x")
    found = re.search(rf"cell \S+ ({cell}\S+)", made.read_text())
    assert found
    mutation = Mutation(mode, "cde_x__1", found.group(1), f"\\{port}", 0)
    assert proof(tmp_path, made.read_text(), mutation) == status


MEMORY = """module cde_x__1(input clk, we, input [9:0] a, input [31:0] d, output reg [31:0] y);
    reg [31:0] words [0:1023];
    wire [31:0] put = we ? ~d : 32'd0;
    wire [31:0] got = words[a];
    always @(posedge clk) begin
        if (we) words[a] <= put;
        y <= got;
    end
endmodule
"""


@pytest.mark.parametrize(
    ("cell", "port", "mode", "status"),
    [
        # What is not written does not count.
        (r"\$ternary\S*:3", "S", "const1", EQUIVALENT),
        (r"\$ternary\S*:3", "S", "const0", SURVIVED),
        # What is read does.
        (r"\\words", "RD_DATA", "inv", SURVIVED),
    ],
)
def test_memories_are_cut_first(
    tmp_path: Path, cell: str, port: str, mode: str, status: str
) -> None:
    prepare_environment()
    source, made = tmp_path / "x.v", tmp_path / "x.il"
    source.write_text(MEMORY)
    steps = f"read_verilog {source}\nproc\nopt_clean\nmemory_collect\nwrite_rtlil {made}"
    run_yosys(steps, tmp_path, "x")
    text = made.read_text()
    found = re.search(rf"cell \S+ ({cell}\S*)", text)
    assert found
    mutation = Mutation(mode, "cde_x__1", found.group(1), f"\\{port}", 0)
    result = Prover(made, tmp_path / "prove", 6.0)(mutation, "m")
    if status == EQUIVALENT:
        assert result.status == status and result.how.endswith("(cde_x without its memories)")
    # With its registers the memory takes longer than that.
    cut = (tmp_path / "prove" / "m-0-0.abc.log").read_text()
    assert read_abc(cut).status == status
