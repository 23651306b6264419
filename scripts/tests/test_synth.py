# SPDX-License-Identifier: Apache-2.0
"""Figures that `make synth PRICES=1` takes from a netlist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scripts import figures
from scripts.synth.flow import Netlist, count, levels, parts


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


def test_area_table_names_the_kinds_of_cells() -> None:
    data = {"prices": {"as above": {"lut4": 22163, "block_ram": 63}, "cde_ctx": {"lut4": 1}}}
    head, _, first, second = figures.area_table("prices")(data).splitlines()
    assert head == "|  | LUT4 | block ram |"
    assert first == "| as above | 22,163 | 63 |" and second.startswith("| `cde_ctx` | 1")
