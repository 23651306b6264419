# SPDX-License-Identifier: Apache-2.0
"""Memory regions as the host sees them (the objects that ``Adapter.register`` makes)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from models.post import Segment
from tb.env.agents.control import CommandError
from tb.env.defs import MR, Cmd, Result, Right

if TYPE_CHECKING:
    from tb.env.driver import Adapter
    from tb.env.records import Command

_M32 = (1 << 32) - 1


class RegionStatus(NamedTuple):
    """Answer to QUERY_MR."""

    key: int
    base: int
    length: int
    zone: int
    rights: Right

    @classmethod
    def from_outs(cls, outs: tuple[int, ...]) -> RegionStatus:
        """From OUT0 to OUT5."""
        fields = MR.unpack(outs[5])
        return cls(
            outs[0],
            outs[1] | outs[2] << 32,
            outs[3] | outs[4] << 32,
            fields["zone"],
            Right(fields["rights"]),
        )


class Region:
    """A memory region of host memory: ``length`` bytes (48 bits) at ``base``."""

    def __init__(
        self, host: Adapter, number: int, base: int, length: int, zone: int, rights: int
    ) -> None:
        self.host = host
        self.number = number
        self.base = base
        self.length = length
        self.zone = zone
        self.rights = rights
        #: Of the latest registration, 32 bits; 0 before.
        self.key = 0

    def segment(self, offset: int = 0, length: int | None = None) -> Segment:
        """A segment in the region (default: up to its end); one that leaves it is not prevented."""
        length = self.length - offset if length is None else length
        return Segment(self.base + offset, length, self.key)

    async def register(self) -> int:
        """REGISTER_MR, also after :meth:`deregister`; returns the key. Raises ``CommandError`` if
        not OK.
        """
        command = await self.host.command(
            Cmd.REGISTER_MR,
            self.number,
            *(self.base & _M32, self.base >> 32),
            *(self.length & _M32, self.length >> 32),
            MR.pack(zone=self.zone, rights=int(self.rights)),
        )
        self.key = _ok(command).outs[0]
        self.host.regions[self.number] = self
        return self.key

    async def deregister(self) -> None:
        """DEREGISTER_MR; buffers that were posted before stay posted."""
        _ok(await self.host.command(Cmd.DEREGISTER_MR, self.number))
        if self.host.regions.get(self.number) is self:
            del self.host.regions[self.number]

    async def query(self) -> RegionStatus:
        """QUERY_MR."""
        return RegionStatus.from_outs(_ok(await self.host.command(Cmd.QUERY_MR, self.number)).outs)

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """What host memory holds there."""
        length = self.length - offset if length is None else length
        return self.host.env.memory.read(self.base + offset, length)

    def paint(self, byte: int) -> None:
        """Fills the whole region with one byte value, to see afterwards what was written."""
        self.host.env.memory.write(self.base, bytes([byte]) * self.length)


def _ok(command: Command) -> Command:
    if command.result != Result.OK:
        raise CommandError(command)
    return command
