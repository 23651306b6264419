# SPDX-License-Identifier: Apache-2.0
"""The package `carillon`, built and installed, judges a NIC that is not ours."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tb.runner.common import ROOT

RUN = """
from cocotb_tools.runner import get_runner
from cocotb_tools.check_results import get_results
import sys
root, sim = sys.argv[1:]
hdl = root + "/hdl"
runner = get_runner(sim)
lines = open(hdl + "/carillon.f").read().split()
sources = [hdl + "/" + line for line in lines if line.endswith(".v") and "+" not in line]
includes = [hdl + "/" + line[len("+incdir+"):] for line in lines if line.startswith("+incdir+")]
runner.build(sources=[*sources, root + "/examples/nic_top.v"], includes=includes,
             hdl_toplevel="nic_top", build_dir="build", timescale=("1ns", "1ps"))
results = runner.test(hdl_toplevel="nic_top", test_module="judge_a_nic", build_dir="build")
tests, failed = get_results(results)
assert tests == 1 and not failed, (tests, failed)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel; what the bench needs is taken from this one."""
    folder = tmp_path_factory.mktemp("package")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", folder, ROOT], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    inside = next((folder / "venv/lib").glob("python3*/site-packages"))
    (inside / "others.pth").write_text(next(p for p in sys.path if p.endswith("site-packages")))
    wheel = next(folder.glob("carillon-*.whl"))
    subprocess.run([*pip, "install", "--no-deps", "--target", inside, wheel], check=True)
    return folder / "venv/bin/python"


@pytest.mark.full
def test_model_alone(python: Path, tmp_path: Path) -> None:
    """Nothing of the checkout is seen, and nothing but one name is taken."""
    says = "import carillon; print(carillon.Nic().create_cq(0)); import models"
    command = [
        str(python),
        "-S",
        "-c",
        f"import sys; sys.path.append({str(_site(python))!r}); {says}",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "None\n"
    assert "No module named 'models'" in done.stderr
    command[-1] = command[-1].replace(says, "import carillon.bench")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr.endswith("in the checkout of Carillon: pip install '.[bench]'\n")


@pytest.mark.full
def test_example(python: Path, tmp_path: Path) -> None:
    """It passes, and has judged."""
    example = (ROOT / "examples/judge_a_nic.py").read_text()
    assert len(example.splitlines()) <= 60
    (tmp_path / "judge_a_nic.py").write_text(example)
    (tmp_path / "run.py").write_text(RUN)
    command = [str(python), "run.py", str(ROOT), "icarus"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"judged (\d+) records, hit (\d+) bins", done.stdout)
    assert found and int(found[1]) > 40 and int(found[2]) > 10


def _site(python: Path) -> Path:
    return next((python.parent.parent / "lib").glob("python3*/site-packages"))
