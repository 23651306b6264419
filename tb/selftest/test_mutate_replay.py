# SPDX-License-Identifier: Apache-2.0
"""Proofs of mutants, and record and replay of a small netlist with some: that a difference, a wrong
recording and an end of the program show; the text around the netlist.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tb.runner import mutate_netlist as netlist
from tb.runner import mutate_prove as prove
from tb.runner import mutate_wrap as wrap
from tb.runner.builds import BuildConfig
from tb.runner.common import (
    ROOT,
    SIM_BUILD,
    RunnerError,
    bench_files,
    locked,
    prepare_environment,
)
from tb.runner.discover import Job
from tb.runner.mutate_baseline import Baseline
from tb.runner.mutate_ladder import EQUIVALENT, SURVIVED, UNDECIDED, Step
from tb.runner.mutate_replay import Replayer, build_replay, close


def test_values_at_power_up() -> None:
    text = "  reg [7:0] \\mem.x  [15:0];\n  reg c = 1'h1;\n  always @(posedge clk)\n"
    lines = wrap.define_values(text).splitlines()
    assert (
        lines[0] == text.splitlines()[0] and "i <= 15" in lines[3] and "\\mem.x [i] =" in lines[3]
    )
    assert lines[-2:] == ["  reg c = 1'h1;", "  always @(`EDGE clk)"]
    for bad in ("  assign a = 2'h0x;", "  reg [7:0] q;", "  reg q;"):
        with pytest.raises(RunnerError, match="undefined value"):
            wrap.define_values(bad)


DESIGN = wrap.Interface(
    "cde_top",
    (
        *(wrap.Port("s_axi_awready", 1, False), wrap.Port("s_axi_awvalid", 1, True)),
        *(wrap.Port("m_axi_awaddr", 64, False), wrap.Port("m_axi_awvalid", 1, False)),
        *(wrap.Port("m_axi_wvalid", 1, False), wrap.Port("m_axi_wdata", 16, False)),
        *(wrap.Port("m_axi_wstrb", 2, False), wrap.Port("trace_valid", 2, False)),
        wrap.Port("trace_data", 8, False),
    ),
    3,
)


def test_payload_counts_while_valid() -> None:
    valid = {port.name: DESIGN.valid_of(port) for port in DESIGN.outputs}
    always = ("s_axi_awready", "m_axi_awvalid", "m_axi_wvalid", "trace_valid")
    assert valid == {
        **dict.fromkeys(always, ""),
        **dict.fromkeys(("m_axi_wdata", "m_axi_wstrb"), "m_axi_wvalid"),
        "m_axi_awaddr": "m_axi_awvalid",
        "trace_data": "trace_valid",
    }
    for text in (wrap.bench_wrapper(DESIGN), wrap.replay_wrapper(DESIGN)):
        assert "(n_m_axi_awvalid[0]) ? n_m_axi_awaddr[63:0] : 64'd0" in text
        assert "(n_m_axi_wvalid && n_m_axi_wstrb[1]) ? n_m_axi_wdata[15:8] : 8'd0" in text
        assert "(n_trace_valid[1]) ? n_trace_data[7:4] : 4'd0" in text
    found = [DESIGN.output_at(bit) for bit in (0, 1, 66, 85)]
    assert found == ["s_axi_awready", "m_axi_awaddr[0]", "m_axi_wvalid", "trace_valid[0]"]


# -- the programs ----------------------------------------------------------------------------------

DESIGN_TEXT = """
module cde_small__1 (
    input wire clk, input wire s_valid, input wire [31:0] s_data, input wire rst,
    output reg m_valid, output reg [31:0] m_data
);
    reg [3:0] mem [0:3];
    (* keep *) reg [3:0] q;
    always @(posedge clk) begin
        m_valid <= s_valid;
        m_data <= s_data + 32'd1;
        if (s_valid) mem[s_data[1:0]] <= s_data[3:0];
        q <= mem[s_data[1:0]];
    end
