# SPDX-License-Identifier: Apache-2.0
"""Runs inside the simulator: one process that has the design and the bench in memory and runs each
simulation in a fork of itself, before the first cycle.

Starting a simulator and importing the bench takes a second and more, most tests some tens of
milliseconds. Each fork simulates from time 0 as an ordinary run does, so no test sees what another
one left behind, and one that hangs or crashes takes nothing with it.

Named in PYGPI_USERS. Requests come as JSON lines on the file descriptor CARILLON_FORK_IN, answers
go to CARILLON_FORK_OUT: first ``{"id": 0}``, then for each request ``{"id", "module", "cwd",
"env", "log", "cpu_s"}`` one ``{"id", "status", "seconds", "timeout"}``: the exit code (minus the
signal that ended it), seconds of processor time, whether it was ended for using more than ``cpu_s``
seconds of them or none for long. When the other side closes its end, what still runs is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import inspect
import json
import os
import select
import signal
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

from tb.runner.limits import Watch, limit_cpu

IN, OUT = "CARILLON_FORK_IN", "CARILLON_FORK_OUT"

Request = dict[str, Any]
#: ``pyuvm.test()`` asks for the stack at each class, for one frame of it; reading the source lines
#: of every frame took nearly all of the time that importing the tests does.
inspect.stack = partial(inspect.stack, 0)


@dataclass
class _Child:
    """A running simulation."""

    pid: int
    number: int
    watch: Watch

    def finish(self) -> Request:
        """The answer, when it has ended."""
        _, status, used = os.wait4(self.pid, 0)
        return {
            "id": self.number,
            "status": os.waitstatus_to_exitcode(status),
            "seconds": used.ru_utime + used.ru_stime,
            "timeout": self.watch.ended or (os.WIFSIGNALED(status) and self.watch.spent(used)),
        }


def serve_jobs() -> None:
    """Entry point, the first one. Answers requests until there are no more, and ends the process.
    Returns in the forks only, each of which has become its simulation: they differ in their
    environment only, each is of a test in the module that its request names.
    """
    from cocotb.regression import RegressionManager

    RegressionManager.setup_pytest_assertion_rewriting()
    requests, out = int(os.environ.pop(IN)), int(os.environ.pop(OUT))

    def answer(values: Request) -> None:
        os.write(out, (json.dumps(values) + "\n").encode())

    # What is left in a buffer of C's library would be written by each fork.
    ctypes.CDLL(None).fflush(None)
    _keep()
    answer({"id": 0})
    running: dict[int, _Child] = {}
    buffer = b""
    while True:
        readable, _, _ = select.select([*running, requests], [], [], 5.0)
        for child in running.values():
            child.watch.look()
        for handle in {*readable} & running.keys():
            answer(running.pop(handle).finish())
            os.close(handle)
        if requests not in readable:
            continue
        data = os.read(requests, 65536)
        if not data:
            break
        *lines, buffer = (buffer + data).split(b"\n")
        for request in map(json.loads, lines):
            _import(request["module"])
            pid = os.fork()
            if not pid:
                for handle in (requests, out, *running):
                    os.close(handle)
                _become(request)
                return
            limit_cpu(pid, request["cpu_s"])
            watch = Watch(pid, request["cpu_s"])
            running[os.pidfd_open(pid)] = _Child(pid, request["id"], watch)
    for child in running.values():
        os.kill(child.pid, signal.SIGKILL)
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


def _become(request: Request) -> None:
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
