# SPDX-License-Identifier: Apache-2.0
"""The benches of the leaves (tb/tests/lib): each passes on the design, and they serve mutants of a
netlist. The bench of the memories has tests of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tb.runner import mutate_modules
from tb.runner.common import RunnerError
from tb.runner.mutate_modules import (
    ALL,
    BENCHES,
    MEMORY,
    ModuleBenches,
    contained,
    for_icarus,
    parts,
)
from tb.selftest.icarus import HDL, build, run
from tb.selftest.icarus import MEMORY as PARTS

#: Of each bench: the module, and its parameters by those of the bench.
DUTS = {
    "node_exact": ("cde_mem_node", "#(.AW(AW))"),
    "fifo_exact": ("cde_fifo", "#(.W(W), .DEPTH_LOG2(LOG2), .BYPASS(BYPASS))"),
    "arbiter_exact": ("cde_arbiter", "#(.NUM_QP(1 << QP_W), .QP_W(QP_W))"),
}


def simulate(
    folder: Path, bench: str, values: Mapping[str, int] | None = None, hdl: Path = HDL
) -> str:
    """What the bench prints, with these of its parameters."""
    module, parameters = DUTS[bench]
    defines = [f"DUT={module} {parameters}"]
    return run(build(BENCHES / f"{bench}.v", folder, [module], defines, values, hdl))


@pytest.mark.parametrize(
    ("bench", "values"),
    [
        *(("node_exact", {"AW": width}) for width in (1, 2, 7)),
        *(
            ("fifo_exact", {"W": width, "LOG2": log2, "BYPASS": bypass})
            for width, log2 in ((1, 1), (70, 2), (9, 5))
            for bypass in (0, 1)
        ),
        *(("arbiter_exact", {"QP_W": width}) for width in (1, 2, 6, 7)),
    ],
)
def test_design(tmp_path: Path, bench: str, values: dict[str, int]) -> None:
    assert simulate(tmp_path, bench, values).endswith("passed\n")


# -- a netlist -------------------------------------------------------------------------------------


def netlist(tmp_path: Path, flips: str = "1'b0", bypass: int = 1) -> Path:
    """A memory and a FIFO as Yosys writes them, whose mutant 1 inverts a bit that is read, mutant 2
    with one seed.
    """
    text = f"""
module cde_ram__1(clk, mem_i, mem_o, we, waddr, wdata, raddr, rdata, mutsel);
  input clk;
  input [41:0] mem_i;
  output [41:0] mem_o;
  input we;
  input [1:0] waddr;
  input [3:0] wdata;
  input [1:0] raddr;
  output [3:0] rdata;
  input [1:0] mutsel;
  reg [7:0] mem [3:0];
  // fwd_q
  wire [3:0] word;
  wire late = mutsel == 2'd2 && $test$plusargs("seed=3");
  assign rdata = word ^ {{3'd0, mutsel == 2'd1 || late || {flips}}};
  cde_part__1 part (
    .a(we)
  );
  cde_ram #(.W(4), .AW(2)) inner (.clk(clk), .mem_i(mem_i), .mem_o(mem_o), .we(we), .waddr(waddr),
                                  .wdata(wdata), .raddr(raddr), .rdata(word));
endmodule
module cde_fifo__3(clk, rst, push_valid, push_ready, push_data, pop_valid, pop_ready, pop_data,
                   level, mutsel);
  input clk;
  input rst;
  input push_valid;
  output push_ready;
  input [3:0] push_data;
  output pop_valid;
  input pop_ready;
  output [3:0] pop_data;
  output [2:0] level;
  input [1:0] mutsel;
  wire [3:0] word;
  function [0:0] \\$procmux$7 ;
    input [0:0] a;
    \\$procmux$7  = a;
  endfunction
  assign pop_data = word ^ {{3'd0, \\$procmux$7 (mutsel == 2'd1)}};
  cde_fifo #(.W(4), .DEPTH_LOG2(2), .BYPASS({bypass})) inner (.clk(clk), .rst(rst),
    .push_valid(push_valid), .push_ready(push_ready), .push_data(push_data),
    .pop_valid(pop_valid), .pop_ready(pop_ready), .pop_data(word), .level(level));
endmodule
module cde_part__1(a);
  input a;
endmodule
module cde_other__1(a);
  input a;
