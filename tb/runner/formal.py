# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of formal/*/proofs.yaml with sby, and shows that each can fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from tb.runner.common import (
    ROOT,
    SIM_BUILD,
    RunnerError,
    cpu_used,
    locked,
    merge_entries,
    prepare_environment,
    relative,
    replace_once,
)
from tb.runner.proofs import Plant, Proof, load_proofs
from tb.runner.simulator import execute

# -- k-induction, one assertion at a time ----------------------------------------------------------

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

    Asked about many assertions at once the solver may need a hundred times as long as for one after
    the other, if each is easy. Sound with a base case of as many cycles: a first violation would
    have all assertions hold in the ``k`` cycles before it.

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


FOLDER = SIM_BUILD / "formal"
OUT = SIM_BUILD / "formal.json"

PASS, FAIL = "PASS", "FAIL"


@dataclass(frozen=True)
class Run:
    """What one run of sby said."""

    status: str
    """PASS, FAIL, or what kept it from an answer: UNKNOWN, TIMEOUT, ERROR."""
    properties: tuple[str, ...]
    """Assertions (or covers) that were looked at."""
    failed: tuple[str, ...]
    """Assertions that fail, or covers that were not reached."""
    trace: Path | None
    depth: int
    """Depth at which an induction succeeded, deepest step of a cover; 0 if not told."""
    log: Path
    wall_s: float
    cpu_s: float = 0.0
    """Of sby and all that it started."""


@dataclass(frozen=True)
class Outcome:
    """A proof, its run, and one run for each planted fault that was asked for."""

    proof: Proof
    run: Run | None
    planted: tuple[tuple[Plant, Run | None, str], ...] = ()
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem and all(not problem for _, _, problem in self.planted)

    @property
    def status(self) -> str:
        if self.run is None:
            return "not run"
        if self.run.status == PASS and not self.problem:
            return self.proof.goal
        return {FAIL: "FAILED"}.get(self.run.status, self.run.status)

    @property
    def depth(self) -> int | None:
        """Clock cycles: of the induction, or looked at. None where there is no such number."""
        if self.run is None or self.proof.mode == "pdr":
            return None
        return self.run.depth or self.proof.depth


# -- one run of sby --------------------------------------------------------------------------------


def read_log(text: str) -> tuple[tuple[str, ...], str, int]:
    """(what failed, trace as sby names it, depth) from sby's log."""
    failed = [
        name
        for pattern in (r"failed assertion (\S+) at", r"unreached cover statement (\S+) at")
        for name in re.findall(pattern, text)
    ]
    # An induction that does not succeed leaves a trace of its own: where it got stuck.
    trace = re.search(r"(?:counterexample trace(?: \[\w+\])?): (\S+\.vcd)", text)
    stuck = re.search(r"Writing trace to VCD file: (\S*trace_induct\.vcd)", text)
    found = trace.group(1) if trace else stuck.group(1) if stuck else ""
    steps = [int(n) for n in re.findall(r"Trying induction in step (\d+)", text)]
    reached = [int(n) for n in re.findall(r"reached cover statement .* step (\d+)", text)]
    last = int(m.group(1)) if (m := re.search(r"smtbmc.* -t (\d+)", text)) else 0
    depth = last - steps[-1] if steps and last else max(reached, default=0)
    return tuple(dict.fromkeys(failed)), found, depth


def read_properties(design: str, kind: str) -> tuple[str, ...]:
    """Names of the assertions ("assert") or covers ("cover") in the design that sby has read."""
    cells = re.findall(r"^  cell \$(check|assert|cover) (\S+)\n((?:    .*\n)*)", design, re.M)
    names = [
        name.lstrip("\\")
        for cell, name, body in cells
        if cell == kind or f'FLAVOR "{kind}"' in body
    ]
    return tuple(sorted(names))


def run_proof(proof: Proof, folder: Path, places: dict[str, Path] | None = None) -> Run:
    """Prove ``proof`` in ``folder``; ``places``: copies of files that are read instead."""
    if proof.mode != "prove" or not proof.split:
        return run_sby(proof, folder, places)
    base = run_sby(proof, folder, places, base=True)
    if base.status != PASS:
        return base
    design = folder / proof.id / "model" / "design_smt2_nomem.smt2"
    start, used = time.monotonic(), cpu_used()
    try:
        stuck, depth = prove(design, proof.depth, proof.timeout)
    except TimeoutError:
        return replace(base, status="TIMEOUT")
    if stuck:  # sby leaves a trace
        return replace(run_sby(proof, folder, places), failed=stuck)
    wall_s, cpu_s = base.wall_s + time.monotonic() - start, base.cpu_s + cpu_used() - used
    return replace(base, depth=depth, wall_s=wall_s, cpu_s=cpu_s)


def run_sby(
    proof: Proof, folder: Path, places: dict[str, Path] | None = None, base: bool = False
) -> Run:
    """One run of sby; ``base``: of an induction its first cycles only."""
    prepare_environment()
    start = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    script, log, work = folder / f"{proof.id}.sby", folder / f"{proof.id}.log", folder / proof.id
    script.write_text(proof.script(places or {}, base))
    with log.open("w") as out:
        # It stops by itself at the time limit of a proof.
        ended = execute(["sby", "-f", script.name], folder, os.environ, out, None)
    text, told = log.read_text(), work / "status"
    status = told.read_text().split()[0] if told.is_file() else "ERROR"
    # A name that is declared nowhere, or `hierconn` of nothing (where a name is found, flattening
    # removes the attribute), would be a free signal, and what uses it no check.
    notes, design = work / "model" / "design.log", work / "model" / "design.il"
    said, made = (p.read_text(errors="replace") if p.is_file() else "" for p in (notes, design))
    if "implicitly declared" in said or "attribute \\hierconn" in made:
        status = "ERROR: undeclared name: model/design.log, or hierconn in model/design.il"
    failed, trace, depth = read_log(text)
    kind = "cover" if proof.mode == "cover" else "assert"
    properties = read_properties(made, kind)
    # sby names it from the one folder or from the other.
    place = next((at / trace for at in (folder, work) if (at / trace).is_file()), None)
    wall_s = time.monotonic() - start
    return Run(status, properties, failed, place, depth, log, wall_s, ended.cpu_s)


