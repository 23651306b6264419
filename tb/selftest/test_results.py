# SPDX-License-Identifier: Apache-2.0
"""A job passes only on proof: each way of not passing is shown to be caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb.runner.discover import Job
from tb.runner.regress import Result, job_filter, report, write_results
from tb.runner.results import FAILED, NOT_RUN, PASSED, Verdict, first_error, judge
from tb.runner.suite import count_pytest

TIMES = (
    '<property name="sim_time_unit" value="{unit}"/>'
    '<property name="sim_time_duration" value="{duration}"/>'
    '<property name="sim_time_ratio" value="1000"/>'
)


def case(inner: str = "", unit: str = "ns", duration: float = 400) -> str:
    times = TIMES.format(unit=unit, duration=duration)
    return f'<testcase time="0.0"><properties>{times}</properties>{inner}</testcase>'


def outcome(
    tmp_path: Path, cases: str | None, exit_code: int = 0, log: str = "", **n: int
) -> Verdict:
    results, sim_log = tmp_path / "results.xml", tmp_path / "sim.log"
    sim_log.write_text(log)
    if cases is not None:
        counts = {"tests": cases.count("<testcase"), "failures": 0, "errors": 0} | n
        attributes = " ".join(f'{key}="{value}"' for key, value in counts.items())
        results.write_text(f"<testsuites><testsuite {attributes}>{cases}</testsuite></testsuites>")
    return judge(results, sim_log, exit_code)


def test_success(tmp_path: Path) -> None:
    verdict = outcome(tmp_path, case() + case(unit="us", duration=1))
    assert (verdict.status, verdict.tests, verdict.sim_ns) == (PASSED, 2, 1400)
    assert verdict.run_s == pytest.approx(1.4)


def test_missing_results_file(tmp_path: Path) -> None:
    verdict = outcome(tmp_path, None)
    assert verdict.status == NOT_RUN
    assert "no results file" in verdict.message
    verdict = outcome(tmp_path, None, log="x\nModuleNotFoundError: no\n")
    assert (verdict.status, verdict.message) == (NOT_RUN, "ModuleNotFoundError: no")


def test_results_file_cut_short(tmp_path: Path) -> None:
    (tmp_path / "results.xml").write_text("<testsuites><testsuite tests='1'>")
    assert judge(tmp_path / "results.xml", tmp_path / "sim.log", 0).status == NOT_RUN


def test_no_tests_ran(tmp_path: Path) -> None:
    verdict = outcome(tmp_path, "")
    assert verdict.status == NOT_RUN
    assert "no test ran" in verdict.message


def test_skipped_test_did_not_run(tmp_path: Path) -> None:
    assert outcome(tmp_path, case("<skipped/>")).status == NOT_RUN
    assert outcome(tmp_path, case() + case("<skipped/>")).status == NOT_RUN


def test_failure_gives_its_cause(tmp_path: Path) -> None:
    failing = case('<failure type="AssertionError" message="wrong&#10;more"/>')
    verdict = outcome(tmp_path, failing, failures=1)
    assert (verdict.status, verdict.message) == (FAILED, "AssertionError: wrong")
    log = "1.00ns INFO a\n2.00ns ERROR scoreboard: CQ 3\n3.00ns ERROR cocotb.regression failed\n"
    assert (
        outcome(tmp_path, failing, failures=1, log=log).message == "2.00ns ERROR scoreboard: CQ 3"
    )


def test_simulator_error_after_passing_tests(tmp_path: Path) -> None:
    verdict = outcome(tmp_path, case(), exit_code=1, log="[2000] %Error: tb_top.v:10: boom\n")
    assert (verdict.status, verdict.message) == (FAILED, "[2000] %Error: tb_top.v:10: boom")


def test_pass_without_simulated_time(tmp_path: Path) -> None:
    verdict = outcome(tmp_path, case(duration=0))
    assert verdict.status == FAILED
    assert "0 ns" in verdict.message


def test_first_error_ignores_colours_and_closing_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\x1b[31m** ERROR **\x1b[0m\n1ns \x1b[31mERROR\x1b[0m  real cause\n")
    assert first_error(log) == "1ns ERROR  real cause"


def job_result(status: str, seed: int = 4) -> Result:
    job = Job("tb.tests.test_x", "test_x", "test_a", seed, "default", "verilator")
    return Result(job, Verdict(status, "" if status == PASSED else "boom"), 0.5, 4.0, Path("l"))


def test_report_has_reproduction_and_cause() -> None:
    text = report([job_result(PASSED, 3), job_result(FAILED)])
    assert "FAILED: make sim TEST=test_x.test_a SEED=4\n  boom" in text
    assert "SEED=3" not in text


def test_written_results_keep_the_counts(tmp_path: Path) -> None:
    write_results([job_result(PASSED), job_result(FAILED), job_result(NOT_RUN)], tmp_path)
    text = (tmp_path / "results.xml").read_text()
    assert 'tests="3" failures="1" errors="1"' in text
    assert '"status": "not_run"' in (tmp_path / "results.json").read_text()


def test_filter_takes_one_test_only() -> None:
    import re

    pattern = job_filter(job_result(PASSED).job)
    names = ["tb.tests.test_x.test_a", "tb.tests.test_x.test_a/n=1", "tb.tests.test_x.test_ab"]
    assert [bool(re.search(pattern, name)) for name in names] == [True, True, False]


@pytest.mark.parametrize(
    "attributes, exit_code, expected",
    [
        ('tests="3" failures="0" errors="0" skipped="0"', 0, (3, 0, 0)),
        ('tests="3" failures="1" errors="1" skipped="0"', 1, (1, 2, 0)),
        ('tests="3" failures="0" errors="0" skipped="1"', 0, (2, 0, 1)),
        ('tests="0" failures="0" errors="0" skipped="0"', 5, (0, 1, 0)),
        ('tests="1" failures="0" errors="0" skipped="1"', 0, (0, 1, 1)),
        ('tests="2" failures="0" errors="0" skipped="0"', 3, (2, 1, 0)),
    ],
)
def test_pytest_counts(
    tmp_path: Path, attributes: str, exit_code: int, expected: tuple[int, int, int]
) -> None:
    path = tmp_path / "pytest.xml"
    path.write_text(f"<testsuites><testsuite {attributes}/></testsuites>")
    assert count_pytest(path, exit_code) == expected


def test_pytest_without_a_report_is_a_failure(tmp_path: Path) -> None:
    assert count_pytest(tmp_path / "none.xml", 0) == (0, 1, 0)
