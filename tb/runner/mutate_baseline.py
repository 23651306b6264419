# SPDX-License-Identifier: Apache-2.0
"""Tests on the netlist, and their runs without a mutant: what crossed the ports in each, how long
it took. Recordings serve every set of mutants of the same design and tests.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tb.runner import cluster
from tb.runner.builds import BuildConfig
from tb.runner.common import SIM_BUILD, bench_files, digest, empty, relative
from tb.runner.fork_host import JobHosts
from tb.runner.mutate_ladder import Outcome, Step
from tb.runner.mutate_replay import Replayer
from tb.runner.regress import COVERAGE, run_job
from tb.runner.results import TIMEOUT

#: Limit of the processor time of a test without a mutant.
_LIMIT_S = 120.0
#: Read by mutate_record.cpp.
MUTANT, RECORD = "CARILLON_MUTANT", "CARILLON_MUTATE_RECORD"
#: Runs must repeat each other exactly; nobody reads their logs.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "COCOTB_LOG_LEVEL": "WARNING", COVERAGE: ""}


def netlist_build(config: BuildConfig, top: str, folder: Path) -> BuildConfig:
    """A build of the netlist with the mutants in place of hdl/."""
    own = (relative(folder / "netlist.v"), relative(folder / f"wrap-{top}.v"))
    sources = (*own, *(name for name in config.sources if not name.startswith("hdl/")))
    # The netlist is machine-made: warnings on its style say nothing.
    options = ("--no-assert", "-Wno-fatal", "-Wno-lint", "-DEDGE=posedge")
    source = str(Path(__file__).with_name("mutate_record.cpp"))
    args = (*config.build_args, *options, source)
    return replace(config, sources=sources, build_args=args, place=folder / f"build-{top}")


_hosts = JobHosts(SIM_BUILD / "hosts" / f"mutate-{os.getpid()}")


def close() -> None:
    """Ends the simulators of this process."""
    _hosts.close()


def _run(step: Step, config: BuildConfig, mutant: int, record: str) -> Outcome:
    """In a fork of a simulator that this process keeps."""
    env = {**_ENVIRONMENT, MUTANT: str(mutant), **({RECORD: record} if record else {})}
    job = replace(step.job, build=f"{step.job.build}-m{mutant}")
    result = run_job(job, config, extra_env=env, hosts=_hosts.execute)
    shutil.rmtree(result.log.parent)
    verdict = result.verdict
    cause = "time limit" if verdict.status == TIMEOUT else verdict.cause[:300]
    return Outcome("" if verdict.ok else cause or "failed", result.cpu_s)


def run_test(
    step: Step, config: BuildConfig, limit_s: float, mutant: int = 0, record: str = ""
) -> Outcome:
    """A test on a mutant (0: none), here or in a worker of a cluster. ``record``: the file for what
    crosses the ports.
    """
    return cluster.call(_run, step, replace(config, timeout_s=limit_s), mutant, record)


@dataclass(frozen=True)
class Recorded:
    """A run that passes without a mutant."""

    seconds: float
    """Processor time."""
    exact: bool
    """A replay repeats it; else it tells nothing of this run."""


class Baseline:
    """The recordings of the steps. ``design``: changes with it, as it is simulated."""

    def __init__(self, folder: Path, steps: Sequence[Step], design: str) -> None:
        self.steps = list(steps)
        self.key = digest(bench_files(), design, self.steps)
        """Changes with anything that a run depends on."""
        self._all, self._folder = folder, folder / self.key[:16]
        self.found: dict[Step, Recorded] = {}
        self.bad: dict[Step, str] = {}
        """Steps that fail without a mutant: a failure would say nothing."""

    def path(self, step: Step) -> Path:
        """The recording."""
        return self._folder / f"{step.job.name}-{step.top}-{step.job.seed}.rec"

    def record(
        self,
        builds: Mapping[str, BuildConfig],
        replayers: Mapping[str, Replayer],
        jobs: int,
        tick: Callable[[], object],
    ) -> None:
        """Makes the recordings that are not there, removes those of other designs and tests."""
        if not self._folder.is_dir():
            self._all.mkdir(parents=True, exist_ok=True)
            empty(self._all)
            self._folder.mkdir()
        index = self._folder / "index.jsonl"
        by_name = {self.path(step).name: step for step in self.steps}
        for name, *facts in map(
            json.loads, index.read_text().splitlines() if index.is_file() else ()
        ):
            self.found[by_name[name]] = Recorded(*facts)
        lock = threading.Lock()

        def make(step: Step) -> None:
            path = self.path(step)
            outcome = run_test(step, builds[step.top], _LIMIT_S, record=str(path))
            if outcome.message:
                self.bad[step] = outcome.message
                return
            exact = not replayers[step.top].run(0, path).output
            with lock:
                self.found[step] = Recorded(outcome.seconds, exact)
                out.write(json.dumps([path.name, outcome.seconds, exact]) + "\n")
                out.flush()

        with index.open("a") as out:
            for _ in in_parallel(make, [s for s in self.steps if s not in self.found], jobs):
                tick()


T = TypeVar("T")


def in_parallel(do: Callable[[T], object], items: Sequence[T], jobs: int) -> Iterator[None]:
    """Yields for each item that is done; what has not begun is left out at an interrupt."""
    pool = ThreadPoolExecutor(max_workers=jobs)
    try:
        for future in as_completed([pool.submit(do, item) for item in items]):
            future.result()
            yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
