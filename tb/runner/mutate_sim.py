# SPDX-License-Identifier: Apache-2.0
"""Builds the netlist with the mutants and talks to the simulator that runs them."""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from tb.runner.builds import BuildConfig
from tb.runner.common import ROOT, RunnerError, relative
from tb.runner.simulator import build, kill_group, make_runner

#: Environment variables of tb/runner/mutate_host.py, which only a simulator can import.
REQUESTS, ANSWERS = "CARILLON_MUTATE_IN", "CARILLON_MUTATE_OUT"
_RECORD = Path(__file__).with_name("mutate_record.cpp")
_HOST = (
    "cocotb.logging:_configure",
    "cocotb._init:init_package_from_simulation",
    "tb.runner.mutate_host:serve",
)


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
    """A simulator process that runs tests on mutants; a context manager."""

    def __init__(self, config: NetlistBuild, modules: Sequence[str], work: Path) -> None:
        self.config = config
        self.work = work
        self._modules = modules
        self._number = 0
        self._runs: dict[int, tuple[Run, Future[Answer]]] = {}
        self._lock = threading.Lock()
        self._ended = ""
        self._buffer = b""
        self.tests: set[str] = set()

    def __enter__(self) -> Self:
        self.work.mkdir(parents=True, exist_ok=True)
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        # cocotb's runner knows what its library needs to find Python.
        runner: Any = make_runner("verilator")
        runner.sim_hdl_toplevel = self.config.toplevel
        runner.test_module = ",".join(self._modules)
        runner.hdl_toplevel_lang = "verilog"
        runner._set_env_test()
        environment = {
            **runner.env,
            "PYGPI_USERS": ",".join(_HOST),
            "COCOTB_LOG_LEVEL": "WARNING",
            "COCOTB_RANDOM_SEED": "1",
            # Runs must repeat each other exactly.
            "PYTHONHASHSEED": "0",
            REQUESTS: str(theirs_in),
            ANSWERS: str(theirs_out),
        }
        self._log = (self.work / "host.log").open("w")
        program = self.config.folder("verilator", False) / self.config.toplevel
        self._process = subprocess.Popen(
            [
                str(program),
                "+verilator+seed+1",
                "+verilator+rand+reset+2",
                "+verilator+error+limit+1000",
            ],
            cwd=self.work,
            env=environment,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            pass_fds=(theirs_in, theirs_out),
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            self.tests = set(self._line(300.0)["ready"])
        except BaseException:
            self.__exit__()
            raise
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._to)
        kill_group(self._process)
        self._process.wait()
        os.close(self._from)
        self._log.close()

    def run(self, run: Run) -> Answer:
        """Runs it and waits; may be called by several threads."""
        if run.test not in self.tests:
            raise RunnerError(f"the simulator does not know the test {run.test}")
        future: Future[Answer] = Future()
        with self._lock:
            if self._ended:
                raise RunnerError(self._ended)
            self._number += 1
            number = self._number
            self._runs[number] = (run, future)
            request = {
                "id": number,
                "mutant": run.mutant,
                "test": run.test,
                "seed": run.seed,
                "cpu_s": run.cpu_s,
                "log": str(self.work / f"mutant-{run.mutant}.log"),
                "record": str(run.record or ""),
            }
            os.write(self._to, (json.dumps(request) + "\n").encode())
        return future.result()

    def _line(self, timeout_s: float | None) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            if not select.select([self._from], [], [], timeout_s)[0]:
                raise RunnerError(f"no answer from the simulator; see {relative(self.work)}")
            data = os.read(self._from, 65536)
            if not data:
                raise RunnerError(
                    f"the simulator ended; its log: {relative(self.work / 'host.log')}"
                )
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        found: dict[str, Any] = json.loads(line)
        return found

    def _read(self) -> None:
        """Hands the answers to those who wait for them."""
        try:
            while True:
                line = self._line(None)
                with self._lock:
                    run, future = self._runs.pop(line["id"])
                future.set_result(
                    Answer(
                        run,
                        line["passed"],
                        line["message"],
                        line["seconds"],
                        line.get("timeout", False),
                    )
                )
        except (RunnerError, OSError) as error:
            with self._lock:
                self._ended = str(error)
                for _, future in self._runs.values():
                    future.set_exception(RunnerError(self._ended))
