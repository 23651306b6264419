# SPDX-License-Identifier: Apache-2.0
"""k-induction, one assertion at a time: asked about many at once the solver may need a hundred
times as long as for one after the other, if each is easy.

Sound with a base case of as many cycles: a first violation would have all assertions hold in the
``k`` cycles before it.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

from tb.runner.common import RunnerError

#: A SAT solver of its own: faster on one query than the incremental one.
SOLVER = ("yices-smt2", "--delegate=y2sat")
HEAD = "(set-option :produce-models true)\n(set-logic QF_AUFBV)\n"


def assertions(design: str) -> list[tuple[str, str]]:
    """(number, name) of each assertion in what Yosys' ``write_smt2`` has written."""
    found = re.findall(r"^; yosys-smt2-assert (\d+) (\S+)", design, re.M)
    if [n for n, _ in found] != re.findall(r"^\(define-fun \|\S+_a (\d+)\|", design, re.M):
        raise RunnerError("an assertion of write_smt2 has no name: it would not be looked at")
    return found


def query(design: str, function: str, cycles: int) -> str:
    """Satisfiable if the assertion can fail in a cycle that ``cycles`` good ones lead to."""
    top = re.findall(r"^; yosys-smt2-topmod (\S+)", design, re.M)[-1]
    lines = [HEAD, design]
    for n in range(cycles + 1):
        lines.append(f"(declare-fun s{n} () |{top}_s|)")
        lines += [f"(assert (|{top}_{part}| s{n}))" for part in "uh"]
        lines.append(f"(assert (not (|{top}_is| s{n})))")
        if n < cycles:
            lines.append(f"(assert (|{top}_a| s{n}))")
        if n:
            lines.append(f"(assert (|{top}_t| s{n - 1} s{n}))")
    lines += [f"(assert (not (|{top}_a {function}| s{cycles})))", "(check-sat)", ""]
    return "\n".join(lines)


def prove(path: Path, depth: int, limit_s: float) -> tuple[tuple[str, ...], int]:
    """(assertions that no induction of at most ``depth`` cycles proves, longest one needed).

    Raises ``TimeoutError`` after ``limit_s`` seconds, ``RunnerError`` if the solver fails.
    """
    design, end = path.read_text(), time.monotonic() + limit_s
    stuck, longest = [], 0
    for function, name in assertions(design):
        for cycles in range(1, depth + 1):
            text = query(design, function, cycles)
            left = max(1.0, end - time.monotonic())
            try:
                done = subprocess.run(
                    SOLVER, input=text, capture_output=True, text=True, timeout=left, check=False
                )
            except subprocess.TimeoutExpired as error:
                raise TimeoutError(f"{name}: no answer in {limit_s:.0f} s") from error
            answer = done.stdout.strip()
            if answer not in ("sat", "unsat"):
                raise RunnerError(f"yices-smt2: {name}: {(answer + done.stderr).strip()[:200]}")
            if answer == "unsat":
                longest = max(longest, cycles)
                break
        else:
            stuck.append(name)
    return tuple(stuck), longest
