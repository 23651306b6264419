# SPDX-License-Identifier: Apache-2.0
"""Runs inside the simulator: one process that has the design and the bench in memory and runs each
simulation in a fork of itself, before the first cycle.

Starting a simulator and importing the bench takes a second and more, most tests some tens of
milliseconds. Each fork simulates from time 0 as an ordinary run does, so no test sees what another
one left behind, and one that hangs or crashes takes nothing with it.

Named in PYGPI_USERS. Requests come as JSON lines on the file descriptor CARILLON_FORK_IN, answers
go to CARILLON_FORK_OUT: one when it is ready, then for each request ``{"module", "cwd", "env",
"log", "cpu_s"}`` how the simulation has ended (tb/runner/limits.py). When the other side closes its
end, what still runs is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import inspect
import json
import os
import sys
from functools import partial
from typing import Any

from tb.runner.limits import Ended, wait

IN, OUT = "CARILLON_FORK_IN", "CARILLON_FORK_OUT"

#: ``pyuvm.test()`` asks for the stack at each class, for one frame of it; reading the source lines
#: of every frame took nearly all of the time that importing the tests does.
inspect.stack = partial(inspect.stack, 0)


def serve_jobs() -> None:
    """Entry point, the first one. Answers requests until there are no more, and ends the process.
    Returns in the forks only, each of which has become its simulation: they differ in their
    environment only, each is of a test in the module that its request names.
    """
    from cocotb.regression import RegressionManager

    RegressionManager.setup_pytest_assertion_rewriting()
    requests, out = os.fdopen(int(os.environ.pop(IN))), int(os.environ.pop(OUT))

    def answer(ended: Ended) -> None:
        os.write(out, (json.dumps(ended) + "\n").encode())

    # What is left in a buffer of C's library would be written by each fork.
    ctypes.CDLL(None).fflush(None)
    _keep()
    with contextlib.suppress(BrokenPipeError):
        answer(Ended())
        for request in map(json.loads, requests):
            _import(request["module"])
            pid = os.fork()
            if not pid:
                requests.close()
                os.close(out)
                _become(request)
                return
            answer(wait(pid, request["cpu_s"], requests.fileno()))
    os._exit(0)


def _keep() -> None:
    """What the forks share is not copied when one of them collects its garbage."""
    gc.collect()
    gc.freeze()


def _import(name: str) -> None:
    """A test's module, once for all of its runs."""
    if name not in sys.modules:
        # A module that cannot be imported fails in the run that asks for it.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
        _keep()


def _become(request: dict[str, Any]) -> None:
    """What cocotb's entry points, which come next, find at the start of an ordinary run."""
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    # Verilator's own end would wait for a thread of its library that a fork does not have: after
    # main(), files are flushed and the process ends with main's status.
    libc = ctypes.CDLL(None)
    for handler in (libc._exit, libc.fcloseall):  # the last one is called first
        libc.on_exit(ctypes.cast(handler, ctypes.c_void_p), None)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
