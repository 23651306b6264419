# SPDX-License-Identifier: Apache-2.0
"""Tests are found from their source, builds from their list; asking for what is not there, and
mistakes, are errors.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tb.runner import simulator
from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.common import RunnerError
from tb.runner.discover import Module, find_modules, parse_seeds, read_module, select_jobs
from tb.runner.simulator import build, first_build_error, no_build

PLAIN = """
import cocotb
@cocotb.test()
async def test_a(dut): ...
"""


def read(tmp_path: Path, text: str, name: str = "test_x.py") -> Module:
    path = tmp_path / "tb" / "tests" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return read_module(path, root=tmp_path)


def test_plain_test_has_defaults(tmp_path: Path) -> None:
    module = read(tmp_path, PLAIN)
    assert (module.module, module.short) == ("tb.tests.test_x", "test_x")
    assert (module.tests, module.builds, module.seeds) == (("test_a",), ("default",), (1,))


@pytest.mark.parametrize(
    "text, name",
    [
        ("@cocotb.test\nasync def t(dut): ...", "t"),
        ("@cocotb.test(timeout_time=1)\nasync def t(dut): ...", "t"),
        ("@cocotb.parametrize(a=[1])\nasync def t(dut): ...", "t"),
        ("@pyuvm.test()\nclass T(pyuvm.uvm_test): ...", "T"),
    ],
)
def test_every_form_of_decorator_is_seen(tmp_path: Path, text: str, name: str) -> None:
    assert read(tmp_path, text).tests == (name,)


@pytest.mark.parametrize(
    "text, why",
    [
        ("import cocotb\nasync def test_a(dut): ...", "contains no test"),
        ("from cocotb import test\n@test()\nasync def test_a(dut): ...", "without another name"),
        ("def f(:", "syntax error"),
        (PLAIN + PLAIN, "two tests are named test_a"),
        (PLAIN + "SEEDS = make()", "must be a literal"),
        (PLAIN + "SEEDS = []", "seeds must be"),
        (PLAIN + "SEEDS = [0]", "seeds must be"),
        (PLAIN + "BUILD = 3", "`BUILD` must be"),
        (PLAIN + "TEST_SEEDS = {'test_b': [1]}", "is no test"),
        (PLAIN + "ICARUS_TESTS = ['test_b']", "is no test"),
    ],
)
def test_mistakes_in_a_test_file_are_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(RunnerError, match=why):
        read(tmp_path, text)


def test_declarations_shape_the_jobs(tmp_path: Path) -> None:
    text = PLAIN + (
        "@cocotb.test()\nasync def test_b(dut): ...\n"
        "BUILD = ['default', 'small']\nSEEDS = [1, 2]\n"
        "TEST_SEEDS = {'test_b': [7]}\nICARUS_TESTS = ['test_b']\n"
    )
    jobs = select_jobs([read(tmp_path, text)])
    seen = [(job.test, job.build, job.seed, job.sim) for job in jobs]
    assert seen == [
        ("test_a", "default", 1, "verilator"),
        ("test_a", "default", 2, "verilator"),
        ("test_a", "small", 1, "verilator"),
        ("test_a", "small", 2, "verilator"),
        ("test_b", "default", 7, "verilator"),
        ("test_b", "default", 7, "icarus"),
        ("test_b", "small", 7, "verilator"),
    ]
    jobs = select_jobs([read(tmp_path, text)], ["test_b"], build="small")
    assert [(job.build, job.sim) for job in jobs] == [("small", "verilator"), ("small", "icarus")]


@pytest.mark.parametrize("pattern", ["test_a", "test_x", "test_x.test_a", "*_a", "tb.tests.test_x"])
def test_selection_by_name(pattern: str) -> None:
    module = Module("tb.tests.test_x", "test_x", ("test_a",))
    assert len(select_jobs([module], [pattern])) == 1


def test_nothing_selected_is_an_error() -> None:
    module = Module("tb.tests.test_x", "test_x", ("test_a",))
    with pytest.raises(RunnerError, match="no test selected"):
        select_jobs([])
    with pytest.raises(RunnerError, match=r"test_nope: no such test"):
        select_jobs([module], ["test_a", "test_nope"])
    with pytest.raises(RunnerError, match="BUILD=other: no such test is for it"):
        select_jobs([module], build="other")
    with pytest.raises(RunnerError, match=r"nearest: default.*test_a has builds default"):
        select_jobs([module], ["test_a"], build="defualt")


def test_seed_lists() -> None:
    assert parse_seeds("3") == (1, 2, 3)
    assert parse_seeds("3,8, 20-22") == (3, 8, 20, 21, 22)
    large = (str(2**31) + ",", "9" * 5000, "1-100000000000", "1-20000")
    for bad in ("x", "0", "5-3", "-1", "²", *large):
        with pytest.raises(RunnerError, match=r"^SEEDS=.{1,120}$"):
            parse_seeds(bad)


def test_names_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    module = read(tmp_path, PLAIN, "arm/test_x.py")
    assert (module.short, module.module) == ("test_x", "tb.tests.arm.test_x")
    (job,) = select_jobs([module])
    assert job.id == "test_x.test_a[default-verilator-1]"
    read(tmp_path, PLAIN, "cq/test_x.py")
    with pytest.raises(RunnerError, match="have one name"):
        find_modules(tmp_path / "tb" / "tests", tmp_path)


# -- build configurations --------------------------------------------------------------------------


def load(tmp_path: Path, text: str) -> dict[str, BuildConfig]:
    path = tmp_path / "builds.yaml"
    path.write_text(text)
    return load_builds(path)


def test_entries_take_the_rest_from_default(tmp_path: Path) -> None:
    text = "default: {timeout_s: 5, parameters: {A: 1}}\nsmall: {parameters: {A: 2}}\n"
    small = load(tmp_path, text)["small"]
    assert (small.name, small.timeout_s, small.parameters) == ("small", 5.0, {"A": 2})


def test_unknown_build_wrong_simulator_and_missing_source(tmp_path: Path) -> None:
    builds = load(tmp_path, "odd: {simulators: [verilator], sources: [no_such_folder/*.v]}\n")
    with pytest.raises(RunnerError, match="BUILD=other: no such build"):
        get_build(builds, "other", "verilator")
    with pytest.raises(RunnerError, match="not for icarus"):
        get_build(builds, "odd", "icarus")
    with pytest.raises(RunnerError, match="no file matches"):
        builds["odd"].source_files()


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


def test_sources_that_change_while_they_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled(**_: object) -> None:
        (tmp_path / "sim.vvp").touch()
        monkeypatch.setattr(simulator, "MAKE_VARIABLES", ())  # a part of the key, as sources are

    runner = SimpleNamespace(build=compiled, exit_code=0)
    monkeypatch.setattr(simulator, "make_runner", lambda _: runner)
    config = BuildConfig(name="b", place=tmp_path)
    assert no_build(config, "icarus").startswith("build b for icarus has failed; log: ")
    with pytest.raises(RunnerError, match="the sources changed while build b was made: run the"):
        build(config, "icarus")
    assert no_build(config, "icarus").startswith("the sources changed")
    assert build(config, "icarus") and not no_build(config, "icarus")
