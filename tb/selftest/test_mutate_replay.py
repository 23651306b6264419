# SPDX-License-Identifier: Apache-2.0
"""Record and replay of a small netlist with mutants: that a difference, a wrong recording and an
end of the program show; the text around the netlist.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tb.runner import mutate_netlist as netlist
from tb.runner import mutate_wrap as wrap
from tb.runner.builds import BuildConfig
from tb.runner.common import (
    ROOT,
    SIM_BUILD,
    RunnerError,
    bench_files,
    digest,
    locked,
    prepare_environment,
)
from tb.runner.discover import Job
from tb.runner.mutate_baseline import Baseline
from tb.runner.mutate_ladder import Step
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
    path = tmp_path / "with a space.rec"
    path.write_bytes(recording(words(VALUES)))
    for _ in range(2):  # each run starts afresh
        found = replayer.run(0, path)
        assert (found.cycles, found.output) == (len(VALUES), "")
    # The first cycle shows at the outputs in the second one.
    assert (replayer.run(LOW, path).cycles, replayer.run(LOW, path).output) == (2, "m_data[0]")
    assert (replayer.run(HIGH, path).cycles, replayer.run(HIGH, path).output) == (4, "m_data[9]")
    # What changes a memory only reaches none.
    assert replayer.run(HIDDEN, path).output == ""

    # What differs while m_valid is 0 does not count.
    quiet = tmp_path / "quiet.rec"
    quiet.write_bytes(recording(words([(0, 5), (0, 1 << 8), (1, 1 << 8)])))
    assert replayer.run(LOW, quiet).output == ""

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
    found = replayer.run(0, other)
    assert (found.cycles, found.output) == (4, "m_data[4]")
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
    a = tmp_path / "a"
    a.write_text("1")
    before = digest([a])
    a.write_text("2")
    assert digest([a]) != before
