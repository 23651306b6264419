# SPDX-License-Identifier: Apache-2.0
"""Planted faults: the list fits the design and the tests, and each way of not fitting is told."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tb.runner import negatives
from tb.runner.builds import BuildConfig, load_builds
from tb.runner.common import HDL, ROOT, SIM_BUILD, RunnerError, merge_entries
from tb.runner.discover import Job, Module, find_modules
from tb.runner.negatives import (
    Fault,
    Outcome,
    as_json,
    attempt,
    faulty_build,
    jobs_of,
    judge_result,
    load_faults,
    plant,
)
from tb.runner.regress import Result
from tb.runner.results import FAILED, NOT_RUN, PASSED, TIMEOUT, Verdict
from tb.runner.testplan import SCOPE

MODULES = [Module("tb.tests.test_m", "test_m", ("One", "Two"), builds=("small",), seeds=(3, 4))]
FAULT = Fault("f", "a mistake", ("CQ-01",), "a.v", "a & b", "a | b", {"test_m.One": "differs"})


def result(status: str, message: str = "") -> Result:
    job = Job("tb.tests.test_m", "test_m", "One", 1, "default", "verilator")
    return Result(job, Verdict(status, message), 1.0, SIM_BUILD / "sim.log")


# -- the list itself -------------------------------------------------------------------------------


def test_faults_fit_the_design(tmp_path: Path) -> None:
    for fault in load_faults():
        source = next(HDL.rglob(fault.file))
        copy = tmp_path / fault.file
        shutil.copyfile(source, copy)
        plant(fault, tmp_path)
        assert copy.read_text() != source.read_text(), fault.id
        assert set(fault.requirements) <= set(SCOPE), fault.id


def test_faults_name_tests() -> None:
    modules = find_modules()
    builds = load_builds()
    for fault in load_faults():
        assert all(job.build in builds for job in jobs_of(fault, modules))
        # Which error is meant must be said: any test fails on a broken design somehow.
        assert all(fault.fails.values()), fault.id


# -- planting --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source, why",
    [
        ("x = a;\n", r"f \(tb/faults\): this does not occur in .*a\.v"),
        ("x = a & b;\ny = a & b;\n", r"f \(tb/faults\): this occurs 2 times, not once, in .*a\.v"),
    ],
)
def test_text_that_does_not_fit(tmp_path: Path, source: str, why: str) -> None:
    (tmp_path / "a.v").write_text(source)
    with pytest.raises(RunnerError, match=why):
        plant(FAULT, tmp_path)
    assert (tmp_path / "a.v").read_text() == source


def test_one_job_for_each_test() -> None:
    fault = replace(FAULT, fails={"test_m.Two": "", "test_m.One": ""})
    jobs = jobs_of(fault, MODULES)
    assert [(job.name, job.seed, job.build, job.sim) for job in jobs] == [
        ("test_m.Two", 3, "small", "verilator"),
        ("test_m.One", 3, "small", "verilator"),
    ]


@pytest.mark.parametrize("name", ["test_m.Three", "One", "test_m.*"])
def test_unknown_test(name: str) -> None:
    with pytest.raises(RunnerError, match="f: no such test: "):
        jobs_of(replace(FAULT, fails={name: ""}), MODULES)


def test_build_of_the_copy() -> None:
    folder = SIM_BUILD / "negatives" / "f"
    config = faulty_build(BuildConfig(parameters={"NUM_CQ": 8}), folder)
    assert config.sources == ("sim_build/negatives/f/hdl/**/*.v", "tb/hdl/*.v")
    assert config.includes[:2] == ("sim_build/negatives/f/hdl", "sim_build/negatives/f/hdl/arm")
    assert config.parameters == {"NUM_CQ": 8}
    assert config.folder("verilator", False) == folder / "build-default"
    assert not (ROOT / "hdl").samefile(ROOT / "tb" / "hdl")


# -- judging ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status, message, why",
    [
        (FAILED, "state differs from the model", ""),
        (PASSED, "", "test_m.One passes with the fault in place"),
        (FAILED, "something else", "failed with another error than 'differs': something else"),
        (TIMEOUT, "state differs", "did not come to an end: TIMEOUT"),
        (NOT_RUN, "state differs", "did not come to an end: NOT RUN"),
    ],
)
def test_judged(status: str, message: str, why: str) -> None:
    problem = judge_result(result(status, message), "differs")
    assert why in problem and bool(problem) == bool(why)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A design of one file, no simulator."""
    (tmp_path / "hdl").mkdir()
    (tmp_path / "hdl" / "a.v").write_text("x = a & b;\n")
    for name, value in {
        "HDL": tmp_path / "hdl",
        "FOLDER": tmp_path / "out",
        "build": lambda *_, **__: False,
    }.items():
        monkeypatch.setattr(negatives, name, value)
    return tmp_path


def attempted() -> Outcome:
    return attempt(FAULT, jobs_of(FAULT, MODULES), load_builds())


@pytest.mark.parametrize("status", [FAILED, PASSED])
def test_test_must_fail(project: Path, monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    seen: list[Job] = []

    def run(job: Job, config: BuildConfig) -> Result:
        seen.append(job)
        assert "x = a | b;" in (project / "out" / "f" / "hdl" / "a.v").read_text()
        assert config.name == "small"
        return replace(result(status, "it differs" if status == FAILED else ""), job=job)

    monkeypatch.setattr(negatives, "run_job", run)
    outcome = attempted()
    assert outcome.status == (PASSED if status == FAILED else FAILED)
    assert [job.build for job in seen] == ["small-f"], "coverage and logs of the regression stay"
    assert (project / "hdl" / "a.v").read_text() == "x = a & b;\n", "the design itself stays"


@pytest.mark.parametrize(
    "error, told",
    [
        (RunnerError("build small for verilator failed: syntax error"), "syntax error"),
        (PermissionError(13, "Permission denied", "Vtop"), "and run again"),
    ],
)
@pytest.mark.usefixtures("project")
def test_broken_build_is_no_success(
    monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    def fails(*_: object, **__: object) -> bool:
        raise error

    monkeypatch.setattr(negatives, "build", fails)
    outcome = attempted()
    assert outcome.status == FAILED and told in outcome.problem


def test_entries_of_earlier_runs_stay(tmp_path: Path) -> None:
    path, known = tmp_path / "n.json", [FAULT.id, "g"]
    found = as_json(Outcome(FAULT, "", (result(FAILED, "differs"),), 1.5))
    missed = as_json(Outcome(replace(FAULT, id="g"), "passes", (result(PASSED),), 2.0))
    gone = as_json(Outcome(replace(FAULT, id="gone"), "", (), 2.0))
    merge_entries(path, "id", [missed, gone], known)
    merge_entries(path, "id", [found], known)
    first, second = json.loads(path.read_text())
    assert (first["status"], second["status"]) == ("passed", "failed")
    told = {"test": "test_m.One", "status": "failed", "message": "differs"}
    assert first["tests"][0] == {**told, "log": "sim_build/sim.log"}
