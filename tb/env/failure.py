# SPDX-License-Identifier: Apache-2.0
"""What ended a test, as data: the runner says it in one line, groups failures by it, and puts it on
top of the waves (tb/runner/results.py: Failure).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

#: Environment variable of the runner: path of the JSON file to write.
VARIABLE = "CARILLON_FAILURE_OUT"
#: The same: clock cycles that the simulation goes on after a failure, for its waves.
AFTER = "CARILLON_AFTER_FAILURE"
#: What a mismatch has beyond other exceptions (tb/env/scoreboard/explain.py).
_DETAILS = ("obj", "number", "field", "got", "want", "rule")


class ProtocolError(AssertionError):
    """The engine broke a handshake rule, or the harness itself failed; -1: not at a known cycle."""

    def __init__(self, text: str, cycle: int = -1) -> None:
        super().__init__(text)
        self.cycle = cycle


def note_failure(error: Exception, cycle: int, time_ps: int) -> None:
    """Writes down an exception, unless there is an earlier one. ``cycle``, ``time_ps``: when it
    happened, in clock cycles since the reset and in simulated time.
    """
    path = Path(os.environ.get(VARIABLE, ""))
    if not path.name or path.exists():
        return
    # Other exceptions have an ``obj``, too: any object.
    found = {name: getattr(error, name) for name in _DETAILS if hasattr(error, "rule")}
    found |= {"error": type(error).__name__, "text": str(error).partition("\n")[0]}
    path.write_text(json.dumps({**found, "cycle": cycle, "time_ps": time_ps}))


def cycles_after() -> int:
    """How long the simulation goes on after a failure, in clock cycles."""
    return int(os.environ.get(AFTER, "0"))
