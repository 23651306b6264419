# SPDX-License-Identifier: Apache-2.0
"""Soak: random traffic of everything, chunk after chunk, until enough completions were judged.

A chunk is one ordinary job (tb/tests/campaigns/soak.yaml) whose seed comes from the campaign's seed
and the chunk's number alone. What was done is recorded after each chunk, so that a campaign that
was stopped goes on where it was when it is started with its seed again.
"""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
import json
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tb.env.harness.facts import VARIABLE as FACTS
from tb.runner.builds import BuildConfig
from tb.runner.cluster import WorkerDiedError, Workers
from tb.runner.common import (
    ROOT,
    SIM_BUILD,
    RunnerError,
    bench_files,
    digest,
    hdl_files,
    relative,
    write_whole,
)
from tb.runner.discover import Job, Module, all_tests, find_modules, select_jobs
from tb.runner.listed import parse, read_list
from tb.runner.progress import duration
from tb.runner.regress import Result, build_all, job_folder, run_job, table
from tb.runner.results import NOT_RUN, Verdict

SOAK_YAML = ROOT / "tb" / "tests" / "campaigns" / "soak.yaml"
OUT = SIM_BUILD / "soak.json"
DEFAULT_COMPLETIONS = 10_000_000
#: Seeds of chunks: from LONG_SEED of tb/tests/common/soaking.py on.
_LOW, _HIGH = 1000, 2**31
#: A chunk that hangs is a failure; on a loaded machine one can take minutes.
TIMEOUT_S = 1800.0

Runner = Callable[[Job, BuildConfig], tuple[Result, dict[str, int]]]


@dataclass(frozen=True)
class Part:
    """One entry of the mix."""

    test: str
    """module.test, or a glob of which each chunk takes one."""
    builds: tuple[str, ...]
    chunks: int

    def tests(self, modules: Sequence[Module]) -> dict[str, Module]:
        known = all_tests(modules)
        return {name: known[name] for name in fnmatch.filter(known, self.test)}


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
    chunks: list[int] = field(default_factory=list)
    """Numbers of those that have run to their ends."""
    seeds: list[int] = field(default_factory=list)
    """Of these chunks."""
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
        job, verdict = result.job, result.verdict
        self.chunks.append(number)
        self.seeds.append(job.seed)
        if not verdict.ok:
            self.failures.append(
                {
                    "chunk": number,
                    "status": verdict.status.lower().replace(" ", "_"),
                    "message": verdict.message,
                    "reproduce": job.reproduce(),
                    "log": relative(result.log),
                }
            )
            return
        count = facts["completions"]
        self.completions += count
        self.records += facts["records"]
        groups = (self.builds, {job.build: count}), (self.tests, {job.name: count})
        for group, found in (*groups, (self.bins, result.bins)):
            for name, more in found.items():
                group[name] = group.get(name, 0) + more

    def write(self, target: int, outs: Iterable[Path]) -> None:
        """soak.json."""
        more = {
            "target": target,
            "mismatches": len(self.failures),
            "completions_per_s": round(self.rate, 1),
            "resume": f"make soak N={target} SEED={self.seed}",
        }
        text = json.dumps({**asdict(self), **more}, indent=1, sort_keys=True) + "\n"
        for out in outs:
            write_whole(out, text)


# -- the mix ---------------------------------------------------------------------------------------


def load_mix(modules: Sequence[Module], path: Path = SOAK_YAML) -> list[Part]:
    """Reads tb/tests/campaigns/soak.yaml; a test or build that is not there is an error."""
    where = relative(path)
    mix = [parse(Part, entry, where) for entry in read_list(path, "mix")]
    for part in mix:
        tests = part.tests(modules)
        if not tests:
            raise RunnerError(f"{where}: no such test: {part.test}")
        if part.chunks < 1 or not part.builds:
            raise RunnerError(f"{where}: {part.test}: needs a build and a chunk or more")
        for test, module in tests.items():
            if missing := set(part.builds) - set(module.builds):
                raise RunnerError(f"{where}: {test} is not for build {min(missing)}")
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
    tests = [*part.tests(modules)]
    test = tests[_derive(seed, number, "test", len(tests))]
    chosen = _LOW + _derive(seed, number, "seed", _HIGH - _LOW)
    return select_jobs(modules, [test], (chosen,), "verilator", build)[0]


# -- the record ------------------------------------------------------------------------------------


