# SPDX-License-Identifier: Apache-2.0
"""The exact bench of the memories: it passes on the design and finds faults of every kind."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tb.runner.common import ROOT
from tb.runner.mutate_modules import MEMORY

HDL = ROOT / "hdl"
NAME, BENCH = MEMORY.name, MEMORY.path
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
