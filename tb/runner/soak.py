# SPDX-License-Identifier: Apache-2.0
"""Soak: random traffic of everything, chunk after chunk, until enough completions were judged.

A chunk is one ordinary job (tb/tests/campaigns/soak.yaml) whose seed comes from the campaign's seed
and the chunk's number alone. What was done is recorded after each chunk, so that a campaign that
was stopped goes on where it was when it is started with its seed again.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import secrets
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tb.env.harness.facts import VARIABLE as FACTS
from tb.runner.builds import BuildConfig
from tb.runner.common import ROOT, SIM_BUILD, RunnerError, cpu_count, digest, relative, write_whole
from tb.runner.discover import Job, Module, find_modules, select_jobs
from tb.runner.listed import read_list
from tb.runner.progress import duration
from tb.runner.regress import Result, build_all, run_job, table
from tb.runner.simulator import kill_all

SOAK_YAML = ROOT / "tb" / "tests" / "campaigns" / "soak.yaml"
OUT = SIM_BUILD / "soak.json"
DEFAULT_COMPLETIONS = 10_000_000
#: Seeds of chunks: from LONG_SEED of tb/tests/common/soaking.py on.
_LOW, _HIGH = 1000, 2**31
#: What a campaign's completions are completions of, and judged by.
SOURCES = (
    "hdl/**/*.v*",
    "models/**/*.py",
    "tb/builds.yaml",
    "tb/hdl/*",
    "tb/env/**/*.py",
    "tb/replay/*.py",
    "tb/sequences/**/*.py",
    "tb/tests/common/soaking.py",
    "tb/tests/*/test_soak_*.py",
    "tb/tests/*/test_*_life.py",
)
#: A chunk that hangs is a failure; on a loaded machine one can take minutes.
TIMEOUT_S = 1800.0

Runner = Callable[[Job, BuildConfig], tuple[Result, dict[str, int]]]


@dataclass(frozen=True)
class Part:
    """One entry of the mix."""

    tests: tuple[str, ...]
    builds: tuple[str, ...]
    chunks: int


@dataclass
class Campaign:
    """What was done so far under one seed."""

    seed: int
    mix: str = ""
    """Fingerprint of the mix and of the sources: under another one the chunks' numbers mean other
    jobs, and completions of another design.
    """
    completions: int = 0
    records: int = 0
    wall_s: float = 0.0
    done: set[int] = field(default_factory=set)
    """Numbers of the chunks that have run to their ends."""
    builds: dict[str, int] = field(default_factory=dict)
    """Completions by build."""
    tests: dict[str, int] = field(default_factory=dict)
    """Completions by test."""
    failures: list[dict[str, Any]] = field(default_factory=list)
    bins: dict[str, int] = field(default_factory=dict)
    """Hits of the functional coverage."""

    @property
    def rate(self) -> float:
        """Completions per second of wall time."""
        return self.completions / self.wall_s if self.wall_s else 0.0

    def add(self, number: int, result: Result, facts: dict[str, int]) -> None:
        """A chunk has ended; one that failed counts as a mismatch, its completions do not count."""
        self.done.add(number)
        if not result.verdict.ok:
            self.failures.append(
                {
                    "chunk": number,
                    "status": result.verdict.status.lower().replace(" ", "_"),
                    "message": result.verdict.message,
                    "reproduce": result.job.reproduce(),
                    "log": relative(result.log),
                }
            )
            return
        count = facts["completions"]
        self.completions += count
        self.records += facts["records"]
        for group, name in ((self.builds, result.job.build), (self.tests, result.job.name)):
            group[name] = group.get(name, 0) + count
        for name, hits in result.bins.items():
            self.bins[name] = self.bins.get(name, 0) + hits

    def as_json(self, target: int, jobs: Sequence[Job]) -> dict[str, Any]:
        """The content of soak.json."""
        return {
            "seed": self.seed,
            "mix": self.mix,
            "target": target,
            "completions": self.completions,
            "mismatches": len(self.failures),
            "records": self.records,
            "wall_s": round(self.wall_s, 1),
            "completions_per_s": round(self.rate, 1),
            "chunks": sorted(self.done),
            "seeds": [job.seed for job in jobs],
            "builds": dict(sorted(self.builds.items())),
            "tests": dict(sorted(self.tests.items())),
            "failures": self.failures,
            "bins": dict(sorted(self.bins.items())),
            "resume": f"make soak N={target} SEED={self.seed}",
        }


# -- the mix ---------------------------------------------------------------------------------------


def load_mix(modules: Sequence[Module], path: Path = SOAK_YAML) -> list[Part]:
    """Reads tb/tests/campaigns/soak.yaml; a test or build that is not there is an error."""
    where = relative(path)
    entries = read_list(path, "mix")
    known = {f"{m.short}.{test}": m for m in modules for test in m.tests}
    mix = []
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != {"test", "builds", "chunks"}:
            raise RunnerError(f"{where}: an entry has the keys test, builds, chunks: {entry!r}")
        tests = tuple(name for name in known if fnmatch.fnmatchcase(name, entry["test"]))
        builds, chunks = entry["builds"], entry["chunks"]
        if not tests:
            raise RunnerError(f"{where}: no such test: {entry['test']}")
        if not isinstance(chunks, int) or chunks < 1 or not isinstance(builds, list) or not builds:
            raise RunnerError(f"{where}: {entry['test']}: needs a build and a chunk or more")
        for test in tests:
            if missing := set(builds) - set(known[test].builds):
                raise RunnerError(f"{where}: {test} is not for build {min(missing)}")
        mix.append(Part(tests, tuple(builds), chunks))
    return mix


def _derive(seed: int, number: int, what: str, below: int) -> int:
    """A number from 0 to ``below`` - 1 that depends on nothing but the arguments."""
    found = hashlib.sha256(f"{seed} {number} {what}".encode()).digest()
    return int.from_bytes(found[:8], "little") % below


def chunk(seed: int, number: int, mix: Sequence[Part], modules: Sequence[Module]) -> Job:
    """The job of chunk ``number`` (from 0) of the campaign ``seed``."""
    turn, place = divmod(number, sum(part.chunks for part in mix))
    for part in mix:
        if place < part.chunks:
            break
        place -= part.chunks
    build = part.builds[(turn * part.chunks + place) % len(part.builds)]
    test = part.tests[_derive(seed, number, "test", len(part.tests))]
    chosen = _LOW + _derive(seed, number, "seed", _HIGH - _LOW)
    return select_jobs(modules, [test], (chosen,), "verilator", build)[0]


# -- the record ------------------------------------------------------------------------------------


def fingerprint(mix: Sequence[Part], sources: Sequence[str] = SOURCES) -> str:
    """Differs when the chunks of a campaign do, or what judges them and is judged by them."""
    return digest(sorted(p for pattern in sources for p in ROOT.glob(pattern)), mix)[:16]


def record_of(seed: int) -> Path:
    """The record of one campaign; ``OUT`` is that of the latest."""
    return SIM_BUILD / "soak" / f"seed-{seed}.json"


def load(seed: int, mix: str, path: Path) -> Campaign:
    """The campaign of this seed as it was left, or a new one."""
    try:
        data = json.loads(path.read_text())
        if (data["seed"], data["mix"]) != (seed, mix):
            return Campaign(seed, mix)
        return Campaign(
            seed,
            mix,
            data["completions"],
            data["records"],
            data["wall_s"],
            set(data["chunks"]),
            data["builds"],
            data["tests"],
            data["failures"],
            data["bins"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return Campaign(seed, mix)


def _run_chunk(job: Job, config: BuildConfig) -> tuple[Result, dict[str, int]]:
    facts = SIM_BUILD / "soak" / f"{job.build}-{job.name}-s{job.seed}.json"
    facts.unlink(missing_ok=True)
    result = run_job(job, config, extra_env={FACTS: str(facts)})
    found: dict[str, int] = {}
    if result.verdict.ok:
        found = json.loads(facts.read_text())
        shutil.rmtree(result.log.parent)
    facts.unlink(missing_ok=True)
    return result, found


# -- running ---------------------------------------------------------------------------------------


_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM ask to stop, instead of ending the process somewhere."""
    stop = threading.Event()

    def ask(*_: object) -> None:
        stop.set()

    old = {number: signal.signal(number, ask) for number in _STOP}
    try:
        yield stop
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def progress(campaign: Campaign, target: int, result: Result) -> str:
    """One line after each chunk."""
    left = (target - campaign.completions) / campaign.rate if campaign.rate else 0.0
    return (
        f"[{campaign.completions:>{len(f'{target:,}')},}/{target:,}] {result.verdict.status:<7} "
        f"{result.job.name} [{result.job.build}] seed {result.job.seed}, {result.wall_s:.0f} s; "
        f"{campaign.rate:,.0f} completions/s, {duration(left)} left"
    )


