# SPDX-License-Identifier: Apache-2.0
"""Static checks fail on a finding; measurements are compared with their goals; a wrong parameter
stops elaboration with a message that names it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tb.runner import lint
from tb.runner.bench import format_metrics, read_metrics
from tb.runner.common import HDL, RunnerError, hdl_files
from tb.selftest.icarus import build


def test_check_outcomes() -> None:
    def run(code: str, check: bool = False) -> tuple[bool, str]:
        command = (sys.executable, "-c", code)
        return (
            lint.Check("c", command, lint.icarus_warning) if check else lint.Check("c", command)
        ).run()

    assert run("print('fine')") == (True, "")
    assert run("raise SystemExit(3)") == (False, "exit status 3, no message")
    assert run("print('a.v:1: warning: implicit')", check=True)[0] is False
    assert run("print('a.v:1: warning: timescale for x inherited')", check=True)[0] is True


def test_parameters_of_a_top_level() -> None:
    text = "module m #(\n    parameter A = 1,\n    parameter [0:0] B_C = 1'b0\n);\n// parameter D\n"
    assert lint.declared_parameters(text) == {"A", "B_C"}


def test_every_top_level_is_read_with_its_own_parameters() -> None:
    """By each of three readers, with each set of parameters."""
    names = [check.name for check in lint.hdl_checks()]
    assert len(names) == len(set(names)) == len(lint.TOPS) * 3 * len(lint.parameter_sets())
    core = lint.declared_parameters((HDL / "cde_cpl_top.v").read_text())
    for check in lint.hdl_checks():
        top, name = check.name.partition("(")[2].rstrip(")").split(", ")
        for key in lint.parameter_sets()[name]:
            has = top == "cde_top" or key in core
            assert any(key in word for word in check.command) is has, (check.name, key)


def test_every_module_is_read_alone() -> None:
    """By Verilator; and by a strict reader, that takes the top levels each as a whole too."""
    modules = {path.stem for path in hdl_files()}
    *tops, each = lint.strict_checks()
    assert [check.command[-1] for check in tops] == list(lint.TOPS)
    pairs = zip(each.command, each.command[1:], strict=False)
    assert {name for word, name in pairs if word == "--top"} == modules
    alone = {Path(check.command[-1]).stem for check in lint.module_checks()}
    assert alone == modules - {*lint.TOPS}


def test_goals(tmp_path: Path) -> None:
    data = {
        "metrics": {"rate": 0.9, "other": 0.9, "latency": 7, "depth": 3},
        "goals": {"rate": [">=", 1, 0.9], "other": [">=", 1, 1], "latency": ["<=", 7, 7]},
        "config": {"qps": 64},
    }
    path = tmp_path / "m.json"
    path.write_text(json.dumps(data))
    found = read_metrics(path)
    states = [found.state(name) for name in found.metrics]
    assert states == ["below goal", "below bound", "ok", ""]
    assert "qps=64" in format_metrics(found)


# -- parameters ------------------------------------------------------------------------------------


def elaborate(folder: Path, top: str, /, **parameters: int) -> str:
    """Elaborates a module in Icarus with parameters overridden; what is wrong."""
    # The module of the checks needs no other one.
    sources = hdl_files("cde_params.v" if top == "cde_params" else "*.v")
    try:
        build(folder, top, sources, values=parameters)
    except RunnerError as error:
        return str(error)
    return ""


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
def test_wrong_parameter_is_named(tmp_path: Path, parameter: str) -> None:
    room = {"NUM_CQ": {"M_ID_W": 13}, "IDX_W": {"NUM_CQ": 16, "NUM_EQ": 2}}.get(parameter, {})
    wrong, legal = VALUES[parameter]
    for value in wrong:
        said = elaborate(tmp_path, "cde_params", **room, **{parameter: value})
        assert f"ERROR_{MESSAGES.get(parameter, parameter)}_must" in said, value
    for value in legal:
        assert elaborate(tmp_path, "cde_params", **room, **{parameter: value}) == "", value


def test_every_parameter_is_checked(tmp_path: Path) -> None:
    """Both top levels hand all that they have to the module of the checks, by its name."""
    known = lint.declared_parameters((HDL / "lib" / "cde_params.v").read_text())
    assert set(VALUES) == known
    for top in ("cde_top", "cde_cpl_top"):
        text = (HDL / f"{top}.v").read_text()
        handed = re.search(r"^    cde_params #\((.*?)\) ", text, re.M | re.S)
        assert handed
        pairs = re.findall(r"\.(\w+)\((\w+)\)", handed[1])
        assert {name for name, _ in pairs} == lint.declared_parameters(text) & known
        assert all(name == value for name, value in pairs)
        said = elaborate(tmp_path, top, NUM_CQ=48)
        assert "ERROR_NUM_CQ_must_be_a_power_of_two" in said


def test_numbers_of_waiting_event_entries_do_not_come_round(tmp_path: Path) -> None:
    for cqs, right in ((64, False), (32, False), (16, True)):
        said = elaborate(tmp_path, "cde_params", NUM_CQ=cqs, NUM_EQ=2, MAX_WRITES=16, IDX_W=7)
        assert ("two_times_NUM_CQ_plus_MAX_WRITES" in said) is not right and (said == "") is right


def test_no_memory_has_the_number_of_the_counters(tmp_path: Path) -> None:
    assert "ERROR_MEMORIES_must_be_below_255" in elaborate(tmp_path, "cde_control", MEMORIES=255)
    assert elaborate(tmp_path, "cde_control", MEMORIES=254) == ""


def test_smallest_and_largest_elaborate(tmp_path: Path) -> None:
    queues = ("SQ_LOG2", "RQ_LOG2", "SRQ_LOG2", "RX_LOG2", "BURST")
    tables = ("NUM_QP", "NUM_SRQ", "NUM_MR", "NUM_MW", "MAX_WRITES", "NUM_PAGES")
    least = {name: VALUES[name][1][0] for name in (*queues, *tables)}
    assert elaborate(tmp_path, "cde_top", ECC=0, **least) == ""
    largest = {name: VALUES[name][1][-1] for name in (*queues, *tables)}
    assert elaborate(tmp_path, "cde_top", NUM_CQ=256, M_ID_W=9, **largest) == ""
