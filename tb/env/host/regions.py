# SPDX-License-Identifier: Apache-2.0
"""Memory regions as the host sees them (the objects that ``Adapter.register`` makes)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from models.post.post import Post, Segment
from tb.env.agents.control import ok
from tb.env.defs import MR, MR_STATE, Cmd, Opcode, Right
from tb.env.host.keyed import Keyed, KeyPosted, rights_flags
from tb.env.host.qp import Qp

_M32 = (1 << 32) - 1


class RegionStatus(NamedTuple):
    """Answer to QUERY_MR."""

    key: int
    base: int
    length: int
    zone: int
    rights: Right
    qp: int = 0
    """That registered it with FastRegister."""
    valid: bool = False
    allocated: bool = False
    windows: int = 0
    """Bound to it."""

    @classmethod
    def from_outs(cls, outs: tuple[int, ...]) -> RegionStatus:
        """From OUT0 to OUT6."""
        fields, state = MR.unpack(outs[5]), MR_STATE.unpack(outs[6])
        return cls(
            outs[0],
            outs[1] | outs[2] << 32,
            outs[3] | outs[4] << 32,
            fields["zone"],
            Right(fields["rights"]),
            state["qp"],
            bool(state["valid"]),
            bool(state["allocated"]),
            state["windows"],
        )


@dataclass(eq=False)
class Region(Keyed):
    """A memory region of host memory: ``length`` bytes (48 bits) at ``base``."""

    base: int
    length: int
    zone: int
    rights: int

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
        self.key = ok(command).outs[0]
        self.valid = True
        self.host.regions[self.number] = self
        return self.key

    async def allocate(self) -> int:
        """NdkAllocMr: ALLOC_MR, for :meth:`fast_register`; returns the key, which is not valid yet.
        Raises ``CommandError`` if not OK.
        """
        self.key = ok(
            await self.host.command(Cmd.ALLOC_MR, self.number, 0, 0, 0, 0, self.zone)
        ).outs[0]
        self.valid = False
        self.host.regions[self.number] = self
        return self.key

    def make_fast_register(
        self,
        qp: Qp,
        offset: int = 0,
        length: int | None = None,
        rights: Right | int | None = None,
        **fields: Any,
    ) -> Post:
        """The post of a FastRegister of ``length`` bytes (32 bits; default: to the end) from
        ``offset`` on, with ``rights`` (default: the region's). ``fields``: those of ``Qp.make``.
        Changes nothing here.
        """
        rights = self.rights if rights is None else rights
        flags = fields.pop("flags", 0) | rights_flags(rights)
        length = self.length - offset if length is None else length
        fields.setdefault("segments", [Segment(self.base + offset, length)])
        fields.setdefault("token", self.key)
        return qp.make(Opcode.FAST_REGISTER, flags=flags, **fields)

    async def fast_register(self, qp: Qp, *where: Any, **fields: Any) -> KeyPosted:
        """NdkFastRegister: posts :meth:`make_fast_register`; returns the inline result, and the key
        from then on.
        """
        return await self._give_key(qp, self.make_fast_register(qp, *where, **fields))

    async def deregister(self) -> None:
        """DEREGISTER_MR; buffers that were posted before stay posted."""
        ok(await self.host.command(Cmd.DEREGISTER_MR, self.number))
        self.valid = False
        if self.host.regions.get(self.number) is self:
            del self.host.regions[self.number]

    async def query(self) -> RegionStatus:
        """QUERY_MR."""
        return RegionStatus.from_outs(ok(await self.host.command(Cmd.QUERY_MR, self.number)).outs)

    async def refresh(self) -> RegionStatus:
        """QUERY_MR; ``key`` and ``valid`` are then those of the engine."""
        status = await self.query()
        self.key, self.valid = status.key, status.valid
        return status

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """What host memory holds there."""
        length = self.length - offset if length is None else length
        data: bytes = self.host.env.memory.read(self.base + offset, length)
        return data

    def paint(self, byte: int) -> None:
        """Fills the whole region with one byte value, to see afterwards what was written."""
        self.host.env.memory.write(self.base, bytes([byte]) * self.length)
