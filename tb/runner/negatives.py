# SPDX-License-Identifier: Apache-2.0
"""Negative tests: the regression's tests must fail on a design that is broken on purpose.

Each fault of tb/faults/*.yaml is planted in a copy of the design; the tests that it names must
then fail with the error that it names. A test that passes there checks nothing.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tb.runner.builds import BuildConfig, get_build
from tb.runner.common import HDL, ROOT, SIM_BUILD, RunnerError, locked, relative, replace_once
from tb.runner.discover import Job, Module, all_tests, select_jobs
from tb.runner.listed import parse, read_all
from tb.runner.regress import Result, run_job
from tb.runner.results import FAILED, PASSED
from tb.runner.simulator import build

FAULTS = ROOT / "tb" / "faults"
OUT = SIM_BUILD / "negatives.json"
FOLDER = SIM_BUILD / "negatives"

#: Processor time of a test: the longest takes two minutes in a build that is not optimised. A
#: fault that makes a test hang is not found by a check; it need not be waited for.
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
    fault = parse(Fault, data, where)
    where = f"{where}: {fault.id}"
    if not fault.fails or not fault.requirements or not fault.text.strip():
        raise RunnerError(f"{where}: `fails`, `requirements` and `text` must not be empty")
    if fault.text == fault.replacement:
        raise RunnerError(f"{where}: `replacement` is the same as `text`")
    return fault


def load_faults(folder: Path = FAULTS) -> list[Fault]:
    """The planted faults of all files of the folder; of one file, if it is one."""
    return read_all(folder, "faults", _fault)


def plant(fault: Fault, hdl: Path) -> None:
    """Changes one place of the design in the folder ``hdl``."""
    path = next(hdl.rglob(fault.file), hdl / fault.file)
    path.write_text(replace_once(path, fault.text, fault.replacement, f"{fault.id} (tb/faults)"))


def jobs_of(fault: Fault, modules: Sequence[Module]) -> list[Job]:
    """One job for each test, with its first seed and build."""
    known = all_tests(modules)
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
    log = result.log.read_text(errors="replace") if result.log.is_file() else ""
    if error not in verdict.message and error not in log:
        return f"{name} failed with another error than {error!r}: {verdict.message}"
    return ""


def faulty_build(config: BuildConfig, folder: Path) -> BuildConfig:
    """The same build, with the design in ``folder``/hdl."""
    copy = relative(folder / "hdl")

    def moved(name: str) -> str:
        return copy + name.removeprefix("hdl") if name.split("/")[0] == "hdl" else name

    return replace(
        config,
        sources=tuple(map(moved, config.sources)),
        includes=tuple(map(moved, config.includes)),
        # Short runs: compiling takes longer than what a faster simulation would save. In one file
        # headers are compiled once.
        build_args=(*config.build_args, "-CFLAGS", "-O0", "--output-split", "0"),
        timeout_s=TIMEOUT_S,
        place=folder / f"build-{config.name}",
    )


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


def as_json(outcome: Outcome) -> dict[str, object]:
    """The entry of negatives.json."""
    return {
        "id": outcome.fault.id,
        "stands_for": outcome.fault.stands_for,
        "requirements": list(outcome.fault.requirements),
        "status": outcome.status.lower(),
        "problem": outcome.problem,
        "wall_s": round(outcome.wall_s, 3),
        "tests": [
            {
                "test": r.job.name,
                "status": r.verdict.status.lower().replace(" ", "_"),
                "message": r.verdict.message,
                "log": relative(r.log),
            }
            for r in outcome.results
        ],
        "reproduce": f"make negatives FAULT={outcome.fault.id}",
    }
