# SPDX-License-Identifier: Apache-2.0
"""Bits that synthesis finds to be constant, and no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb.runner import tied as module
from tb.runner.builds import BuildConfig
from tb.runner.code_coverage import Point
from tb.runner.common import SIM_BUILD, RunnerError
from tb.runner.tied import Constants, find_constants, read_netlist, tied_points


def key(signal: str, instance: str = "tb_top.dut.a_i") -> str:
    fields = {"f": "hdl/cde_a.v", "l": "7", "page": "v_toggle/cde_a", "o": f"{signal}:0->1"}
    fields["h"] = instance
    return "".join(f"\x01{name}\x02{value}" for name, value in fields.items())


def point(signal: str) -> Point:
    return Point("cde_a.v", 7, "toggle", f"{signal} 0->1")


def constants(**signals: set[int]) -> Constants:
    return Constants({name.replace("__", "."): frozenset(bits) for name, bits in signals.items()})


def tied(builds: dict[str, list[str]], found: dict[str, Constants], *signals: str) -> list[str]:
    missing = [point(signal) for signal in signals]
    return sorted(p.name.split()[0] for p in tied_points(missing, builds, found, Path("hdl")))


def test_constant_bit() -> None:
    found = {"b": constants(a_i__data={3}, a_i__flag={0}, a_i__go=set())}
    names = ["data[3]", "data[2]", "flag", "go", "gone"]
    assert tied({"b": [key(name) for name in names]}, found, *names) == ["data[3]", "flag"]


def test_bit_must_be_constant_in_every_build_that_has_it() -> None:
    found = {"b": constants(a_i__data={2, 3, 4}), "c": constants(a_i__data={3})}
    builds = {"b": [key(f"data[{n}]") for n in (2, 3, 4)], "c": [key("data[2]"), key("data[3]")]}
    assert tied(builds, found, "data[2]", "data[3]", "data[4]") == ["data[3]", "data[4]"]


def test_bit_must_be_constant_in_every_instance() -> None:
    builds = {"b": [key("d[0]", "tb_top.dut.*_ram"), key("d[1]", "tb_top.dut.*_ram")]}
    found = {"b": constants(x_ram__d={0, 1}, y__z_ram__d={1}, x_i__d=set())}
    assert tied(builds, found, "d[0]", "d[1]") == ["d[1]"]


def test_top_level() -> None:
    assert tied({"b": [key("d[0]", "tb_top.dut")]}, {"b": constants(d={0})}, "d[0]") == ["d[0]"]


def test_only_toggles_can_be_tied() -> None:
    found = {"b": constants(a_i__data={3})}
    line = Point("cde_a.v", 7, "line")
    assert tied_points([line], {"b": [key("data[3]")]}, found, Path("hdl")) == set()


def test_netlist() -> None:
    nets = {"a_i.d": {"bits": [7, "0", "x", "1"]}, "a_i.page": {"bits": ["1", 9], "offset": 12}}
    found = read_netlist(json.dumps({"modules": {"top": {"netnames": nets}}}), "top")
    assert [n for n in range(4) if found.has("tb_top.dut.a_i", f"d[{n}]")] == [1, 3]
    assert [n for n in range(15) if found.has("tb_top.dut.a_i", f"page[{n}]")] == [12]


#: A field that is fixed, one that a parameter narrows, one without a value; three CQs are wrong.
SMALL = """
module cde_cpl_top #(parameter NUM_CQ = 4) (input clk, input [15:0] data, output [15:0] owner,
    output [7:0] len, output [1:0] odd);
    generate if (NUM_CQ == 3) ERROR_NUM_CQ_must_be_a_power_of_two wrong(); endgenerate
    cde_part #(.N(NUM_CQ)) part_i (.clk(clk), .data(data), .owner(owner));
    assign len = 8'd0;
    assign odd = 2'bxx;
endmodule
module cde_part #(parameter N = 2) (input clk, input [15:0] data, output reg [15:0] owner);
    always @(posedge clk) owner <= data & (N - 1);
endmodule
"""


def test_small_design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "small.v"
    source.write_text(SMALL)
    monkeypatch.setattr(module, "hdl_files", lambda: [source])
    found = find_constants(BuildConfig(name="small", parameters={"NUM_CQ": 8}), tmp_path)
    top = "tb_top.dut"
    assert all(found.has(top, f"len[{bit}]") for bit in range(8))
    assert not any(found.has(top, f"{name}[{bit}]") for name in ("data", "odd") for bit in (0, 1))
    owned = [found.has(f"{top}.part_i", f"owner[{bit}]") for bit in range(16)]
    assert owned == [False] * 3 + [True] * 13
    with pytest.raises(RunnerError, match="Yosys failed on the design of build odd"):
        find_constants(BuildConfig(name="odd", parameters={"NUM_CQ": 3}), tmp_path)


@pytest.mark.full
def test_design() -> None:
    """The smallest build: known fixed fields, and that fields of other values are not constant."""
    config = BuildConfig(name="unit_tied", parameters={"NUM_CQ": 4, "NUM_EQ": 2})
    found = find_constants(config, SIM_BUILD / "unit_tied")
    top = "tb_top.dut"
    assert all(found.has(top, f"m_axi_awlen[{bit}]") for bit in range(8))
    assert not any(found.has(top, f"m_axi_awaddr[{bit}]") for bit in range(6, 64))
    # Two bits of 16 number a CQ.
    owned = [found.has(f"{top}.core_i.arm_i", f"trace_data[{8 + bit}]") for bit in range(16)]
    assert owned == [False] * 2 + [True] * 14
