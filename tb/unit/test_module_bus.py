# SPDX-License-Identifier: Apache-2.0
"""The bench of the maintenance bus (tb/modules/bus_exact.v) on each module with memories in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb.runner.mutate_modules import BENCHES, BUS, others
from tb.unit.icarus import HDL, build, run, with_fault

#: Its own benches have a memory and its place on the bus; the other two end the bus.
ELSEWHERE = {"cde_ram", "cde_ram_2w", "cde_mem_node", "cde_control", "cde_core"}
MODULES = sorted(
    path.stem
    for path in HDL.glob("cde_*.v")
    if " mem_i,\n" in path.read_text() and path.stem not in ELSEWHERE
)


def simulate(folder: Path, module: str, hdl: Path = HDL) -> str:
    text = (hdl / f"{module}.v").read_text()
    defines = [f"DUT={module}", f"OTHERS={others(text)}"]
    every = sorted(path.stem for path in hdl.glob("cde_*.v"))
    return run(build(BENCHES / "bus_exact.v", folder, every, defines, hdl=hdl))


@pytest.mark.parametrize("module", MODULES)
def test_design(tmp_path: Path, module: str) -> None:
    assert BUS.has(f"{module}__1")
    assert simulate(tmp_path, module) == "passed\n"


@pytest.mark.parametrize(
    ("module", "text", "replacement", "message"),
    [
        ("cde_receive", ".mem_i(mem4)", ".mem_i(mem4 ^ 42'd1 << `CDE_MEM_BIT2)", "goes to all"),
        ("cde_receive", ".mem_o(mem5)", ".mem_o(mem5[40:0])", "goes to all"),
        ("cde_arm", ".mem_i(mem3)", ".mem_i(mem3 & ~(42'd1 << `CDE_MEM_INJECT))", "injection"),
        ("cde_posting", ".mem_i(mem2)", ".mem_i(mem2 ^ 42'd2 << `CDE_MEM_TARGET)", "target"),
        ("cde_retire", ".mem_i(mem5)", ".mem_i(mem5 & ~(42'd1 << `CDE_MEM_LOST))", "is reported"),
        ("cde_keys", ".mem_i(mem2)", ".mem_i(mem2 | 42'd128 << `CDE_MEM_HOPS)", "number of"),
        ("cde_take", ".mem_i(mem3)", ".mem_i(mem3 & ~(42'd1 << `CDE_MEM_BAD))", "number of"),
        ("cde_mem_node", "cancel) begin", "cancel && 0) begin", "injection"),
        ("cde_mem_node", "target - 8'd1;", "target - 8'd2;", "target"),
    ],
)
def test_faults_are_found(
    tmp_path: Path, module: str, text: str, replacement: str, message: str
) -> None:
    copy = with_fault(tmp_path, module, text, replacement)
    printed = simulate(tmp_path, module if module != "cde_mem_node" else "cde_rdone", copy)
    assert printed.startswith("wrong: ") and message in printed, printed[:300]