endmodule
"""
#: Mutants, from 1: two that reach an output, one that changes a memory only. Cell, port, bit, mode.
CHANGES = (
    ("$add", "A", 0, "inv"),
    ("$add", "A", 9, "const0"),
    ("mem", "WR_DATA", 0, "inv"),
)
LOW, HIGH, HIDDEN = 1, 2, 3


@pytest.fixture(scope="module")
def replayer() -> Iterator[Replayer]:
    """One build for all tests, in a folder of always the same name: ccache knows it. Two runs at
    once take turns.
    """
    prepare_environment()
    place = SIM_BUILD / "selftest"
    with locked(place):
        folder = place / "replay"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield build_small(folder)
        close()


def build_small(folder: Path) -> Replayer:
    """Replays on the design and its mutants."""
    (folder / "design.v").write_text(DESIGN_TEXT)
    base = folder / "base.il"
    steps = (
        f"read_verilog {folder / 'design.v'}",
        "hierarchy -top cde_small__1",
        "proc; opt_expr; opt_clean; opt -full; memory_collect; opt_clean",
        f"write_rtlil {base}",
        f"mutate -list 2000 -seed 1 -o {folder / 'list.txt'}",
    )
    netlist.run_yosys(steps, folder, "elaborate")
    listed = netlist.parse_list((folder / "list.txt").read_text())
    # Every port of a memory that can be changed is listed.
    assert {m.port.lstrip("\\") for m in listed if m.cell.lstrip("\\") == "mem"} == {
        *("RD_ADDR", "RD_DATA"),
        *("WR_ADDR", "WR_DATA", "WR_EN"),
    }
    mutations = [
        next(
            m
            for m in listed
            if (m.port.lstrip("\\"), m.portbit, m.mode) == (port, bit, mode)
            and m.cell.lstrip("\\").startswith(cell)
        )
        for cell, port, bit, mode in CHANGES
    ]
    netlist.plant(base, mutations, folder)
    assert netlist.reaching(["cde_small"], folder) == {"cde_small": {LOW, HIGH, HIDDEN}}
    path = folder / "netlist.v"
    path.write_text(path.read_text().replace("reg m_valid = 1'h1", "reg m_valid = 1'h0"))
    design = wrap.interface("cde_small", folder)
    (folder / "replay-cde_small.v").write_text(wrap.replay_wrapper(design))
    return Replayer(build_replay(BuildConfig(), design, folder, 2), design)


def recording(rows: Sequence[Sequence[int]]) -> bytes:
    """As mutate_record.cpp writes it."""
    text = b""
    last = [0] * len(rows[0])
    for row in rows:
        changed = [n for n, value in enumerate(row) if value != last[n]]
        text += struct.pack("<H", len(changed))
        text += b"".join(struct.pack("<HHH", n, row[n] % 2**16, row[n] >> 16) for n in changed)
        last = list(row)
    return text


VALUES = [(1, 6), (0, 0x12345), (1, 0xFFFFFFFF), (1, 8), (0, 0), (1, 0x100)]


def words(values: Sequence[tuple[int, int]], reset: int = 0) -> list[list[int]]:
    """What a run has at the ports in each cycle, as 32-bit words; ``rst`` in one of them."""
    found = []
    last = (0, 0)
    for cycle, (valid, data) in enumerate(values):
        inputs = (cycle == reset) << 33 | data << 1 | valid
        # In the first cycle the registers have their values at power-up.
        outputs = ((last[1] + 1) % 2**32) << 1 | 1 if last[0] else 0
        both = inputs | outputs << 64
        found.append([both >> 32 * n & 0xFFFFFFFF for n in range(4)])
        last = (valid, data)
        assert cycle or not outputs
    return found


def test_replay(replayer: Replayer, tmp_path: Path) -> None:
    changed = words(VALUES)
    changed[3][2] ^= 1 << 5
    still = [(0, 0)] * 4
    for mutant, rows, cycles, output in (
        # Each run starts afresh.
        *[(0, words(VALUES), len(VALUES), "")] * 2,
        # The first cycle shows at the outputs in the second one.
        (LOW, words(VALUES), 2, "m_data[0]"),
        (HIGH, words(VALUES), 4, "m_data[9]"),
        # What changes a memory only reaches none.
        (HIDDEN, words(VALUES), len(VALUES), ""),
        # What differs while m_valid is 0 does not count, nor what differs before the first reset.
        (LOW, words([(0, 5), (0, 1 << 8), (1, 1 << 8)]), 3, ""),
        (LOW, words([(1, 0), (1, 1 << 9), *still], reset=2), 6, ""),
        (HIGH, words([(1, 0), (1, 1 << 9), *still], reset=2), 6, ""),
        (LOW, words([(1, 0), (0, 0), (1, 1 << 9), *still], reset=2), 4, "m_data[0]"),
        # A recording of something else.
        (0, changed, 4, "m_data[4]"),
    ):
        # A recording is read once.
        path = tmp_path / f"with a space {hash(str(rows))}.rec"
        path.write_bytes(recording(rows))
        found = replayer.run(mutant, path)
        assert (found.cycles, found.output) == (cycles, output), (mutant, rows)
    with pytest.raises(RunnerError, match="ended"):
        replayer.run(0, tmp_path / "none.rec")


_CALLS = """
import ctypes, json, sys
record = ctypes.CDLL(sys.argv[1]).carillon_record
for row in json.loads(sys.argv[2]):
    record(len(row), (ctypes.c_uint32 * len(row))(*row))
