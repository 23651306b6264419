# SPDX-License-Identifier: Apache-2.0
"""Where the processor time of a process goes, by parts of the bench.

Every two milliseconds of processor time the stack is looked at: its innermost frame of a known part
says whose the time since the look before was. A look that falls into the simulator comes when it
next calls Python, in the outermost frame.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

#: Environment variable: path of the JSON file to write, {part: seconds of processor time}.
VARIABLE = "CARILLON_SPLIT_OUT"
#: Names of what cocotb calls first in a simulation, for PYGPI_USERS.
USERS = (
    "tb.replay.split:begin",
    # As without PYGPI_USERS.
    "cocotb.logging:_configure",
    "cocotb._init:init_package_from_simulation",
    "cocotb.regression:_run_regression",
)
PERIOD_S = 0.002
#: Parts by what is in the path of a frame's file; the first that fits counts.
PARTS = (
    ("/models/", "model"),
    ("/tb/env/scoreboard/", "checks"),
    ("/tb/env/coverage/", "coverage"),
    ("/tb/env/harness/facts", "coverage"),
    ("/tb/env/harness/decode", "decode"),
    ("/tb/env/harness/records", "decode"),
    ("/tb/env/harness/harness", "VPI"),
    ("/tb/replay/file", "reading"),
    ("/tb/replay/", "checks"),
    ("/tb/sequences/", "stimulus"),
    ("/tb/tests/", "stimulus"),
    ("/tb/env/", "driver"),
    ("/cocotb/handle", "VPI"),
    ("/cocotb/types/", "VPI"),
    ("/cocotb/", "scheduling"),
    ("/pyuvm/", "scheduling"),
)


def largest_first(parts: Mapping[str, float]) -> list[tuple[str, float]]:
    """Parts and their seconds."""
    return sorted(parts.items(), key=lambda part: -part[1])


class Split:
    """Looks from now on. ``started``: False until the first look into the harness; before it, all
    is start-up.
    """

    def __init__(self, started: bool = False) -> None:
        self.started = started
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._parts: dict[str, str] = {}
        self._before = 0.0 if not started else time.process_time()
        signal.signal(signal.SIGPROF, self._look)
        # A system call of the simulator goes on.
        signal.siginterrupt(signal.SIGPROF, False)
        signal.setitimer(signal.ITIMER_PROF, PERIOD_S, PERIOD_S)

    def stop(self) -> dict[str, float]:
        """Seconds of processor time by part."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        now = time.process_time()
        self.seconds["start-up"] += now - self._before
        self._before = now
        return {part: round(seconds, 3) for part, seconds in largest_first(self.seconds)}

    def _look(self, _number: int, frame: FrameType | None) -> None:
        now = time.process_time()
        self.seconds[self._part(frame)] += now - self._before
        self._before = now

    def _part(self, frame: FrameType | None) -> str:
        if self.started and (frame is None or frame.f_back is None):
            return "simulator"
        found = "other"
        while frame is not None:
            part = self._of(frame.f_code.co_filename)
            if found == "other" and part:
                found = part
            if not self.started and "/tb/env/harness/harness" in frame.f_code.co_filename:
                self.started = True
            frame = frame.f_back
        return found if self.started else "start-up"

    def _of(self, path: str) -> str:
        part = self._parts.get(path)
        if part is None:
            part = next((name for where, name in PARTS if where in path), "")
            self._parts[path] = part
        return part


def begin() -> None:
    """Splits this process to its end, and writes the file."""
    split = Split()
    out = Path(os.environ[VARIABLE])
    atexit.register(lambda: out.write_text(json.dumps(split.stop(), indent=1) + "\n"))
