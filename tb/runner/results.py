# SPDX-License-Identifier: Apache-2.0
"""Judges a finished simulation from what it left behind. Anything but a proof of success fails."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from pathlib import Path
from xml.etree import ElementTree

from cocotb_tools.check_results import get_results

from tb.runner.common import ROOT

PASSED, FAILED, NOT_RUN, TIMEOUT = "passed", "FAILED", "NOT RUN", "TIMEOUT"

#: In a job's folder: what ended the test.
FAILURE_FILE = "failure.json"

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_ERROR = re.compile(r"%Error|\bERROR\b|\bCRITICAL\b|^Error:|error:|Error: |Exception: ")
_NUMBER = re.compile(r"0x[0-9a-fA-F_]+|\b\d[\d_.]*")
# cocotb's own closing words: they say that a test failed, not why.
_NOT_A_CAUSE = re.compile(r"cocotb\.regression|\*\*")
#: A frame of our own code (compiled files have no folder before them); files of scenarios.
_FRAME = re.compile(rf'File "(?:{re.escape(str(ROOT))}/)?((?:tb|models)/[^"]+)", line (\d+)')
_SCENARIO = re.compile(r"tb/(tests|sequences/\w+)/(?!.*__init__)")


def without_numbers(text: str) -> str:
    """Equal for texts that differ in numbers only."""
    return _NUMBER.sub("#", text)[:200]


@dataclass(frozen=True)
class Failure:
    """What the bench wrote about the exception that ended a test (tb/env/failure.py)."""

    error: str
    """Type of the exception."""
    text: str
    """First line of its message."""
    cycle: int
    """Clock cycles since the reset."""
    time_ps: int
    """Simulated time: the middle of that cycle."""
    obj: str = ""
    """Kind of the object that it is about: CQ, QP, SRQ, region, window; "" if of none."""
    number: int | None = None
    field: str = ""
    got: str = ""
    want: str = ""
    rule: str = ""

    @property
    def cause(self) -> str:
        """One line."""
        return self.text if self.obj else f"{self.error}: {self.text}"

    @property
    def signature(self) -> str:
        """Equal for failures of one field by one rule, whatever object and values."""
        if self.obj and self.field:
            return f"{self.obj}: {self.field}" + (f" ({self.rule})" if self.rule else "")
        return without_numbers(self.cause)


def read_failure(path: Path, message: str) -> Failure | None:
    """What a job's bench wrote down; None without it, or if another exception ended the test,
    whose ``message`` begins otherwise.
    """
    try:
        data = json.loads(path.read_text())
        found = Failure(**{key: data[key] for key in data.keys() & _FAILURE})
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return found if message.startswith(f"{found.error}: {found.text}") else None


_FAILURE = {item.name for item in fields(Failure)}


@dataclass(frozen=True)
class Verdict:
    """Outcome of one job."""

    status: str
    message: str = ""
    """Why it failed: the exception that ended the test (several lines where it has them), else the
    first error line of the log, or what is missing."""
    sim_ns: float = 0.0
    failure: Failure | None = None
    """More about the exception, as far as the bench could tell."""
    place: str = ""
    """File and line that raised it, unless it is a mismatch, which says all."""

    @property
    def ok(self) -> bool:
        return self.status == PASSED

    @property
    def cause(self) -> str:
        """One line."""
        text = self.failure.cause if self.failure else self.message.partition("\n")[0]
        return f"{text} ({self.place})" if self.place else text

    @property
    def signature(self) -> str:
        """Equal for failures with one cause: object, field and rule, or else the first line
        without its numbers.
        """
        if self.failure:
            return self.failure.signature
        kind = "" if self.status == FAILED else f"{self.status}: "
        return "" if self.ok else kind + without_numbers(self.cause)


def first_error(log: Path) -> str:
    """The first line of a log that names an error."""
    if not log.is_file():
        return ""
    with log.open(errors="replace") as lines:
        for line in lines:
            line = _ANSI.sub("", line).strip()
            if _ERROR.search(line) and not _NOT_A_CAUSE.search(line):
                return line
    return ""


def _failure_text(cases: list[ElementTree.Element]) -> tuple[str, str]:
    """The exception, and the innermost place that it came from: of a scenario, else of our code."""
    for node in (node for case in cases for node in case if node.tag in ("failure", "error")):
        text = (node.get("message") or node.text or "").strip()
        kind = node.get("type") or node.get("error_type") or node.tag
        frames = _FRAME.findall(node.text or "")
        frames = [frame for frame in frames if _SCENARIO.match(frame[0])] or frames
        return (f"{kind}: {text}" if text else kind), ":".join(frames[-1] if frames else ())
    return "", ""


_UNIT_NS = {"fs": 1e-6, "ps": 1e-3, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def _simulated_ns(cases: list[ElementTree.Element]) -> float:
    """Of all tests."""
    total = 0.0
    for case in cases:
        found = {item.get("name"): item.get("value") or "" for item in case.iter("property")}
        unit = _UNIT_NS[found.get("sim_time_unit", "ns")]
        total += float(found.get("sim_time_duration", 0)) * unit
    return total


def judge(results: Path, log: Path, exit_code: int) -> Verdict:
    """Only a run with at least one test, no failure, no skip, no error of the simulator and some
    simulated time has passed."""
    hint = first_error(log)
    try:
        tests, failures = get_results(results)
        cases = list(ElementTree.parse(results).getroot().iter("testcase"))
    except RuntimeError:
        return Verdict(
            NOT_RUN, hint or f"the simulator ended with status {exit_code} and no results file"
        )
    except ElementTree.ParseError as error:
        return Verdict(NOT_RUN, hint or f"{results.name} is incomplete: {error}")
    sim_ns = _simulated_ns(cases)
    skipped = sum(1 for case in cases if case.find("skipped") is not None)

    def verdict(status: str, message: str = "", place: str = "") -> Verdict:
        failure = read_failure(results.with_name(FAILURE_FILE), message) if message else None
        return Verdict(status, message, sim_ns, failure, "" if failure and failure.obj else place)

    if tests - skipped <= 0:
        what = f"{skipped} skipped" if skipped else "does the module import, is the name right?"
        return verdict(NOT_RUN, hint or f"no test ran ({what})")
    if failures:
        text, place = _failure_text(cases)
        return verdict(FAILED, text or hint or f"{failures} test(s) failed", place)
    if skipped:
        return verdict(NOT_RUN, f"{skipped} of {tests} tests were skipped")
    if exit_code:
        return verdict(FAILED, hint or f"tests passed, but the simulator's status was {exit_code}")
    if sim_ns <= 0:
        cure = "derive from CarillonTest and write `scenario`, not `run_phase`"
        return verdict(FAILED, f"passed at 0 ns: nothing was simulated: {cure}")
    return verdict(PASSED)
