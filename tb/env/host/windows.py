# SPDX-License-Identifier: Apache-2.0
"""Memory windows as the host sees them (the objects that ``Adapter.create_window`` makes)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from models.post.post import Post
from tb.env.agents.control import ok
from tb.env.defs import MR, MW_STATE, Cmd, Opcode, Right
from tb.env.host.keyed import Keyed, KeyPosted, rights_flags
from tb.env.host.qp import Qp
from tb.env.host.regions import Region

_M32 = (1 << 32) - 1


class WindowStatus(NamedTuple):
    """Answer to QUERY_MW."""

    key: int
    base: int
    length: int
    zone: int
    rights: Right
    qp: int
    valid: bool
    region: int

    @classmethod
    def from_outs(cls, outs: tuple[int, ...]) -> WindowStatus:
        """From OUT0 to OUT7."""
        fields, state = MR.unpack(outs[5]), MW_STATE.unpack(outs[6])
        return cls(
            outs[0],
            outs[1] | outs[2] << 32,
            outs[3] | outs[4] << 32,
            fields["zone"],
            Right(fields["rights"]),
            state["qp"],
            bool(state["valid"]),
            outs[7] & 0xFFF,
        )


@dataclass(eq=False)
class MemoryWindow(Keyed):
    """A memory window. Commands raise ``CommandError`` if not OK."""

    zone: int = 0
    context: int = 0
    """64 bits; comes back with the invalidate result of an ND1 receive."""

    # -- commands ----------------------------------------------------------------------------------

    async def create(self, context: int | None = None) -> int:
        """NdkCreateMw: CREATE_MW, also after :meth:`close`; returns the key, which is not valid
        before a Bind. ``context``: 64 bits, default that of before.
        """
        self.context = self.context if context is None else context
        command = await self.host.command(
            Cmd.CREATE_MW,
            self.number,
            *(self.context & _M32, self.context >> 32),
            *(0, 0, self.zone),
        )
        self.key = ok(command).outs[0]
        self.valid = False
        self.host.windows[self.number] = self
        return self.key

    async def close(self) -> None:
        """NdkCloseMw: CLOSE_MW; its key is not valid any more."""
        ok(await self.host.command(Cmd.CLOSE_MW, self.number))
        self.valid = False
        if self.host.windows.get(self.number) is self:
            del self.host.windows[self.number]

    async def query(self) -> WindowStatus:
        """QUERY_MW."""
        return WindowStatus.from_outs(ok(await self.host.command(Cmd.QUERY_MW, self.number)).outs)

    async def refresh(self) -> WindowStatus:
        """QUERY_MW; ``key`` and ``valid`` are then those of the engine."""
        status = await self.query()
        self.key, self.valid = status.key, status.valid
        return status

    # -- requests ----------------------------------------------------------------------------------

    def make_bind(
        self,
        qp: Qp,
        region: Region,
        offset: int = 0,
        length: int | None = None,
        rights: Right | int = Right.REMOTE_READ | Right.REMOTE_WRITE,
        **fields: Any,
    ) -> Post:
        """The post of a Bind to ``length`` bytes (default: to the end) of a region from ``offset``
        on. ``fields``: those of ``Qp.make``. Changes nothing here.
        """
        flags = fields.pop("flags", 0) | rights_flags(rights)
        fields.setdefault("segments", [region.segment(offset, length)])
        fields.setdefault("token", self.key)
        return qp.make(Opcode.BIND, flags=flags, **fields)

    async def bind(self, qp: Qp, region: Region, *where: Any, **fields: Any) -> KeyPosted:
        """NdkBind: posts :meth:`make_bind`; returns the inline result, and the key for the peer."""
        return await self._give_key(qp, self.make_bind(qp, region, *where, **fields))
