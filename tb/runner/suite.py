# SPDX-License-Identifier: Apache-2.0
"""The whole check: Python tests, static checks, quick proofs, simulation regression, traceability
with functional coverage, negative tests, and one closing line.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from tb.runner.common import ROOT, SIM_BUILD, RunnerError, cpu_count
from tb.runner.discover import find_modules, select_jobs
from tb.runner.formal import run_formal
from tb.runner.lint import run_lint
from tb.runner.negatives import run_negatives
from tb.runner.regress import regression
from tb.runner.trace import run_trace

PYTEST_FOLDERS = ("models/tests", "tb/selftest", "scripts/tests")


def count_pytest(report: Path, exit_code: int) -> tuple[int, int, int]:
    """(passed, failed, skipped) from pytest's report; a run without tests is a failure."""
    try:
        suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    except (OSError, ElementTree.ParseError):
        return 0, 1, 0
    tests, bad, skipped = (
        sum(int(suite.get(key) or 0) for suite in suites for key in keys)
        for keys in (("tests",), ("failures", "errors"), ("skipped",))
    )
    passed = tests - bad - skipped
    if (exit_code or passed <= 0) and bad == 0:
        bad = 1
    return max(passed, 0), bad, skipped


def run_pytest(
    folders: tuple[str, ...] = PYTEST_FOLDERS, processes: int | None = None
) -> tuple[int, int]:
    found = [name for name in folders if any((ROOT / name).rglob("test_*.py"))]
    if not found:
        print(f"pytest: FAILED: no test files in {', '.join(folders)}")
        return 0, 1
    report = SIM_BUILD / "pytest.xml"
    SIM_BUILD.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    # Tests of one file may share what they build.
    workers = ("-n", str(processes or cpu_count()), "--dist", "loadfile")
    command = [sys.executable, "-m", "pytest", *workers, f"--junitxml={report}", *found]
    done = subprocess.run(command, cwd=ROOT, check=False)
    passed, failed, skipped = count_pytest(report, done.returncode)
    print(f"pytest: {passed} of {passed + failed} test(s) passed, {skipped} left out", flush=True)
    return passed, failed


def run_simulation(processes: int | None) -> tuple[int, int]:
    results, missing = regression(select_jobs(find_modules()), processes)
    passed = sum(result.verdict.ok for result in results)
    return passed, len(results) - passed + len(missing)


def _guarded(name: str, step: Callable[[], tuple[int, int]]) -> tuple[int, int]:
    """A step that cannot even start counts as one failure; the others still run."""
    print(f"== {name}", flush=True)
    try:
        return step()
    except RunnerError as error:
        print(f"{name}: FAILED: {error}", flush=True)
        return 0, 1


def run_suite(processes: int | None = None) -> int:
    counts = [
        _guarded("Python tests", lambda: run_pytest(processes=processes)),
        _guarded("lint", run_lint),
        _guarded("quick proofs", lambda: run_formal(processes=processes, quick=True)),
        _guarded("simulation", lambda: run_simulation(processes)),
        _guarded("functional coverage and traceability", run_trace),
        _guarded("negative tests", lambda: run_negatives(processes=processes, quick=True)),
    ]
    passed, failed = (sum(column) for column in zip(*counts, strict=True))
    print(f"\n{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0
