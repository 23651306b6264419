# SPDX-License-Identifier: Apache-2.0
"""Record and replay of a small netlist with mutants: which of them a run can tell, and that a
difference, a wrong recording and an end of the program show; the text around the netlist.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tb.runner import mutate_local as local
from tb.runner import mutate_netlist as netlist
from tb.runner import mutate_wrap as wrap
from tb.runner.builds import BuildConfig
from tb.runner.common import ROOT, SIM_BUILD, RunnerError, digest, locked, prepare_environment
from tb.runner.mutate_baseline import Baseline, bench_files
from tb.runner.mutate_baseline import test_files as files_of
from tb.runner.mutate_ladder import Step
from tb.runner.mutate_netlist import Mutation, parse_list, run_yosys
from tb.runner.mutate_replay import Replayer, build_replay


def test_values_at_power_up() -> None:
    text = "module m(clk);\n  reg [7:4] q;\n  reg b;\n  reg [7:0] \\mem.x  [15:0];\n  reg c = 1'h1;"
    found = wrap.define_values(text + "\n  always @(posedge clk)\n")
    assert found == wrap.define_values(text + "\n  always @(posedge clk)\n")
    lines = found.splitlines()
    assert lines[1].startswith("  reg [7:4] q = 4'h") and lines[2].startswith("  reg b = 1'h")
    assert "i <= 15" in found and "\\mem.x [i] =" in found
    assert "  reg c = 1'h1;" in lines and "  always @(`EDGE clk)" in lines
    with pytest.raises(RunnerError, match="undefined value"):
        wrap.define_values("  assign a = 2'h0x;")
    with pytest.raises(RunnerError, match="not understood"):
        wrap.define_values("  reg [7:0] q [0:7];")


DESIGN = wrap.Interface(
    "cde_top",
    (
        wrap.Port("s_axi_awready", 1, False),
        wrap.Port("s_axi_awvalid", 1, True),
        wrap.Port("m_axi_awaddr", 64, False),
        wrap.Port("m_axi_awvalid", 1, False),
        wrap.Port("m_axi_wvalid", 1, False),
        wrap.Port("m_axi_wdata", 16, False),
        wrap.Port("m_axi_wstrb", 2, False),
        wrap.Port("trace_valid", 2, False),
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
module cde_inner__1 (input wire clk, input wire en, input wire [3:0] a, output reg [3:0] y);
    always @* begin
        y = 4'd0;
        if (en) y = a + 4'd1;
    end
endmodule
module cde_small__1 (
    input wire clk, input wire s_valid, input wire [31:0] s_data, input wire rst,
    output reg m_valid, output reg [31:0] m_data
);
    wire [3:0] y;
    reg  [3:0] mem [0:3];
    (* keep *) reg [3:0] kept;
    (* keep *) reg [3:0] q;
    cde_inner__1 inner (.clk(clk), .en(s_data[3]), .a(s_data[3:0]), .y(y));
    always @(posedge clk) begin
        m_valid <= s_valid;
        m_data <= s_data + 32'd1;
        if (s_valid) kept <= y;
        if (s_valid) mem[s_data[1:0]] <= y;
        q <= mem[s_data[1:0]];
    end
endmodule
"""
#: Mutants, from 1: two that reach an output, and one of each kind that changes a register, a memory
#: or a pin. Mode, module, cell, port, bit.
CHANGES = {
    "low": ("inv", "cde_small__1", "$add", "A", 0),
    "high": ("const0", "cde_small__1", "$add", "A", 9),
    "sum": ("inv", "cde_inner__1", "$add", "A", 0),
    "kept": ("inv", "cde_small__1", "$auto$ff", "D", 0),
    "memory": ("inv", "cde_small__1", "mem", "WR_DATA", 0),
    "read": ("inv", "cde_small__1", "mem", "RD_DATA", 0),
    "inside": ("inv", "cde_small__1", "inner", "a", 0),
}
LOW, HIGH, LAST = 1, 2, 7


def find(listed: Sequence[Mutation], change: str) -> Mutation:
    mode, module, cell, port, bit = CHANGES[change]
    return next(
        m
        for m in listed
        if (m.mode, m.module, m.port.lstrip("\\"), m.portbit) == (mode, module, port, bit)
        if m.cell.lstrip("\\").startswith(cell)
    )


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
        with Replayer(build_small(folder), "cde_small", folder) as found:
            yield found


