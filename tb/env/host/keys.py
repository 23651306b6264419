# SPDX-License-Identifier: Apache-2.0
"""What the driver knows of windows and keys; a part of ``Adapter``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from models.cq.queue import NdResultEx
from tb.env.agents.control import ok
from tb.env.defs import KEY, Cmd, CqeType
from tb.env.harness.records import Command
from tb.env.host.port import Environment
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow


def free(objects: dict[int, Any]) -> int:
    """The lowest number that no object has."""
    return next(n for n in range(1 << 16) if n not in objects)


class KeyHost:
    """Windows, regions and keys; the driver adds everything else."""

    env: Environment
    regions: dict[int, Region]
    windows: dict[int, MemoryWindow]
    #: There are, or were, keys that a peer can invalidate: polls look for that.
    follows_keys: bool
    #: REMOVE_DEVICE was executed.
    removed: bool

    def forget_keys(self) -> None:
        """After a reset of the engine."""
        self.windows = {}
        self.follows_keys = self.removed = False

    async def command(self, code: int, *args: int) -> Command:
        """A mailbox command as it is, whatever its result."""
        raise NotImplementedError

    async def create_window(
        self, number: int | None = None, *, zone: int = 0, context: int | None = None
    ) -> MemoryWindow:
        """Creates a memory window (default: the lowest free number, a context with its number)."""
        number = free(self.windows) if number is None else number
        context = 0x3130_0000_0000_0000 | number if context is None else context
        window = MemoryWindow(self, number, zone, context)
        await window.create()
        self.follows_keys = True
        return window

    def object_of(self, key: int) -> Region | MemoryWindow | None:
        """The region or window that has this key now, as the driver knows it."""
        fields = KEY.unpack(key)
        objects: dict[int, Any] = self.windows if fields["window"] else self.regions
        keyed: Region | MemoryWindow | None = objects.get(fields["number"])
        return keyed if keyed is not None and keyed.key == key else None

    def window_of(self, context: int) -> MemoryWindow | None:
        """The window with this creation context, which an ND1 invalidate result carries."""
        return next((w for w in self.windows.values() if w.context == context), None)

    def invalidated_by(self, results: Iterable[NdResultEx]) -> None:
        """Results were polled: keys that peers have invalidated, as receive completions say (one
        entry of type ReceiveAndInvalidate, or the invalidate result of an ND1 receive), are not
        valid any more. Keys that no object has any more are left out.
        """
        for result in results:
            if result.status or not result.token:
                continue
            if result.type in (CqeType.RECEIVE_AND_INVALIDATE, CqeType.INVALIDATE):
                keyed = self.object_of(result.token)
                if keyed is not None:
                    keyed.valid = False

    async def remove_device(self) -> None:
        """REMOVE_DEVICE; final until reset."""
        ok(await self.command(Cmd.REMOVE_DEVICE, 0))
        self.removed = True
