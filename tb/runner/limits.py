# SPDX-License-Identifier: Apache-2.0
"""Waits for a process with limits in seconds of processor time: a busy machine changes no verdict.

Imports nothing but the standard library, for it runs inside the simulator, too.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
from pathlib import Path
from typing import NamedTuple

#: A process that uses no processor time for so many seconds of wall time waits for ever.
IDLE_S = 600.0
#: Less than this is none: a thread that wakes up now and then uses some.
_TICKS = 5


class Ended(NamedTuple):
    """How a process has ended."""

    status: int = 0
    """Exit code, or minus the signal."""
    cpu_s: float = 0.0
    """Processor time, with that of the processes that it has waited for."""
    timeout: bool = False
    """Whether it was ended for using more than its limit, or nothing for long."""


def ticks(pid: int) -> int:
    """Processor time of a process so far, in ticks of the system's clock; 0 if it has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return 0
    return int(fields[11]) + int(fields[12])


def wait(pid: int, cpu_s: float | None, other: int | None = None) -> Ended:
    """Waits for a child, which SIGXCPU ends after ``cpu_s`` seconds; None is no limit. It is killed
    if it uses none for long, or when the other end of the pipe ``other`` is closed.
    """
    if cpu_s is not None:
        seconds = max(1, round(cpu_s))
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds + 5))
    handle, before, idle = os.pidfd_open(pid), -_TICKS, False
    handles = [handle] if other is None else [handle, other]
    try:
        while not idle:
            ready = select.select(handles, [], [], None if cpu_s is None else IDLE_S)[0]
            if handle in ready:
                break
            now = ticks(pid)
            idle = bool(ready) or now - before < _TICKS
            before = now
    finally:
        os.close(handle)
    if idle:
        os.kill(pid, signal.SIGKILL)
    # Only wait4 tells what the process has used.
    _, status, used = os.wait4(pid, 0)
    spent = used.ru_utime + used.ru_stime
    late = cpu_s is not None and os.WIFSIGNALED(status) and spent >= cpu_s - 0.5
    return Ended(os.waitstatus_to_exitcode(status), spent, idle or late)
