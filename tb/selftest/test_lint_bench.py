# SPDX-License-Identifier: Apache-2.0
"""Static checks fail on a finding, and measurements are compared with their goals."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tb.runner import lint
from tb.runner.bench import format_metrics, read_metrics
from tb.runner.common import RunnerError, hdl_files

#: Parameters of cde_top alone.
_FULL_ONLY = {
    *("NUM_QP", "SQ_LOG2", "BURST"),
    *("NUM_SRQ", "RQ_LOG2", "SRQ_LOG2", "RX_LOG2", "NUM_MR", "NUM_MW"),
}


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
    for check in lint.hdl_checks():
        top, name = check.name.partition("(")[2].rstrip(")").split(", ")
        for key in lint.parameter_sets()[name]:
            has = top == "cde_top" or key not in _FULL_ONLY
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
        "metrics": {"rate": 0.9, "latency": 7, "depth": 3},
        "goals": {"rate": [">=", 1], "latency": ["<=", 7]},
        "config": {"qps": 64},
    }
    path = tmp_path / "m.json"
    path.write_text(json.dumps(data))
    found = read_metrics(path)
    states = [found.state(name) for name in ("rate", "latency", "depth")]
    assert states == ["below goal", "ok", ""]
    assert "qps=64" in format_metrics(found)


def test_measurements_missing(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match="measured nothing"):
        read_metrics(tmp_path / "none.json")
