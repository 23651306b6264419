# SPDX-License-Identifier: Apache-2.0
"""The graphs that are driven into the RTL, by name; the part of a name ahead of the colon is the
model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tb.tours.arm import ArmWorld
from tb.tours.arm import Setup as Arm
from tb.tours.deferral import DeferralWorld
from tb.tours.deferral import Setup as Deferral
from tb.tours.graph import Graph, World, explore, pair_graph
from tb.tours.srq import Setup as Srq
from tb.tours.srq import SrqWorld
from tb.tours.window import Setup as Window
from tb.tours.window import WindowWorld

_SRQ_EVENT_AND_LIFE = Srq(qps=1, watermarks=(1,), stalls=True, lives=True)
_OWN_QUEUE = Srq(shared=False, qps=1, connections=True, lives=True, wide=True)
_ACCESSES = Window(1, checks=("read", "write", "beyond", "before"), old=True, region=True, nd1=True)

GRAPHS: dict[str, Callable[[], World]] = {
    "arm: literal": lambda: ArmWorld(Arm(wide=True)),
    "arm: typed": lambda: ArmWorld(Arm(typed=True)),
    "arm: re-arm": lambda: ArmWorld(Arm(("plain",), rearm=True)),
    "arm: classes": lambda: ArmWorld(Arm(("unsignalled", "failed"), arms=("SOLICITED", "ANY"))),
    "arm: errors": lambda: ArmWorld(Arm(("plain",), arms=("ERRORS", "ANY"), errors=True)),
    "arm: lives": lambda: ArmWorld(Arm(("plain",), arms=("ANY",), lives=True)),
    "deferral: fences": lambda: DeferralWorld(Deferral(("send", "read", "fenced"))),
    "deferral: local": lambda: DeferralWorld(Deferral(("send", "local", "silent"))),
    "deferral: fenced local": lambda: DeferralWorld(Deferral(("read", "local", "fencedlocal"))),
    "deferral: four slots": lambda: DeferralWorld(Deferral(slots=4)),
    "deferral: watermark": lambda: DeferralWorld(Deferral(slots=4, watermark=3)),
    "deferral: commands": lambda: DeferralWorld(Deferral(commands=True)),
    "deferral: stalls": lambda: DeferralWorld(Deferral(slots=3, stalls=True)),
    "deferral: stalls, local": lambda: DeferralWorld(Deferral(("send", "local"), stalls=True)),
    "srq: messages": lambda: SrqWorld(Srq(wide=True)),
    "srq: connections": lambda: SrqWorld(Srq(connections=True, wide=True, lead=True)),
    "srq: watermark": lambda: SrqWorld(Srq(watermarks=(0, 1, 2, 3), lead=True)),
    "srq: stalled event": lambda: SrqWorld(Srq(qps=1, watermarks=(0, 1, 2), stalls=True)),
    "srq: sizes": lambda: SrqWorld(Srq(qps=1, watermarks=(1, 2), sizes=(1, 2, 3, 5))),
    "srq: lives": lambda: SrqWorld(Srq(qps=1, connections=True, lives=True, wide=True)),
    "srq: two lives": lambda: SrqWorld(Srq(lives=True, lead=True)),
    "srq: event and life": lambda: SrqWorld(_SRQ_EVENT_AND_LIFE),
    "srq: own queue": lambda: SrqWorld(_OWN_QUEUE),
    "window: keys": lambda: WindowWorld(Window(old=True, region=True)),
    "window: accesses": lambda: WindowWorld(_ACCESSES),
    "window: allocated region": lambda: WindowWorld(Window(windows=1, allocated=True, region=True)),
    "window: lives": lambda: WindowWorld(Window(windows=1, checks=(), lives=True)),
    "window: removal": lambda: WindowWorld(Window(removal=True)),
}


#: Graphs whose actions are also driven two at a time, back to back, and which of them (patterns).
PAIRS: dict[str, tuple[str, ...]] = {
    "arm: lives": ("arm ANY", "take *", "return", "acknowledge*", "plain"),
    "deferral: commands": ("post *", "badopcode", "foreign", "report *", "event"),
    "srq: connections": ("post", "take ?", "long ?", "report *", "reap *", "event *"),
    "window: accesses": ("bind ? x", "invalidate ? x", "check ? x read"),
}


@cache
def explored(name: str) -> Graph:
    """The reachable graph of this name, or its pairs behind ``pairs:``."""
    kind, _, base = name.partition(": ")
    if kind == "pairs":
        return pair_graph(explored(base), PAIRS[base])
    return explore(name, GRAPHS[name]())


#: Everything that is to be driven.
NAMES = (*GRAPHS, *(f"pairs: {name}" for name in PAIRS))
