# SPDX-License-Identifier: Apache-2.0
"""The tool wrappers answer as the tools that they stand for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[1]

COUNTER = "module m(input clk, output reg q); always @(posedge clk) q <= ~q; endmodule\n"
TWO_DRIVERS = "module m(input a, input b, output y); assign y = a; assign y = b; endmodule\n"


def run(*command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_verilator_names_its_version() -> None:
    done = run(str(SCRIPTS / "bin" / "verilator"), "--version")
    assert done.stdout.startswith("Verilator 5.048 ")


def test_verilator_finds_its_files(tmp_path: Path) -> None:
    (tmp_path / "m.v").write_text(COUNTER)
    done = run(str(SCRIPTS / "bin" / "verilator"), "--lint-only", "m.v", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text, status", [(COUNTER, 0), (TWO_DRIVERS, 1)])
def test_yosys_status(tmp_path: Path, text: str, status: int) -> None:
    (tmp_path / "m.v").write_text(text)
    script = "read_verilog m.v; hierarchy -check -top m; proc; check -assert"
    done = run(str(SCRIPTS / "bin" / "yosys"), "-q", "-p", script, cwd=tmp_path)
    assert done.returncode == status, done.stdout + done.stderr


def test_yosys_log_and_order(tmp_path: Path) -> None:
    (tmp_path / "m.v").write_text(COUNTER)
    (tmp_path / "s.ys").write_text("hierarchy -top m\n")
    yosys = str(SCRIPTS / "bin" / "yosys")
    done = run(yosys, "-ql", "log.txt", "m.v", "-s", "s.ys", "-p", "stat", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    log = (tmp_path / "log.txt").read_text()
    assert log.index("Verilog-2005 frontend") < log.index("HIERARCHY") < log.index("statistics")


def test_yosys_abc_is_there() -> None:
    assert "UC Berkeley, ABC" in run(str(SCRIPTS / "bin" / "yosys-abc"), "-c", "version").stdout


def test_setup_is_quick_and_silent_when_nothing_is_to_be_done() -> None:
    done = run(str(SCRIPTS / "setup.sh"))
    assert (done.returncode, done.stdout) == (0, "")
