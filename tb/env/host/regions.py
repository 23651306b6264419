# SPDX-License-Identifier: Apache-2.0
"""Memory regions and memory windows as the host sees them (the objects that the driver makes).

The host knows the key that a Bind or FastRegister gives without asking (``docs/windows.md``): the
driver counts it up when the post is accepted. After a request that failed or was cancelled
``refresh`` reads the present key from the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from models.post.post import Post, Segment
from tb.env.defs import KEY, MR, MR_STATE, MW_STATE, Cause, Cmd, Opcode, PostFlag, Right
from tb.env.host.object import HostObject
from tb.env.host.qp import Qp

_M32 = (1 << 32) - 1
_NEXT = 1 << KEY["generation"].lsb
_FLAG_OF = {
    Right.LOCAL_WRITE: PostFlag.ALLOW_LOCAL_WRITE,
    Right.REMOTE_READ: PostFlag.ALLOW_REMOTE_READ,
    Right.REMOTE_WRITE: PostFlag.ALLOW_REMOTE_WRITE,
}


def next_key(key: int) -> int:
    """The key that an object is given after ``key``, 32 bits; wraps after the last generation,
    where the engine gives none.
    """
    return key + _NEXT & _M32


class KeyStatus(NamedTuple):
    """Answer to QUERY_MR or QUERY_MW."""

    key: int
    base: int
    length: int
    zone: int
    rights: Right
    qp: int = 0
    """That it is bound to, or that registered it with FastRegister."""
    valid: bool = False
    allocated: bool = False
    """Of a region: by ALLOC_MR."""
    windows: int = 0
    """Bound to a region."""
    region: int = 0
    """That a window is bound to."""


class KeyPosted(NamedTuple):
    """Inline result of a Bind or FastRegister, and the key that its object has when it succeeds."""

    cause: Cause
    key: int

    @property
    def accepted(self) -> bool:
        """The request is posted."""
        return self.cause == Cause.NONE


@dataclass(eq=False)
class Keyed(HostObject):
    """What regions and windows have in common. ``key``: the present key, when every request that
    was posted has succeeded.
    """

    opcode: ClassVar[Opcode]
    """Of the request that makes the key valid."""

    key: int = field(default=0, init=False)

    async def _created(self, code: Cmd, *args: int) -> int:
        self.key = (await self.command(code, *args)).outs[0]
        getattr(self.host, self.kind)[self.number] = self
        return self.key

    async def query(self) -> KeyStatus:
        """QUERY_MR, QUERY_MW."""
        raise NotImplementedError

    async def refresh(self) -> KeyStatus:
        """The query; ``key`` is then that of the engine."""
        status = await self.query()
        self.key = status.key
        return status

    def _make(self, qp: Qp, segment: Segment, rights: Right | int, fields: dict[str, Any]) -> Post:
        """REMOTE_WRITE includes the flag of LOCAL_WRITE."""
        flags = fields.pop("flags", 0)
        for right, flag in _FLAG_OF.items():
            flags |= flag if rights & right else 0
        fields.setdefault("segments", [segment])
        fields.setdefault("token", self.key)
        return qp.make(self.opcode, flags=flags, **fields)

    async def _give_key(self, qp: Qp, post: Post) -> KeyPosted:
        cause = await qp.post(post)
        if cause == Cause.NONE:
            self.key = next_key(self.key)
        return KeyPosted(cause, self.key)

    async def invalidate(self, qp: Qp, **fields: Any) -> Cause:
        """NdkInvalidate of the present key. ``fields``: those of ``Qp.make``."""
        return await qp.invalidate(self.key, **fields)


def _status(outs: tuple[int, ...], valid: int, **state: Any) -> KeyStatus:
    """From OUT0 to OUT5, and what the others say."""
    base, length = outs[1] | outs[2] << 32, outs[3] | outs[4] << 32
    zone, rights = MR.unpack(outs[5]).values()
    status = KeyStatus(outs[0], base, length, zone, Right(rights), valid=bool(valid))
    return status._replace(**state)


@dataclass(eq=False)
class Region(Keyed):
    """A memory region of host memory: ``length`` bytes (48 bits) at ``base``."""

    kind: ClassVar[str] = "regions"
    opcode: ClassVar[Opcode] = Opcode.FAST_REGISTER

    base: int
    length: int
    zone: int
    rights: int

    def segment(self, offset: int = 0, length: int | None = None) -> Segment:
        """A segment in the region (default: up to its end); one that leaves it is not prevented."""
        length = self.length - offset if length is None else length
        return Segment(self.base + offset, length, self.key)

    async def register(self) -> int:
        """REGISTER_MR, also after :meth:`deregister`; returns the key."""
        where = self.base & _M32, self.base >> 32, self.length & _M32, self.length >> 32
        settings = MR.pack(zone=self.zone, rights=int(self.rights))
        return await self._created(Cmd.REGISTER_MR, *where, settings)

    async def allocate(self) -> int:
        """NdkAllocMr: ALLOC_MR, for :meth:`fast_register`; returns the key, not valid yet."""
        return await self._created(Cmd.ALLOC_MR, 0, 0, 0, 0, self.zone)

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
        segment = self.segment(offset, length)._replace(key=0)
        return self._make(qp, segment, self.rights if rights is None else rights, fields)

    async def fast_register(self, qp: Qp, *where: Any, **fields: Any) -> KeyPosted:
        """NdkFastRegister: posts :meth:`make_fast_register`; returns the inline result, and the key
        from then on.
        """
        return await self._give_key(qp, self.make_fast_register(qp, *where, **fields))

    async def deregister(self) -> None:
        """DEREGISTER_MR; buffers that were posted before stay posted."""
        await self.end(Cmd.DEREGISTER_MR)

    async def query(self) -> KeyStatus:
        """QUERY_MR."""
        outs = (await self.command(Cmd.QUERY_MR)).outs
        state = MR_STATE.unpack(outs[6])
        return _status(outs, **state | {"allocated": bool(state["allocated"])})

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """What host memory holds there."""
        length = self.length - offset if length is None else length
        data: bytes = self.host.env.memory.read(self.base + offset, length)
        return data

    def paint(self, byte: int) -> None:
        """Fills the whole region with one byte value, to see afterwards what was written."""
        self.host.env.memory.write(self.base, bytes([byte]) * self.length)


@dataclass(eq=False)
class MemoryWindow(Keyed):
    """A memory window."""

    kind: ClassVar[str] = "windows"
    opcode: ClassVar[Opcode] = Opcode.BIND

    zone: int = 0
    context: int = 0
    """64 bits; comes back with the invalidate result of an ND1 receive."""

    async def create(self, context: int | None = None) -> int:
        """NdkCreateMw: CREATE_MW, also after :meth:`close`; returns the key, which is not valid
        before a Bind. ``context``: 64 bits, default that of before.
        """
        self.context = self.context if context is None else context
        words = self.context & _M32, self.context >> 32, 0, 0, self.zone
        return await self._created(Cmd.CREATE_MW, *words)

    async def close(self) -> None:
        """NdkCloseMw: CLOSE_MW; its key is not valid any more."""
        await self.end(Cmd.CLOSE_MW)

    async def query(self) -> KeyStatus:
        """QUERY_MW."""
        outs = (await self.command(Cmd.QUERY_MW)).outs
        return _status(outs, **MW_STATE.unpack(outs[6]), region=outs[7] & 0xFFF)

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
        return self._make(qp, region.segment(offset, length), rights, fields)

    async def bind(self, qp: Qp, region: Region, *where: Any, **fields: Any) -> KeyPosted:
        """NdkBind: posts :meth:`make_bind`; returns the inline result, and the key for the peer."""
        return await self._give_key(qp, self.make_bind(qp, region, *where, **fields))
