# SPDX-License-Identifier: Apache-2.0
"""The exact bench of the memories: it passes on the design, finds faults of every kind, and serves
mutants of a netlist.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tb.runner import mutate_memories
from tb.runner.common import ROOT, RunnerError
from tb.runner.mutate_memories import BENCH, NAME, Memories, contained, parts, settings

HDL = ROOT / "hdl"
CODE = ("cde_ecc_enc", "cde_ecc_dec", "cde_ecc_lane_enc", "cde_ecc_lane_dec")
FILES = ("cde_ram", "cde_ram_2w", "cde_mem_node", *CODE)
ONE = "cde_ram #(.W(W), .AW(AW), .ECC(ECC), .FORWARD(FORWARD))"
TWO = "cde_ram_2w #(.W(W), .AW(AW), .ECC(ECC))"


def simulate(folder: Path, dut: str, hdl: Path = HDL, **values: int) -> str:
    """What the bench prints."""
    out = folder / "bench"
    subprocess.run(
        [
            *("iverilog", "-g2005", "-I", str(hdl), "-s", NAME, "-o", str(out), f"-DDUT={dut}"),
            *(["-DTWO"] if dut == TWO else []),
            *(f"-P{NAME}.{name}={value}" for name, value in values.items()),
            str(BENCH),
            *(str(hdl / f"{name}.v") for name in FILES),
        ],
        check=True,
    )
    command = ["vvp", "-n", str(out), "+cycles=6000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout


@pytest.mark.parametrize("dut", [ONE, TWO])
@pytest.mark.parametrize(("width", "bits"), [(1, 1), (16, 4), (64, 3), (70, 5)])
@pytest.mark.parametrize("ecc", [0, 1])
def test_design(tmp_path: Path, dut: str, width: int, bits: int, ecc: int) -> None:
    assert simulate(tmp_path, dut, W=width, AW=bits, ECC=ecc).endswith("passed\n")


@pytest.mark.parametrize("ecc", [0, 1])
def test_without_forwarding(tmp_path: Path, ecc: int) -> None:
    assert simulate(tmp_path, ONE, W=16, AW=3, ECC=ecc, FORWARD=0).endswith("passed\n")


@pytest.mark.parametrize(
    ("dut", "name", "text", "replacement", "message"),
    [
        (ONE, "cde_ram", "hit_q ? fwd_q : fixed;", "fixed;", "word of port 0"),
        (ONE, "cde_ram", "bad && !lost;", "1'b0;", "report"),
        (ONE, "cde_ram", "bad && !lost;", "bad;", "report"),
        (ONE, "cde_ram", ": we ? wdata : fixed;", ": heal ? fixed : wdata;", "word of port 0"),
        (ONE, "cde_ram", "seen_q <= bad && raddr == raddr_q;", "seen_q <= 1'b0;", "report"),
        (ONE, "cde_ram", "seen_q <= bad && raddr == raddr_q;", "seen_q <= bad;", "report"),
        (ONE, "cde_ram", "put = clear || we || heal;", "put = we || heal;", "word of port 0"),
        (ONE, "cde_ram", "flip && we)", "flip)", "report"),
        (TWO, "cde_ram_2w", "heal1 = bad1 && !lost1;", "heal1 = 1'b0;", "report"),
        (TWO, "cde_ram_2w", "bad1 && raddr1 == r1_addr_q;", "bad1;", "report"),
        (TWO, "cde_ram_2w", "flip && we0 && !we1)", "flip && we0)", "report"),
        (TWO, "cde_ram_2w", "if (we1) newest[waddr1] <= 1'b1;", "", "word of port"),
        (TWO, "cde_ram_2w", "assign rdata1 = r1_hit1_q", "assign rdata1 = r1_hit0_q", "word of"),
        (ONE, "cde_mem_node", "if (start || cancel) begin", "if (cancel) begin", "injection"),
        (ONE, "cde_mem_node", "in_bad || bad || wait_bad;", "in_bad || bad;", "report"),
        (ONE, "cde_mem_node", "go_target <= target - 8'd1;", "go_target <= target;", "target"),
        (ONE, "cde_mem_node", "[`CDE_MEM_HOPS +: 8] + 8'd1", "[`CDE_MEM_HOPS +: 8]", "number"),
        (ONE, "cde_mem_node", "{mem_i[`CDE_MEM_CANCEL], go_h", "{1'b0, go_h", "what goes to all"),
        (ONE, "cde_ecc_lane_dec", "fixed = data ^ wrong;", "fixed = data;", "word of port 0"),
        (ONE, "cde_ecc_lane_dec", " && wrong == {D{1'b0}};", ";", "report of a loss"),
        (ONE, "cde_ecc_dec", "assign lost = |lane_lost;", "assign lost = 1'b0;", "report"),
    ],
)
def test_faults_are_found(
    tmp_path: Path, dut: str, name: str, text: str, replacement: str, message: str
) -> None:
    copy = tmp_path / "hdl"
    shutil.copytree(HDL, copy)
    path = copy / f"{name}.v"
    source = path.read_text()
    assert source.count(text) == 1
    path.write_text(source.replace(text, replacement))
    printed = simulate(tmp_path, dut, hdl=copy, W=16, AW=3)
    assert printed.startswith("wrong: ") and message in printed, printed[:300]


def netlist(tmp_path: Path, flips: str = "1'b0") -> Path:
    """A memory as Yosys writes it, whose mutant 1 inverts a bit that is read."""
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
  assign rdata = word ^ {{3'd0, mutsel == 2'd1 || {flips}}};
  cde_part__1 part (
    .a(we)
  );
  cde_ram #(.W(4), .AW(2)) inner (.clk(clk), .mem_i(mem_i), .mem_o(mem_o), .we(we), .waddr(waddr),
                                  .wdata(wdata), .raddr(raddr), .rdata(word));
endmodule
module cde_part__1(a);
  input a;
endmodule
module cde_other__1(a);
  input a;
endmodule
"""
    sources = "".join((HDL / f"{name}.v").read_text() for name in FILES)
    path = tmp_path / "netlist.v"
    path.write_text(text + sources)
    return path


