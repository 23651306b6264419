# SPDX-License-Identifier: Apache-2.0
"""The exact bench of the memories: it passes on the design and finds faults of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb.runner.mutate_modules import MEMORY as BENCH
from tb.selftest.icarus import HDL, MEMORY, build, run, with_fault

ONE = "cde_ram #(.W(W), .AW(AW), .ECC(ECC), .FORWARD(FORWARD))"
TWO = "cde_ram_2w #(.W(W), .AW(AW), .ECC(ECC))"


def simulate(folder: Path, dut: str, hdl: Path = HDL, **values: int) -> str:
    """What the bench prints."""
    defines = [f"DUT={dut}", *(["TWO"] if dut == TWO else [])]
    return run([*build(BENCH.path, folder, MEMORY, defines, values, hdl), "+cycles=6000"])


@pytest.mark.parametrize("dut", [ONE, TWO])
@pytest.mark.parametrize(("width", "bits"), [(1, 1), (16, 4), (64, 3), (70, 5)])
@pytest.mark.parametrize("ecc", [0, 1])
def test_design(tmp_path: Path, dut: str, width: int, bits: int, ecc: int) -> None:
    assert simulate(tmp_path, dut, W=width, AW=bits, ECC=ecc).endswith("passed\n")


@pytest.mark.parametrize("ecc", [0, 1])
def test_without_forwarding(tmp_path: Path, ecc: int) -> None:
    assert simulate(tmp_path, ONE, W=16, AW=3, ECC=ecc, FORWARD=0).endswith("passed\n")


def test_report_of_the_word_that_was_cleared_last(tmp_path: Path) -> None:
    hdl = with_fault(tmp_path, "cde_ram", "hit_q <= clear || (", "hit_q <= (")
    printed = simulate(tmp_path, ONE, hdl=hdl, W=16, AW=3, ECC=1, FORWARD=0)
    assert "wrong: report" in printed


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
        (ONE, "cde_ram", "hit_q ? fwd_q : fixed;", "hit_q ? fwd_q : mem_q[W-1:0];", "word of port"),
        (ONE, "cde_ram", ".en(!hit_q)", ".en(1'b1)", "word of port 0"),
        (TWO, "cde_ram_2w", "if (!we0) {put", "if (heal0 && !in1_0) {put", "word of port"),
        (TWO, "cde_ram_2w", "if (!we1) {put", "if (heal1 && in1_1) {put", "word of port"),
        (TWO, "cde_ram_2w", "if (we0) newest", "if (put0) newest", "word of port"),
        (TWO, "cde_ram_2w", "en(!r0_hit0_q && !r0_hit1_q)", "en(!r0_hit1_q)", "report"),
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
    copy = with_fault(tmp_path, name, text, replacement)
    printed = simulate(tmp_path, dut, hdl=copy, W=16, AW=3)
    assert printed.startswith("wrong: ") and message in printed, printed[:300]
