# SPDX-License-Identifier: Apache-2.0
"""A wrong parameter stops elaboration with a message that names it."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tb.runner.common import HDL, INCLUDES, ROOT, hdl_files
from tb.runner.lint import declared_parameters


def elaborate(top: str, /, **parameters: int) -> str:
    """Elaborates a module in Icarus with parameters overridden; what is wrong."""
    iverilog = shutil.which("iverilog")
    assert iverilog, "iverilog is missing: run `make setup`"
    # The module of the checks needs no other one.
    sources = hdl_files("cde_params.v" if top == "cde_params" else "*.v")
    command = [
        *(iverilog, "-g2005", "-s", top, "-o", "/dev/null"),
        *(f"-I{ROOT / folder}" for folder in INCLUDES),
        *(f"-P{top}.{name}={value}" for name, value in parameters.items()),
        *map(str, sources),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


#: Of each parameter: wrong values, then legal ones. Others get room for them.
VALUES = {
    "NUM_CQ": ((1, 48, 8192), (16, 256)),
    "NUM_EQ": ((1, 3, 128), (2, 64)),
    "NUM_PAGES": ((1, 100, 8192), (2, 4096)),
    "IDX_W": ((3, 17), (11, 16)),
    "MAX_WRITES": ((1, 100, 2048), (2, 1024)),
    "M_ID_W": ((6,), (7, 8)),
    "S_ADDR_W": ((20, 65), (28, 64)),
    "MOD_TICK": ((1, 65536), (2, 65535)),
    "NUM_QP": ((1, 48, 8192), (2, 4096)),
    "SQ_LOG2": ((0, 16), (1, 15)),
    "BURST": ((0, 256), (1, 255)),
    "NUM_SRQ": ((1, 3, 4), (2,)),
    "RQ_LOG2": ((0, 16), (1, 15)),
    "SRQ_LOG2": ((0, 16), (1, 15)),
    "RX_LOG2": ((0, 16), (1, 15)),
    "NUM_MR": ((1, 48, 4096), (2, 2048)),
    "NUM_MW": ((1, 48, 4096), (2, 2048)),
    **dict.fromkeys(("ECC", "INJECT", "TRACE"), ((2,), (0, 1))),
}

_THREE = ("RQ_LOG2", "SRQ_LOG2", "RX_LOG2")
MESSAGES = dict.fromkeys(_THREE, "RQ_LOG2_SRQ_LOG2_and_RX_LOG2")


@pytest.mark.parametrize("parameter", VALUES)
def test_wrong_parameter_is_named(parameter: str) -> None:
    room = {"NUM_CQ": {"M_ID_W": 13}, "IDX_W": {"NUM_CQ": 16, "NUM_EQ": 2}}.get(parameter, {})
    wrong, legal = VALUES[parameter]
    for value in wrong:
        said = elaborate("cde_params", **room, **{parameter: value})
        assert f"ERROR_{MESSAGES.get(parameter, parameter)}_must" in said, value
    for value in legal:
        assert elaborate("cde_params", **room, **{parameter: value}) == "", value


def test_every_parameter_is_checked() -> None:
    """Both top levels hand all that they have to the module of the checks, by its name."""
    known = declared_parameters((HDL / "lib" / "cde_params.v").read_text())
    assert set(VALUES) == known
    for top in ("cde_top", "cde_cpl_top"):
        text = (HDL / f"{top}.v").read_text()
        handed = re.search(r"^    cde_params #\((.*?)\) ", text, re.M | re.S)
        assert handed
        pairs = re.findall(r"\.(\w+)\((\w+)\)", handed[1])
        assert {name for name, _ in pairs} == declared_parameters(text) & known
        assert all(name == value for name, value in pairs)
        said = elaborate(top, NUM_CQ=48)
        assert "ERROR_NUM_CQ_must_be_a_power_of_two" in said


def test_numbers_of_waiting_event_entries_do_not_come_round() -> None:
    for cqs, right in ((64, False), (32, False), (16, True)):
        said = elaborate("cde_params", NUM_CQ=cqs, NUM_EQ=2, MAX_WRITES=16, IDX_W=7)
        assert ("two_times_NUM_CQ_plus_MAX_WRITES" in said) is not right and (said == "") is right


def test_no_memory_has_the_number_of_the_counters() -> None:
    assert "ERROR_MEMORIES_must_be_below_255" in elaborate("cde_control", MEMORIES=255)
    assert elaborate("cde_control", MEMORIES=254) == ""


def test_smallest_and_largest_elaborate() -> None:
    queues = ("SQ_LOG2", "RQ_LOG2", "SRQ_LOG2", "RX_LOG2", "BURST")
    tables = ("NUM_QP", "NUM_SRQ", "NUM_MR", "NUM_MW", "MAX_WRITES", "NUM_PAGES")
    least = {name: VALUES[name][1][0] for name in (*queues, *tables)}
    assert elaborate("cde_top", ECC=0, **least) == ""
    largest = {name: VALUES[name][1][-1] for name in (*queues, *tables)}
    assert elaborate("cde_top", NUM_CQ=256, M_ID_W=9, **largest) == ""
