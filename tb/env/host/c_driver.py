# SPDX-License-Identifier: Apache-2.0
"""The reference driver in C (sw/) on top of the pins. Its objects have methods as those of the
bench's own driver.

Its code runs in a thread of cocotb's bridge; what it asks of registers, doorbells and memory comes
back here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from cocotb.task import bridge, resume

from models.post.post import Segment
from sw.binding import OPS, WAIT, Ops, load, structures
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import QP_RECV, ArmType, Cause, Cmd, PostFlag, Reg, Result
from tb.env.env import CarillonEnv
from tb.env.host.recv import Posted
from tb.env.host.regions import KeyPosted, Region

#: Results of one poll.
_LIMIT = 4


class CHost:
    """The host, with the driver in C; all objects are of page 0. ``structs``: its structures."""

    def __init__(self, env: CarillonEnv) -> None:
        self.env = env
        self.functions = load()
        self.structs = structures()
        self._error: BaseException | None = None
        kinds = OPS.items()
        self.device = self.structs["device"]()
        self.ops = Ops(*(kind(self._served(getattr(self, f"_{name}"))) for name, kind in kinds))

    async def call(self, name: str, *args: Any) -> int:
        """``carillon_name(args)``: structures by reference, the rest as it is. Raises what went
        wrong in a callback.
        """
        given = [
            ctypes.byref(arg) if isinstance(arg, ctypes.Structure | ctypes.Array) else arg
            for arg in args
        ]
        function = getattr(self.functions, f"carillon_{name}")
        result: int = await bridge(lambda: function(*given))()
        error, self._error = self._error, None
        if error is not None:
            raise error
        return result

    def waiter(self, wait: Callable[[], Coroutine[Any, Any, None]]) -> Any:
        """A function for the driver loop that waits for an interrupt."""

        async def serve(_context: int) -> None:
            await wait()

        return WAIT(self._served(serve))

    def _served(self, serve: Callable[..., Coroutine[Any, Any, int | None]]) -> Any:
        """A callback that goes on in the simulation. Errors must not be lost in C: it gets 0, and
        :meth:`call` raises the first one.
        """

        def callback(*args: Any) -> int | None:
            try:
                return resume(serve)(*args)
            except BaseException as error:
                self._error = self._error or error
                return 0

        return callback

    # -- the table of functions --------------------------------------------------------------------

    async def _read32(self, _context: int, offset: int) -> int:
        control = self.env.control
        if offset != Reg.CMD_STATUS or not control.mailbox.locked():
            return await control.value(offset)
        status, command = await control.look()
        if command is not None:
            control.mailbox.release()
            if command.code == Cmd.CONNECT_QP and command.result == Result.OK:
                self.env.transport.connected(command.args[0])
        return status

    async def _write32(self, _context: int, offset: int, value: int) -> None:
        control = self.env.control
        if offset == Reg.CMD:
            # The scoreboard needs the record of the command.
            await control.mailbox.acquire()
            await control.begin(value)
            return
        resp = await control.write(offset, value)
        assert resp == 0, f"control write of {offset:#x}: response {resp}"

    async def _doorbell(
        self, _context: int, page: int, offset: int, words: Any, nbytes: int
    ) -> int:
        line = sum(words[i] << 64 * i for i in range(nbytes // 8))
        options = {"line": line, "size": 6} if nbytes == 64 else {}
        resp, cause = await self.env.doorbells.post(page, offset, line & 2**64 - 1, **options)
        assert bool(resp) == bool(cause), f"response {resp} with cause {cause}"
        return int(cause)

    async def _read_memory(self, _context: int, address: int, words: int, nbytes: int) -> None:
        await self.env.sync()
        ctypes.memmove(words, self.env.memory.read(address, nbytes), nbytes)

    async def _write_memory(self, _context: int, address: int, words: int, nbytes: int) -> None:
        self.env.memory.write(address, ctypes.string_at(words, nbytes))

    # -- the methods of the bench's own driver -----------------------------------------------------

    async def do(self, name: str, *args: Any) -> None:
        """A call that must succeed, repeated while it is pending."""
        while (result := await self.call(name, *args)) == Result.PENDING:
            pass
        assert result == 0, f"carillon_{name} answers {result:#x}"

    async def bring_up(self) -> None:
        """Finds the engine."""
        await self.do("bring_up", self.device, self.ops, None)

    def used_memory(self, nbytes: int) -> int:
        """Memory that somebody has used before."""
        base = self.env.memory.allocate(nbytes)
        self.env.memory.write(base, b"\xff" * nbytes)
        return base

    async def create_eq(self, number: int, *, vector: int, log2: int) -> CEq:
        """CREATE_EQ."""
        eq = CEq(self, "eq")
        await self.do(
            "create_eq", eq.c, self.device, number, 0, vector, self.used_memory(16 << log2), log2
        )
        return eq

    async def destroy_eq(self, eq: CEq) -> None:
        """DESTROY_EQ."""
        await self.do("destroy_eq", eq.c)

    async def create_cq(self, number: int, *, eq: CEq, log2: int) -> CCq:
        """CREATE_CQ."""
        cq = CCq(self, "cq")
        ring, config = self.used_memory(32 << log2), self.structs["cq_config"](eq=eq.c.number)
        await self.do("create_cq", cq.c, self.device, number, 0, ring, log2, config)
        return cq

    async def create_qp(self, number: int, *, cq: CCq, guarded: bool, **fields: int) -> CQp:
        """CREATE_QP. ``fields``: those of ``carillon_qp_config``."""
        qp = CQp(self, "qp")
        recv = QP_RECV.pack(guarded=int(guarded))
        queues = {"send_cq": cq.c.number, "recv_cq": cq.c.number}
        config = self.structs["qp_config"](**queues, recv=recv, **fields)
        await self.do("create_qp", qp.c, self.device, number, 0, config)
        return qp

    async def register(self, length: int, *, zone: int, rights: int) -> CRegion:
        """REGISTER_MR."""
        base = self.env.memory.allocate(length + 128, 64) + 64
        region = CRegion(self.env.host, 0, base, length, zone, int(rights))
        keys = (ctypes.c_uint32 * 1)()
        region.c = self
        await self.do("register", self.device, 0, base, length, zone, int(rights), keys)
        region.key = keys[0]
        return region

    async def create_window(self, *, zone: int, context: int) -> CWindow:
        """CREATE_MW."""
        window = CWindow(self, "window")
        await self.do("create_window", window.c, self.device, 0, context, zone)
        return window


class _Object:
    """``c``: the structure that the driver works with."""

    def __init__(self, host: CHost, struct: str) -> None:
        self.host = host
        self.c = host.structs[struct]()

    async def _write(self, name: str, *args: Any) -> Cause:
        return Cause(await self.host.call(name, *args))

    def _segments(self, segments: Iterable[Segment]) -> tuple[Any, int]:
        words = [(one.address, one.length, one.key) for one in segments]
        return (self.host.structs["sge"] * max(len(words), 1))(*words), len(words)


class CEq(_Object):
    """An event queue."""

    async def events(self) -> list[Any]:
        """Takes all events that are there: cq, status, snap."""
        found = []
        while await self.host.call("get_event", self.c, event := self.host.structs["event"]()):
            found.append(event)
        return found


class CCq(_Object):
    """A completion queue; methods as those of ``Cq``."""

    async def get_cq_results(self) -> list[Any]:
        return await self._poll("get_cq_results", "result")

    async def get_cq_results_ex(self) -> list[Any]:
        return await self._poll("get_cq_results_ex", "result_ex")

    async def _poll(self, name: str, struct: str) -> list[Any]:
        found = (self.host.structs[struct] * _LIMIT)()
        return list(found[: await self.host.call(name, self.c, found, _LIMIT)])

    async def update_consumer_index(self) -> WriteResult:
        return await self._ring("update_consumer_index")

    async def arm(self, arm: ArmType) -> WriteResult:
        return await self._ring("arm", int(arm))

    async def callback_return(self) -> WriteResult:
        return await self._ring("callback_return")

    async def _ring(self, name: str, *args: int) -> WriteResult:
        cause = await self._write(name, self.c, *args)
        return WriteResult(2 if cause else 0, cause)

    async def destroy(self) -> None:
        await self.host.do("destroy_cq", self.c)


class CQp(_Object):
    """A queue pair; methods as those of ``Qp``."""

    async def connect(self, peer: int) -> None:
        await self.host.do("connect", self.c, peer)

    async def send(self, *, context: int, data: bytes, flags: int = 0) -> Cause:
        return await self._write("send_inline", self.c, flags, context, data, len(data))

    async def write(self, target: Segment, *, context: int, segments: list[Segment]) -> Cause:
        where = (*self._segments(segments), target.address, target.key)
        return await self._write("write", self.c, 0, context, *where)

    async def post_recv(self, segments: Iterable[Segment], cookie: int) -> Posted:
        cause = await self._write("post_recv", self.c, cookie, *self._segments(segments))
        return Posted(None, cause)

    async def invalidate(self, token: int, *, context: int) -> Cause:
        return await self._write("invalidate", self.c, 0, context, token)

    async def destroy(self) -> None:
        await self.host.do("destroy_qp", self.c)


class CRegion(Region):
    """A memory region."""

    c: CHost

    async def deregister(self) -> None:
        await self.c.do("deregister", self.c.device, self.number)


class CWindow(_Object):
    """A memory window; methods as those of ``MemoryWindow``."""

    @property
    def key(self) -> int:
        """The present one."""
        return int(self.c.key)

    async def bind(
        self, qp: CQp, region: Region, offset: int, length: int, *, context: int
    ) -> KeyPosted:
        ranges, _ = self._segments([region.segment(offset, length)])
        flags = PostFlag.ALLOW_REMOTE_READ | PostFlag.ALLOW_REMOTE_WRITE
        cause = await self._write("bind", self.c, qp.c, int(flags), context, ranges)
        return KeyPosted(cause, self.key)

    async def close(self) -> None:
        await self.host.do("close_window", self.c)
