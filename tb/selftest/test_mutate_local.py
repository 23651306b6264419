# SPDX-License-Identifier: Apache-2.0
"""Which mutants a run can tell: those that change a register or a pin of their module in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tb.runner import mutate_local as local
from tb.runner import mutate_netlist as netlist
from tb.runner.builds import BuildConfig
from tb.runner.common import RunnerError, prepare_environment
from tb.runner.mutate_netlist import Mutation, parse_list, run_yosys
from tb.runner.mutate_replay import Replayer, build_replay
from tb.runner.mutate_wrap import interface, replay_wrapper
from tb.selftest.recordings import recording

DESIGN = """
module cde_inner__1 (input wire clk, input wire en, input wire [3:0] a, output reg [3:0] y);
    always @* begin
        y = 4'd0;
        if (en) y = a + 4'd1;
    end
endmodule
module cde_small__1 (
    input wire clk, input wire s_valid, input wire [3:0] s_data, input wire rst, output wire m_valid
);
    wire [3:0] y;
    reg  [3:0] mem [0:3];
    (* keep *) reg [3:0] kept;
    (* keep *) reg [3:0] q;
    cde_inner__1 inner (.clk(clk), .en(s_data[3]), .a(s_data), .y(y));
    assign m_valid = 1'b0;
    always @(posedge clk) begin
        if (s_valid) kept <= y;
        if (s_valid) mem[s_data[1:0]] <= y;
        q <= mem[s_data[1:0]];
    end
endmodule
"""
#: One mutant of each kind: module, cell, port.
CHANGES = {
    "sum": ("cde_inner__1", "$add", "A"),
    "kept": ("cde_small__1", "$auto$ff", "D"),
    "memory": ("cde_small__1", "mem", "WR_DATA"),
    "read": ("cde_small__1", "mem", "RD_DATA"),
    "inside": ("cde_small__1", "inner", "a"),
}


def find(mutations: list[Mutation], change: str) -> Mutation:
    """An inversion of bit 0 of the pin."""
    module, cell, port = CHANGES[change]
    return next(
        m
        for m in mutations
        if m.mode == "inv" and m.module == module and m.cell.lstrip("\\").startswith(cell)
        if (m.port.lstrip("\\"), m.portbit) == (port, 0)
    )


def elaborate(folder: Path) -> tuple[Path, list[Mutation]]:
    """The design as RTLIL, and its mutants."""
    prepare_environment()
    (folder / "design.v").write_text(DESIGN)
    base = folder / "base.il"
    steps = (
        f"read_verilog {folder / 'design.v'}",
        "hierarchy -top cde_small__1",
        "proc; opt_expr; opt_clean; opt -full; memory_collect; opt_clean",
        f"write_rtlil {base}",
        f"mutate -list 2000 -seed 1 -o {folder / 'list.txt'}",
    )
    run_yosys("\n".join(steps), folder, "elaborate")
    return base, parse_list((folder / "list.txt").read_text())


@pytest.fixture(scope="module")
def hits(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[tuple[int, int]]], set[str]]:
    """Replays inputs (s_valid, s_data) and tells which changes they can tell."""
    folder = tmp_path_factory.mktemp("local")
    base, listed = elaborate(folder)
    mutations = [find(listed, change) for change in CHANGES]
    netlist.plant(base, mutations, folder)
    local.plant(base, dict(enumerate(mutations, 1)), folder, 2)
    design = interface("cde_small", json.loads((folder / "ports.json").read_text()))
    (folder / "replay-cde_small.v").write_text(replay_wrapper(design))
    program = build_replay(BuildConfig(), "cde_small", folder, 2, "local")

    def run(values: list[tuple[int, int]]) -> set[str]:
        path = folder / "run.rec"
        path.unlink(missing_ok=True)
        path.write_bytes(recording([[data << 1 | valid, 0] for valid, data in values]))
        with Replayer(program, "cde_small", folder) as replayer:
            found = replayer.watch(path, folder / "run.told")
        return {list(CHANGES)[number - 1] for number in found.told}

    return run


def test_what_is_masked_is_no_change(
    hits: Callable[[list[tuple[int, int]]], set[str]],
) -> None:
    always = {"memory", "read", "inside"}
    assert hits([(0, 0)] * 4) == always
    assert hits([(0, 8)] * 4) == {*always, "sum"}
    assert hits([(1, 0)] * 4) == {*always, "kept"}
    assert hits([(1, 8)] * 4) == {*always, "kept", "sum"}


def test_each_listed_mutant_can_be_planted(tmp_path: Path) -> None:
    base, listed = elaborate(tmp_path)
    assert {m.port.lstrip("\\") for m in listed if m.cell.lstrip("\\") == "mem"} == {
        *("RD_ADDR", "RD_DATA"),
        *("WR_ADDR", "WR_DATA", "WR_EN"),
    }
    netlist.plant(base, listed, tmp_path)


COMPARISON = """module \\local__3
  wire input 2 \\in_a
  wire width 4 input 3 \\in_a.b
  wire output 1 \\trigger
  cell $not $x
    connect \\A \\in_a.b [2]
    connect \\Y \\trigger
  end
end
"""


def test_inputs_that_nothing_reads_are_left_out() -> None:
    text, used = local.used_ports(COMPARISON)
    assert used == ["a.b"]
    assert text == COMPARISON.replace("  wire input 2 \\in_a\n", "")


def test_comparisons_get_the_pins_of_what_was_cut() -> None:
    module = (
        "module \\m\n  wire \\d\n  cell $dff $auto$7\n    connect \\D { \\d \\e }\n  end\n"
        "  cell \\cde_x__1 \\x\n    connect \\p 3'101\n  end\nend\n"
    )
    found = local.connect(module, {5: ["state$auto$7.D", "x.p", "d"]})
    assert found.startswith(module.removesuffix("end\n"))
    for line in (
        "in_state$auto$7.D { \\d \\e }",
        "in_x.p 3'101",
        "in_d \\d",
        "trigger \\differs__5",
    ):
        assert f"    connect \\{line}\n" in found, line
    assert found.endswith("  end\nend\n")


def test_results_are_watched() -> None:
    found = local.watch("  wire differs__3;\n  wire differs__30;\n", [3, 30])
    assert found.splitlines() == [
        "  wire differs__3;",
        "  always @(edge replay.clk) if (replay.watching && differs__3) replay.hit[3] <= 1'b1;",
        "  wire differs__30;",
        "  always @(edge replay.clk) if (replay.watching && differs__30) replay.hit[30] <= 1'b1;",
    ]
    with pytest.raises(RunnerError, match=r"no comparison in the netlist of mutants \[4\]"):
        local.watch("  wire differs__3;\n", [3, 4])
