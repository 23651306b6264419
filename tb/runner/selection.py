# SPDX-License-Identifier: Apache-2.0
"""What a command line selects: tests, seeds, build, simulator, limits, workers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from tb.runner import cluster
from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.code_coverage import LEFT_OUT
from tb.runner.common import RunnerError, whole_number
from tb.runner.discover import Job, Module, find_modules, jobs_of_module, parse_seeds, select_jobs
from tb.runner.tiers import TIERS

_OPTIONS = {
    "--test": "tests: name, module or module.test; several with commas; * is a wildcard",
    "--seed": "one seed",
    "--seeds": "a count, or a list such as 3,8,20-25, in place of the seeds that tests declare",
    "--sim": "verilator or icarus",
    "--build": "only this build of tb/builds.yaml",
    "--tier": "quick, full or nightly, unless other options select; as -m, which also combines",
    "--cpu-limit": "limit of one simulation in seconds of processor time",
    "--jobs": "parallel workers; as -n, which also takes auto",
    "--cluster": "words that start a worker through a batch system, such as 'srun -n1 -c1'",
    "--cluster-wait": "seconds that the batch system has to start all workers",
    "--only": "proofs, planted and external faults: names; several with commas; globs",
    "--waves": "1: rerun the first failing simulation with waves, also if it is alone; 0: do not",
}


def add_options(parser: pytest.Parser) -> None:
    """Empty values are those of variables that make passes unset."""
    group = parser.getgroup("carillon", "simulations")
    for name, text in _OPTIONS.items():
        group.addoption(name, default="", dest=f"carillon_{name[2:].replace('-', '_')}", help=text)
    group.addoption("--code-coverage", action="store_true", help="count and judge code coverage")
    group.addoption("--record-costs", action="store_true", help="write tb/costs.json after the run")


@dataclass(frozen=True)
class Selection:
    """The options, checked."""

    patterns: tuple[str, ...] = ()
    seeds: tuple[int, ...] | None = None
    sim: str | None = None
    build: str | None = None
    cpu_limit: int | None = None
    coverage: bool = False
    """Whether code coverage of hdl/ is counted."""

    @property
    def narrows(self) -> bool:
        """Whether it asks for particular simulations."""
        return bool(self.patterns or self.seeds or self.sim or self.build)

    def jobs(self, module: Module) -> list[Job]:
        """The jobs of one file."""
        jobs = jobs_of_module(module, self.patterns, self.seeds, self.sim, self.build)
        return [job for job in jobs if not self.coverage or job.build not in LEFT_OUT]

    def config(self, config: BuildConfig) -> BuildConfig:
        """A build with the limit that was asked for."""
        limit = float(self.cpu_limit or config.timeout_s)
        return replace(config, timeout_s=limit, coverage=self.coverage or config.coverage)

    def check(self) -> None:
        """Raises RunnerError if there is nothing of what it asks for."""
        if self.build:
            get_build(load_builds(), self.build, self.sim or "verilator")
        if self.narrows:
            select_jobs(find_modules(), self.patterns, self.seeds, self.sim, self.build)


def read_selection(config: pytest.Config) -> Selection:
    """From the command line; raises RunnerError for words that make no sense."""

    def word(name: str) -> str:
        return str(config.getoption(f"carillon_{name}")).strip()

    patterns = tuple(word("test").replace(",", " ").split())
    seed = whole_number("SEED", word("seed"))
    if seed and word("seeds"):
        raise RunnerError(f"SEED={seed} and SEEDS={word('seeds')}: give one of them")
    seeds = (seed,) if seed else parse_seeds(word("seeds")) if word("seeds") else None
    sim = word("sim") or None
    if sim not in (None, "verilator", "icarus"):
        raise RunnerError(f"SIM={sim}: choose verilator or icarus")
    if not sim and patterns and seed:
        # Naming a test and a seed asks for exactly that, not for Icarus copies as well.
        sim = "verilator"
    if word("waves") not in ("", "0", "1"):
        raise RunnerError(f"WAVES={word('waves')}: choose 0 or 1")
    limit = whole_number("TIMEOUT", word("cpu_limit"))
    coverage = config.option.code_coverage
    if coverage and sim == "icarus":
        raise RunnerError("code coverage is counted by Verilator alone")
    sim = "verilator" if coverage else sim
    return Selection(patterns, seeds, sim, word("build") or None, limit, coverage)


def choose_tier(config: pytest.Config, selection: Selection) -> None:
    """Turns --tier into marks; without paths and marks the quick tier of everything runs."""
    tier = config.getoption("carillon_tier")
    if tier and tier not in TIERS:
        raise RunnerError(f"--tier {tier}: choose {', '.join(TIERS)}")
    from_ini = config.args_source == pytest.Config.ArgsSource.TESTPATHS
    if from_ini and selection.narrows:
        config.args, config.args_source = ["tb/tests"], pytest.Config.ArgsSource.ARGS
    elif not tier and from_ini and not config.option.keyword:
        tier = "quick"
    free = not selection.narrows and not getattr(config.option, "lf", False)
    if tier and free and not config.option.markexpr:
        config.option.markexpr = {"full": "full or quick", "nightly": ""}.get(tier, tier)


def start_limit(config: pytest.Config) -> int:
    """Seconds that a batch system has to start all workers."""
    text = config.getoption("carillon_cluster_wait")
    return whole_number("CLUSTER_WAIT", text) or cluster.WAIT_S


def choose_workers(config: pytest.Config) -> None:
    """Turns --jobs and --cluster into options of pytest-xdist."""
    jobs = whole_number("JOBS", config.getoption("carillon_jobs"), 4096)
    start_limit(config)
    launcher = config.getoption("carillon_cluster").strip()
    if jobs and not launcher:
        config.option.numprocesses = jobs
    if launcher:
        count = jobs or cluster.COUNT
        config.option.numprocesses = None
        config.option.dist = "load"
        config.option.tx = [f"{count}*{cluster.spec_of(launcher)}"]
        if config.option.maxworkerrestart is None:
            config.option.maxworkerrestart = str(4 * count)