def soak(
    campaign: Campaign,
    target: int,
    make: Callable[[int], Job],
    builds: dict[str, BuildConfig],
    processes: int,
    stop: threading.Event,
    run: Runner = _run_chunk,
    outs: Sequence[Path] = (OUT,),
) -> bool:
    """Runs chunks until ``target`` completions are judged, or ``stop``; True if it was reached.
    Chunks that still run then come to their ends and count, too: one that fails or hangs must not
    be passed over. ``campaign`` and the files ``outs`` are up to date after each chunk.
    """
    jobs = {number: make(number) for number in campaign.done}
    before, start = campaign.wall_s, time.monotonic()
    running: dict[Future[tuple[Result, dict[str, int]]], int] = {}
    following = 0

    def record() -> None:
        campaign.wall_s = before + time.monotonic() - start
        data = campaign.as_json(target, [jobs[n] for n in sorted(campaign.done)])
        text = json.dumps(data, indent=1) + "\n"
        for out in outs:
            write_whole(out, text)

    pool = ThreadPoolExecutor(max_workers=processes)
    try:
        while not stop.is_set() and (running or campaign.completions < target):
            while campaign.completions < target and len(running) < processes:
                while following in campaign.done:
                    following += 1
                jobs[following] = job = make(following)
                running[pool.submit(run, job, builds[job.build])] = following
                following += 1
            ended, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in ended:
                number = running.pop(future)
                if stop.is_set():
                    continue  # it may have been ended from outside, like this process
                result, facts = future.result()
                campaign.add(number, result, facts)
                record()
                print(progress(campaign, target, result), flush=True)
                if not result.verdict.ok:
                    print(f"  {result.job.reproduce()}\n  {result.verdict.message}", flush=True)
    finally:
        kill_all()
        pool.shutdown(cancel_futures=True)
    record()
    return campaign.completions >= target


