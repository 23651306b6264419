# SPDX-License-Identifier: Apache-2.0
"""Build configurations: inheritance from `default`, and mistakes that are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb.runner.builds import get_build, load_builds
from tb.runner.common import RunnerError
from tb.runner.simulator import first_build_error


def load(tmp_path: Path, text: str) -> dict[str, object]:
    path = tmp_path / "builds.yaml"
    path.write_text(text)
    return dict(load_builds(path))


def test_without_a_file_there_is_the_default(tmp_path: Path) -> None:
    builds = load_builds(tmp_path / "none.yaml")
    assert list(builds) == ["default"]
    assert builds["default"].toplevel == "tb_top"


def test_entries_take_the_rest_from_default(tmp_path: Path) -> None:
    path = tmp_path / "builds.yaml"
    path.write_text("default: {clock_ns: 5, parameters: {A: 1}}\nsmall: {parameters: {A: 2}}\n")
    small = load_builds(path)["small"]
    assert (small.name, small.clock_ns, small.parameters) == ("small", 5.0, {"A": 2})


@pytest.mark.parametrize(
    "text, why",
    [
        ("small: {paramters: {}}", "unknown key paramters"),
        ("small: {parameters: 3}", "parameters must be a dict"),
        ("small: {fast: 1}", "fast must be a bool"),
        ("small: 3", "must be a mapping"),
        ("- a", "must map build names"),
        ("a: [", "not valid YAML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(RunnerError, match=why):
        load(tmp_path, text)


def test_unknown_build_and_wrong_simulator(tmp_path: Path) -> None:
    path = tmp_path / "builds.yaml"
    path.write_text("fastonly: {simulators: [verilator]}\n")
    builds = load_builds(path)
    with pytest.raises(RunnerError, match="BUILD=other: no such build"):
        get_build(builds, "other", "verilator")
    with pytest.raises(RunnerError, match="not for icarus"):
        get_build(builds, "fastonly", "icarus")


def test_source_pattern_without_a_file(tmp_path: Path) -> None:
    path = tmp_path / "builds.yaml"
    path.write_text("odd: {sources: [no_such_folder/*.v]}\n")
    with pytest.raises(RunnerError, match="no file matches"):
        load_builds(path)["odd"].source_files()


@pytest.mark.parametrize(
    "log, line",
    [
        ("a\n%Warning-WIDTH: b.v:1\n%Error: b.v:2\n", "%Error: b.v:2"),
        ("a\n%Warning-WIDTH: b.v:1\n", "%Warning-WIDTH: b.v:1"),
        ("x.cpp:1: fatal error: no.h\n", "x.cpp:1: fatal error: no.h"),
        ("a\n", "no error line in the log"),
    ],
)
def test_first_line_of_a_failed_build(log: str, line: str) -> None:
    assert first_build_error(log) == line
