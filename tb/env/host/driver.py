# SPDX-License-Identifier: Apache-2.0
"""The thin host driver: the consumer API under its public names, on top of the pins.

The driver sees what a host sees: its memory, interrupts and answers. Polling reads memory as of the
latest block of records; ``await env.sync()`` brings it up to date.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tb.env import defs
from tb.env.agents.control import ok
from tb.env.agents.doorbell import ReadResult, WriteResult
from tb.env.defs import (
    LOG0,
    LOG1,
    PAGE_STATUS,
    Cmd,
    PageReg,
    RecvFlag,
    Reg,
    Result,
    Right,
)
from tb.env.harness.records import Command, Interrupt
from tb.env.harness.streams import stream
from tb.env.host.cq import CQE_BYTES, Callback, Cq, CqState, Eq, EqState, ring_words
from tb.env.host.port import Environment
from tb.env.host.qp import Qp
from tb.env.host.recv import Srq
from tb.env.host.regions import MemoryWindow, Region

EQE_BYTES = 16
_WINDOW_COUNTERS = (Reg.CNT_CHECKS, Reg.CNT_CHECKS_REFUSED, Reg.CNT_INVALIDATED)


@dataclass(frozen=True)
class LogEntry:
    """An entry of the error log."""

    cause: int
    kind: int
    object: int
    detail: int


def free(objects: dict[int, Any]) -> int:
    """The lowest number that no object has."""
    return next(n for n in range(1 << 16) if n not in objects)


class Adapter:
    """The host's view of the whole engine. Commands raise ``CommandError`` if not OK."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self._rng = stream(env.seed, "driver")
        self.cqs: dict[int, Cq] = {}
        self.eqs: dict[int, Eq] = {}
        self.qps: dict[int, Qp] = {}
        self.srqs: dict[int, Srq] = {}
        self.regions: dict[int, Region] = {}
        self.windows: dict[int, MemoryWindow] = {}
        #: Entries taken out of the error log since the reset.
        self.logged: list[LogEntry] = []
        #: Every callback seen, in order.
        self.callbacks: list[Callback] = []
        #: An event entry of a queue that the driver does not know fails the test.
        self.strict = True

    def forget(self) -> None:
        """After a reset of the engine."""
        self.logged.clear()
        for objects in (self.cqs, self.eqs, self.qps, self.srqs, self.regions, self.windows):
            objects.clear()

    # -- doorbell pages ----------------------------------------------------------------------------

    async def write(
        self,
        page: int,
        offset: int,
        data: int,
        size: int = 3,
        strb: int | None = None,
        len: int = 0,
        **options: Any,
    ) -> WriteResult:
        """A write to a doorbell page; returns (resp, cause). Options: see DoorbellAgent.post."""
        post = self.env.doorbells.post
        return await post(page, offset, data, size=size, strb=strb, length=len, **options)

    async def read(self, page: int, offset: int, **options: Any) -> ReadResult:
        """A read from a doorbell page; returns (resp, data)."""
        return await self.env.doorbells.read(page, offset, **options)

    async def page_status(self, page: int) -> tuple[int, int]:
        """Cause of the page's latest write, number of its refused writes."""
        resp, data = await self.read(page, PageReg.PAGE_STATUS)
        assert resp == 0, f"page {page}: status read answered {resp}"
        status = PAGE_STATUS.unpack(data)
        return status["cause"], status["refused"]

    # -- control -----------------------------------------------------------------------------------

    async def command(self, code: int, *args: int) -> Command:
        """A mailbox command as it is, whatever its result."""
        command = await self.env.control.command(code, *args)
        if code == Cmd.CONNECT_QP and command.result == Result.OK:
            self.env.transport.connected(args[0])
        return command

    async def counters(self) -> dict[str, int]:
        """All counters that the design has, by their names without ``CNT_``."""
        left_out = () if self.env.harness.windows else _WINDOW_COUNTERS
        names = [reg for reg in Reg if reg.name.startswith("CNT_") and reg not in left_out]
        answers = [self.env.control.post_read(reg) for reg in names]
        return {
            reg.name.removeprefix("CNT_"): (await answer).data
            for reg, answer in zip(names, answers, strict=True)
        }

    async def counter(self, name: str) -> int:
        """One counter, by its name without ``CNT_``."""
        return await self.env.control.value(Reg[f"CNT_{name}"])

    async def read_log(self) -> list[LogEntry]:
        """Takes all entries out of the error log, oldest first."""
        control = self.env.control
        found: list[LogEntry] = []
        while True:
            # LOG1 first: an entry that comes between the two reads must not be seen half.
            second = LOG1.unpack(await control.value(Reg.LOG1))
            if not second["valid"]:
                return found
            entry = LOG0.unpack(await control.value(Reg.LOG0))
            found.append(LogEntry(entry["cause"], entry["kind"], entry["object"], second["detail"]))
            self.logged.append(found[-1])
            assert await control.write(Reg.LOG_POP, 1) == 0

    async def create(self, objects: dict[int, Any], new: Any, code: Cmd, *args: int) -> Command:
        """A command that creates an object, known before the command is done, because its first
        interrupt may come at once.
        """
        number, old = new.number, objects.get(new.number)
        objects[number] = new
        command = await self.command(code, number, *args)
        if command.result != Result.OK:
            if old is None:
                del objects[number]
            else:
                objects[number] = old
        return ok(command)

    # -- event queues ------------------------------------------------------------------------------

    async def create_eq(
        self,
        number: int | None = None,
        *,
        log2: int = 4,
        page: int = 0,
        vector: int | None = None,
        base: int | None = None,
    ) -> Eq:
        """Creates an EQ (default: the lowest free number, a vector that nobody has)."""
        number = free(self.eqs) if number is None else number
        vector = self._free_vector() if vector is None else vector
        base = self.ring_memory(EQE_BYTES, log2, base)
        ring = defs.EQ_RING.pack(log2=log2, vector=vector)
        eq = Eq(self, number, page, vector, base, log2)
        await self.create(self.eqs, eq, Cmd.CREATE_EQ, *ring_words(base, ring), page)
        return eq

    async def modify_eq(self, eq: Eq, vector: int) -> None:
        """Gives the EQ another vector."""
        ok(await self.command(Cmd.MODIFY_EQ, eq.number, 0, 0, defs.EQ_VECTOR.pack(vector=vector)))
        eq.vectors.add(vector)
        eq.vector = vector

    async def resize_eq(self, eq: Eq, log2: int) -> int:
        """Moves the EQ to a new ring; returns the switch index."""
        base = self.ring_memory(EQE_BYTES, log2)
        command = ok(await self.command(Cmd.RESIZE_EQ, eq.number, *ring_words(base, log2)))
        eq.switched(base, log2, command.outs[0])
        # Interrupts of entries in the new ring may have come before the answer.
        self._read_events(eq, self.env.harness.cycle)
        return command.outs[0]

    async def query_eq(self, eq: Eq | int) -> EqState:
        """State of an EQ."""
        number = eq if isinstance(eq, int) else eq.number
        command = ok(await self.command(Cmd.QUERY_EQ, number))
        return EqState.from_outs(command.outs)

    async def destroy_eq(self, eq: Eq) -> None:
        """Destroys the EQ."""
        ok(await self.command(Cmd.DESTROY_EQ, eq.number))
        self.eqs.pop(eq.number, None)

    # -- completion queues -------------------------------------------------------------------------

    async def create_cq(
        self,
        number: int | None = None,
        *,
        eq: Eq,
        log2: int = 4,
        page: int | None = None,
        reservation: bool = True,
        typed: bool = False,
        rearm_old: bool = False,
        moderation: tuple[int, int] = (0, 0),
        base: int | None = None,
    ) -> Cq:
        """Creates a CQ (default: the lowest free number, the EQ's page). ``moderation``: (count,
        interval).
        """
        number = free(self.cqs) if number is None else number
        page = eq.page if page is None else page
        base = self.ring_memory(CQE_BYTES, log2, base)
        cq = Cq(self, number, page, eq, base, log2, reservation)
        ring = defs.CQ_RING.pack(
            log2=log2, unreserved=not reservation, typed=typed, rearm=rearm_old
        )
        owner = defs.CQ_OWNER.pack(page=page, eq=eq.number)
        delays = defs.CQ_MODERATION.pack(count=moderation[0], interval=moderation[1])
        await self.create(self.cqs, cq, Cmd.CREATE_CQ, *ring_words(base, ring), owner, delays)
        return cq

    # -- queue pairs -------------------------------------------------------------------------------

    async def create_qp(
        self,
        number: int | None = None,
        *,
        cq: Cq,
        recv_cq: Cq | None = None,
        page: int | None = None,
        depth: int | None = None,
        context: int | None = None,
        watermark: int = 0,
        age: int = 0,
        recv_depth: int = 0,
        zone: int = 0,
        srq: Srq | None = None,
        recv_flag: RecvFlag | int = RecvFlag.DEFAULT,
        nd1: bool = False,
        guarded: bool = False,
    ) -> Qp:
        """Creates a QP that sends to ``cq`` (default: the lowest free number, the CQ's page, the
        deepest send queue, a context with its number). It receives from ``srq``, or from its own
        queue of ``recv_depth`` buffers (0: not at all). QPs with different SRQs on one receive CQ
        need different contexts: by these the driver tells whose buffer completed. ``nd1``: an
        invalidating receive completes with two entries; ``guarded``: keys matter to it.
        """
        assert self.env.config is not None
        number = free(self.qps) if number is None else number
        page = cq.page if page is None else page
        depth = 1 << self.env.config.sq_log2 if depth is None else depth
        context = 0xC0DE_0000_0000_0000 | number if context is None else context
        qp = Qp(
            *(self, number, page, cq, cq if recv_cq is None else recv_cq, depth, context),
            *(recv_depth, zone, srq, recv_flag, nd1, guarded),
        )
        await qp.create(watermark, age)
        self.qps[number] = qp
        return qp

    # -- shared receive queues, memory regions -----------------------------------------------------

    async def create_srq(
        self,
        number: int | None = None,
        *,
        size: int | None = None,
        page: int = 0,
        zone: int = 0,
        vector: int | None = None,
    ) -> Srq:
        """dat_srq_create (default: the lowest free number, as many buffers as there are slots, a
        vector that nobody has).
        """
        assert self.env.config is not None
        number = free(self.srqs) if number is None else number
        size = 1 << self.env.config.srq_log2 if size is None else size
        vector = self._free_vector() if vector is None else vector
        srq = Srq(self, number, page, size, zone, vector)
        await srq.create()
        return srq

    async def register(self, length: int, **options: Any) -> Region:
        """Registers a region of ``length`` bytes; its key is ``region.key``. Options: those of
        :meth:`region`.
        """
        region = self.region(length, **options)
        await region.register()
        return region

    async def allocate(self, length: int, **options: Any) -> Region:
        """NdkAllocMr of a region for FastRegister; memory and rights are what
        ``region.fast_register`` takes by default. Options: those of :meth:`region`.
        """
        region = self.region(length, **options)
        await region.allocate()
        return region

    def region(
        self,
        length: int,
        *,
        number: int | None = None,
        base: int | None = None,
        zone: int = 0,
        rights: Right | int = Right.LOCAL_WRITE,
    ) -> Region:
        """A region that the engine does not know (default: the lowest free number, fresh zeroed
        memory with a free line around it).
        """
        number = free(self.regions) if number is None else number
        if base is None:
            base = self.env.memory.allocate(length + 128, 64) + 64
        return Region(self, number, base, length, zone, int(rights))

    # -- windows, keys -----------------------------------------------------------------------------

    async def create_window(
        self, number: int | None = None, *, zone: int = 0, context: int | None = None
    ) -> MemoryWindow:
        """Creates a memory window (default: the lowest free number, a context with its number)."""
        number = free(self.windows) if number is None else number
        context = 0x3130_0000_0000_0000 | number if context is None else context
        window = MemoryWindow(self, number, zone, context)
        await window.create()
        return window

    def window_of(self, context: int) -> MemoryWindow | None:
        """The window with this creation context, which an ND1 invalidate result carries."""
        return next((w for w in self.windows.values() if w.context == context), None)

    async def remove_device(self) -> None:
        """REMOVE_DEVICE; final until reset."""
        ok(await self.command(Cmd.REMOVE_DEVICE, 0))

    # -- interrupts --------------------------------------------------------------------------------

    def on_interrupt(self, interrupt: Interrupt) -> None:
        """Reads the event rings of this vector, as memory is at the interrupt."""
        for srq in self.srqs.values():
            if srq.vector == interrupt.vector:
                srq.events.append(interrupt.cycle)
        for eq in list(self.eqs.values()):
            if interrupt.vector not in eq.vectors:
                continue
            self._read_events(eq, interrupt.cycle)

    async def recover(self, entry: LogEntry) -> bool:
        """What a driver does about an entry ``EQ_FAILED`` of the log (docs/interfaces.md, "One EQE
        at a time"): its slot is passed over, when all in front of it was read, and the CQ is
        called. False if there was nothing to do: the event entry was read all the same, or the
        CQ is gone.
        """
        command = ok(await self.command(Cmd.QUERY_CQ, entry.object), Result.NO_OBJECT)
        cq = self.cqs.get(entry.object)
        if cq is None or command.result == Result.NO_OBJECT:
            return False
        state = CqState.from_outs(command.outs)
        self._read_events(cq.eq, self.env.harness.cycle)
        number = cq.eq.number_of(entry.detail)
        if number < cq.eq.reader.index or not state.in_callback or state.event_under_way:
            return False
        cq.eq.given_up[number] = Callback(0, cq.number, int(state.status), state.prod)
        self._read_events(cq.eq, self.env.harness.cycle)
        return True

    def _read_events(self, eq: Eq, cycle: int) -> None:
        for callback in eq.events(cycle):
            self.callbacks.append(callback)
            cq = self.cqs.get(callback.cq)
            if cq is None and not self.strict:
                continue
            if cq is None:
                raise AssertionError(f"{callback}: no such CQ (EQ {eq.number})")
            if cq.eq is not eq:
                raise AssertionError(f"{callback}: came through EQ {eq.number}")
            cq.called(callback)

    # -- helpers -----------------------------------------------------------------------------------

    def _free_vector(self) -> int:
        used = {srq.vector for srq in self.srqs.values()}.union(
            *(eq.vectors for eq in self.eqs.values())
        )
        while (vector := self._rng.getrandbits(16)) in used:
            pass
        return vector

    def ring_memory(self, entry_bytes: int, log2: int, base: int | None = None) -> int:
        """A zeroed ring (CQ-15a); a given base is used as it is (tests choose illegal ones)."""
        nbytes = entry_bytes << log2
        if base is None:
            return self.env.memory.allocate(nbytes)
        if log2 < 16:
            self.env.memory.write(base, bytes(nbytes))
        return base
