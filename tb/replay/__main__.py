# SPDX-License-Identifier: Apache-2.0
"""`make record` writes the records of a test to a file, `make replay` judges a file."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tb.env.scoreboard.explain import Mismatch
from tb.replay.file import FileError, read
from tb.replay.judge import Judge
from tb.replay.recorder import VARIABLE
from tb.runner.common import SIM_BUILD, RunnerError, relative
from tb.runner.discover import find_modules, select_jobs
from tb.runner.regress import build_all, run_job


def record(test: str, build: str | None, seed: int, out: Path | None) -> int:
    """Runs one test; 0 if it passed, 1 if it failed. The file is written in both cases."""
    jobs = select_jobs(find_modules(), [test], (seed,), "verilator", build)
    if len({(job.name, job.build) for job in jobs}) != 1:
        names = sorted({f"{job.name} [{job.build}]" for job in jobs})
        raise RunnerError(f"one test and one build can be recorded; these fit: {', '.join(names)}")
    job = jobs[0]
    path = (out or SIM_BUILD / "records" / f"{job.build}-{job.name}-s{seed}.gz").resolve()
    result = run_job(job, build_all([job])[job.build], extra_env={VARIABLE: str(path)})
    print(
        f"record: {job.name} [{job.build}] seed {seed}: {result.verdict.status}; {relative(path)}"
    )
    if not result.verdict.ok:
        print(f"  {result.verdict.message}")
    return 0 if result.verdict.ok else 1


def replay(path: Path) -> int:
    """0 if the scoreboard finds nothing, 1 if it does, 2 if the file cannot be read."""
    start = time.process_time()
    try:
        header, events = read(path)
        judge = Judge(header.seed)
        judge(events)
    except Mismatch as error:
        print(f"replay: mismatch\n{error}")
        return 1
    except FileError as error:
        print(f"replay: {error}")
        return 2
    seconds = time.process_time() - start
    counts = judge.facts.counts
    print(
        f"replay: {counts['records']:,} records, {counts['completions']:,} completions, no "
        f"mismatch; {len(judge.counts)} bins hit; {seconds:.1f} s of processor time, "
        f"{counts['completions'] / seconds:,.0f} completions/s"
    )
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m tb.replay", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("test")
    recording.add_argument("--build", default="")
    recording.add_argument("--seed", default="")
    recording.add_argument("--out", type=Path)
    commands.add_parser("replay").add_argument("file", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "replay":
        return replay(given.file)
    try:
        return record(given.test, given.build or None, int(given.seed or 1), given.out)
    except RunnerError as error:
        print(f"record: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
