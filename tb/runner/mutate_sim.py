# SPDX-License-Identifier: Apache-2.0
"""Builds the netlist with the mutants and talks to the simulator that runs them."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from tb.runner import cluster
from tb.runner.builds import BuildConfig
from tb.runner.common import ROOT, RunnerError, relative
from tb.runner.fork_host import MODULES, ForkHost
from tb.runner.simulator import build, make_runner

_RECORD = Path(__file__).with_name("mutate_record.cpp")
_HOST = (
    "cocotb.logging:_configure",
    "cocotb._init:init_package_from_simulation",
    "tb.runner.mutate_host:serve_mutants",
)
#: A run that waits instead of computing is ended after this many times its processor time; other
#: work on the machine can slow it down as well.
_WALL_FACTOR = 300


@dataclass(frozen=True)
class NetlistBuild(BuildConfig):
    """A build of the netlist with the mutants in place of hdl/."""

    place: Path = ROOT

    def folder(self, sim: str, waves: bool) -> Path:  # noqa: ARG002
        return self.place


def netlist_build(config: BuildConfig, top: str, folder: Path) -> NetlistBuild:
    values = {item.name: getattr(config, item.name) for item in fields(BuildConfig)}
    values["sources"] = (
        relative(folder / "netlist.v"),
        relative(folder / f"wrap-{top}.v"),
        *(name for name in config.sources if not name.startswith("hdl/")),
    )
    # The netlist is machine-made: warnings on its style say nothing.
    options = ("--no-assert", "-Wno-fatal", "-Wno-lint", "-DEDGE=posedge")
    values["build_args"] = (*config.build_args, *options, str(_RECORD))
    return NetlistBuild(**values, place=folder / f"build-{top}")


def build_netlist(config: NetlistBuild, jobs: int) -> Path:
    """Builds; returns the program."""
    build(config, "verilator", processes=jobs)
    return config.folder("verilator", False) / config.toplevel


@dataclass(frozen=True)
class Run:
    """One test on one mutant (0: none)."""

    mutant: int
    test: str
    """tb.tests.test_x.TestX"""
    seed: int
    cpu_s: float
    """Processor time after which it counts as hanging."""
    record: Path | None = None
    """The file for what crosses the ports."""


@dataclass(frozen=True)
class Answer:
    """What became of a run."""

    run: Run
    passed: bool
    message: str
    seconds: float
    timeout: bool = False


class Host:
    """A simulator process that runs tests on mutants; on a cluster there is one in each worker. A
    context manager.
    """

    def __init__(self, config: NetlistBuild, modules: Sequence[str], work: Path) -> None:
        self.config = config
        self.work = work
        self._modules = modules
        self._host: ForkHost | None = None

    def __enter__(self) -> Self:
        if not cluster.active():
            self._start()
        return self

    def _start(self) -> None:
        # cocotb's runner knows what its library needs to find Python.
        runner: Any = make_runner("verilator")
        runner.sim_hdl_toplevel = self.config.toplevel
        runner.test_module = ""
        runner.hdl_toplevel_lang = "verilog"
        runner._set_env_test()
        environment = {
            **runner.env,
            "PYGPI_USERS": ",".join(_HOST),
            "COCOTB_LOG_LEVEL": "WARNING",
            "COCOTB_RANDOM_SEED": "1",
            # Runs must repeat each other exactly.
            "PYTHONHASHSEED": "0",
            MODULES: ",".join(self._modules),
        }
        program = self.config.folder("verilator", False) / self.config.toplevel
        options = ["+verilator+seed+1", "+verilator+rand+reset+2", "+verilator+error+limit+1000"]
        self._host = ForkHost([str(program), *options], environment, self.work)
        self.tests = set(self._host.ready)

    def __exit__(self, *_: object) -> None:
        if self._host:
            self._host.close()

    def run(self, run: Run) -> Answer:
        """Runs it and waits; may be called by several threads."""
        if cluster.active():
            return cluster.call(_run_far, self.config, self._modules, self.work, run)
        assert self._host
        if run.test not in self.tests:
            raise RunnerError(f"the simulator does not know the test {run.test}")
        answer = self._host.ask(
            {
                "mutant": run.mutant,
                "test": run.test,
                "seed": run.seed,
                "cpu_s": run.cpu_s,
                "wall_s": _WALL_FACTOR * run.cpu_s + 10,
                "log": str(self.work / f"mutant-{run.mutant}.log"),
                "record": str(run.record or ""),
            }
        )
        status, seconds = answer["status"], answer["seconds"]
        if answer["said"]:
            said = json.loads(answer["said"])
            return Answer(run, said["passed"], said["message"], seconds)
        if answer["timeout"] or status in (-signal.SIGXCPU, -signal.SIGKILL):
            return Answer(run, False, "time limit", seconds, timeout=True)
        return Answer(run, False, f"the simulation ended with status {status}", seconds)


_far: dict[Path, Host] = {}


def _run_far(config: NetlistBuild, modules: Sequence[str], work: Path, run: Run) -> Answer:
    """In a worker of a cluster: its simulator starts with the first run."""
    if work not in _far:
        host = Host(config, modules, work / f"{socket.gethostname()}-{os.getpid()}")
        _far[work] = host.__enter__()
        atexit.register(host.__exit__)
    return _far[work].run(run)
