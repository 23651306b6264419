# SPDX-License-Identifier: Apache-2.0
"""Negative tests: the regression's tests must fail on a design that is broken on purpose.

Each fault of tb/faults/*.yaml is planted in a copy of the design; the tests that it names must
then fail with the error that it names. A test that passes there checks nothing.
"""

from __future__ import annotations

import fnmatch
import json
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import yaml

from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.common import HDL, ROOT, SIM_BUILD, RunnerError, cpu_count, locked, relative
from tb.runner.discover import Job, Module, find_modules, select_jobs
from tb.runner.parallel import run_parts
from tb.runner.regress import Result, run_job, table
from tb.runner.results import FAILED, PASSED
from tb.runner.simulator import build

FAULTS = ROOT / "tb" / "faults"
FOLDER = SIM_BUILD / "negatives"

#: Wall time of a test: the longest takes two minutes in a build that is not optimised, on a slow
#: machine. A fault that makes a test hang is not found by a check; it need not be waited for.
TIMEOUT_S = 180.0


@dataclass(frozen=True)
class Fault:
    """A mistake to plant: ``text`` occurs once in ``file`` and becomes ``replacement``."""

    id: str
    stands_for: str
    requirements: tuple[str, ...]
    file: str
    text: str
    replacement: str
    fails: dict[str, str]
    """Tests that must fail, and a part of the error that each must name; "" is any error."""


@dataclass(frozen=True)
class FaultyBuild(BuildConfig):
    """A build of a copy of the design."""

    place: Path = FOLDER

    def folder(self, sim: str, waves: bool) -> Path:  # noqa: ARG002
        return self.place


@dataclass(frozen=True)
class Outcome:
    """What became of one fault; without ``problem`` it was found as it should be."""

    fault: Fault
    problem: str
    results: tuple[Result, ...]
    wall_s: float

    @property
    def status(self) -> str:
        return FAILED if self.problem else PASSED


# -- the list of faults ----------------------------------------------------------------------------


def _fault(data: object, where: str) -> Fault:
    keys = [item.name for item in fields(Fault)]
    if not isinstance(data, dict) or set(data) != set(keys):
        raise RunnerError(f"{where}: a fault has exactly the keys {', '.join(keys)}: {data!r}")
    where = f"{where}: {data['id']}"
    tests, requirements = data["fails"], data["requirements"]
    if not isinstance(tests, dict) or not tests:
        raise RunnerError(f"{where}: `fails` must map tests to a part of their error")
    if not isinstance(requirements, list) or not requirements:
        raise RunnerError(f"{where}: `requirements` must be a list")
    texts = [data[key] for key in keys if key not in ("fails", "requirements")]
    texts += [*tests, *tests.values(), *requirements]
    if not all(isinstance(text, str) for text in texts) or not data["text"].strip():
        raise RunnerError(f"{where}: everything must be text, and `text` must not be empty")
    if data["text"] == data["replacement"]:
        raise RunnerError(f"{where}: `replacement` is the same as `text`")
    return Fault(**{**data, "requirements": tuple(requirements), "fails": dict(tests)})


def load_faults(folder: Path = FAULTS) -> list[Fault]:
    """The planted faults of all files of the folder."""
    faults: list[Fault] = []
    for path in sorted(folder.glob("*.yaml")):
        where = relative(path)
        try:
            data = yaml.safe_load(path.read_text())
        except (OSError, yaml.YAMLError) as error:
            raise RunnerError(f"{where}: {error}") from None
        entries = data.get("faults") if isinstance(data, dict) else None
        if not isinstance(entries, list) or not entries:
            raise RunnerError(f"{where}: must have a list `faults`")
        faults += [_fault(entry, where) for entry in entries]
    where = relative(folder)
    if not faults:
        raise RunnerError(f"{where}: no file with faults")
    names = [fault.id for fault in faults]
    for name in names:
        if names.count(name) > 1:
            raise RunnerError(f"{where}: {name}: a second fault of this name")
    return faults


