# SPDX-License-Identifier: Apache-2.0
"""The benches of the leaves (tb/tests/lib): each passes on the design and finds planted faults, and
those that are exact serve mutants of a netlist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tb.runner.common import HDL, RunnerError
from tb.runner.mutate_modules import ALL, BENCHES, ModuleBenches
from tb.runner.mutate_plan import Alone
from tb.selftest.icarus import build, run

LEAVES = sorted((HDL / "lib").glob("*.v"))


@dataclass(frozen=True)
class Bench:
    """A bench with its defines."""

    name: str
    defines: tuple[str, ...] = ()
    plusargs: tuple[str, ...] = ()


CYCLES = ("+cycles=6000",)
ECC = Bench("ecc_bits")
NODE = Bench("node_exact", ("DUT=cde_mem_node #(.AW(AW))",))
FIFO = Bench("fifo_exact", ("DUT=cde_fifo #(.W(W), .DEPTH_LOG2(LOG2), .BYPASS(BYPASS))",))
ARBITER = Bench("arbiter_exact", ("DUT=cde_arbiter #(.NUM_QP(1 << QP_W), .QP_W(QP_W))",), CYCLES)


def _memory(name: str, more: str = "", *defines: str) -> Bench:
    dut = f"DUT={name} #(.W(W), .AW(AW), .ECC(ECC){more})"
    return Bench("memory_exact", (dut, *defines), CYCLES)


_STEPS = ", .STEPS(STEPS)"
RAM, CTX = _memory("cde_ram"), _memory("cde_ctx", _STEPS)
CTX_2W = _memory("cde_ctx_2w", _STEPS, "TWO")


def simulate(
    folder: Path, bench: Bench, values: Mapping[str, int], fault: tuple[str, str, str] | None = None
) -> str:
    """What the bench prints with these of its parameters, and with a ``fault``: file, text in it,
    replacement.
    """
    sources = [BENCHES / f"{bench.name}.v", *LEAVES]
    if fault:
        name, text, replacement = fault
        path = HDL / "lib" / name
        source = path.read_text()
        assert source.count(text) == 1
        (folder / name).write_text(source.replace(text, replacement))
        sources = [folder / name if place == path else place for place in sources]
    return run([*build(folder, bench.name, sources, bench.defines, values), *bench.plusargs])


@pytest.mark.parametrize(
    ("bench", "values"),
    [
        # A full lane is proved (formal/lib); these are the smallest, and two and a part of them.
        (ECC, {"W": 1}),
        (ECC, {"W": 59}),
        (NODE, {"AW": 1}),
        (NODE, {"AW": 7}),
        (FIFO, {"W": 1, "LOG2": 1, "BYPASS": 0}),
        (FIFO, {"W": 70, "LOG2": 2, "BYPASS": 0}),
        (FIFO, {"W": 9, "LOG2": 5, "BYPASS": 1}),
        (ARBITER, {"QP_W": 1}),
        (ARBITER, {"QP_W": 6}),
        (ARBITER, {"QP_W": 7}),
        (RAM, {"W": 1, "AW": 1, "ECC": 1}),
        (RAM, {"W": 65, "AW": 3, "ECC": 1}),
        (RAM, {"W": 16, "AW": 7, "ECC": 1}),  # a block RAM
        (RAM, {"W": 16, "AW": 3, "ECC": 0}),
        (CTX, {"W": 1, "AW": 1, "ECC": 1, "READ": 3}),
        (CTX, {"W": 59, "AW": 3, "ECC": 1, "READ": 3}),
        (CTX, {"W": 16, "AW": 3, "ECC": 0, "READ": 3}),
        (CTX, {"W": 59, "AW": 3, "ECC": 1, "READ": 3, "STEPS": 4}),
        (CTX_2W, {"W": 1, "AW": 1, "ECC": 1, "READ": 3}),
        (CTX_2W, {"W": 59, "AW": 2, "ECC": 1, "READ": 3, "STEPS": 3}),
        (CTX_2W, {"W": 59, "AW": 3, "ECC": 1, "READ": 3}),
    ],
    ids=lambda value: (
        value.name if isinstance(value, Bench) else "-".join(map(str, value.values()))
    ),
)
def test_design(tmp_path: Path, bench: Bench, values: dict[str, int]) -> None:
    assert simulate(tmp_path, bench, values) == "passed\n"


SMALL = {"W": 16, "AW": 3}
LATE = {**SMALL, "READ": 3}


FAULTS = [
    ({"W": 59}, ECC, "cde_ecc.vh", "= p[k];", "= k != 2 && p[k];", "bits 0 and"),
    ({"W": 59}, ECC, "cde_ecc_check.v", "i < LANES - 1 ? !is", "i < LANES - 1 ? is", "lost or not"),
    ({}, NODE, "cde_mem_node.v", "|| bad || wait_bad;", "|| bad;", "report at"),
    ({}, NODE, "cde_mem_node.v", "HOPS +: 8] + 8'd1", "HOPS +: 8]", "what is reported"),
    (SMALL, RAM, "cde_mem_node.v", "if (start || cancel) begin", "if (start) begin", "report"),
    ({}, NODE, "cde_mem_node.v", "if (start) clear_addr <= {AW{1'b0}};", "", "walk at"),
    ({}, NODE, "cde_mem_node.v", "(lost || wait_lost);", "wait_lost;", "what is reported"),
    ({}, FIFO, "cde_fifo.v", "!q_valid || pop_ready) q_data", "!q_valid) q_data", "word at"),
    ({"BYPASS": 1}, FIFO, "cde_fifo.v", "&& !(direct && pop_ready);", ";", "level"),
    ({}, ARBITER, "cde_arbiter.v", "after = asked & behind", "after = asked", "QP that is"),
    ({}, ARBITER, "cde_arbiter.v", "if (ask2) asked", "if (ask2 && !load) asked", "pending"),
    (SMALL, RAM, "cde_ram_read.v", "rdata = any ? fwd :", "rdata =", "word of port 0"),
    (SMALL, RAM, "cde_ctx_write.v", ": we ? wdata :", ": !heal ? wdata :", "word of"),
    (SMALL, RAM, "cde_mem_report.v", "bad = wrong && !again;", "bad = wrong;", "report"),
    (SMALL, RAM, "cde_ram_read.v", "heal = wrong_2", "heal = 1'b0", "report"),
    (LATE, CTX, "cde_ctx_read.v", ".lost(hopeless_3));", ".lost());", "loss"),
    ({**LATE, "STEPS": 3}, CTX, "cde_ctx_way.v", "STEPS-3", "STEPS-2", "word of port"),
    (LATE, CTX_2W, "cde_ctx_2w.v", "we(user0_1 && !same_1)", "we(user0_1)", "word of port"),
    (LATE, CTX_2W, "cde_ctx_read.v", "late1 && last1_2 ? alt1 :", "", "word of port"),
    (LATE, CTX_2W, "cde_ctx_2w.v", "back1 = back &&", "back1 = 1'b0 &&", "report"),
    (LATE, CTX_2W, "cde_ctx_2w.v", "user0_1 && !user1_1)", "user0_1)", "report"),
    (LATE, CTX_2W, "cde_ecc_lane_dec.v", "fixed = data ^ wrong;", "fixed = data;", "word of"),
]


@pytest.mark.parametrize(
    ("values", "bench", "fault", "message"),
    [(values, bench, tuple(fault), message) for values, bench, *fault, message in FAULTS],
    ids=[f"{fault[1].name}-{fault[3]}" for fault in FAULTS],
)
def test_faults_are_found(
    tmp_path: Path, values: dict[str, int], bench: Bench, fault: tuple[str, str, str], message: str
) -> None:
    printed = simulate(tmp_path, bench, values, fault)
    assert printed.startswith("wrong: ") and message in printed, printed[:300]


# -- mutants of a netlist --------------------------------------------------------------------------

#: A memory as Yosys writes it: mutant 1 inverts a bit that is read, mutant 2 with
#: one seed; `FLIPS` inverts it without a mutant.
NETLIST = r"""
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
  wire [3:0] word;
  wire late = mutsel == 2'd2 && $test$plusargs("seed=3");
  assign rdata = word ^ {3'd0, mutsel == 2'd1 || late || FLIPS};
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


