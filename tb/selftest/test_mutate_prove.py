# SPDX-License-Identifier: Apache-2.0
"""Proofs of equivalence of mutants: scopes, verdicts, the state they start in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tb.runner import mutate_prove as prove
from tb.runner.common import prepare_environment
from tb.runner.mutate_netlist import Mutation, run_yosys
from tb.runner.mutate_plan import EQUIVALENT, SURVIVED, UNDECIDED


def test_scopes_widen() -> None:
    inside = {"cde_a__1": "cde_b__2", "cde_b__2": "cde_c__1"}
    modules = prove.split(
        "".join(f"module \\{a}\n  cell \\{b} \\x\nend\n" for a, b in inside.items())
    )
    parents = prove.parents_of(modules)
    assert parents == {"cde_b__2": {"cde_a__1"}, "cde_c__1": {"cde_b__2"}}
    assert prove.outer_modules(modules) == {"cde_b__2": {"cde_a"}, "cde_c__1": {"cde_a", "cde_b"}}
    assert prove.scopes("cde_c__1", parents) == [
        [("cde_c__1",)],
        [("cde_b__2", "cde_c__1")],
        [("cde_a__1", "cde_b__2", "cde_c__1")],
    ]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Status = 0  Frames = 2", SURVIVED),
        ("Status = -1  Frames = 12\nStatus = 1  Frames = -1", EQUIVALENT),
        ("Status = -1  Frames = 2\nStatus = -1  Frames = 9", UNDECIDED),
        ("", UNDECIDED),
    ],
)
def test_verdicts_of_abc(text: str, status: str) -> None:
    assert prove.read_abc(text, ("one", "two")).status == status


def test_modules_with_a_reset() -> None:
    ports = "  wire input 1 \\clk\n  wire width 2 input 3 \\a\n"
    assert prove.has_reset(f"{ports}  wire input 2 \\rst\n") and not prove.has_reset(ports)


VERILOG = """module cde_x__1(input clk, input rst, input a, input b, output y);
    reg q, n, e;
    always @(posedge clk) begin
        q <= a | (a & b);
        if (rst) n <= 1'b1;
        if (!a && !b) e <= q;
    end
    assign y = (q & (n | b)) ^ e;
endmodule
module cde_m__1(input clk, we, input [1:0] a, input [3:0] d, output reg [3:0] y);
    reg [3:0] words [0:3];
    wire [3:0] put = we ? ~d : 4'd0;
    wire [3:0] got = words[a];
    always @(posedge clk) begin
        if (we) words[a] <= put;
        y <= got;
    end
endmodule
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prepare_environment()
    folder = tmp_path_factory.mktemp("prove")
    source, made = folder / "x.v", folder / "x.il"
    source.write_text(VERILOG)
    steps = (f"read_verilog {source}", "proc; opt_clean; memory_collect", f"write_rtlil {made}")
    run_yosys(steps, folder, "x")
    return made


@pytest.mark.parametrize(
    ("module", "cell", "port", "mode", "status"),
    [
        # The register after it, which has no reset, starts alike in both copies.
        ("cde_x__1", r"\$and\S*:4", "B", "inv", EQUIVALENT),
        # 1 after the reset, whatever it was before.
        ("cde_x__1", r"\$or\S*:8", "B", "inv", EQUIVALENT),
        ("cde_x__1", r"\$or\S*:8", "A", "const0", SURVIVED),
        # Only where a and b are 0: the register with an enable.
        ("cde_x__1", r"\$logic_and\S*:6", "A", "const0", SURVIVED),
        # Memories are cut out. What is not written does not count, what is read does.
        ("cde_m__1", r"\$ternary\S*:12", "S", "const1", EQUIVALENT),
        ("cde_m__1", r"\\words", "RD_DATA", "inv", SURVIVED),
    ],
)
def test_proofs(
    base: Path, tmp_path: Path, module: str, cell: str, port: str, mode: str, status: str
) -> None:
    found = re.search(rf"cell \S+ ({cell}\S*)", base.read_text())
    assert found
    mutation = Mutation(mode, module, found.group(1), f"\\{port}", 0)
    result = prove.Prover(base, tmp_path)(mutation, "m", 20.0)
    assert result.status == status, result