def test_mutants_of_a_netlist(tmp_path: Path) -> None:
    memories = Memories(netlist(tmp_path), tmp_path / "work")
    assert memories.has("cde_ram__1") and memories.has("cde_part__1")
    assert not memories.has("cde_other__1")
    assert "word of port 0" in memories.run(1, "cde_ram__1").message
    passed = memories.run(2, "cde_part__1")
    assert passed.message == "" and passed.seconds > 0


def test_failure_without_a_mutant_is_an_error(tmp_path: Path) -> None:
    memories = Memories(netlist(tmp_path, "we"), tmp_path / "work")
    with pytest.raises(RunnerError, match="fails without a mutant: wrong: word of port 0"):
        memories.run(1, "cde_ram__1")


def test_netlist_that_does_not_compile(tmp_path: Path) -> None:
    memories = Memories(netlist(tmp_path, "nothing_of_this_name"), tmp_path / "work")
    with pytest.raises(RunnerError, match="nothing_of_this_name"):
        memories.run(1, "cde_ram__1")


def test_bench_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = Memories(netlist(tmp_path), tmp_path / "work")
    assert memories.run(2, "cde_ram__1").message == ""
    monkeypatch.setattr(mutate_memories, "_TIMEOUT_S", 0.01)
    assert memories.run(2, "cde_ram__1").message == "does not end"


def test_settings(tmp_path: Path) -> None:
    modules = parts(netlist(tmp_path).read_text())
    found = settings("cde_ram__1", modules["cde_ram__1"])
    assert set(found) >= {"-DMUTANTS=2", "-DDUT=cde_ram__1", f"-P{NAME}.W=4", f"-P{NAME}.AW=2"}
    assert set(found) >= {f"-P{NAME}.ECC=1", f"-P{NAME}.FORWARD=1"}
    plain = modules["cde_ram__1"].replace("[7:0] mem", "[3:0] mem").replace("fwd_q", "")
    assert set(settings("cde_ram__1", plain)) >= {f"-P{NAME}.ECC=0", f"-P{NAME}.FORWARD=0"}
    with pytest.raises(RunnerError, match="no memory of the form"):
        settings("cde_ram__1", modules["cde_other__1"])


def test_smallest_memory_is_taken() -> None:
    small = "  cde_part__1 part (\n"
    modules = {"cde_ram__1": small + 9 * " ", "cde_ram__2": small, "cde_part__1": ""}
    found = contained(modules)
    assert found["cde_part__1"] == "cde_ram__2" and found["cde_ram__1"] == "cde_ram__1"