def choose(faults: Sequence[Fault], patterns: Iterable[str]) -> list[Fault]:
    """Those whose names match one of the patterns; without patterns all."""
    patterns = list(patterns)
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(fault.id, pattern) for fault in faults):
            known = ", ".join(fault.id for fault in faults)
            raise RunnerError(f"FAULT={pattern} matches no fault; known: {known}")
    return [
        fault
        for fault in faults
        if not patterns or any(fnmatch.fnmatchcase(fault.id, p) for p in patterns)
    ]


def representatives(faults: Sequence[Fault]) -> list[Fault]:
    """One for every second file, if possible one that a test module finds which finds none of the
    others. A build takes ten times as long as its test: one for each file would take a quarter of
    the time of the whole check.
    """
    shown: set[str] = set()
    chosen: dict[str, Fault] = {}
    for name in list(dict.fromkeys(fault.file for fault in faults))[::2]:
        of_file = [fault for fault in faults if fault.file == name]
        modules = {f.id: {test.partition(".")[0] for test in f.fails} for f in of_file}
        chosen[name] = next((f for f in of_file if modules[f.id] - shown), of_file[0])
        shown |= modules[chosen[name].id]
    return [fault for fault in faults if fault in chosen.values()]


def plant(fault: Fault, hdl: Path) -> None:
    """Changes one place of the design in the folder ``hdl``."""
    path = next(hdl.rglob(fault.file), None)
    if path is None:
        raise RunnerError(f"{fault.id}: no file {fault.file} in {relative(HDL)}")
    source = path.read_text()
    count = source.count(fault.text)
    if count != 1:
        found = "does not occur" if not count else f"occurs {count} times, not once,"
        raise RunnerError(
            f"{fault.id}: the text to replace {found} in {relative(HDL)}/{fault.file}; correct "
            f"`text` in {relative(FAULTS)}:\n{fault.text}"
        )
    path.write_text(source.replace(fault.text, fault.replacement))


def jobs_of(fault: Fault, modules: Sequence[Module]) -> list[Job]:
    """One job for each test, with its first seed and build."""
    known = {f"{m.short}.{test}" for m in modules for test in m.tests}
    for test in fault.fails:
        if test not in known:
            raise RunnerError(f"{fault.id}: no such test: {test} (write module.Test)")
    return [select_jobs(modules, [test], sim="verilator")[0] for test in fault.fails]


# -- running ---------------------------------------------------------------------------------------


def judge_result(result: Result, error: str) -> str:
    """What is wrong; nothing if the test failed as it should."""
    verdict, name = result.verdict, result.job.name
    if verdict.ok:
        return f"{name} passes with the fault in place: it does not check this"
    if verdict.status != FAILED:
        return f"{name} did not come to an end: {verdict.status}: {verdict.message}"
    if error not in verdict.message:
        return f"{name} failed with another error than {error!r}: {verdict.message}"
    return ""


def faulty_build(config: BuildConfig, folder: Path) -> FaultyBuild:
    """The same build, with the design in ``folder``/hdl."""
    copy = relative(folder / "hdl")

    def moved(name: str) -> str:
        return copy + name.removeprefix("hdl") if name.split("/")[0] == "hdl" else name

    values = {item.name: getattr(config, item.name) for item in fields(BuildConfig)}
    values |= {
        "sources": tuple(map(moved, config.sources)),
        "includes": tuple(map(moved, config.includes)),
        # Short runs: compiling takes longer than what a faster simulation would save. In one file
        # headers are compiled once.
        "build_args": (*config.build_args, "-CFLAGS", "-O0", "--output-split", "0"),
        "timeout_s": TIMEOUT_S,
    }
    return FaultyBuild(**values, place=folder / f"build-{config.name}")


def _drop_intermediate(folder: Path) -> None:
    """Precompiled headers and objects of all faults together would fill gigabytes."""
    for path in folder.iterdir():
        if path.suffix in (".gch", ".o", ".a"):
            path.unlink()