"""


def test_recording_of_the_netlist(tmp_path: Path) -> None:
    prepare_environment()
    include = next((ROOT / ".venv" / "lib").glob("python3*/site-packages/verilator/include"))
    library = tmp_path / "record.so"
    source = ROOT / "tb" / "runner" / "mutate_record.cpp"
    flags = ["-shared", "-fPIC", "-I", str(include / "vltstd"), "-o", str(library), str(source)]
    subprocess.run(["g++", *flags], check=True)
    rows = words(VALUES)
    path = tmp_path / "x.rec"
    command = [sys.executable, "-c", _CALLS, str(library), json.dumps(rows)]
    subprocess.run(command, check=True, env={**os.environ, "CARILLON_MUTATE_RECORD": str(path)})
    assert path.read_bytes() == recording(rows)


# -- the baseline ----------------------------------------------------------------------------------


def test_recordings_of_other_designs_have_other_names(tmp_path: Path) -> None:
    step = Step("top", Job("tb.tests.cq.test_smoke", "test_smoke", "X", 1, "small", "verilator"))
    one, two = Baseline(tmp_path, [step], "design"), Baseline(tmp_path, [step], "other design")
    assert one.path(step) != two.path(step) and one.key != two.key
    names = {path.name for path in bench_files()}
    assert "test_smoke.py" in names and "test_mutate.py" not in names


# -- proofs ----------------------------------------------------------------------------------------


def test_scopes_widen() -> None:
    inside = {"cde_a__1": "cde_b__2", "cde_b__2": "cde_c__1"}
    modules = prove.split(
        "".join(f"module \\{a}\n  cell \\{b} \\x\nend\n" for a, b in inside.items())
    )
    parents = prove.parents_of(modules)
    assert parents == {"cde_b__2": {"cde_a__1"}, "cde_c__1": {"cde_b__2"}}
    assert prove.outer_modules(modules) == {"cde_b__2": {"cde_a"}, "cde_c__1": {"cde_a", "cde_b"}}
    assert prove.scopes("cde_c__1", parents) == [
        [prove.Scope("cde_c__1")],
        [prove.Scope("cde_b__2", ("cde_c__1",))],
        [prove.Scope("cde_c__1", whole=True)],
        [prove.Scope("cde_a__1", ("cde_b__2", "cde_c__1"))],
    ]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Status = 0  Frames = 2", SURVIVED),
        ("Status = -1  Frames = 12\nStatus = 1  Frames = -1", EQUIVALENT),
        ("Status = -1  Frames = 2\nStatus = -1  Frames = 9", UNDECIDED),
        ("", UNDECIDED),
    ],
)
def test_verdicts_of_abc(text: str, status: str) -> None:
    assert prove.read_abc(text, ("one", "two")).status == status


VERILOG = """module cde_x__1(input clk, input rst, input a, input b, output y);
    reg q, n, e;
    always @(posedge clk) begin
        q <= a | (a & b);
        if (rst) n <= 1'b1;
        if (!a && !b) e <= q;
    end
    assign y = (q & (n | b)) ^ e;
endmodule
module cde_m__1(input clk, we, input [1:0] a, input [3:0] d, output reg [3:0] y);
    reg [3:0] words [0:3];
    wire [3:0] put = we ? ~d : 4'd0;
    wire [3:0] got = words[a];
    always @(posedge clk) begin
        if (we) words[a] <= put;
        y <= got;
    end
endmodule
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prepare_environment()
    folder = tmp_path_factory.mktemp("prove")
    source, made = folder / "x.v", folder / "x.il"
    source.write_text(VERILOG)
    steps = (f"read_verilog {source}", "proc; opt_clean; memory_collect", f"write_rtlil {made}")
    netlist.run_yosys(steps, folder, "x")
    return made


@pytest.mark.parametrize(
    ("module", "cell", "port", "mode", "status"),
    [
        # The register after it, which has no reset, starts alike in both copies.
        ("cde_x__1", r"\$and\S*:4", "B", "inv", EQUIVALENT),
        # 1 after the reset, whatever it was before.
        ("cde_x__1", r"\$or\S*:8", "B", "inv", EQUIVALENT),
        ("cde_x__1", r"\$or\S*:8", "A", "const0", SURVIVED),
        # Only where a and b are 0: the register with an enable.
        ("cde_x__1", r"\$logic_and\S*:6", "A", "const0", SURVIVED),
        # Memories are cut first. What is not written does not count, what is read does.
        ("cde_m__1", r"\$ternary\S*:12", "S", "const1", EQUIVALENT),
        ("cde_m__1", r"\\words", "RD_DATA", "inv", SURVIVED),
    ],
)
def test_proofs(
    base: Path, tmp_path: Path, module: str, cell: str, port: str, mode: str, status: str
) -> None:
    found = re.search(rf"cell \S+ ({cell}\S*)", base.read_text())
    assert found
    mutation = netlist.Mutation(mode, module, found.group(1), f"\\{port}", 0)
    result = prove.Prover(base, tmp_path)(mutation, "m", 20.0)
    assert result.status == status, result
    if module == "cde_m__1" and status == EQUIVALENT:
        # By the first attempt: with its registers a memory of real size takes long.
        assert result.how.endswith("(cde_m without its memories)")