#: The same modules in RTLIL, as far as it matters.
MODULES = {
    "cde_ram__1": "  parameter \\W 4\n  parameter \\AW 2\n  parameter \\ECC 1\n"
    "  cell \\cde_part__1 \\part\n",
    "cde_part__1": "",
    "cde_other__1": "",
}


def meet(
    folder: Path, number: int, module: str, seed: int, flips: str = "1'b0"
) -> tuple[dict[str, str], dict[str, str]]:
    """What the benches say of a mutant, and what they say without one."""
    sources = (path.read_text() for path in LEAVES)
    path, alone = folder / "netlist.v", Alone(folder / "alone")
    path.write_text(NETLIST.replace("FLIPS", flips) + "".join(sources))
    found = ModuleBenches(path, MODULES, 2, alone, folder / "work")
    told = {name: outcome.message for name, outcome in found.meet(number, module, seed)}
    return told, alone.failing()


@pytest.mark.parametrize(
    ("number", "module", "seed", "bench", "message"),
    [
        (1, "cde_ram__1", 1, "memory_exact", "word of port 0"),
        (2, "cde_part__1", 1, "memory_exact", ""),
        (2, "cde_ram__1", 2, "memory_exact", ""),
        (2, "cde_ram__1", 3, "memory_exact", "word of port 0"),
        (2, "cde_other__1", 1, "", ""),
    ],
)
def test_mutants_of_a_netlist(
    tmp_path: Path, number: int, module: str, seed: int, bench: str, message: str
) -> None:
    told = meet(tmp_path, number, module, seed)[0]
    assert [*told] == ([f"{bench} seed {seed}"] if bench else [])
    assert all(message in said and bool(said) is bool(message) for said in told.values())


