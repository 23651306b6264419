# SPDX-License-Identifier: Apache-2.0
"""`make record` writes the records of a test to a file, `make replay` judges a file, and
`make bench-tb` measures how fast records are judged.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tb.env.scoreboard.explain import Mismatch
from tb.replay.file import FileError
from tb.replay.judge import judge_file
from tb.replay.recorder import VARIABLE
from tb.replay.speed import bench
from tb.runner.common import SIM_BUILD, RunnerError, prepare_environment, relative, whole_number
from tb.runner.discover import find_modules, select_jobs
from tb.runner.regress import build_all, run_job

#: Lowest seed of `make bench-tb`, from which on the tests run long, and the usual one.
LONG, USUAL = 1000, 5001


def record(test: str, build: str | None, seed: int, out: Path | None) -> int:
    """Runs one test; 0 if it passed, 1 if it failed. The file is written in both cases."""
    if not test:
        raise RunnerError("name a test with TEST=; `make list` names all")
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
    try:
        judge, seconds = judge_file(path)
    except Mismatch as error:
        print(f"replay: mismatch\n{error}")
        return 1
    except FileError as error:
        print(f"replay: {error}")
        return 2
    except (TypeError, AttributeError, IndexError, KeyError) as error:
        # Not a contradiction of the engine: the checks cannot work with such a record.
        print(f"replay: {path}: a value of another kind than docs/replay.md says: {error}")
        return 2
    counts = judge.facts.counts
    source = sys.modules[judge_file.__module__].__file__ or ""
    kind = "Python" if source.endswith(".py") else "machine code"
    print(
        f"replay: {counts['records']:,} records, {counts['completions']:,} completions, no "
        f"mismatch; {len(judge.counts)} bins hit; {seconds:.1f} s of processor time, "
        f"{counts['completions'] / seconds:,.0f} completions/s; checks as {kind}"
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
    commands.add_parser("replay").add_argument("file")
    commands.add_parser("bench").add_argument("--seed", default="")
    given = parser.parse_args(arguments)
    if given.command == "replay":
        if not given.file:
            print("replay: name a file of records with FILE=; `make record` writes one")
            return 2
        return replay(Path(given.file))
    prepare_environment()
    try:
        if given.command == "bench":
            return bench(whole_number("SEED", given.seed, lowest=LONG) or USUAL)
        seed = whole_number("SEED", given.seed) or 1
        return record(given.test, given.build or None, seed, given.out)
    except RunnerError as error:
        print(f"{given.command}: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