def attempt(fault: Fault, jobs: Sequence[Job], builds: dict[str, BuildConfig]) -> Outcome:
    """Plant, build, run; an error on the way is a problem, too."""
    start = time.monotonic()
    folder = FOLDER / fault.id
    results: list[Result] = []
    problem = ""
    try:
        with locked(folder):
            shutil.rmtree(folder / "hdl", ignore_errors=True)
            shutil.copytree(HDL, folder / "hdl")
            plant(fault, folder / "hdl")
            for job in jobs:
                config = faulty_build(get_build(builds, job.build, job.sim), folder)
                if build(config, job.sim, processes=1):
                    _drop_intermediate(config.folder(job.sim, False))
                # A name of its own keeps its files apart from those of the regression.
                job = replace(job, build=f"{job.build}-{fault.id}")
                results.append(run_job(job, config))
    except RunnerError as error:
        problem = str(error)
    except OSError as error:  # what an interrupted build left behind
        problem = f"{error}: remove {relative(folder)} and run again"
    judged = [judge_result(result, fault.fails[result.job.name]) for result in results]
    problem = "\n".join(filter(None, [problem, *judged]))
    return Outcome(fault, problem, tuple(results), time.monotonic() - start)


def report(outcomes: Sequence[Outcome]) -> str:
    """The table, and below it what is wrong."""
    rows = [
        (
            o.fault.id,
            " ".join(o.fault.requirements),
            ", ".join(o.fault.fails),
            "not found" if o.problem else "found",
            f"{o.wall_s:.1f}",
        )
        for o in outcomes
    ]
    text = table(("fault", "requirements", "tests that must fail", "result", "wall s"), rows, (4,))
    for o in outcomes:
        if o.problem:
            text += f"\n\nFAILED: make negatives FAULT={o.fault.id}\n  {o.fault.stands_for}"
            text += f"\n  {o.problem}"
            text += "".join(f"\n  log: {relative(r.log)}" for r in o.results)
    return text


def write_outcomes(outcomes: Sequence[Outcome], path: Path) -> None:
    data = [
        {
            "id": o.fault.id,
            "stands_for": o.fault.stands_for,
            "requirements": list(o.fault.requirements),
            "status": o.status.lower(),
            "problem": o.problem,
            "wall_s": round(o.wall_s, 3),
            "tests": [
                {
                    "test": r.job.name,
                    "status": r.verdict.status.lower().replace(" ", "_"),
                    "message": r.verdict.message,
                    "log": relative(r.log),
                }
                for r in o.results
            ],
            "reproduce": f"make negatives FAULT={o.fault.id}",
        }
        for o in outcomes
    ]
    path.write_text(json.dumps(data, indent=1) + "\n")


def run_negatives(
    patterns: Iterable[str] = (), processes: int | None = None, quick: bool = False
) -> tuple[int, int]:
    """Plant every fault that is asked for; returns (faults found, faults not found). ``quick``: one
    for every second file of the design.
    """
    SIM_BUILD.mkdir(exist_ok=True)
    out = SIM_BUILD / "negatives.json"
    # Results of an earlier run must not be taken for those of a run that was cut short.
    out.unlink(missing_ok=True)
    known = choose(load_faults(), patterns)
    faults = representatives(known) if quick else known
    modules, builds = find_modules(), load_builds()
    # Before the first build: a wrong name is told at once.
    jobs = {fault.id: jobs_of(fault, modules) for fault in faults}
    processes = processes or cpu_count()
    print(f"{len(faults)} fault(s) to plant, {processes} at a time", flush=True)
    if len(faults) < len(known):
        print(
            f"one for every second file; `make negatives` plants all {len(known)}",
            flush=True,
        )
    start = time.monotonic()

    def told(outcome: Outcome, _left: int, elapsed: float) -> str:
        return (
            f"{outcome.status:<7} {outcome.fault.id}, {outcome.wall_s:.1f} s "
            f"({elapsed:.0f} s elapsed)"
        )

    outcomes = run_parts(
        lambda fault: attempt(fault, jobs[fault.id], builds), faults, processes, told
    )
    write_outcomes(outcomes, out)
    found = sum(not outcome.problem for outcome in outcomes)
    print(f"\n{report(outcomes)}")
    print(
        f"\nnegative tests: {found} of {len(outcomes)} fault(s) found in "
        f"{time.monotonic() - start:.0f} s; written to {relative(out)}",
        flush=True,
    )
    return found, len(outcomes) - found
