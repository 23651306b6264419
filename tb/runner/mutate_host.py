# SPDX-License-Identifier: Apache-2.0
"""Runs inside the simulator: every test of every mutant in a fork (tb/runner/fork_server.py).

Named in PYGPI_USERS instead of cocotb's own last entry point. A request has ``{"mutant", "test":
"tb.tests.test_x.TestX", "seed", "cpu_s", "record"}`` besides what the server reads, with
``record`` the file for what crosses the ports, or ""; a fork says ``{"passed", "message"}``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import cocotb
import cocotb.handle
from cocotb.regression import RegressionManager

from tb.runner.fork_server import MODULES, Request, serve

#: Read by mutate_record.cpp.
RECORD = "CARILLON_MUTATE_RECORD"


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


def _become(tests: dict[str, Any], request: Request, pipe: int) -> None:
    """Becomes the simulation of one test; returns into the simulator."""
    os.environ["COCOTB_RANDOM_SEED"] = str(request["seed"])
    cocotb.RANDOM_SEED = request["seed"]
    # Before the first evaluation: the whole run has the mutant.
    design: Any = cocotb.top
    design.dut.mutant.set(cocotb.handle.Immediate(request["mutant"]))
    os.environ[RECORD] = request["record"]
    design.dut.recording.set(cocotb.handle.Immediate(bool(request["record"])))
    manager = _OneTest()

    def tell(passed: bool, message: str) -> None:
        os.write(pipe, json.dumps({"passed": passed, "message": message}).encode())

    manager.tell = tell
    manager.register_test(tests[request["test"]])
    manager.start_regression()
    cocotb.regression._manager_inst = manager
    cocotb._shutdown.register(manager._on_sim_end)


def _tests() -> dict[str, Any]:
    """All tests of the modules in CARILLON_FORK_MODULES, by full name."""
    manager = RegressionManager()
    manager.setup_pytest_assertion_rewriting()
    manager.discover_tests(*os.environ[MODULES].split(","))
    return {test.fullname: test for test in manager._test_queue}


def serve_mutants() -> None:
    """Entry point. Returns in the forks only, whose simulation it has begun."""
    sys.path.insert(0, "")
    tests = _tests()
    serve(lambda request, pipe: _become(tests, request, pipe), sorted(tests))
