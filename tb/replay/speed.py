# SPDX-License-Identifier: Apache-2.0
"""`make bench-tb`: completions that the bench checks in a second of processor time, in simulation
and in replay, and where the time goes.
"""

from __future__ import annotations

import json
import os
import platform
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from tb.compiled import VARIABLE as COMPILED
from tb.compiled import current
from tb.env.harness.facts import VARIABLE as FACTS
from tb.replay.judge import judge_file
from tb.replay.recorder import VARIABLE as RECORDS
from tb.replay.split import USERS, Split, largest_first
from tb.replay.split import VARIABLE as SPLIT
from tb.runner.common import SIM_BUILD, RunnerError, relative, write_whole
from tb.runner.discover import Job, find_modules, select_jobs
from tb.runner.regress import build_all, run_job, table

OUT = SIM_BUILD / "bench_tb.json"
FOLDER = SIM_BUILD / "bench_tb"
#: Tests of each kind with their shares, which are those of tb/tests/campaigns/soak.yaml.
MIX = {
    "core": {"test_soak_core.CoreSoakTest": 1},
    "engine": {
        "test_soak_engine.PostSoakTest": 2,
        "test_soak_engine.ReceiveSoakTest": 1,
        "test_soak_engine.WindowSoakTest": 1,
    },
}
BUILDS = {"core": "default", "engine": "engine"}
#: Completions per second of processor time.
GOALS = {
    "core_completions_per_cpu_s": 10_000,
    "engine_completions_per_cpu_s": 2_500,
    "core_replay_per_cpu_s": 20_000,
    "engine_replay_per_cpu_s": 5_000,
}


@dataclass(frozen=True)
class Measured:
    """One run. ``split``: seconds of processor time by part (tb/replay/split.py)."""

    kind: str
    test: str
    build: str
    share: int
    replay: bool
    completions: int
    records: int
    cpu_s: float
    split: Mapping[str, float]


def _simulate(job: Job, extra: dict[str, str]) -> float:
    """Runs a test that must pass; seconds of processor time."""
    result = run_job(job, build_all([job])[job.build], extra_env=extra)
    if not result.verdict.ok:
        raise RunnerError(f"{job.reproduce()}: {result.verdict.message}; {relative(result.log)}")
    return result.cpu_s


def _measure(kind: str, test: str, share: int, seed: int) -> tuple[Measured, Measured]:
    """The test in simulation, and its records in replay."""
    (job,) = select_jobs(find_modules(), [test], (seed,), "verilator", BUILDS[kind])
    facts, split, records = (FOLDER / f"{test}.{end}" for end in ("json", "split", "gz"))
    users = ",".join(USERS)
    cpu_s = _simulate(job, {FACTS: str(facts), SPLIT: str(split), "PYGPI_USERS": users})
    counts, parts = json.loads(facts.read_text()), json.loads(split.read_text())
    _simulate(job, {RECORDS: str(records)})
    again = Split(started=True)
    judge, replayed_s = judge_file(records)
    found = judge.facts.counts
    where = kind, test, job.build, share
    return (
        Measured(*where, False, counts["completions"], counts["records"], cpu_s, parts),
        Measured(*where, True, found["completions"], found["records"], replayed_s, again.stop()),
    )


def rate(runs: Iterable[Measured], what: str = "completions") -> float:
    """``what`` per second of processor time, each run as often as its share says."""
    runs = list(runs)
    seconds = sum(run.share * run.cpu_s for run in runs)
    return round(sum(run.share * getattr(run, what) for run in runs) / seconds, 1)


def ceiling(runs: Iterable[Measured]) -> float:
    """Completions per second if there were only the design with its recorder: the simulator."""
    runs = list(runs)
    seconds = sum(run.share * run.split.get("simulator", 0.0) for run in runs)
    return round(sum(run.share * run.completions for run in runs) / max(seconds, 0.001), 1)


def summary(runs: Iterable[Measured], seed: int) -> dict[str, Any]:
    """The content of bench_tb.json."""
    runs = list(runs)
    metrics: dict[str, float] = {}
    ceilings: dict[str, float] = {}
    split: dict[str, dict[str, float]] = {}
    for kind in MIX:
        for replay, name in ((False, "completions"), (True, "replay")):
            chosen = [run for run in runs if (run.kind, run.replay) == (kind, replay)]
            metrics[f"{kind}_{name}_per_cpu_s"] = rate(chosen)
            metrics[f"{kind}_{name}_records_per_cpu_s"] = rate(chosen, "records")
            parts: defaultdict[str, float] = defaultdict(float)
            for run in chosen:
                for part, seconds in run.split.items():
                    parts[part] += run.share * seconds
            total = sum(parts.values())
            split[f"{kind} {name}"] = {
                part: round(seconds / total, 3) for part, seconds in largest_first(parts)
            }
            ceilings[kind] = ceilings.get(kind) or ceiling(chosen)
    return {
        "metrics": metrics,
        "goals": GOALS,
        "design_and_recorder_alone": ceilings,
        "split": split,
        "config": {
            "seed": seed,
            "coverage": "on",
            "compiled": bool(os.environ.get(COMPILED)) and current(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("verilator", "cocotb", "pyuvm")},
        },
        "runs": [asdict(run) for run in runs],
    }


def show(runs: Iterable[Measured], found: Mapping[str, Any]) -> str:
    """Tables for the terminal."""
    runs = list(runs)
    rows = [
        (
            "replay" if run.replay else "simulation",
            f"{run.test} [{run.build}]",
            f"{run.completions:,}",
            f"{run.cpu_s:.1f}",
            f"{rate([run]):,.0f}",
            ", ".join(f"{part} {s / run.cpu_s:.0%}" for part, s in run.split.items()),
        )
        for run in runs
    ]
    head = ("", "run", "completions", "cpu s", "1/s", "where the time is")
    text = table(head, rows, right=(2, 3, 4))
    told = [
        (name, f"{value:,.0f}", f"{GOALS[name]:,}" if name in GOALS else "")
        for name, value in found["metrics"].items()
    ]
    text += "\n\n" + table(("metric", "value", "goal"), told, right=(1, 2))
    alone = found["design_and_recorder_alone"]
    text += f"\n\ndesign and recorder alone, completions per processor second: {alone}"
    return text + f"\nconfiguration: {found['config']}"


def bench(seed: int) -> int:
    """Measures, prints, writes; 0."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    runs: list[Measured] = []
    for kind, tests in MIX.items():
        for test, share in tests.items():
            print(f"measuring: {test}", flush=True)
            runs += _measure(kind, test, share, seed)
    found = summary(runs, seed)
    write_whole(OUT, json.dumps(found, indent=1) + "\n")
    print(f"\n{show(runs, found)}\nbench-tb: written to {relative(OUT)}")
    return 0
