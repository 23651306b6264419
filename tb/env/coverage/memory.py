# SPDX-License-Identifier: Apache-2.0
"""What the functional coverage remembers of a CQ, and how it sorts settings into bins."""

from __future__ import annotations

_ALL = 0xFFFF


class CqMemory:
    """What coverage remembers of one CQ."""

    __slots__ = (
        *(
            "attempts",
            "callback_type",
            "count",
            "destroyed",
            "gave_up",
            "interval",
            "log2",
            "origin",
        ),
        *("rearm", "resizes", "snap", "state", "stopped", "typed"),
    )

    def __init__(self) -> None:
        self.state = 0
        self.typed = self.rearm = False
        self.log2 = 0
        self.count = self.interval = 0
        self.origin = 0
        self.snap = 0
        self.attempts = 0
        self.gave_up = False
        self.callback_type = -1
        self.resizes = 0
        self.stopped = False
        self.destroyed = False


def moderation_case(count: int, interval: int, entries: int) -> str:
    """The case of CQ-21 that accepted settings are."""
    if interval == 0:
        return "off by interval 0"
    if count <= 1:
        return f"off by count {count}"
    if interval == _ALL:
        return "count only"
    if count == _ALL:
        return "interval only, all-ones"
    return "interval only, above the depth" if count > entries else "both"


def weaker(one: int, two: int) -> bool:
    """True if arm type ``one`` (public code) is weaker than ``two``."""
    rank = {0: 0, 2: 1, 1: 2}
    return rank.get(one, 0) < rank.get(two, 0)
