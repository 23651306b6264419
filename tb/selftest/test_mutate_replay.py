# SPDX-License-Identifier: Apache-2.0
"""Record and replay: the text around the netlist, a small netlist with mutants, and that a
difference, a wrong recording and an end of the program show.
"""

from __future__ import annotations

import itertools
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tb.runner.builds import BuildConfig
from tb.runner.common import ROOT, RunnerError, prepare_environment
from tb.runner.mutate_baseline import Baseline, bench_files, digest
from tb.runner.mutate_baseline import test_files as files_of
from tb.runner.mutate_ladder import Step
from tb.runner.mutate_local import watch
from tb.runner.mutate_replay import Replayer, build_replay
from tb.runner.mutate_wrap import (
    Interface,
    Port,
    bench_wrapper,
    define_values,
    interface,
    replay_wrapper,
)
from tb.selftest.recordings import recording


def test_values_at_power_up() -> None:
    text = "module m(clk);\n  reg [7:4] q;\n  reg b;\n  reg [7:0] \\mem.x  [15:0];\n  reg c = 1'h1;"
    found = define_values(text + "\n  always @(posedge clk)\n")
    assert found == define_values(text + "\n  always @(posedge clk)\n")
    lines = found.splitlines()
    assert lines[1].startswith("  reg [7:4] q = 4'h") and lines[2].startswith("  reg b = 1'h")
    assert "i <= 15" in found and "\\mem.x [i] =" in found
    assert "  reg c = 1'h1;" in lines and "  always @(`EDGE clk)" in lines
    with pytest.raises(RunnerError, match="undefined value"):
        define_values("  assign a = 2'h0x;")
    with pytest.raises(RunnerError, match="not understood"):
        define_values("  reg [7:0] q [0:7];")


DESIGN = Interface(
    "cde_top",
    (
        Port("s_axi_awready", 1, False),
        Port("s_axi_awvalid", 1, True),
        Port("m_axi_awaddr", 64, False),
        Port("m_axi_awvalid", 1, False),
        Port("m_axi_wvalid", 1, False),
        Port("m_axi_wdata", 16, False),
        Port("m_axi_wstrb", 2, False),
        Port("trace_valid", 2, False),
        Port("trace_data", 8, False),
    ),
    3,
)


def test_payload_counts_while_valid() -> None:
    valid = {port.name: DESIGN.valid_of(port) for port in DESIGN.outputs}
    assert valid == {
        "s_axi_awready": "",
        "m_axi_awaddr": "m_axi_awvalid",
        "m_axi_awvalid": "",
        "m_axi_wvalid": "",
        "m_axi_wdata": "m_axi_wvalid",
        "m_axi_wstrb": "m_axi_wvalid",
        "trace_valid": "",
        "trace_data": "trace_valid",
    }
    for text in (bench_wrapper(DESIGN), replay_wrapper(DESIGN)):
        assert "(n_m_axi_awvalid[0]) ? n_m_axi_awaddr[63:0] : 64'd0" in text
        assert "(n_m_axi_wvalid && n_m_axi_wstrb[1]) ? n_m_axi_wdata[15:8] : 8'd0" in text
        assert "(n_trace_valid[1]) ? n_trace_data[7:4] : 4'd0" in text
    assert [DESIGN.output_at(bit) for bit in (0, 1, 66, 85)] == [
        "s_axi_awready",
        "m_axi_awaddr[0]",
        "m_axi_wvalid",
        "trace_valid[0]",
    ]


# -- the programs ----------------------------------------------------------------------------------

NETLIST = """
module small__1(clk, mutsel, s_valid, s_data, rst, m_valid, m_data);
  input clk; input [1:0] mutsel; input s_valid; input [31:0] s_data; input rst;
  output m_valid; output [31:0] m_data;
  reg m_valid;
  reg [31:0] m_data;
  wire one;
  wire two;
  wire bit0;
  wire bit9;
  wire differs__1;
  wire differs__2;
  assign one  = mutsel == 2'h1;
  assign two  = mutsel == 2'h2;
  assign bit0  = one  ? !s_data[0] : s_data[0];
  assign bit9  = two  ? 1'h0 : s_data[9];
  assign differs__1  = 1'h1;
  assign differs__2  = s_data[9];
  always @(posedge clk) begin
    m_valid <= s_valid;
    m_data <= {s_data[31:10], bit9, s_data[8:1], bit0} + 32'd1;
  end
endmodule
"""
PORTS = [("clk", 1, 1), ("mutsel", 2, 1), ("s_valid", 1, 1), ("s_data", 32, 1)]
PORTS += [("rst", 1, 1), ("m_valid", 1, 0), ("m_data", 32, 0)]
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


