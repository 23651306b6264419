# SPDX-License-Identifier: Apache-2.0
"""Limits of a running process in seconds of processor time: a busy machine changes no verdict.

Imports nothing but the standard library, for it runs inside the simulator, too.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from pathlib import Path

#: A process that uses no processor time for so many seconds of wall time waits for ever.
IDLE_S = 600.0
#: Less than this is none: a thread that wakes up now and then uses some.
_TICKS = 5


def limit_cpu(pid: int, cpu_s: float | None) -> None:
    """SIGXCPU ends the process after ``cpu_s`` seconds of its processor time; None is no limit."""
    if cpu_s is not None:
        seconds = max(1, round(cpu_s))
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds + 5))


def ticks(pid: int) -> int:
    """Processor time of a process so far, in ticks of the system's clock; 0 if it has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return 0
    return int(fields[11]) + int(fields[12])


class Watch:
    """Kills a process that has used no processor time for ``IDLE_S`` seconds."""

    def __init__(self, pid: int, cpu_s: float | None) -> None:
        self.pid = pid
        self.ended = False
        self._cpu_s = cpu_s
        self._ticks = 0
        self._since = time.monotonic()

    def look(self) -> None:
        """To be called now and then."""
        now = time.monotonic()
        if now - self._since < IDLE_S / 10:
            return
        used = ticks(self.pid)
        if used - self._ticks >= _TICKS:
            self._ticks, self._since = used, now
        elif now - self._since > IDLE_S and not self.ended:
            self.ended = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def spent(self, used: resource.struct_rusage) -> bool:
        """Whether a process that a signal has ended had used up its time."""
        return self._cpu_s is not None and used.ru_utime + used.ru_stime >= self._cpu_s - 0.5