@pytest.mark.parametrize(("flips", "seed"), [("we", 1), ('$test$plusargs("seed=2")', 2)])
def test_bench_that_tells_nothing_is_left_out(tmp_path: Path, flips: str, seed: int) -> None:
    told, failing = meet(tmp_path, 1, "cde_ram__1", seed, flips)
    ((name, said),) = failing.items()
    assert (told, name) == ({}, f"memory_exact-cde_ram__1 seed {seed}") and "word of port 0" in said


def test_bench_that_cannot_be_built(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match="nothing_of_this_name"):
        meet(tmp_path, 1, "cde_ram__1", 1, "nothing_of_this_name")


@pytest.mark.parametrize(
    ("module", "text", "options"),
    [
        ("cde_ram__1", MODULES["cde_ram__1"], "W=4 AW=2 ECC=1"),
        ("cde_ctx__1", "  parameter \\W 4\n  parameter \\STEPS 3\n", "W=4 STEPS=3 READ=3"),
        (
            "cde_fifo__3",
            "  parameter \\DEPTH_LOG2 2\n  parameter \\BYPASS 1'1\n",
            "LOG2=2 BYPASS=1",
        ),
    ],
)
def test_settings(module: str, text: str, options: str) -> None:
    (bench,) = (bench for bench in ALL if bench.places({module: ""}))
    found = bench.settings(module, text, 2)
    assert found[:2] == [f"-DDUT={module}", "-DMUTANTS=2"]
    assert {*found[2:]} == {f"-P{bench.name}.{option}" for option in options.split()}
    assert "-DTWO" in bench.settings("cde_ctx_2w__1", "", 2)


def test_every_bench_has_a_test() -> None:
    names = {bench.name for bench in (ECC, NODE, FIFO, ARBITER, RAM)}
    assert names == {path.stem for path in BENCHES.glob("*.v")}
    assert {bench.name for bench in ALL} < names