def build_small(folder: Path) -> Path:
    """The program that replays on the design and its mutants."""
    (folder / "design.v").write_text(DESIGN_TEXT)
    base = folder / "base.il"
    steps = (
        f"read_verilog {folder / 'design.v'}",
        "hierarchy -top cde_small__1",
        "proc; opt_expr; opt_clean; opt -full; memory_collect; opt_clean",
        f"write_rtlil {base}",
        f"mutate -list 2000 -seed 1 -o {folder / 'list.txt'}",
    )
    run_yosys("\n".join(steps), folder, "elaborate")
    listed = parse_list((folder / "list.txt").read_text())
    # Every port of a memory that can be changed is listed.
    assert {m.port.lstrip("\\") for m in listed if m.cell.lstrip("\\") == "mem"} == {
        *("RD_ADDR", "RD_DATA"),
        *("WR_ADDR", "WR_DATA", "WR_EN"),
    }
    mutations = [find(listed, change) for change in CHANGES]
    netlist.plant(base, mutations, folder)
    local.plant(base, dict(enumerate(mutations, 1)), folder, 2)
    path = folder / "local.v"
    path.write_text(path.read_text().replace("reg m_valid = 1'h1", "reg m_valid = 1'h0"))
    design = wrap.interface("cde_small", json.loads((folder / "ports.json").read_text()))
    (folder / "replay-cde_small.v").write_text(wrap.replay_wrapper(design))
    return build_replay(BuildConfig(), "cde_small", folder, 2, "local")


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
    path = tmp_path / "with a space.rec"
    path.write_bytes(recording(words(VALUES)))
    told = tmp_path / "x.told"
    for _ in range(2):  # each run starts afresh
        found = replayer.run(0, path)
        assert (found.cycles, found.output) == (len(VALUES), "")
    assert replayer.watch(path, told).told == set(range(1, LAST + 1))
    # The first cycle shows at the outputs in the second one.
    assert (replayer.run(LOW, path).cycles, replayer.run(LOW, path).output) == (2, "m_data[0]")
    assert (replayer.run(HIGH, path).cycles, replayer.run(HIGH, path).output) == (4, "m_data[9]")
    # What changes a register only reaches none.
    for number in range(HIGH + 1, LAST + 1):
        assert replayer.run(number, path).output == ""
    # All at once.
    found = replayer.group(path, told, [LOW, HIGH])
    assert (found.cycles, found.output) == (len(VALUES), "")
    assert found.outputs == {LOW: "m_data[0]", HIGH: "m_data[9]"}
    assert replayer.group(path, told, [HIGH]).outputs == {HIGH: "m_data[9]"}

    # What differs while m_valid is 0 does not count; what does not differ is not watched.
    quiet = tmp_path / "quiet.rec"
    quiet.write_bytes(recording(words([(0, 5), (0, 1 << 8), (1, 1 << 8)])))
    assert replayer.run(LOW, quiet).output == ""
    assert HIGH not in replayer.watch(quiet, told).told

    # What differs before the first reset does not count.
    late = tmp_path / "late.rec"
    late.write_bytes(recording(words([(1, 0), (1, 1 << 9), *[(0, 0)] * 4], reset=2)))
    assert replayer.run(LOW, late).output == replayer.run(HIGH, late).output == ""
    late.write_bytes(recording(words([(1, 0), (0, 0), (1, 1 << 9), *[(0, 0)] * 4], reset=2)))
    assert (replayer.run(LOW, late).cycles, replayer.run(LOW, late).output) == (4, "m_data[0]")

    # A recording of something else.
    wrong = words(VALUES)
    wrong[3][2] ^= 1 << 5
    other = tmp_path / "other.rec"
    other.write_bytes(recording(wrong))
    found = replayer.watch(other, told)
    assert (found.cycles, found.output) == (4, "m_data[4]")
    with pytest.raises(RunnerError, match="ended"):
        replayer.run(0, tmp_path / "none.rec")


