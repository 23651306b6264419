# SPDX-License-Identifier: Apache-2.0
"""The memories and their code in benches of their own (Icarus), and faults that these find."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).resolve().parent
HDL = UNIT.parents[1] / "hdl"
CODE = ("cde_ecc_enc", "cde_ecc_dec", "cde_ecc_lane_enc", "cde_ecc_lane_dec")
FILES = ("cde_ram", "cde_ram_2w", "cde_mem_node", *CODE)


def build(bench: str, folder: Path, *defines: str, hdl: Path = HDL, **parameters: int) -> list[str]:
    """Builds a bench of this folder with parameters overridden; the command that runs it."""
    iverilog = shutil.which("iverilog")
    assert iverilog, "iverilog is missing: run `make setup`"
    out = folder / "bench"
    subprocess.run(
        [
            *(iverilog, "-g2005", "-Wno-all", "-I", str(hdl), "-s", bench, "-o", str(out)),
            *(f"-D{define}" for define in defines),
            *(f"-P{bench}.{name}={value}" for name, value in parameters.items()),
            str(UNIT / f"{bench}.v"),
            *(str(hdl / f"{name}.v") for name in FILES),
        ],
        check=True,
    )
    return ["vvp", "-n", str(out)]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """The bench, to its end."""
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)


def demand_wrong(command: list[str], message: str) -> None:
    """The bench, until it finds what is wrong."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            seen = []
            for line in process.stdout:
                if line.startswith("wrong") and message in line:
                    return
                seen.append(line)
            raise AssertionError("".join(seen[:20]))
        finally:
            process.kill()


def is_clean(result: subprocess.CompletedProcess[str]) -> bool:
    return "passed" in result.stdout and "wrong" not in result.stdout


@pytest.mark.parametrize("width", [1, 2, 4, 5, 11, 12, 16, 26, 27, 57, 58, 64, 65])
def test_every_bit_and_pair(tmp_path: Path, width: int) -> None:
    result = run(build("code_bench", tmp_path, W=width))
    assert is_clean(result), result.stdout[:2000]


@pytest.mark.parametrize("defines", [(), ("TWO",)])
@pytest.mark.parametrize(("width", "ecc"), [(2, 1), (16, 1), (70, 1), (16, 0)])
def test_memory(tmp_path: Path, defines: tuple[str, ...], width: int, ecc: int) -> None:
    result = run(build("memory_bench", tmp_path, *defines, W=width, ECC=ecc))
    assert is_clean(result), result.stdout[:2000]


def test_bus(tmp_path: Path) -> None:
    result = run(build("bus_bench", tmp_path))
    assert is_clean(result), result.stdout[:2000]


@pytest.mark.parametrize(
    ("text", "replacement", "message"),
    [
        ("wait_bad <= in_bad && (bad || wait_bad);", "wait_bad <= 1'b0;", "reports of"),
        ("wait_bad <= in_bad && (bad || wait_bad);", "wait_bad <= in_bad && bad;", "reports of"),
        ("go_bad <= in_bad || bad || wait_bad;", "go_bad <= bad || wait_bad;", "reports of"),
        ("mem_i[`CDE_MEM_LOST] : lost || wait_lost;", "1'b0 : lost || wait_lost;", "say lost"),
        ("wait_lost <= in_bad && (lost || wait_lost);", "wait_lost <= 1'b0;", "say lost"),
        ("wait_lost <= in_bad && (lost || wait_lost);", "wait_lost <= lost;", "say lost"),
        ("mem_i[`CDE_MEM_HOPS +: 8] + 8'd1", "mem_i[`CDE_MEM_HOPS +: 8]", "reports of"),
        ("if (start || clear) begin", "if (start) begin", "a report of the walk"),
        ("if (start || cancel) begin", "if (start) begin", "a replaced injection"),
        ("if (written) flip <= 1'b0;", "if (inject) flip <= 1'b0;", "not spent"),
        ("go_target <= target - 8'd1;", "go_target <= target;", "an injection for"),
    ],
)
def test_faults_of_the_bus_are_found(
    tmp_path: Path, text: str, replacement: str, message: str
) -> None:
    copy = tmp_path / "hdl"
    shutil.copytree(HDL, copy)
    path = copy / "cde_mem_node.v"
    source = path.read_text()
    assert source.count(text) == 1
    path.write_text(source.replace(text, replacement))
    demand_wrong(build("bus_bench", tmp_path, hdl=copy), message)


@pytest.mark.parametrize(
    ("name", "text", "replacement", "message"),
    [
        (
            "cde_ram",
            "assign rdata = hit_q ? fwd_q : fixed;",
            "assign rdata = hit_q ? fwd_q : mem_q[W-1:0];",
            "must be",
        ),
        (
            "cde_ram",
            "wire          heal = bad && !lost;",
            "wire          heal = 1'b0;",
            "not healed",
        ),
        ("cde_ram", ": we ? wdata : fixed;", ": heal ? fixed : wdata;", "must be"),
        ("cde_ram", ".en(!hit_q)", ".en(1'b1)", "must be"),
        ("cde_ram", "put = clear || we || heal;", "put = we || heal;", "must be"),
        ("cde_ram_2w", "if (!we0) {put", "if (heal0 && !in1_0) {put", "must be"),
        ("cde_ram_2w", "if (!we1) {put", "if (heal1 && in1_1) {put", "must be"),
        ("cde_ram_2w", "if (we0) newest", "if (put0) newest", "must be"),
        ("cde_ram_2w", "en(!r0_hit0_q && !r0_hit1_q)", "en(!r0_hit1_q)", "must be"),
        (
            "cde_mem_node",
            "go_bad <= in_bad || bad || wait_bad;",
            "go_bad <= in_bad;",
            "nothing was",
        ),
        ("cde_ecc_lane_dec", "fixed = data ^ wrong;", "fixed = data;", "must be"),
        ("cde_ecc_dec", "assign lost = |lane_lost;", "assign lost = 1'b0;", "two bits"),
        ("cde_ecc.vh", "= p[k];", "= k != 2 && p[k];", "lost is"),
        ("cde_ecc.vh", "= ~^p;", "= ^p;", "lost is"),
    ],
)
def test_faults_are_found(
    tmp_path: Path, name: str, text: str, replacement: str, message: str
) -> None:
    copy = tmp_path / "hdl"
    shutil.copytree(HDL, copy)
    path = copy / (name if name.endswith(".vh") else f"{name}.v")
    source = path.read_text()
    assert source.count(text) == 1
    path.write_text(source.replace(text, replacement))
    if name == "cde_ecc.vh":
        command = build("code_bench", tmp_path, hdl=copy, W=16)
    else:
        defines = ("TWO",) if name == "cde_ram_2w" else ()
        command = build("memory_bench", tmp_path, *defines, hdl=copy)
    demand_wrong(command, message)
