# SPDX-License-Identifier: Apache-2.0
"""The graphs that are driven into the RTL, by name; the part of a name ahead of the colon is the
model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tb.tours.arm import ArmWorld
from tb.tours.arm import Setup as Arm
from tb.tours.graph import Graph, World, explore

GRAPHS: dict[str, Callable[[], World]] = {
    "arm: literal": lambda: ArmWorld(Arm(wide=True)),
    "arm: typed": lambda: ArmWorld(Arm(typed=True)),
    "arm: re-arm": lambda: ArmWorld(Arm(kinds=("plain",), rearm=True)),
    "arm: classes": lambda: ArmWorld(Arm(("unsignalled", "failed"), arms=("SOLICITED", "ANY"))),
    "arm: errors": lambda: ArmWorld(Arm(("plain",), arms=("ERRORS", "ANY"), errors=True)),
    "arm: lives": lambda: ArmWorld(Arm(("plain",), arms=("ANY",), lives=True)),
}


@cache
def explored(name: str) -> Graph:
    """The reachable graph of this name."""
    return explore(name, GRAPHS[name]())
