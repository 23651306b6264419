# SPDX-License-Identifier: Apache-2.0
"""The graphs that are driven into the RTL, by name; the part of a name ahead of the colon is the
model.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tb.tours.arm import ArmWorld
from tb.tours.arm import Setup as Arm
from tb.tours.deferral import DeferralWorld
from tb.tours.deferral import Setup as Deferral
from tb.tours.graph import Graph, World, explore, pair_graph
from tb.tours.srq import Setup as Srq
from tb.tours.srq import SrqWorld
from tb.tours.window import Setup as Window
from tb.tours.window import WindowWorld

_WORLDS: Any = {Arm: ArmWorld, Deferral: DeferralWorld, Srq: SrqWorld, Window: WindowWorld}

SETUPS: dict[str, Any] = {
    "arm: literal": Arm(wide=True),
    "arm: typed": Arm(typed=True),
    "arm: re-arm": Arm(("plain",), rearm=True),
    "arm: classes": Arm(("unsignalled", "failed"), arms=("SOLICITED", "ANY")),
    "arm: errors": Arm(("plain",), arms=("ERRORS", "ANY"), errors=True),
    "arm: lives": Arm(("plain",), arms=("ANY",), lives=True),
    "deferral: fences": Deferral(("send", "read", "fenced")),
    "deferral: local": Deferral(("send", "local", "silent")),
    "deferral: fenced local": Deferral(("read", "local", "fencedlocal")),
    "deferral: four slots": Deferral(slots=4),
    "deferral: watermark": Deferral(slots=4, watermark=3),
    "deferral: commands": Deferral(commands=True),
    "deferral: stalls": Deferral(slots=3, stalls=True),
    "deferral: stalls, local": Deferral(("send", "local"), stalls=True),
    "srq: messages": Srq(wide=True),
    "srq: connections": Srq(connections=True, wide=True, lead=True),
    "srq: watermark": Srq(watermarks=(0, 1, 2, 3), lead=True),
    "srq: stalled event": Srq(qps=1, watermarks=(0, 1, 2), stalls=True),
    "srq: sizes": Srq(qps=1, watermarks=(1, 2), sizes=(1, 2, 3, 5)),
    "srq: lives": Srq(qps=1, connections=True, lives=True, wide=True),
    "srq: two lives": Srq(lives=True, lead=True),
    "srq: event and life": Srq(qps=1, watermarks=(1,), stalls=True, lives=True),
    "srq: own queue": Srq(shared=False, qps=1, connections=True, lives=True, wide=True),
    "window: keys": Window(old=True, region=True),
    "window: accesses": Window(
        1, checks=("read", "write", "beyond", "before"), old=True, region=True, nd1=True
    ),
    "window: allocated region": Window(windows=1, allocated=True, region=True),
    "window: lives": Window(windows=1, checks=(), lives=True),
    "window: removal": Window(removal=True),
}

#: Graphs whose actions are also driven two at a time, back to back, and which of them (patterns).
PAIRS: dict[str, tuple[str, ...]] = {
    "arm: lives": ("arm ANY", "take *", "return", "acknowledge*", "plain"),
    "deferral: commands": ("post *", "bad opcode", "foreign", "report *", "event"),
    "srq: connections": ("post", "take ?", "long ?", "report *", "reap *", "event *"),
    "window: accesses": ("bind ? x", "invalidate ? x", "check ? x read"),
}

#: Everything that is to be driven.
NAMES = (*SETUPS, *(f"pairs: {name}" for name in PAIRS))


def world_of(name: str) -> World:
    """A new world of this name."""
    setup = SETUPS[name]
    world: World = _WORLDS[type(setup)](setup)
    return world


@cache
def explored(name: str) -> Graph:
    """The reachable graph of this name, or its pairs after ``pairs:``."""
    kind, _, base = name.partition(": ")
    if kind == "pairs":
        return pair_graph(explored(base), PAIRS[base])
    return explore(name, world_of(name))