@pytest.fixture(scope="module")
def replayer(tmp_path_factory: pytest.TempPathFactory) -> Replayer:
    prepare_environment()
    folder = tmp_path_factory.mktemp("replay")
    ports = {
        name: {"direction": "input" if is_in else "output", "bits": [0] * width}
        for name, width, is_in in PORTS
    }
    text = json.dumps({"modules": {"small__1": {"ports": ports}}})
    (folder / "ports.json").write_text(text)
    # The value at power-up of m_valid is 0 with this name.
    netlist = define_values(watch(NETLIST, [1, 2])).replace(
        "reg m_valid = 1'h1", "reg m_valid = 1'h0"
    )
    (folder / "netlist.v").write_text(netlist)
    design = interface("small", json.loads(text))
    (folder / "replay-small.v").write_text(replay_wrapper(design))
    return Replayer(build_replay(BuildConfig(), "small", folder), "small", folder)


def test_replay(replayer: Replayer, tmp_path: Path) -> None:
    path = tmp_path / "with a space.rec"
    path.write_bytes(recording(words(VALUES)))
    told = tmp_path / "x.told"
    with replayer:
        for _ in range(2):  # each run starts afresh
            found = replayer.run(0, path)
            assert (found.cycles, found.output) == (len(VALUES), "")
        assert replayer.watch(path, told).told == {1, 2}
        # The first cycle shows at the outputs in the second one.
        assert (replayer.run(1, path).cycles, replayer.run(1, path).output) == (2, "m_data[0]")
        assert (replayer.run(2, path).cycles, replayer.run(2, path).output) == (4, "m_data[9]")
        assert replayer.run(3, path).output == ""
        # All at once.
        found = replayer.group(path, told, [1, 2])
        assert (found.cycles, found.output) == (len(VALUES), "")
        assert found.outputs == {1: "m_data[0]", 2: "m_data[9]"}
        assert replayer.group(path, told, [2]).outputs == {2: "m_data[9]"}

        # What differs while m_valid is 0 does not count; what does not differ is not watched.
        quiet = tmp_path / "quiet.rec"
        quiet.write_bytes(recording(words([(0, 5), (0, 1 << 8), (1, 1 << 8)])))
        assert replayer.run(1, quiet).output == ""
        assert replayer.watch(quiet, told).told == {1}

        # What differs before the first reset does not count.
        late = tmp_path / "late.rec"
        late.write_bytes(recording(words([(1, 0), (1, 1 << 9), *[(0, 0)] * 4], reset=2)))
        assert replayer.run(1, late).output == replayer.run(2, late).output == ""
        late.write_bytes(recording(words([(1, 0), (0, 0), (1, 1 << 9), *[(0, 0)] * 4], reset=2)))
        assert (replayer.run(1, late).cycles, replayer.run(1, late).output) == (4, "m_data[0]")

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
    # Mutant 2 can be told in the cycles 40 and 200; only the second one shows.
    values = [(0, 0)] * 40 + [(0, 1 << 9)] + [(1, 0)] * 159 + [(1, 1 << 9)] + [(0, 0)] * 20
    path.write_bytes(recording(words(values)))
    with replayer:
        replayer.watch(path, told)
        blocks = list(blocks_of(told.read_bytes()))
        assert [n for n, numbers in enumerate(blocks) if 2 in numbers] == [2, 12]
        assert all(1 in numbers for numbers in blocks)
        assert replayer.group(path, told, [2]).outputs == {2: "m_data[9]"}
        # What is not told is taken to be the design.
        for hidden, outputs in ((2, {2: "m_data[9]"}), (12, {})):
            kept = [
                [m for m in numbers if n != hidden or m != 2] for n, numbers in enumerate(blocks)
            ]
            place = tmp_path / f"{hidden}.told"
            place.write_bytes(b"".join(struct.pack(f"<{1 + len(k)}H", len(k), *k) for k in kept))
            assert replayer.group(path, place, [2]).outputs == outputs


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


# -- the baseline ----------------------------------------------------------------------------------


def test_recordings_of_other_tests_and_designs_have_other_names(tmp_path: Path) -> None:
    steps = [Step("top", "tb.tests.cq.test_smoke.X", 1), Step("top", "tb.tests.arm.test_arm.X", 1)]
    one, two = Baseline(tmp_path, steps, "design"), Baseline(tmp_path, steps, "other design")
    assert len({base.path(step) for base in (one, two) for step in steps}) == 4
    assert one.key != two.key and one.path(steps[0]) == Baseline(
        tmp_path, steps[:1], "design"
    ).path(steps[0])
    assert not any("tests" in path.parts[-2:] for path in bench_files())
    lanes = Step("top", "tb.tests.lib.test_memory_lanes.EveryLaneTest", 1)
    names = {path.name for path in files_of(lanes)}
    assert {"test_memory_lanes.py", "test_memory_upsets.py", "upsetting.py"} <= names
    assert "test_arm.py" not in names
    a = tmp_path / "a"
    a.write_text("1")
    before = digest([a])
    a.write_text("2")
    assert digest([a]) != before
