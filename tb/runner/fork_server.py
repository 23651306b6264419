# SPDX-License-Identifier: Apache-2.0
"""Runs inside the simulator: one process that has the design and the bench in memory and runs each
simulation in a fork of itself, before the first cycle.

Starting a simulator and importing the bench takes a second and more, most tests some tens of
milliseconds. Each fork simulates from time 0 as an ordinary run does, so no test sees what another
one left behind, and one that hangs or crashes takes nothing with it.

Named in PYGPI_USERS (``serve_jobs``, tb/runner/mutate_host.py). Requests come as JSON lines on the
file descriptor CARILLON_FORK_IN, answers go to CARILLON_FORK_OUT: first ``{"ready": [...]}``, then
for each request ``{"id", "log", "cpu_s", ...}`` one ``{"id", "status", "seconds", "timeout",
"said"}``: the exit code (minus the signal that ended it), seconds of processor time, whether it
was ended for using more than ``cpu_s`` seconds of them or none for long, and what it wrote to its
pipe. When the other side closes its end, what still runs is killed.
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tb.runner.limits import Watch, limit_cpu

IN, OUT = "CARILLON_FORK_IN", "CARILLON_FORK_OUT"
#: For servers that import everything at their start (tb/runner/mutate_host.py).
MODULES = "CARILLON_FORK_MODULES"

Request = dict[str, Any]
#: ``pyuvm.test()`` asks for the stack at each class, for one frame of it; reading the source lines
#: of every frame took nearly all of the time that importing the tests does.
inspect.stack = partial(inspect.stack, 0)

#: Makes a fork the simulation that the request asks for; the second argument is its pipe.
Become = Callable[[Request, int], None]


@dataclass
class _Child:
    """A running simulation."""

    pid: int
    number: int
    watch: Watch


def _write_log(path: str) -> None:
    """What this process prints goes into the file from now on."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)


def _start(request: Request) -> tuple[int, int]:
    """Forks; (process, what it says can be read here) in the parent, (0, its pipe) in the child."""
    read, write = os.pipe()
    pid = os.fork()
    os.close(write if pid else read)
    if pid:
        return pid, read
    _write_log(request["log"])
    return 0, write


def _finish(child: _Child, pipe: int) -> Request:
    said = b""
    while part := os.read(pipe, 65536):
        said += part
    os.close(pipe)
    _, status, used = os.wait4(child.pid, 0)
    return {
        "id": child.number,
        "status": os.waitstatus_to_exitcode(status),
        "seconds": used.ru_utime + used.ru_stime,
        "timeout": child.watch.ended or (os.WIFSIGNALED(status) and child.watch.spent(used)),
        "said": said.decode(errors="replace"),
    }


def serve(
    become: Become,
    ready: Sequence[str] = (),
    prepare: Callable[[Request], None] = lambda _request: None,
) -> None:
    """Answers requests until there are no more, and ends the process. Returns in the forks only,
    each of which has become its simulation. ``prepare`` is called before the fork.
    """
    requests, out = int(os.environ.pop(IN)), int(os.environ.pop(OUT))

    def answer(values: Request) -> None:
        os.write(out, (json.dumps(values) + "\n").encode())

    # What is left in a buffer of C's library would be written by each fork.
    ctypes.CDLL(None).fflush(None)
    _keep()
    answer({"ready": list(ready)})
    running: dict[int, _Child] = {}
    buffer = b""
    while True:
        readable, _, _ = select.select([*running, requests], [], [], 5.0)
        for child in running.values():
            child.watch.look()
        for pipe in readable:
            if pipe in running:
                answer(_finish(running.pop(pipe), pipe))
        if requests not in readable:
            continue
        data = os.read(requests, 65536)
        if not data:
            break
        *lines, buffer = (buffer + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            prepare(request)
            pid, pipe = _start(request)
            if not pid:
                for other in (requests, out, *running):
                    os.close(other)
                become(request, pipe)
                return
            limit_cpu(pid, request["cpu_s"])
            running[pipe] = _Child(pid, request["id"], Watch(pid, request["cpu_s"]))
    for child in running.values():
        os.kill(child.pid, signal.SIGKILL)
    os._exit(0)


def _keep() -> None:
    """What the forks share is not copied when one of them collects its garbage."""
    gc.collect()
    gc.freeze()


def _end_at_exit() -> None:
    """Verilator's own end would wait for a thread of its library that a fork does not have: after
    main(), files are flushed and the process ends with main's status.
    """
    libc = ctypes.CDLL(None)
    for handler in (libc._exit, libc.fcloseall):  # the last one is called first
        libc.on_exit(ctypes.cast(handler, ctypes.c_void_p), None)


def _become_job(request: Request, _pipe: int) -> None:
    """What cocotb's entry points, which come next, find at the start of an ordinary run."""
    _end_at_exit()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])


def _import(request: Request) -> None:
    """The test's module, once for all of its runs."""
    name = request["module"]
    if name not in sys.modules:
        # A module that cannot be imported fails in the run that asks for it.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
        _keep()


def serve_jobs() -> None:
    """Entry point, the first one: simulations that differ in their environment only, each of a test
    in the module that its request names.
    """
    from cocotb.regression import RegressionManager

    RegressionManager.setup_pytest_assertion_rewriting()
    serve(_become_job, prepare=_import)