def record_of(seed: int) -> Path:
    """The record of one campaign; ``OUT`` is that of the latest."""
    return SIM_BUILD / "soak" / f"seed-{seed}.json"


def load(seed: int, mix: str, path: Path) -> Campaign:
    """The campaign of this seed as it was left, or a new one."""
    try:
        data = json.loads(path.read_text())
        found = Campaign(**{item.name: data[item.name] for item in fields(Campaign)})
    except (OSError, ValueError, KeyError):
        return Campaign(seed, mix)
    return found if (found.seed, found.mix) == (seed, mix) else Campaign(seed, mix)


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
    run: Runner,
    outs: Sequence[Path],
) -> bool:
    """Runs chunks until ``target`` completions are judged; False if it was interrupted before.
    Chunks that still run then come to their ends and count, too: one that fails or hangs must not
    be passed over. ``campaign`` and the files ``outs`` are up to date after each chunk.
    """
    before, start = campaign.wall_s, time.monotonic()
    running: dict[Future[tuple[Result, dict[str, int]]], int] = {}
    following = itertools.count()

    def record() -> None:
        campaign.wall_s = before + time.monotonic() - start
        campaign.write(target, outs)

    record()
    pool = ThreadPoolExecutor(max_workers=processes)
    try:
        while running or campaign.completions < target:
            while campaign.completions < target and len(running) < processes:
                number = next(n for n in following if n not in campaign.chunks)
                job = make(number)
                running[pool.submit(run, job, builds[job.build])] = number
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                number = running.pop(future)
                result, facts = future.result()
                campaign.add(number, result, facts)
                record()
                print(progress(campaign, target, result), flush=True)
                if not result.verdict.ok:
                    print(f"  {result.job.reproduce()}\n  {result.verdict.message}", flush=True)
    except KeyboardInterrupt:
        return False
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return True


def run_soak(
    target: int | None, seed: int | None, launcher: str, jobs: int | None, wait_s: int | None
) -> int:
    """`make soak`: 0 if the completions were reached without a mismatch, 1 with one, 130 if it was
    stopped.
    """
    target = target or DEFAULT_COMPLETIONS
    seed = seed or 1 + secrets.randbelow(_HIGH - 1)
    modules = find_modules()
    mix = load_mix(modules)
    # The chunks of a campaign, what judges them and is judged by them.
    sources = [*hdl_files("*.v*"), *bench_files()]
    campaign = load(seed, digest(sources, mix)[:16], record_of(seed))
    print(
        f"soak: {target:,} completions, seed {seed}; resume with make soak N={target} SEED={seed}"
    )
    if campaign.chunks:
        print(f"soak: goes on after {campaign.completions:,} completions")
    elif record_of(seed).exists():
        print("soak: this seed's record is of other sources or another mix; begins anew")
    every = {build: part for part in mix for build in part.builds}.items()
    builds = build_all(
        [j for b, part in every for j in select_jobs(modules, [part.test], (1,), "verilator", b)]
    )
    builds = {name: replace(config, timeout_s=TIMEOUT_S) for name, config in builds.items()}
    with closing(Workers(launcher, jobs, wait_s)) as workers:

        def run(job: Job, config: BuildConfig) -> tuple[Result, dict[str, int]]:
            try:
                return workers.call(1, _run_chunk, job, config)
            except WorkerDiedError as error:
                return Result(job, Verdict(NOT_RUN, str(error)), 0.0, job_folder(job)), {}

        reached = soak(
            campaign,
            target,
            lambda number: chunk(seed, number, mix, modules),
            builds,
            workers.count,
            run,
            (record_of(seed), OUT),
        )
    counts = [*sorted(campaign.builds.items()), *sorted(campaign.tests.items())]
    rows = [(name, f"{count:,}") for name, count in counts]
    print("\n" + table(("build or test", "completions"), rows, right=(1,)))
    for failure in campaign.failures:
        print(f"\nmismatch: {failure['reproduce']}\n  {failure['message']}\n  {failure['log']}")
    print(
        f"\nsoak: {campaign.completions:,} completions, {len(campaign.failures)} mismatch(es), "
        f"{len(campaign.chunks)} chunk(s), {campaign.rate:,.0f} completions/s, "
        f"{len(campaign.bins)} bins hit; written to {relative(OUT)}"
    )
    if not reached:
        print(f"soak: stopped; resume with make soak N={target} SEED={seed}", flush=True)
        return 130
    return 1 if campaign.failures else 0