def report(campaign: Campaign) -> str:
    """The table of builds and tests."""
    rows = [(name, f"{count:,}") for name, count in sorted(campaign.builds.items())]
    rows += [(name, f"{count:,}") for name, count in sorted(campaign.tests.items())]
    return table(("build or test", "completions"), rows, right=(1,))


def run_soak(target: int | None, seed: int | None, processes: int | None) -> int:
    """`make soak`: 0 if the completions were reached without a mismatch, 1 with one, 130 if it was
    stopped.
    """
    target = target or DEFAULT_COMPLETIONS
    seed = seed or 1 + secrets.randbelow(_HIGH - 1)
    modules = find_modules()
    mix = load_mix(modules)
    campaign = load(seed, fingerprint(mix), record_of(seed))
    print(
        f"soak: {target:,} completions, seed {seed}; resume with make soak N={target} SEED={seed}"
    )
    if campaign.done:
        print(f"soak: goes on behind {campaign.completions:,} completions")
    elif record_of(seed).exists():
        print("soak: this seed's record is of other sources or another mix; begins anew")
    needed = {build: next(iter(part.tests)) for part in mix for build in part.builds}
    builds = build_all(
        [select_jobs(modules, [test], (1,), "verilator", b)[0] for b, test in needed.items()]
    )
    builds = {name: replace(config, timeout_s=TIMEOUT_S) for name, config in builds.items()}
    with _stopping() as stop:
        reached = soak(
            campaign,
            target,
            lambda number: chunk(seed, number, mix, modules),
            builds,
            processes or cpu_count(),
            stop,
            outs=(record_of(seed), OUT),
        )
    print(f"\n{report(campaign)}")
    for failure in campaign.failures:
        print(f"\nmismatch: {failure['reproduce']}\n  {failure['message']}\n  {failure['log']}")
    print(
        f"\nsoak: {campaign.completions:,} completions, {len(campaign.failures)} mismatch(es), "
        f"{len(campaign.done)} chunk(s), {campaign.rate:,.0f} completions/s, "
        f"{len(campaign.bins)} bins hit; written to {relative(OUT)}"
    )
    if not reached:
        print(f"soak: stopped; resume with make soak N={target} SEED={seed}", flush=True)
        return 130
    return 1 if campaign.failures else 0
