# SPDX-License-Identifier: Apache-2.0
"""A job passes only on proof: each way of not passing is shown to be caught."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tb.runner.common import ROOT
from tb.runner.discover import Job
from tb.runner.regress import job_filter
from tb.runner.results import (
    FAILED,
    FAILURE_FILE,
    NOT_RUN,
    PASSED,
    Failure,
    Verdict,
    first_error,
    judge,
)

TIMES = (
    '<property name="sim_time_unit" value="{unit}"/>'
    '<property name="sim_time_duration" value="{duration}"/>'
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


def failing(kind: str, text: str) -> str:
    return case(f'<failure type="{kind}" message="{text}"/>')


LOG = "1.00ns INFO a\n2.00ns ERROR a remark\n3.00ns ERROR cocotb.regression failed\n"
BOOM = "[2000] %Error: tb_top.v:10: boom"
ASSERTION = "AssertionError: CQ 11: armed"


def test_success(tmp_path: Path) -> None:
    verdict = outcome(tmp_path, case() + case(unit="us", duration=1))
    assert (verdict.status, verdict.sim_ns) == (PASSED, 1400)


@pytest.mark.parametrize(
    ("cases", "run", "status", "message"),
    [
        (None, {}, NOT_RUN, "no results file"),
        (None, {"log": "x\nModuleNotFoundError: no\n"}, NOT_RUN, "^ModuleNotFoundError: no$"),
        ("", {}, NOT_RUN, "no test ran"),
        (case("<skipped/>"), {}, NOT_RUN, ""),
        (case() + case("<skipped/>"), {}, NOT_RUN, ""),
        # The exception is the cause, not a line of the log; else the test's own words, if few.
        (failing("AssertionError", "CQ 11: armed"), {"log": LOG}, FAILED, f"^{ASSERTION}$"),
        (case("<failure/>"), {"log": LOG}, FAILED, "^failure$"),
        # An error of the simulator after tests that pass; no simulated time.
        (case(), {"exit_code": 1, "log": f"{BOOM}\n"}, FAILED, f"^{re.escape(BOOM)}$"),
        (case(duration=0), {}, FAILED, "0 ns.*derive from CarillonTest"),
    ],
)
def test_what_is_no_success(
    tmp_path: Path, cases: str | None, run: dict[str, Any], status: str, message: str
) -> None:
    verdict = outcome(tmp_path, cases, failures=(cases or "").count("<failure"), **run)
    assert verdict.status == status and re.search(message, verdict.message)


def test_results_file_cut_short(tmp_path: Path) -> None:
    (tmp_path / "results.xml").write_text("<testsuites><testsuite tests='1'>")
    assert judge(tmp_path / "results.xml", tmp_path / "sim.log", 0).status == NOT_RUN


def test_failure_gives_its_cause(tmp_path: Path) -> None:
    verdict = outcome(tmp_path, failing("AssertionError", "wrong&#10;more"), failures=1)
    assert (verdict.status, verdict.message) == (FAILED, "AssertionError: wrong\nmore")
    assert verdict.cause == "AssertionError: wrong"


def frames(*places: tuple[Path, int]) -> str:
    return "\n".join(f'File "{path}", line {line}, in f' for path, line in places)


def test_an_error_has_its_place(tmp_path: Path) -> None:
    """The innermost frame of the scenario, or else of our own code; a mismatch says more."""
    bench, other = Path("models/nic.py"), ROOT / ".venv/x/y.py"
    own = [ROOT / f"tb/{name}.py" for name in ("tests/arm/test_m", "sequences/mine/post")]
    base = ROOT / "tb/sequences/verbs/__init__.py"
    stack = frames((own[0], 12), (own[1], 13), (base, 14), (bench, 7))
    inner = f'<failure type="TypeError" message="no">{stack}</failure>'
    cause = outcome(tmp_path, case(inner), failures=1).cause
    assert cause == "TypeError: no (tb/sequences/mine/post.py:13)"
    stack = frames((base, 14), (bench, 7), (other, 3))
    inner = f'<failure type="TypeError" message="no&#10;more">{stack}</failure>'
    verdict = outcome(tmp_path, case(inner), failures=1)
    assert verdict.cause == "TypeError: no (models/nic.py:7)"
    assert verdict.message == "TypeError: no\nmore" and "models/nic.py" in verdict.signature
    note = mismatch(11, "armed", "CQ-12")
    (tmp_path / FAILURE_FILE).write_text(json.dumps(note))
    inner = f'<failure type="Mismatch" message="{note["text"]}">{stack}</failure>'
    assert outcome(tmp_path, case(inner), failures=1).cause == note["text"]


def test_failures_with_one_cause_have_one_signature() -> None:
    one, two, other = (
        Verdict(FAILED, f"AssertionError: {text}").signature
        for text in ("CQ 11: armed at 0x1F\nmore", "CQ 7: armed at 0x2a", "QP 11: armed at 3")
    )
    assert one == two != other
    assert Verdict(PASSED).signature == ""


def mismatch(number: int, field: str, rule: str, text: str = "more") -> dict[str, object]:
    text = f"CQ {number}: {field} {number + 1}, model {number} ({rule}): {text}; cycle {number}"
    found = {"error": "Mismatch", "text": text, "cycle": number, "time_ps": 1000 * number}
    return {**found, "obj": "CQ", "number": number, "field": field, "rule": rule}


def with_note(tmp_path: Path, note: object, text: str, log: str = "") -> Verdict:
    (tmp_path / FAILURE_FILE).write_text(json.dumps(note))
    return outcome(tmp_path, failing("Mismatch", f"{text}&#10;  the story"), failures=1, log=log)


def test_what_the_bench_told_about_a_failure(tmp_path: Path) -> None:
    note = mismatch(11, "armed", "CQ-12")
    verdict = with_note(tmp_path, note, str(note["text"]), "1.0ns ERROR a remark\n")
    assert verdict.failure == Failure(**note)  # type: ignore[arg-type]
    assert verdict.cause == "CQ 11: armed 12, model 11 (CQ-12): more; cycle 11"
    assert verdict.message.endswith("the story")
    assert verdict.signature == "CQ: armed (CQ-12)"


@pytest.mark.parametrize(
    "note", [{}, [], "x", {"error": "Mismatch"}, mismatch(7, "armed", "CQ-12")]
)
def test_a_note_of_something_else(tmp_path: Path, note: object) -> None:
    """An exception that the test has caught, half a file."""
    verdict = with_note(tmp_path, note, "CQ 11: armed")
    assert (verdict.failure, verdict.cause) == (None, "Mismatch: CQ 11: armed")


def test_failures_of_one_field_by_one_rule_are_one_group() -> None:
    def signature(*args: object) -> str:
        return Failure(**mismatch(*args)).signature  # type: ignore[arg-type]

    first = signature(1, "armed", "CQ-12")
    assert signature(2, "armed", "CQ-12", "other words") == first
    assert signature(1, "armed", "CQ-07") != first != signature(1, "due", "CQ-12")
    text = Failure("ValueError", "17 of 20 left", 1, 1)
    assert text.signature == "ValueError: # of # left"


def test_first_error_ignores_colours_and_closing_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\x1b[31m** ERROR **\x1b[0m\n1ns \x1b[31mERROR\x1b[0m  real cause\n")
    assert first_error(log) == "1ns ERROR  real cause"


def test_filter_takes_one_test_only() -> None:
    pattern = job_filter(Job("tb.tests.test_x", "test_x", "test_a", 4, "default", "verilator"))
    names = ["tb.tests.test_x.test_a", "tb.tests.test_x.test_a/n=1", "tb.tests.test_x.test_ab"]
    assert [bool(re.search(pattern, name)) for name in names] == [True, True, False]