def test_group_is_simulated_where_it_differs(replayer: Replayer, tmp_path: Path) -> None:
    path, told = tmp_path / "long.rec", tmp_path / "long.told"
    # Mutant HIGH can be told in the cycles 40 and 200; only the second one shows.
    values = [(0, 0)] * 40 + [(0, 1 << 9)] + [(1, 0)] * 159 + [(1, 1 << 9)] + [(0, 0)] * 20
    path.write_bytes(recording(words(values)))
    replayer.watch(path, told)
    blocks = list(blocks_of(told.read_bytes()))
    assert [n for n, numbers in enumerate(blocks) if HIGH in numbers] == [2, 12]
    assert all(LOW in numbers for numbers in blocks)
    assert replayer.group(path, told, [HIGH]).outputs == {HIGH: "m_data[9]"}
    # What is not told is taken to be the design.
    for hidden, outputs in ((2, {HIGH: "m_data[9]"}), (12, {})):
        kept = [
            [m for m in numbers if n != hidden or m != HIGH] for n, numbers in enumerate(blocks)
        ]
        place = tmp_path / f"{hidden}.told"
        place.write_bytes(b"".join(struct.pack(f"<{1 + len(k)}H", len(k), *k) for k in kept))
        assert replayer.group(path, place, [HIGH]).outputs == outputs


def blocks_of(text: bytes) -> Iterator[tuple[int, ...]]:
    """The mutants that can be told in each block of cycles."""
    values = iter(struct.unpack(f"<{len(text) // 2}H", text))
    for count in values:
        yield tuple(itertools.islice(values, count))


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


@pytest.mark.parametrize(
    ("row", "changes"),
    [
        ((0, 0), {"low", "memory", "read", "inside"}),
        ((0, 8), {"low", "memory", "read", "inside", "sum"}),
        ((1, 0), {"low", "memory", "read", "inside", "kept"}),
        ((1, 1 << 9), {"low", "memory", "read", "inside", "kept", "high"}),
    ],
)
def test_what_is_masked_is_no_change(
    replayer: Replayer, tmp_path: Path, row: tuple[int, int], changes: set[str]
) -> None:
    path = tmp_path / "run.rec"
    path.write_bytes(recording(words([row] * 4)))
    found = replayer.watch(path, tmp_path / "run.told")
    assert {list(CHANGES)[number - 1] for number in found.told} == changes


COMPARISON = """module \\local__3
  wire input 2 \\in_a
  wire width 4 input 3 \\in_a.b
  wire output 1 \\trigger
  cell $not $x
    connect \\A \\in_a.b [2]
    connect \\Y \\trigger
  end
end
"""


def test_inputs_that_nothing_reads_are_left_out() -> None:
    text, used = local.used_ports(COMPARISON)
    assert used == ["a.b"]
    assert text == COMPARISON.replace("  wire input 2 \\in_a\n", "")


def test_comparisons_get_the_pins_of_what_was_cut() -> None:
    module = (
        "module \\m\n  wire \\d\n  cell $dff $auto$7\n    connect \\D { \\d \\e }\n  end\n"
        "  cell \\cde_x__1 \\x\n    connect \\p 3'101\n  end\nend\n"
    )
    found = local.connect(module, {5: ["state$auto$7.D", "x.p", "d"]})
    assert found.startswith(module.removesuffix("end\n"))
    inputs = ("in_state$auto$7.D { \\d \\e }", "in_x.p 3'101", "in_d \\d")
    for line in (*inputs, "trigger \\differs__5"):
        assert f"    connect \\{line}\n" in found, line
    assert found.endswith("  end\nend\n")


def test_results_are_watched() -> None:
    line = "  always @(edge replay.clk) if (replay.watching && differs__30) replay.hit[30] <= 1'b1;"
    text = "  wire differs__30;\n"
    assert local.watch(text, [30]) == f"{text}{line}\n"
    with pytest.raises(RunnerError, match=r"no comparison in the netlist of mutants \[4\]"):
        local.watch(text, [4, 30])


# -- the baseline ----------------------------------------------------------------------------------


def test_recordings_of_other_tests_and_designs_have_other_names(tmp_path: Path) -> None:
    steps = [Step("top", "tb.tests.cq.test_smoke.X", 1), Step("top", "tb.tests.arm.test_arm.X", 1)]
    one, two = Baseline(tmp_path, steps, "design"), Baseline(tmp_path, steps, "other design")
    assert len({base.path(step) for base in (one, two) for step in steps}) == 4
    assert one.key != two.key and one.path(steps[0]) == Baseline(
        tmp_path, steps[:1], "design"
    ).path(steps[0])
    assert not any("tests" in path.parts[-2:] for path in bench_files())
    keys = Step("top", "tb.tests.lib.test_upsets.KeyUpsetsTest", 1)
    names = {path.name for path in files_of(keys)}
    assert {"test_upsets.py", "memory_uses.py", "upsetting.py"} <= names
    assert "test_arm.py" not in names
    a = tmp_path / "a"
    a.write_text("1")
    before = digest([a])
    a.write_text("2")
    assert digest([a]) != before
