# SPDX-License-Identifier: Apache-2.0
"""The reference driver in C (sw/) on top of the pins: compiled with gcc, loaded by ctypes. Its
objects have the methods of the bench's own driver that the scenarios of both use.

Signatures and structures are read from its header. Its code runs in a thread of cocotb's bridge;
what it asks of registers, doorbells and memory comes back here.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

from cocotb.task import bridge, resume

from models.cq.queue import NdResult, NdResultEx
from models.post.post import Segment
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import QP_RECV, ArmType, Cause, Cmd, PostFlag, Reg, Result
from tb.env.env import CarillonEnv
from tb.env.host.cq import Callback
from tb.env.host.keyed import KeyPosted
from tb.env.host.recv import Posted
from tb.env.host.regions import Region

FOLDER = Path(__file__).resolve().parents[3] / "sw"
SOURCES = ("carillon_driver.c", "carillon_loop.c")
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror")
_TYPES: dict[str, Any] = {
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "void": None,
}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRUCT = re.compile(r"struct carillon_(\w+) \{(.*?)\n\};", re.DOTALL)
_FIELD = re.compile(r"(?:const )?(?:struct )?(\w+) (\*?)(\w+);")
_FUNCTION = re.compile(r"^(uint32_t) (carillon_\w+)\(([^;]*)\);", re.MULTILINE)

_U32, _U64, _VOID = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
_OPS = {
    "read32": ctypes.CFUNCTYPE(_U32, _VOID, _U32),
    "write32": ctypes.CFUNCTYPE(None, _VOID, _U32, _U32),
    "doorbell": ctypes.CFUNCTYPE(_U32, _VOID, _U32, _U32, ctypes.POINTER(_U64), _U32),
    "read_memory": ctypes.CFUNCTYPE(None, _VOID, _U64, _VOID, _U32),
    "write_memory": ctypes.CFUNCTYPE(None, _VOID, _U64, _VOID, _U32),
}
#: Waits for an interrupt, for the driver loop.
WAIT = ctypes.CFUNCTYPE(None, _VOID)


class Ops(ctypes.Structure):
    """struct carillon_ops."""

    _fields_ = list(_OPS.items())


def read_headers() -> str:
    """The declarations of the driver, without comments."""
    headers = (FOLDER / name.replace(".c", ".h") for name in SOURCES)
    return _COMMENT.sub("", "".join(header.read_text() for header in headers))


def structures(text: str) -> dict[str, Any]:
    """A ctypes structure for each structure of the headers, by its name without ``carillon_``."""
    found: dict[str, Any] = {}
    for name, body in _STRUCT.findall(text):
        if name == "ops":
            continue
        fields = []
        for kind, pointer, field in _FIELD.findall(body):
            plain = _TYPES.get(kind) or found.get(kind.removeprefix("carillon_"))
            fields.append((field, _VOID if pointer else plain))
        found[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return found


def load() -> ctypes.CDLL:
    """Compiles the driver; its functions have the types of the headers."""
    with tempfile.TemporaryDirectory() as folder:
        shared = Path(folder) / "carillon.so"
        sources = [str(FOLDER / name) for name in SOURCES]
        subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", *sources, "-o", str(shared)], check=True)
        library = ctypes.CDLL(str(shared))
    for result, name, arguments in _FUNCTION.findall(read_headers()):
        function = getattr(library, name)
        function.restype = _TYPES[result]
        function.argtypes = [
            _VOID if "*" in one or "(" in one else _TYPES[one.split()[0]]
            for one in re.sub(r"\([^,]*\*\w+\)\([^)]*\)", "*wait", arguments).split(",")
        ]
    return library


class CDriver:
    """Calls of the C driver; :attr:`structs` has its structures."""

    def __init__(self, env: CarillonEnv) -> None:
        self.env = env
        self.library = load()
        self.structs = structures(read_headers())
        self._error: BaseException | None = None
        kinds = _OPS.items()
        self.ops = Ops(*(kind(self._served(getattr(self, f"_{name}"))) for name, kind in kinds))

    async def call(self, name: str, *args: Any) -> int:
        """``carillon_name(args)``: structures by reference, the rest as it is. Raises what went
        wrong in a callback.
        """
        given = [
            ctypes.byref(arg) if isinstance(arg, ctypes.Structure | ctypes.Array) else arg
            for arg in args
        ]
        function = getattr(self.library, f"carillon_{name}")
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


class CHost:
    """The host, with the driver in C. All objects are of page 0."""

    def __init__(self, env: CarillonEnv) -> None:
        self.env = env
        self.c = CDriver(env)
        self.structs = self.c.structs
        self.device = self.structs["device"]()

    async def do(self, name: str, *args: Any) -> None:
        """A call that must succeed, repeated while it is pending."""
        while (result := await self.c.call(name, *args)) == Result.PENDING:
            pass
        assert result == 0, f"carillon_{name} answers {result:#x}"

    async def bring_up(self) -> None:
        """Finds the engine."""
        await self.do("bring_up", self.device, self.c.ops, None)

    def _ring(self, nbytes: int) -> int:
        """Memory that somebody has used before."""
        base = self.env.memory.allocate(nbytes)
        self.env.memory.write(base, b"\xff" * nbytes)
        return base

    async def create_eq(self, number: int, *, vector: int, log2: int) -> CEq:
        """CREATE_EQ."""
        eq = CEq(self, "eq")
        await self.do(
            "create_eq", eq.c, self.device, number, 0, vector, self._ring(16 << log2), log2
        )
        return eq

    async def destroy_eq(self, eq: CEq) -> None:
        """DESTROY_EQ."""
        await self.do("destroy_eq", eq.c)

    async def create_cq(self, number: int, *, eq: CEq, log2: int) -> CCq:
        """CREATE_CQ."""
        cq = CCq(self, "cq")
        ring, config = self._ring(32 << log2), self.structs["cq_config"](eq=eq.c.number)
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
        return Cause(await self.host.c.call(name, *args))

    def _segments(self, segments: Iterable[Segment]) -> tuple[Any, int]:
        words = [(one.address, one.length, one.key) for one in segments]
        return (self.host.structs["sge"] * max(len(words), 1))(*words), len(words)


class CEq(_Object):
    """An event queue."""

    async def events(self, cycle: int) -> list[Callback]:
        """Takes all callbacks that are there."""
        event = self.host.structs["event"]()
        found = []
        while await self.host.c.call("get_event", self.c, event):
            found.append(Callback(cycle, event.cq, event.status, event.snap))
        return found


class CCq(_Object):
    """A completion queue; methods as those of ``Cq``."""

    async def get_cq_results(self, limit: int = 4) -> list[NdResult]:
        found = (self.host.structs["result"] * limit)()
        count = await self.host.c.call("get_cq_results", self.c, found, limit)
        return [
            NdResult(one.status, one.nbytes, one.qp_context, one.request_context)
            for one in found[:count]
        ]

    async def get_cq_results_ex(self, limit: int = 4) -> list[NdResultEx]:
        found = (self.host.structs["result_ex"] * limit)()
        return extended(found[: await self.host.c.call("get_cq_results_ex", self.c, found, limit)])

    async def update_consumer_index(self) -> WriteResult:
        return self._answer(await self._write("update_consumer_index", self.c))

    async def arm(self, arm: ArmType) -> WriteResult:
        return self._answer(await self._write("arm", self.c, int(arm)))

    async def callback_return(self) -> WriteResult:
        return self._answer(await self._write("callback_return", self.c))

    def _answer(self, cause: Cause) -> WriteResult:
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


def extended(results: Iterable[Any]) -> list[NdResultEx]:
    """From structures ``carillon_result_ex``."""
    return [
        NdResultEx(
            one.result.status,
            one.result.nbytes,
            one.result.qp_context,
            one.result.request_context,
            one.type,
            one.token,
        )
        for one in results
    ]
