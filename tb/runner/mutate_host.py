# SPDX-License-Identifier: Apache-2.0
"""Runs inside the simulator: one process that imports the bench once and then runs every test of
every mutant in a fork of itself, before the first cycle of simulation.

A test takes some tens of milliseconds, starting a simulator a second: this is what makes mutants
affordable. Each fork simulates one test from time 0 as an ordinary run does, so no test sees what
another one left behind, and a mutant that hangs or crashes takes nothing with it.

Named in PYGPI_USERS instead of cocotb's own last entry point. Requests come as JSON lines on the
file descriptor CARILLON_MUTATE_IN, answers go to CARILLON_MUTATE_OUT:
``{"id", "mutant", "test": "tb.tests.test_x.TestX", "seed", "cpu_s", "log", "record"}`` ->
``{"id", "passed", "message", "seconds"}``; ``record``: file for what crosses the ports, or "".
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cocotb
import cocotb.handle
from cocotb.regression import RegressionManager
from cocotb_tools import _env

IN, OUT = "CARILLON_MUTATE_IN", "CARILLON_MUTATE_OUT"
#: Read by mutate_record.cpp.
RECORD = "CARILLON_MUTATE_RECORD"
#: A child that waits instead of computing is ended after this many times its processor time; other
#: work on the machine can slow it down as well.
_WALL_FACTOR = 300


class _OneTest(RegressionManager):
    """Reports the outcome of its only test and ends the process."""

    tell: Callable[[bool, str], None]

    def _tear_down(self) -> None:
        ran = self.passed + self.failures
        passed = ran == 1 and self.passed == 1 and not self.skipped
        self.tell(passed, "" if passed else self._message or f"{ran} tests ran")
        # No end of simulation: coverage and logs of a mutant are of no interest.
        os._exit(0)

    _message = ""

    def _score_test(self, exc: BaseException | None, *times: Any) -> None:
        if exc is not None:
            lines = str(exc).strip().splitlines()
            self._message = f"{type(exc).__name__}: {lines[0] if lines else ''}"[:300]
        super()._score_test(exc, *times)


def _child(tests: dict[str, Any], request: dict[str, Any], out: int) -> None:
    """Becomes the simulation of one test; returns into the simulator."""
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    limit = int(request["cpu_s"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    os.environ["COCOTB_RANDOM_SEED"] = str(request["seed"])
    cocotb.RANDOM_SEED = request["seed"]
    # Before the first evaluation: the whole run has the mutant.
    design: Any = cocotb.top
    design.dut.mutant.set(cocotb.handle.Immediate(request["mutant"]))
    os.environ[RECORD] = request["record"]
    design.dut.recording.set(cocotb.handle.Immediate(bool(request["record"])))
    manager = _OneTest()

    def tell(passed: bool, message: str) -> None:
        os.write(out, json.dumps({"passed": passed, "message": message}).encode())

    manager.tell = tell
    manager.register_test(tests[request["test"]])
    manager.start_regression()
    cocotb.regression._manager_inst = manager
    cocotb._shutdown.register(manager._on_sim_end)


def _start(tests: dict[str, Any], request: dict[str, Any]) -> tuple[int, int] | None:
    """Forks; (pid, pipe with its answer) in the parent, None in the child."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    os.close(read)
    _child(tests, request, write)
    return None


def _finish(pid: int, pipe: int) -> dict[str, Any]:
    """What a child that has ended said; one that said nothing has failed."""
    said = b""
    while part := os.read(pipe, 65536):
        said += part
    os.close(pipe)
    _, status, used = os.wait4(pid, 0)
    if said:
        answer: dict[str, Any] = json.loads(said)
    elif os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        answer = {"passed": False, "message": "time limit", "timeout": True}
    else:
        answer = {"passed": False, "message": f"the simulation ended with status {status:#x}"}
    answer["seconds"] = used.ru_utime + used.ru_stime
    return answer


def _tests() -> dict[str, Any]:
    """All tests of the modules in COCOTB_TEST_MODULES, by full name."""
    manager = RegressionManager()
    manager.setup_pytest_assertion_rewriting()
    manager.discover_tests(*_env.get_list("COCOTB_TEST_MODULES"))
    return {test.fullname: test for test in manager._test_queue}


def _answer(out: Any, **values: Any) -> None:
    out.write(json.dumps(values) + "\n")
    out.flush()


def serve() -> None:
    """Entry point. Returns in the children only, whose simulation it has begun."""
    sys.path.insert(0, "")
    requests = int(os.environ[IN])
    out = os.fdopen(int(os.environ[OUT]), "w")
    tests = _tests()
    _answer(out, ready=sorted(tests))
    running: dict[int, tuple[int, Any, float]] = {}  # pipe -> pid, id, wall deadline
    buffer = b""
    is_open = True
    while is_open or running:
        waiting = [*running, *([requests] if is_open else [])]
        ready, _, _ = select.select(waiting, [], [], 1.0)
        now = time.monotonic()
        for pid, _, deadline in running.values():
            if now > deadline:
                os.kill(pid, signal.SIGKILL)
        for pipe in ready:
            if pipe in running:
                pid, number, _ = running.pop(pipe)
                _answer(out, id=number, **_finish(pid, pipe))
        if requests not in ready:
            continue
        data = os.read(requests, 65536)
        is_open = bool(data)
        buffer += data
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            request = json.loads(line)
            Path(request["log"]).parent.mkdir(parents=True, exist_ok=True)
            started = _start(tests, request)
            if started is None:
                return
            pid, pipe = started
            deadline = time.monotonic() + _WALL_FACTOR * request["cpu_s"] + 10
            running[pipe] = (pid, request["id"], deadline)
    out.close()
    os._exit(0)
