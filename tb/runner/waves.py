# SPDX-License-Identifier: Apache-2.0
"""Runs one test again in a build that records waves."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.common import SIM_BUILD, RunnerError, locked, relative
from tb.runner.discover import Job
from tb.runner.regress import Result, make_builds, run_job
from tb.runner.results import Failure
from tb.runner.selection import Selection
from tb.waves.save_file import check_objects, number_of, object_argument, write_save_file
from tb.waves.stories import write_stories


def wave_file(job: Job) -> Path:
    """Where the waves of a job are put."""
    return SIM_BUILD / "waves" / f"{job.test}-{job.build}-{job.sim}-s{job.seed}.fst"


def _record(
    job: Job, selection: Selection, told: Callable[[str], None], looked_at: Mapping[str, int]
) -> tuple[Result, str]:
    """Builds and runs with waves; returns with the command that opens them. Raises RunnerError if
    there are none in the end. ``looked_at``: kinds of objects and their numbers.
    """
    config = selection.config(get_build(load_builds(), job.build, job.sim))
    check_objects(config, looked_at)
    named = ["+wave_{}={}".format(*number_of(obj, n)) for obj, n in looked_at.items()]
    config = replace(config, sim_args=(*config.sim_args, *named))
    for error in make_builds([(config, job.sim)], waves=True, told=told).values():
        raise RunnerError(error)
    with locked(wave_file(job).parent):
        return _simulate(job, config, wave_file(job))


def _simulate(job: Job, config: BuildConfig, wave: Path) -> tuple[Result, str]:
    """Writes the waves and the files that go with them, which nobody else may write meanwhile."""
    wave.unlink(missing_ok=True)
    result = run_job(job, config, waves=wave)
    failing = object_argument(result.verdict.failure)
    if failing and failing.partition("=")[0] not in " ".join(config.sim_args):
        # Which object it is about was not known before.
        config = replace(config, sim_args=(*config.sim_args, failing))
        result = run_job(job, config, waves=wave)
    if not wave.is_file() or not wave.stat().st_size:
        raise RunnerError(f"the simulation wrote no waves; see {relative(result.log)}")
    failure = _failure(result)
    full = "FULL" in config.defines
    save = write_save_file(wave, failure, full)
    numbers = dict.fromkeys(("cq", "qp", "srq", "key"), 0)
    for word in config.sim_args:
        kind, _, number = word.removeprefix("+wave_").partition("=")
        numbers |= {kind: int(number)} if kind in numbers else {}
    end = round(result.verdict.sim_ns * 1000)
    views = write_stories(wave, numbers, end, failure.time_ps if failure else -1, full)
    opening = [f"gtkwave {relative(wave)} {relative(view)}" for view in (save, *views)]
    return result, "\n  ".join(opening)


def _failure(result: Result) -> Failure | None:
    """Where the marker belongs: at the end, if the bench did not tell."""
    verdict = result.verdict
    if verdict.ok or verdict.failure:
        return verdict.failure
    error, _, text = verdict.cause.partition(": ")
    return Failure(error, text, cycle=-1, time_ps=round(verdict.sim_ns * 1000))


def rerun_with_waves(
    job: Job, selection: Selection, told: Callable[[str], None]
) -> tuple[str, list[str]]:
    """Waves of a failing job: the command that opens them, and lines for the user that say so, or
    why there are none.
    """
    told(f"waves of the first failing simulation, {job.id}; WAVES=0 leaves them out")
    try:
        result, command = _record(job, selection, told, {})
    except (RunnerError, OSError) as error:
        return "", [f"no waves of {job.id}: {error}"]
    same = "" if not result.verdict.ok else " (with waves it has passed)"
    return command, [f"waves of {job.id}{same}:", f"  {command}"]


def run_waves(jobs: Sequence[Job], selection: Selection, looked_at: Mapping[str, int]) -> int:
    """Record the first seed of the one test that was asked for; 1 if it fails."""
    names = list(dict.fromkeys((job.name, job.build) for job in jobs))
    if len(names) > 1:
        listed = "\n  ".join(f"{name} (BUILD={build})" for name, build in names[:20])
        raise RunnerError(f"waves are for one test; name one with TEST= (and BUILD=):\n  {listed}")
    result, command = _record(jobs[0], selection, lambda line: print(line, flush=True), looked_at)
    verdict = result.verdict
    print(f"{jobs[0].id}: {verdict.status}, {result.wall_s:.1f} s")
    if not verdict.ok:
        print(f"  {verdict.cause}")
    print(f"open the waves with:\n  {command}")
    if verdict.ok and not find_spec("pywellen"):
        print(
            "the views show the whole run: `make setup` installs pywellen, which finds their steps"
        )
    if not shutil.which("gtkwave"):
        print("GTKWave is not installed (Debian: apt-get install gtkwave)")
    return 0 if verdict.ok else 1
