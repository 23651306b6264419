# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of formal/*/proofs.yaml with sby, and shows that each can fail."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tb.runner import induction
from tb.runner.common import (
    ROOT,
    SIM_BUILD,
    RunnerError,
    locked,
    prepare_environment,
    relative,
    write_whole,
)
from tb.runner.proofs import Plant, Proof, load_proofs
from tb.runner.simulator import forget, kill_group, remember

FOLDER = SIM_BUILD / "formal"
OUT = SIM_BUILD / "formal.json"

PASS, FAIL = "PASS", "FAIL"
#: sby stops by itself at the time limit of a proof; this is for an sby that hangs.
GRACE_S = 60.0


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


def _children_cpu_s() -> float:
    """Processor seconds of all processes that this one has waited for."""
    now = os.times()
    return now.children_user + now.children_system


def run_proof(proof: Proof, folder: Path, places: dict[str, Path] | None = None) -> Run:
    """Prove ``proof`` in ``folder``; ``places``: copies of files that are read instead."""
    if proof.mode != "prove" or not proof.split:
        return run_sby(proof, folder, places)
    base = run_sby(proof, folder, places, base=True)
    if base.status != PASS:
        return base
    design = base.log.parent / "model" / "design_smt2_nomem.smt2"
    start, used = time.monotonic(), _children_cpu_s()
    try:
        stuck, depth = induction.prove(design, proof.depth, proof.timeout)
    except TimeoutError:
        return replace(base, status="TIMEOUT")
    if stuck:  # sby leaves a trace
        return replace(run_sby(proof, folder, places), failed=stuck)
    wall_s, cpu_s = base.wall_s + time.monotonic() - start, base.cpu_s + _children_cpu_s() - used
    return replace(base, depth=depth, wall_s=wall_s, cpu_s=cpu_s)


def run_sby(
    proof: Proof, folder: Path, places: dict[str, Path] | None = None, base: bool = False
) -> Run:
    """One run of sby; ``base``: of an induction its first cycles only."""
    prepare_environment()
    start, used = time.monotonic(), _children_cpu_s()
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / f"{proof.id}.sby"
    script.write_text(proof.script(places or {}, base))
    work = folder / proof.id
    log = work / "logfile.txt"
    with subprocess.Popen(
        ["sby", "-f", script.name],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        remember(process)
        try:
            text = process.communicate(timeout=proof.timeout + GRACE_S)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text = process.communicate()[0]
        except BaseException:
            kill_group(process)
            raise
        finally:
            forget(process)
    try:
        status = (work / "status").read_text().split()[0]
    except (OSError, IndexError):
        status = "ERROR"
    if not log.is_file():  # sby itself did not start
        work.mkdir(exist_ok=True)
        log.write_text(text)
    # A name that is declared nowhere, or `hierconn` of nothing (where a name is found, flattening
    # removes the attribute), would be a free signal, and what uses it no check.
    notes, design = work / "model" / "design.log", work / "model" / "design.il"
    said, made = (p.read_text(errors="replace") if p.is_file() else "" for p in (notes, design))
    if "implicitly declared" in said or "attribute \\hierconn" in made:
        status = "ERROR: undeclared name: model/design.log, or hierconn in model/design.il"
    failed, trace, depth = read_log(text)
    kind = "cover" if proof.mode == "cover" else "assert"
    properties = read_properties(made, kind)
    place = None
    if trace:
        place = folder / trace if (folder / trace).is_file() else work / trace
    wall_s, cpu_s = time.monotonic() - start, _children_cpu_s() - used
    return Run(status, properties, failed, place, depth, log, wall_s, cpu_s)


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
    if not source.is_file():
        raise RunnerError(f"{proof.id}: breaks_with: no file {fault.file}")
    text = source.read_text()
    count = text.count(fault.text)
    if count != 1:
        found = "does not occur" if not count else f"occurs {count} times, not once,"
        raise RunnerError(f"{proof.id}: breaks_with: {fault.text!r} {found} in {fault.file}")
    copy = folder / "faulty" / source.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text.replace(fault.text, fault.replacement))
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
    parts = []
    if outcome.problem and outcome.run:
        parts.append(f"{outcome.problem}\n  {outcome.proof.statement}")
        if outcome.run.trace:
            kind = "stuck induction" if outcome.run.status != FAIL else "counterexample"
            parts.append(f"  {kind}: gtkwave {relative(outcome.run.trace)}")
        parts.append(f"  repeat: make formal PROOF={outcome.proof.id}")
        parts.append(f"  log: {relative(outcome.run.log)}")
    for fault, run, problem in outcome.planted:
        if problem:
            parts.append(f"{problem}\n  {fault.file}: {fault.text} -> {fault.replacement}")
            parts.append(f"  repeat: make formal PROOF={outcome.proof.id} PLANTED=1")
            parts += [f"  log: {relative(run.log)}"] if run else []
    return "\n".join(parts)


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


def merge(path: Path, outcomes: Sequence[Outcome], order: Sequence[str]) -> list[dict[str, object]]:
    """Entries of an earlier run stay, unless they are of a proof that was run again: a result with
    planted faults and one without complete each other."""
    try:
        old = {item["property"]: item for item in json.loads(path.read_text())}
    except (OSError, ValueError, KeyError, TypeError):
        old = {}
    for outcome in outcomes:
        new = as_json(outcome)
        before = old.get(outcome.proof.id)
        if before and outcome.run is None:
            new = {**before, "planted": new["planted"]}
        elif before and not outcome.planted:
            new["planted"] = before.get("planted", [])
        old[outcome.proof.id] = new
    return [old[name] for name in order if name in old]


def note(outcome: Outcome) -> None:
    """Adds one outcome to formal.json."""
    order = [proof.id for proof in load_proofs()]
    with locked(FOLDER):
        write_whole(OUT, json.dumps(merge(OUT, [outcome], order), indent=1) + "\n")
