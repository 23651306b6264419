# SPDX-License-Identifier: Apache-2.0
"""The memories and their code in benches of their own (Icarus), and faults that these find."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tb.selftest.icarus import MEMORY, build, run, with_fault

UNIT = Path(__file__).resolve().parent
CODE, BUS, STRIKE = (UNIT / f"{name}_bench.v" for name in ("code", "bus", "strike"))


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


def is_clean(printed: str) -> bool:
    return "passed" in printed and "wrong" not in printed


@pytest.mark.parametrize("width", [1, 2, 4, 5, 11, 12, 16, 26, 27, 57, 58, 64, 65])
def test_every_bit_and_pair(tmp_path: Path, width: int) -> None:
    printed = run(build(CODE, tmp_path, MEMORY, values={"W": width}))
    assert is_clean(printed), printed[:2000]


@pytest.mark.parametrize("defines", [(), ("TWO",)])
@pytest.mark.parametrize("width", [2, 16, 70])
def test_stored_bits(tmp_path: Path, defines: tuple[str, ...], width: int) -> None:
    printed = run(build(STRIKE, tmp_path, MEMORY, defines, {"W": width}))
    assert is_clean(printed), printed[:2000]


def test_bus(tmp_path: Path) -> None:
    printed = run(build(BUS, tmp_path, MEMORY))
    assert is_clean(printed), printed[:2000]


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
    copy = with_fault(tmp_path, "cde_mem_node", text, replacement)
    demand_wrong(build(BUS, tmp_path, MEMORY, hdl=copy), message)


@pytest.mark.parametrize(
    ("name", "text", "replacement", "message"),
    [
        (
            "cde_ram",
            "assign rdata = hit_q ? fwd_q : fixed;",
            "assign rdata = hit_q ? fwd_q : mem_q[W-1:0];",
            "must be",
        ),
        ("cde_ram_2w", "en(!r0_hit0_q && !r0_hit1_q)", "en(!r0_hit1_q)", "must be"),
        ("cde_ram", ".bad(bad && !seen_q)", ".bad(1'b0)", "nothing was reported"),
        ("cde_ecc_lane_dec", "fixed = data ^ wrong;", "fixed = data;", "must be"),
        ("cde_ecc_dec", "assign lost = |lane_lost;", "assign lost = bad;", "a single bit was lost"),
    ],
)
def test_faults_in_stored_words_are_found(
    tmp_path: Path, name: str, text: str, replacement: str, message: str
) -> None:
    copy = with_fault(tmp_path, name, text, replacement)
    defines = ("TWO",) if name == "cde_ram_2w" else ()
    demand_wrong(build(STRIKE, tmp_path, MEMORY, defines, hdl=copy), message)


@pytest.mark.parametrize(
    ("text", "replacement"), [("= p[k];", "= k != 2 && p[k];"), ("= ~^p;", "= ^p;")]
)
def test_faults_of_the_code_are_found(tmp_path: Path, text: str, replacement: str) -> None:
    copy = with_fault(tmp_path, "cde_ecc.vh", text, replacement)
    demand_wrong(build(CODE, tmp_path, MEMORY, values={"W": 16}, hdl=copy), "lost is")
