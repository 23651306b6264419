# SPDX-License-Identifier: Apache-2.0
"""Builds with and starts Verilator and Icarus, on top of cocotb's own runner."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from cocotb_tools import runner as cocotb_runner

from tb.compiled import VARIABLE as COMPILED
from tb.runner.builds import BuildConfig
from tb.runner.common import ROOT, RunnerError, cpu_count, digest, empty, locked, relative
from tb.runner.limits import Ended, wait

_children: set[subprocess.Popen[Any]] = set()
_children_lock = threading.Lock()


def kill_group(process: subprocess.Popen[Any]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def remember(process: subprocess.Popen[Any]) -> None:
    """kill_all ends this process, and all of its group, too."""
    with _children_lock:
        _children.add(process)


def forget(process: subprocess.Popen[Any]) -> None:
    with _children_lock:
        _children.discard(process)


def kill_all() -> None:
    """End every simulation that this process started (after Ctrl-C)."""
    with _children_lock:
        for process in _children:
            kill_group(process)


def execute(
    command: Sequence[str],
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    log: TextIO,
    cpu_s: float | None,
) -> Ended:
    """Run one command in a process group of its own, so that nothing of it is left behind.
    ``cpu_s``: limit of its processor time.
    """
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    remember(process)
    try:
        ended = wait(process.pid, cpu_s)
        process.returncode = ended.status
        return ended
    finally:
        if process.returncode is None:
            kill_group(process)
            process.wait()
        forget(process)


#: How a command is run: as ``execute`` above does.
Execute = Callable[
    [Sequence[str], str | os.PathLike[str], Mapping[str, str], TextIO, float | None], Ended
]


class _Executor:
    """Replaces how cocotb's runner starts its commands: with a log file, a limit, and no raise on
    a failing simulation, whose results are judged from what it wrote."""

    limit_s: float | None = None
    exit_code = 0
    ended = Ended()
    execute: Execute = staticmethod(execute)

    def _execute_cmds(
        self, cmds: Sequence[Sequence[str]], cwd: Any, stdout: TextIO | None = None
    ) -> None:
        assert stdout is not None
        for command in cmds:
            self.ended = self.execute(command, cwd, self.env, stdout, self.limit_s)  # type: ignore[attr-defined]
            self.exit_code = self.ended.status
            if self.exit_code:
                return


# What the wheel's verilated.mk leaves empty: without the first, larger designs do not build;
# without the next two, delays in the test bench do not.
MAKE_VARIABLES = (
    "CFG_CXXFLAGS_PCH_I=-include",
    "CFG_CXXFLAGS_COROUTINES=-fcoroutines",
    "CFG_CXXFLAGS_STD_NEWEST=-std=gnu++20",
    "CFG_LDLIBS_THREADS=-pthread",
    "OPT_FAST=-O3",
    "OPT_GLOBAL=-O2",
)

# Lines and branches. Not --coverage-fsm: Verilator 5.48 stops with an internal error there.
_COVERAGE_ARGS = ("--coverage-line",)
#: What only coverage builds read: the bench is not measured; how counts are taken and written.
_COVERAGE_CONTROL = ROOT / "tb" / "hdl" / "coverage.vlt"
_COVERAGE_HEADER = ROOT / "tb" / "hdl" / "coverage_counts.h"
_COVERAGE_WRITE = (
    "_ZN19VerilatedCovContext5writeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
)
#: Gives the recorder's rows to Python as memory; exported, so that it is found by its name.
_RECORDS = ROOT / "tb" / "hdl" / "records.cpp"
_RECORDS_ARGS = (
    *("-DRECORDS_IN_MEMORY", str(_RECORDS)),
    *("-LDFLAGS", "-Wl,--export-dynamic-symbol=carillon_rows"),
)
#: In the folder of a coverage build: its points, in the order of the bits that a run writes.
COVERAGE_POINTS = "coverage.points"
#: Sets of random initial values that seeds are spread over.
INITIAL_STATES = 8
_CHANGED = "the sources changed while build {} was made: run the command again"


class _Verilator(_Executor, cocotb_runner.Verilator):
    processes = 0

    def _build_command(self) -> list[list[str]]:
        verilate, make = super()._build_command()
        # cocotb asks for VCD and for read-write access to everything; the second halves the speed.
        dropped = {"--trace", "--public-flat-rw"}
        make[make.index("-j") + 1] = str(self.processes or cpu_count())
        make += MAKE_VARIABLES
        make.append(f"OBJCACHE={os.environ.get('OBJCACHE', '')}")
        return [[arg for arg in verilate if arg not in dropped], make]


class _Icarus(_Executor, cocotb_runner.Icarus):
    pass


def make_runner(sim: str) -> _Verilator | _Icarus:
    if sim not in ("verilator", "icarus"):
        raise RunnerError(f"SIM={sim}: choose verilator or icarus")
    if sim == "icarus" and shutil.which("iverilog") is None:
        raise RunnerError("iverilog is not installed; run 'make setup'")
    runner = _Verilator() if sim == "verilator" else _Icarus()
    runner.log.setLevel(logging.WARNING)
    return runner


def _verilator_args(config: BuildConfig, waves: bool) -> list[str]:
    args = ["-O3", "--timing", "--quiet"]
    if config.fast:
        args += ["--no-assert", "--x-assign", "fast", "--x-initial", "fast"]
    else:
        args += ["--assert", "--x-assign", "unique", "--x-initial", "unique"]
    if config.toplevel == BuildConfig.toplevel:
        args += _RECORDS_ARGS
    if waves:
        args += ["--trace-fst", "--trace-structs"]
    if config.coverage:
        args += [*_COVERAGE_ARGS, "--compiler-include", str(_COVERAGE_HEADER)]
        args += ["-LDFLAGS", f"-Wl,--wrap={_COVERAGE_WRITE}"]
    return args + list(config.build_args)


def first_build_error(log: str) -> str:
    """The line to show first. Verilator stops on warnings too, and then prints no error line."""
    for pattern in (r"%Error|[Ee]rror:|: syntax error|undefined reference", "%Warning"):
        if match := re.search(rf"^.*(?:{pattern}).*$", log, re.M):
            return match.group(0)
    return "no error line in the log"


@dataclass(frozen=True)
class _Plan:
    """What a build is made of, and the key that changes with it."""

    args: list[str]
    sources: list[Path]
    key: str
    program: Path
    stamp: Path

    @property
    def done(self) -> bool:
        stamp = self.stamp
        return self.program.is_file() and stamp.is_file() and stamp.read_text() == self.key


def _plan(config: BuildConfig, sim: str, waves: bool) -> _Plan:
    folder, sources = config.folder(sim, waves), config.source_files()
    if sim == "verilator":
        args, program = _verilator_args(config, waves), folder / config.toplevel
        control = [config.public_file(), *([_COVERAGE_CONTROL] if config.coverage else [])]
        sources = [*control, *sources]
    else:
        # The sources are Verilog-2005: without this they would be read as SystemVerilog.
        # (The module that cocotb adds to dump waves is SystemVerilog.)
        args, program = ["-g2005-sv" if waves else "-g2005"], folder / "sim.vvp"
    headers = [_COVERAGE_HEADER] if config.coverage else []
    headers += [_RECORDS] if str(_RECORDS) in args else []
    headers += [path for place in config.includes for path in sorted((ROOT / place).glob("*.vh"))]
    # What a build does not depend on.
    config = replace(config, timeout_s=0.0, sim_args=())
    key = digest([*sources, *headers], ROOT, config, args, MAKE_VARIABLES, sim)
    return _Plan(args, sources, key, program, folder / ".carillon-build")


def no_build(config: BuildConfig, sim: str) -> str:
    """Why there is no build of the sources as they are; "" if there is one."""
    plan, log = _plan(config, sim, waves=False), config.folder(sim, False) / "build.log"
    failed = f"build {config.name} for {sim} has failed; log: {relative(log)}"
    return "" if plan.done else _CHANGED.format(config.name) if plan.stamp.exists() else failed


def build(config: BuildConfig, sim: str, waves: bool = False, processes: int | None = None) -> bool:
    """Builds what has changed, with all cores unless ``processes`` says less; False: nothing."""
    folder = config.folder(sim, waves)
    with locked(folder):
        plan = _plan(config, sim, waves)
        if plan.done:
            return False
        plan.stamp.unlink(missing_ok=True)
        (folder / COVERAGE_POINTS).unlink(missing_ok=True)
        begun = folder / ".carillon-begun"
        if begun.exists():  # a build that was cut short may have left half an object
            empty(folder)
        begun.touch()
        log = folder / "build.log"
        runner = make_runner(sim)
        if isinstance(runner, _Verilator):
            runner.processes = processes or 0
        runner.build(
            sources=plan.sources,
            includes=[ROOT / path for path in config.includes],
            parameters=config.parameters,
            defines=config.defines,
            build_args=plan.args,
            hdl_toplevel=config.toplevel,
            build_dir=folder,
            timescale=("1ns", "1ps"),
            waves=waves,
            always=True,
            log_file=log,
        )
        if runner.exit_code or not plan.program.is_file():
            text = log.read_text(errors="replace")
            raise RunnerError(
                f"build {config.name} for {sim} failed: {first_build_error(text)}\n"
                + "\n".join(text.splitlines()[-60:])
                + f"\nThe whole log: {relative(log)}"
            )
        begun.unlink()
        # Which text of a source that has changed meanwhile was built is not known.
        if _plan(config, sim, waves).key != plan.key:
            plan.stamp.touch()
            raise RunnerError(_CHANGED.format(config.name))
        plan.stamp.write_text(plan.key)
    return True


def simulate(
    config: BuildConfig,
    sim: str,
    build_dir: Path,
    job_dir: Path,
    module: str,
    test_filter: str | None,
    seed: int,
    waves: Path | None = None,
    extra_env: Mapping[str, str] | None = None,
    hosts: Execute | None = None,
) -> Ended:
    """Run a test in job_dir, which gets sim.log and results.xml. ``hosts`` runs a compiled program
    in place of a process of its own.
    """
    runner = make_runner(sim)
    runner.limit_s = config.timeout_s
    if hosts and sim == "verilator":
        runner.execute = hosts
    test_args: list[str] = []
    plusargs: list[str] = [arg for arg in config.sim_args if arg.startswith("+")]
    test_args += [arg for arg in config.sim_args if not arg.startswith("+")]
    if sim == "verilator":
        # A register that leaves a random value at start has not been exercised by a test.
        initial = 0 if config.coverage else 2
        # Few initial states: jobs that have one in common are forks of one process.
        state = 1 + (seed - 1) % INITIAL_STATES
        plusargs += [f"+verilator+seed+{state}", f"+verilator+rand+reset+{initial}"]
        # One $error must not end the run: the test has to see, judge and report it.
        plusargs.append("+verilator+error+limit+1000")
        if waves:
            test_args += ["--trace-file", str(waves)]
    elif waves:
        plusargs.append(f"+dumpfile_path={waves}")
    with _outside_pytest():
        runner.test(
            test_module=module,
            test_filter=test_filter,
            hdl_toplevel=config.toplevel,
            hdl_toplevel_lang="verilog",
            build_dir=build_dir,
            test_dir=job_dir,
            results_xml=str(job_dir / "results.xml"),
            seed=seed,
            test_args=test_args,
            plusargs=plusargs,
            extra_env={
                "CARILLON_COVERAGE_POINTS": str(build_dir / COVERAGE_POINTS),
                **({} if _as_files(module) else {COMPILED: "1"}),
                **(extra_env or {}),
            },
            waves=waves is not None,
            log_file=job_dir / "sim.log",
        )
    return runner.ended


def _as_files(module: str) -> bool:
    """A test that imports the files of the model, compiled or not. Tours copy it by pickle, which
    compiled classes do not take.
    """
    return os.environ.get("COMPILED") == "0" or ".test_tour_" in module


@contextlib.contextmanager
def _outside_pytest() -> Iterator[None]:
    """cocotb's runner judges results by itself, and exits, where pytest runs it."""
    name = "PYTEST_CURRENT_TEST"
    saved = os.environ.pop(name, None)
    try:
        yield
    finally:
        if saved is not None:
            os.environ[name] = saved
