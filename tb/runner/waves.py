# SPDX-License-Identifier: Apache-2.0
"""Reruns one test in a build that records waves."""

from __future__ import annotations

from collections.abc import Sequence

from tb.runner.common import ROOT, SIM_BUILD, RunnerError, relative
from tb.runner.discover import Job
from tb.runner.regress import build_all, run_job

SAVE_FILE = ROOT / "tb" / "waves" / "carillon.gtkw"


def run_waves(jobs: Sequence[Job]) -> int:
    """Record the first seed of the one test that was asked for."""
    names = list(dict.fromkeys((job.name, job.build) for job in jobs))
    if len(names) > 1:
        listed = "\n  ".join(f"{name} (BUILD={build})" for name, build in names[:20])
        raise RunnerError(f"waves are for one test; name one with TEST= (and BUILD=):\n  {listed}")
    job = jobs[0]
    config = build_all([job], waves=True)[job.build]
    folder = SIM_BUILD / "waves"
    folder.mkdir(parents=True, exist_ok=True)
    wave = folder / f"{job.test}.fst"
    wave.unlink(missing_ok=True)
    result = run_job(job, config, waves=wave)
    print(f"{job.name} seed {job.seed}: {result.verdict.status}, {result.wall_s:.1f} s")
    if not result.verdict.ok:
        print(f"  {result.verdict.message}")
    if not wave.is_file() or not wave.stat().st_size:
        raise RunnerError(f"the simulation wrote no waves; see {relative(result.log)}")
    save = f" {relative(SAVE_FILE)}" if SAVE_FILE.is_file() else ""
    print(f"open the waves with:\n  gtkwave {relative(wave)}{save}")
    return 0
