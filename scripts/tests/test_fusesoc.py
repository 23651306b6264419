# SPDX-License-Identifier: Apache-2.0
"""The targets of carillon.core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import find_libpython
import pytest
from cocotb_tools.check_results import get_results
from cocotb_tools.config import pygpi_entry_point

from tb.runner.common import ROOT


def fusesoc(target: str, folder: Path, *parameters: str) -> str:
    """Runs a target in a folder; returns what it says. Its sim needs what cocotb's runner sets."""
    subprocess.run(["make", ".venv-docs/.done"], cwd=ROOT, check=True)
    paths = [ROOT / "scripts/bin", ROOT / ".venv-docs/bin", Path(sys.executable).parent]
    env = {
        **os.environ,
        "PATH": os.pathsep.join([*map(str, paths), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "GPI_USERS": f"{find_libpython.find_libpython()};{pygpi_entry_point()}",
        "PYGPI_PYTHON_BIN": sys.executable,
    }
    command = ["fusesoc", "--cores-root", str(ROOT), "run", "--build-root", str(folder)]
    command += ["--target", target, "carillon", *parameters]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-4000:]
    return said


@pytest.mark.full
def test_lint(tmp_path: Path) -> None:
    said = fusesoc("lint", tmp_path)
    assert "V e r i l a t i o n" in said
    assert "%Warning" not in said


@pytest.mark.full
def test_sim(tmp_path: Path) -> None:
    fusesoc("sim", tmp_path)
    (results,) = tmp_path.rglob("results.xml")
    assert get_results(results) == (1, 0)


@pytest.mark.nightly
def test_synth(tmp_path: Path) -> None:
    """A small engine becomes cells of an ECP5."""
    pytest.importorskip("tkinter", reason="this Python has no Tcl for scripts/bin/yosys")
    names = ("NUM_CQ", "NUM_EQ", "NUM_PAGES", "NUM_QP", "NUM_SRQ", "NUM_MR", "NUM_MW")
    fusesoc("synth", tmp_path, *(word for name in names for word in (f"--{name}", "2")))
    (netlist,) = tmp_path.rglob("carillon*.json")
    cells = json.loads(netlist.read_text())["modules"]["cde_top"]["cells"]
    kinds = {cell["type"] for cell in cells.values()}
    assert len(cells) > 1000 and {"LUT4", "TRELLIS_FF"} <= kinds
