# SPDX-License-Identifier: Apache-2.0
"""Reruns one test in a build that records waves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tb.runner.builds import get_build, load_builds
from tb.runner.common import ROOT, SIM_BUILD, RunnerError, relative
from tb.runner.discover import Job
from tb.runner.regress import Result, make_builds, run_job
from tb.runner.selection import Selection

SAVE_FILE = ROOT / "tb" / "waves" / "carillon.gtkw"


def _record(job: Job, selection: Selection, told: Callable[[str], None]) -> tuple[Result, Path]:
    """Builds and runs with waves; raises RunnerError if there are none in the end."""
    config = selection.config(get_build(load_builds(), job.build, job.sim))
    for error in make_builds([(config, job.sim)], waves=True, told=told).values():
        raise RunnerError(error)
    folder = SIM_BUILD / "waves"
    folder.mkdir(parents=True, exist_ok=True)
    wave = folder / f"{job.test}-{job.variant}.fst"
    wave.unlink(missing_ok=True)
    result = run_job(job, config, waves=wave)
    if not wave.is_file() or not wave.stat().st_size:
        raise RunnerError(f"the simulation wrote no waves; see {relative(result.log)}")
    return result, wave


def _open(wave: Path) -> str:
    save = f" {relative(SAVE_FILE)}" if SAVE_FILE.is_file() else ""
    return f"gtkwave {relative(wave)}{save}"


def rerun_with_waves(job: Job, selection: Selection, told: Callable[[str], None]) -> list[str]:
    """Lines that say where the waves of a failing job are, or why there are none."""
    told(f"waves of the first failing simulation, {job.id}; WAVES=0 leaves them out")
    try:
        result, wave = _record(job, selection, told)
    except (RunnerError, OSError) as error:
        return [f"no waves of {job.id}: {error}"]
    same = "" if not result.verdict.ok else " (with waves it has passed)"
    return [f"waves of {job.id}{same}:", f"  {_open(wave)}"]


def run_waves(jobs: Sequence[Job], selection: Selection) -> int:
    """Record the first seed of the one test that was asked for; 1 if it fails."""
    names = list(dict.fromkeys((job.name, job.build) for job in jobs))
    if len(names) > 1:
        listed = "\n  ".join(f"{name} (BUILD={build})" for name, build in names[:20])
        raise RunnerError(f"waves are for one test; name one with TEST= (and BUILD=):\n  {listed}")
    result, wave = _record(jobs[0], selection, lambda line: print(line, flush=True))
    print(f"{jobs[0].id}: {result.verdict.status}, {result.wall_s:.1f} s")
    if not result.verdict.ok:
        print(f"  {result.verdict.message}")
    print(f"open the waves with:\n  {_open(wave)}")
    return 0 if result.verdict.ok else 1
