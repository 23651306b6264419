# SPDX-License-Identifier: Apache-2.0
"""What pairs of QPs have (:mod:`tb.sequences.life.window_links`): protection zones with their
windows and regions, what is known of each, and connections.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.env.scoreboard.keys.ledger import Asked, Message, Side


@dataclass(eq=False)
class Zone:
    """A protection zone with its objects; those that nobody has now are in the lists."""

    number: int
    regions: list[Region] = field(default_factory=list)
    readable: list[Region] = field(default_factory=list)
    """Without local write."""
    windows: list[MemoryWindow] = field(default_factory=list)
    fast: list[Region] = field(default_factory=list)
    """Allocated."""
    free: list[int] = field(default_factory=list)
    """Addresses for receive buffers."""


@dataclass(eq=False)
class Facts:
    """A window or region since its key was looked at last."""

    key: int = 0
    valid: bool = False
    given: list[Asked] = field(default_factory=list)
    taken: int = 0
    """Requests and messages that were to invalidate it."""


@dataclass(eq=False)
class Link:
    """One connection of a pair."""

    sides: tuple[Side, Side]
    zone: Zone
    clean: bool = True
    over: bool = False
    left: list[MemoryWindow | Region] = field(default_factory=list)
    """Objects whose keys are to be looked at when it has ended."""
    messages: list[Message] = field(default_factory=list)
    """That this connection has sent or is about to send."""