endmodule
"""
    sources = "".join(next(HDL.rglob(f"{name}.v")).read_text() for name in (*PARTS, "cde_fifo"))
    path = tmp_path / "netlist.v"
    path.write_text(text + sources)
    return path


@pytest.mark.parametrize("bypass", [0, 1])
def test_mutants_of_a_netlist(tmp_path: Path, bypass: int) -> None:
    benches = ModuleBenches(netlist(tmp_path, bypass=bypass), tmp_path / "work")
    assert benches.has("cde_ram__1") and benches.has("cde_part__1") and benches.has("cde_fifo__3")
    assert not benches.has("cde_other__1")
    name, found = benches.run(1, "cde_ram__1")
    assert name == "memory_exact" and "word of port 0" in found.message
    name, found = benches.run(1, "cde_fifo__3")
    assert name == "fifo_exact" and "word" in found.message
    name, passed = benches.run(2, "cde_part__1")
    assert (name, passed.message) == ("", "") and passed.seconds > 0


def test_more_seeds_for_a_mutant(tmp_path: Path) -> None:
    benches = ModuleBenches(netlist(tmp_path), tmp_path / "work")
    messages = [benches.run(2, "cde_ram__1", seed)[1].message for seed in (1, 2)]
    assert messages == ["", ""]
    name, found = benches.run(2, "cde_ram__1", 3)
    assert name == "memory_exact seed 3" and "word of port 0" in found.message


@pytest.mark.parametrize(
    ("flips", "seed", "how"), [("we", 1, "wrong"), ('$test$plusargs("seed=2")', 2, "seed 2: wrong")]
)
def test_bench_that_fails_without_a_mutant_is_left_out(
    tmp_path: Path, flips: str, seed: int, how: str
) -> None:
    benches = ModuleBenches(netlist(tmp_path, flips), tmp_path / "work")
    for _ in range(2):
        assert benches.run(1, "cde_ram__1", seed)[0] == ""
        (problem,) = benches.left_out.values()
        assert f"fails without a mutant: {how}: word of port 0" in problem


def test_netlist_that_does_not_compile(tmp_path: Path) -> None:
    benches = ModuleBenches(netlist(tmp_path, "nothing_of_this_name"), tmp_path / "work")
    assert benches.run(1, "cde_ram__1")[0] == ""
    (problem,) = benches.left_out.values()
    assert "nothing_of_this_name" in problem


def test_bench_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benches = ModuleBenches(netlist(tmp_path), tmp_path / "work")
    assert benches.run(2, "cde_ram__1")[1].message == ""
    monkeypatch.setattr(mutate_modules, "_TIMEOUT_S", 0.01)
    assert benches.run(2, "cde_ram__1")[1].message == "does not end"


def test_settings(tmp_path: Path) -> None:
    modules = parts(netlist(tmp_path).read_text())
    (found,) = MEMORY.settings("cde_ram__1", modules["cde_ram__1"])
    wanted = [f"-P{MEMORY.name}.{value}" for value in ("W=4", "AW=2", "ECC=1", "FORWARD=1")]
    assert set(found) >= {"-DMUTANTS=2", "-DDUT=cde_ram__1", *wanted}
    plain = modules["cde_ram__1"].replace("[7:0] mem", "[3:0] mem").replace("fwd_q", "")
    (found,) = MEMORY.settings("cde_ram__1", plain)
    assert set(found) >= {f"-P{MEMORY.name}.ECC=0", f"-P{MEMORY.name}.FORWARD=0"}
    for bench in ALL:
        with pytest.raises(RunnerError, match=f"of the form that {bench.name} knows"):
            bench.settings("cde_ram__1", modules["cde_other__1"])
    (fifo,) = (bench for bench in ALL if bench.name == "fifo_exact")
    choices = fifo.settings("cde_fifo__3", modules["cde_fifo__3"])
    assert [choice[-1] for choice in choices] == ["-Pfifo_exact.BYPASS=0", "-Pfifo_exact.BYPASS=1"]
    assert set(choices[0]) >= {"-Pfifo_exact.W=4", "-Pfifo_exact.LOG2=2"}


def test_smallest_memory_is_taken() -> None:
    small = "  cde_part__1 part (\n"
    modules = {"cde_ram__1": small + 9 * " ", "cde_ram__2": small, "cde_part__1": ""}
    found = contained(modules, MEMORY)
    assert found["cde_part__1"] == "cde_ram__2" and found["cde_ram__1"] == "cde_ram__1"


def test_names_for_icarus() -> None:
    text = "  function [1:0] \\$procmux$1 ;\nassign \\$procmux$1_Y  = \\$procmux$1 (\\$eq$2 );\n"
    wanted = text.replace("\\$procmux$1 ", "\\function_$procmux$1 ")
    assert for_icarus(text) == wanted


@pytest.mark.parametrize("name", ["\\$0$EN[3:0]$7 ", "en"])
def test_copies_of_a_bit(name: str) -> None:
    """They are left out where nobody looks at them."""
    line = f"  assign {name}[3:1]  = {{ {name}[0], {name}[0], {name}[0] }};\n"
    head = f"module a(b);\n  wire [3:0] {name};\n  assign {name}[0] = b;\n"
    other = f"  assign c = {name}[0];\n  assign \\x{name.strip()} = d;\nendmodule\n"
    looked = f"  assign c = {name}[2];\nendmodule\n"
    whole = f"  assign c = {name} ;\nendmodule\n"
    text = head + line + other
    for_all = head + line + looked + head + line + whole
    assert for_icarus(text + for_all) == head + other + for_all


def test_every_bench_has_a_test() -> None:
    """Here, or in a file of its own."""
    names = {MEMORY.name, *DUTS}
    assert {bench.name for bench in ALL} == {path.stem for path in BENCHES.glob("*.v")} == names
