# SPDX-License-Identifier: Apache-2.0
"""Memory windows as the host sees them (the objects that ``Adapter.create_window`` makes), and the
keys of regions and windows.

The host knows the key that a Bind or FastRegister gives without asking (``docs/windows.md``): the
driver counts it up when the post is accepted. After a request that failed or was cancelled
``refresh`` reads the present key from the engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from models.cq.queue import NdResultEx
from models.post.post import Post
from tb.env.agents.control import CommandError
from tb.env.defs import KEY, MR, MW_STATE, Cause, Cmd, CqeType, Opcode, PostFlag, Result, Right

if TYPE_CHECKING:
    from tb.env.harness.records import Command
    from tb.env.host.driver import Adapter
    from tb.env.host.qp import Qp
    from tb.env.host.regions import Region

_M32 = (1 << 32) - 1
_NEXT = 1 << KEY["generation"].lsb
_FLAG_OF = {
    Right.LOCAL_WRITE: PostFlag.ALLOW_LOCAL_WRITE,
    Right.REMOTE_READ: PostFlag.ALLOW_REMOTE_READ,
    Right.REMOTE_WRITE: PostFlag.ALLOW_REMOTE_WRITE,
}


def next_key(key: int) -> int:
    """The key that an object is given after ``key``, 32 bits; wraps behind the last generation,
    where the engine gives none.
    """
    return key + _NEXT & _M32


def rights_flags(rights: Right | int) -> int:
    """The post flags that ask for these rights; REMOTE_WRITE includes the flag of LOCAL_WRITE."""
    flags = 0
    for right, flag in _FLAG_OF.items():
        flags |= flag if rights & right else 0
    return flags


def ok(command: Command) -> Command:
    """The command. Raises ``CommandError`` if its result is not OK."""
    if command.result != Result.OK:
        raise CommandError(command)
    return command


class KeyPosted(NamedTuple):
    """Inline result of a Bind or FastRegister, and the key that its object has when it succeeds."""

    cause: Cause
    key: int

    @property
    def accepted(self) -> bool:
        """The request is posted."""
        return self.cause == Cause.NONE


class Keyed:
    """What regions and windows have in common. ``key``: the present key, when every request that
    was posted has succeeded; ``valid``: the same of its validity.
    """

    def __init__(self, host: Adapter, number: int) -> None:
        self.host = host
        self.number = number
        #: 32 bits; 0 before the first.
        self.key = 0
        self.valid = False

    async def _give_key(self, qp: Qp, post: Post, **options: Any) -> KeyPosted:
        cause = await qp.post(post, **options)
        if cause != Cause.NONE:
            return KeyPosted(cause, self.key)
        self.key = next_key(self.key)
        self.valid = True
        return KeyPosted(cause, self.key)

    async def invalidate(self, qp: Qp, **fields: Any) -> Cause:
        """NdkInvalidate of the present key. ``fields``: those of ``Qp.make``."""
        cause = await qp.invalidate(self.key, **fields)
        if cause == Cause.NONE:
            self.valid = False
        return cause


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


class MemoryWindow(Keyed):
    """A memory window. Commands raise ``CommandError`` if not OK."""

    def __init__(self, host: Adapter, number: int, zone: int = 0, context: int = 0) -> None:
        super().__init__(host, number)
        self.zone = zone
        #: 64 bits; comes back with the invalidate result of an ND1 receive.
        self.context = context

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

    async def bind(
        self,
        qp: Qp,
        region: Region,
        offset: int = 0,
        length: int | None = None,
        rights: Right | int = Right.REMOTE_READ | Right.REMOTE_WRITE,
        **fields: Any,
    ) -> KeyPosted:
        """NdkBind: posts :meth:`make_bind`; returns the inline result, and the key for the peer."""
        return await self._give_key(
            qp, self.make_bind(qp, region, offset, length, rights, **fields)
        )


def invalidated_by(host: Adapter, results: Iterable[NdResultEx]) -> list[Region | MemoryWindow]:
    """The objects whose keys peers have invalidated, as receive completions say: one entry of type
    ReceiveAndInvalidate, or the invalidate result of an ND1 receive. Keys that no object has any
    more are left out.
    """
    found: list[Region | MemoryWindow] = []
    for result in results:
        if result.status or not result.token:
            continue
        if result.type in (CqeType.RECEIVE_AND_INVALIDATE, CqeType.INVALIDATE):
            keyed = host.object_of(result.token)
            if keyed is not None:
                found.append(keyed)
    return found


class KeyHost:
    """What the driver knows of windows and keys; a part of ``Adapter``."""

    windows: dict[int, MemoryWindow]
    #: There are, or were, keys that a peer can invalidate: polls look for that.
    follows_keys: bool
    #: REMOVE_DEVICE was executed.
    removed: bool

    def forget_keys(self) -> None:
        """After a reset of the engine."""
        self.windows = {}
        self.follows_keys = self.removed = False

    @property
    def _adapter(self) -> Adapter:
        return cast("Adapter", self)

    async def create_window(
        self, number: int | None = None, *, zone: int = 0, context: int | None = None
    ) -> MemoryWindow:
        """Creates a memory window (default: the lowest free number, a context with its number)."""
        if number is None:
            number = next(n for n in range(1 << 16) if n not in self.windows)
        context = 0x3130_0000_0000_0000 | number if context is None else context
        window = MemoryWindow(self._adapter, number, zone, context)
        await window.create()
        self.follows_keys = True
        return window

    def object_of(self, key: int) -> Region | MemoryWindow | None:
        """The region or window that has this key now, as the driver knows it."""
        fields = KEY.unpack(key)
        objects: dict[int, Any] = self.windows if fields["window"] else self._adapter.regions
        keyed: Region | MemoryWindow | None = objects.get(fields["number"])
        return keyed if keyed is not None and keyed.key == key else None

    def window_of(self, context: int) -> MemoryWindow | None:
        """The window with this creation context, which an ND1 invalidate result carries."""
        return next((w for w in self.windows.values() if w.context == context), None)

    def invalidated_by(self, results: Iterable[NdResultEx]) -> None:
        """Results were polled: what peers have invalidated is not valid any more."""
        for keyed in invalidated_by(self._adapter, results):
            keyed.valid = False

    async def remove_device(self) -> None:
        """REMOVE_DEVICE; final until reset."""
        ok(await self._adapter.command(Cmd.REMOVE_DEVICE, 0))
        self.removed = True
