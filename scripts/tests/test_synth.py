# SPDX-License-Identifier: Apache-2.0
"""Figures that `make synth` takes from a netlist, and what it prints of routes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scripts import figures
from scripts.synth import ecp5, flow
from scripts.synth.__main__ import line, main, settings
from scripts.synth.flow import Netlist, Result, Way, _yosys, count, levels, parts
from tb.runner.common import SIM_BUILD, RunnerError


def cell(kind: str, ins: list[int], out: int) -> dict[str, Any]:
    return {
        "type": kind,
        "connections": {"I": ins, "O": [out]},
        "port_directions": {"I": "input", "O": "output"},
    }


def netlist(cells: dict[str, Any]) -> Netlist:
    return Netlist({}, Path(), Path(), cells, count(cells.values()))


def test_levels_end_at_registers_and_leave_out_wide_multiplexers() -> None:
    cells = {
        "a": cell("LUT4", [1], 2),
        "b": cell("MUXF7", [2, 1], 3),
        "c": cell("CARRY8", [3], 4),
        "d": cell("FDRE", [4], 5),
        "e": cell("LUT2", [5], 6),
    }
    assert levels(netlist(cells)) == 2
    assert levels(netlist({"d": cells["d"]})) == 0
    assert levels(netlist({**cells, "d": cell("LUT1", [4], 5)})) == 4


def test_parts_are_instances_with_some_logic() -> None:
    lut, ram = cell("LUT4", [1], 2), cell("DP16KD", [1], 2)
    cells = {f"dut.core_i.x{n}": lut for n in range(101)} | {"dut.core_i.arm_i.ram": ram}
    cells |= {"dut.small_i.x": lut, "w_fold": lut, "dut.net": lut}
    found = parts(netlist(cells), 1)
    assert list(found) == ["core_i"]
    assert (found["core_i"]["lut4"], found["core_i"]["block_ram"]) == (101, 1)


def test_parameters_are_names_with_numbers() -> None:
    assert settings("NUM_QP=16,NUM_SRQ=4") == {"NUM_QP": 16, "NUM_SRQ": 4} and not settings("")
    with pytest.raises(RunnerError, match="SET=NUM_QP: NUM_QP has no number"):
        settings("NUM_QP")
    with pytest.raises(RunnerError, match="cde_top has no parameter NUM_QPS: it has BURST, ECC,"):
        flow.synthesise("cde_top", {"NUM_QPS": 4})
    with pytest.raises(RunnerError, match="SET=NUM_QP=4 without MODULE="):
        main(["--set", "NUM_QP=4"])
    with pytest.raises(RunnerError, match="cde_irq has no parameter W"):
        main(["--module", "cde_fifo,cde_irq", "--set", "W=4"])


def test_area_table_names_the_kinds_of_cells() -> None:
    data = {"prices": {"as above": {"lut4": 22163, "block_ram": 63}, "cde_ctx": {"lut4": 1}}}
    head, _, first, second = figures.area_table("prices")(data).splitlines()
    assert head == "|  | LUT4 | block ram |"
    assert first == "| as above | 22,163 | 63 |" and second.startswith("| `cde_ctx` | 1")


_MEMORY = """
module synth_top(input clk, input we, input [8:0] a, input [35:0] d, output reg p,
                 output reg [35:0] r);
    reg [35:0] mem [0:511];
    reg [35:0] q;
    always @(posedge clk) begin
        if (we) mem[a] <= d;
        q <= mem[a];
        p <= ^q;
        r <= q;
    end
endmodule
"""


def test_delays_of_block_rams_are_gone_from_the_netlist() -> None:
    """Behind a memory the mapping has weighed its delay, and wires are left of it."""
    folder = SIM_BUILD / "unit_synth"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.v").write_text(_MEMORY)
    ecp5.synthesise(_yosys, folder, f"read_verilog {folder}/memory.v", folder / "net.json")
    module = json.loads((folder / "net.json").read_text())["modules"]["synth_top"]
    kinds = {cell["type"] for cell in module["cells"].values()}
    assert "DP16KD" in kinds and not any("DELAY" in kind for kind in kinds)
    outputs = {
        bits[0]
        for cell in module["cells"].values()
        if cell["type"] == "DP16KD"
        for port, bits in cell["connections"].items()
        if port.startswith("DO")
    }
    read = [
        bit
        for cell in module["cells"].values()
        if cell["type"] != "DP16KD"
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == "input"
        for bit in bits
    ]
    assert len(outputs & set(read)) == 36
    delays = re.findall(r"Del = *(\d+)", (folder / "yosys.log").read_text())
    assert delays and all(float(delay) > ecp5.BRAM + ecp5.WIRE for delay in delays), delays


def test_a_module_that_does_not_fit_has_an_area_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    area = dict.fromkeys(("lut4", "ff", "distributed_ram"), 5) | {"block_ram": flow.BLOCK_RAMS + 1}
    made = Netlist({}, Path(), Path(), {}, area)
    monkeypatch.setattr(flow, "synthesise", lambda _module, _given: made)
    result = flow.measure("cde_top", [1, 2], {"NUM_QP": 16})
    assert (result.module, result.mhz, result.median) == ("cde_top NUM_QP=16", {}, None)
    text = line(result)
    assert " - " in text and text.endswith("not placed: the device has 208 block RAMs")


def test_worst_ways_of_the_slowest_seed_are_printed() -> None:
    area = dict.fromkeys(("lut4", "ff", "block_ram", "distributed_ram"), 5)
    ways = [Way("a", f"r{n}", 12 - n, 8.5 - n, 1.0, ("hdl/a.v:3", "hdl/b.v:4")) for n in range(2)]
    worst = {1: [], 2: ways}
    result = Result("cde_ram", {}, {1: 120.0, 2: 117.6}, area, {1: ways[1], 2: ways[0]}, worst)
    assert line(result).splitlines()[1:] == [
        "     8.50 ns, 12 levels, a -> r0  hdl/a.v:3  hdl/b.v:4",
        "     7.50 ns, 11 levels, a -> r1  hdl/a.v:3  hdl/b.v:4",
    ]
    assert result.row()["worst_paths"][2][0]["sources"] == ("hdl/a.v:3", "hdl/b.v:4")