def judge(run: Run) -> str:
    """What is wrong; nothing if the proof holds."""
    if run.status == FAIL:
        return f"refuted: {', '.join(run.failed) or 'see the log'}"
    if run.status != PASS:
        return f"no answer: {run.status}{f': {names}' if (names := ', '.join(run.failed)) else ''}"
    return "" if run.properties else "nothing was looked at: the top level has no property"


def plant(fault: Plant, proof: Proof, folder: Path) -> dict[str, Path]:
    """A copy of the file with the mistake in it."""
    source = ROOT / fault.file
    where = f"{proof.id}: breaks_with"
    copy = folder / "faulty" / source.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(replace_once(source, fault.text, fault.replacement, where))
    return {fault.file: copy}


def judge_planted(fault: Plant, run: Run) -> str:
    """What is wrong; nothing if the mistake was refuted as it should be."""
    if run.status == PASS:
        return "holds with the fault in place: it does not check this"
    if run.status != FAIL:
        return f"no answer with the fault in place: {run.status}"
    if fault.fails and not any(fault.fails in name for name in run.failed):
        return f"refuted by {', '.join(run.failed)}, not by {fault.fails}"
    return ""


def faulty(proof: Proof, fault: Plant) -> Proof:
    """The run that must refute a fault: an induction that gets stuck would not tell whether the
    fault can be reached, so unbounded proofs have their assertions looked at cycle by cycle. With
    the macro PROPERTIES_ONLY top levels leave out what is there for the induction alone: the
    properties themselves must fail.
    """
    defines = (*proof.defines, "PROPERTIES_ONLY", *fault.defines.split())
    return replace(proof, mode="bmc", depth=fault.depth, defines=defines)


def attempt(proof: Proof, sound: bool, planted: bool) -> Outcome:
    """The proof itself, or with each of its planted faults."""
    folder = FOLDER / proof.id
    with locked(folder):
        run = run_proof(proof, folder) if sound else None
        problem = judge(run) if run else ""
        tried: list[tuple[Plant, Run | None, str]] = []
        for number, fault in enumerate(proof.breaks_with if planted else ()):
            place = folder / f"fault{number}"
            try:
                broken = run_proof(faulty(proof, fault), place, plant(fault, proof, place))
                tried.append((fault, broken, judge_planted(fault, broken)))
            except RunnerError as error:
                tried.append((fault, None, str(error)))
        return Outcome(proof, run, tuple(tried), problem)


# -- reports ---------------------------------------------------------------------------------------


def runs(outcome: Outcome) -> list[Run]:
    """All runs of a proof: itself, with its faults."""
    return [run for run in (outcome.run, *(run for _, run, _ in outcome.planted)) if run]


def explain(outcome: Outcome) -> str:
    """Why an outcome is not as it should be, with the commands that repeat it."""
    repeat = f"  repeat: make formal PROOF={outcome.proof.id}"
    lines = []
    if (run := outcome.run) and outcome.problem:
        lines += [outcome.problem, f"  {outcome.proof.statement}"]
        kind = "stuck induction" if run.status != FAIL else "counterexample"
        lines += [f"  {kind}: gtkwave {relative(run.trace)}"] if run.trace else []
        lines += [repeat, f"  log: {relative(run.log)}"]
    for fault, run, problem in outcome.planted:
        if problem:
            change = f"  {fault.file}: {fault.text} -> {fault.replacement}"
            lines += [problem, change, f"{repeat} PLANTED=1"]
            lines += [f"  log: {relative(run.log)}"] if run else []
    return "\n".join(lines)


def as_json(outcome: Outcome) -> dict[str, object]:
    proof, run = outcome.proof, outcome.run
    return {
        "property": proof.id,
        "statement": proof.statement,
        "module": proof.module,
        "requirements": list(proof.requirements),
        "parameters": proof.parameters,
        "mode": proof.mode,
        "status": outcome.status,
        "depth": outcome.depth,
        "assertions": list(run.properties) if run else [],
        "problem": outcome.problem,
        "trace": relative(run.trace) if run and run.trace else None,
        "wall_s": round(run.wall_s, 1) if run else None,
        "cpu_s": round(run.cpu_s, 1) if run else None,
        "planted": [
            {
                "file": fault.file,
                "text": fault.text,
                "replacement": fault.replacement,
                "refuted_by": list(broken.failed) if broken else [],
                "problem": problem,
            }
            for fault, broken, problem in outcome.planted
        ],
        "reproduce": f"make formal PROOF={proof.id}",
    }


def note(outcome: Outcome, path: Path = OUT) -> None:
    """Adds one outcome to formal.json: a result with planted faults and one without complete each
    other.
    """
    new = as_json(outcome)
    with locked(FOLDER):
        old = json.loads(path.read_text()) if path.is_file() else []
        for before in (entry for entry in old if entry["property"] == outcome.proof.id):
            if outcome.run is None:
                new = {**before, "planted": new["planted"]}
            elif not outcome.planted:
                new["planted"] = before["planted"]
        merge_entries(path, "property", [new], [proof.id for proof in load_proofs()])
