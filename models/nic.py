# SPDX-License-Identifier: Apache-2.0
"""All of ``cde_top`` in one object, with a host memory that answers at once.

The parts are the models of the subjects: ``core`` (completion queues, event queues, pages),
``posting`` (queue pairs), ``receive`` (regions, SRQs, receive queues) and ``windows`` (memory
windows, checks). A bench that follows a trace drives them step by step; this class drives them by
itself: after each call everything happens that can happen without the transport or the host.
With ``Params(num_qp=0)`` it is the completion core alone (``cde_cpl_top``).

::

    nic = Nic()
    nic.create_cq(0)
    nic.arm(0)
    nic.place(0, Cqe(request_context=7))
    nic.events()                     # [Eqe(cq=0, status=<CqStatus.OK: 0>, snap=1, type=1)]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from models.arm.arm import CqConfig
from models.codes import (
    ArmType,
    Cause,
    Command,
    CommandResult,
    CqStatus,
    Life,
    LogCause,
    QpState,
)
from models.cq.core import CompletionCore
from models.cq.entries import Cqe, Eqe
from models.cq.queue import EventReader, NdResultEx, RingReader
from models.host import control
from models.host.control import Args, make_args
from models.host.doorbell import pack_doorbell, pack_return
from models.keys.keys import KeyTable
from models.keys.window import WindowModel
from models.keys.window_types import CheckRequest, CheckResult
from models.layouts import (
    CB_RETURN,
    CQ_DB,
    CQE_BYTES,
    EQE_BYTES,
    LINE_BYTES,
    PAGE_BYTES,
    RECV_PORTAL,
)
from models.params import Params
from models.post.post import Post
from models.post.post_check import is_portal, write_faults
from models.post.posting import PostingModel, pack_conn, pack_done
from models.post.qp import Indication, PostResult, QpConfig, StateStep
from models.post.qp_control import make_qp_args
from models.receive.receive import ReceiveModel, pack_rdone
from models.receive.receive_control import make_create_args
from models.receive.receive_post import RecvPost, is_receive_portal, receive_write_faults
from models.receive.receive_types import RecvConfig, RecvPostResult, RecvRequest, TakeResult

_ALL_STROBES = (1 << LINE_BYTES) - 1
_Reader = TypeVar("_Reader")
_EQ_BASE, _CQ_BASE, _RING_BYTES = 1 << 40, 1 << 41, 1 << 24


class HostError(Exception):
    """A call of the host side was refused; the text names result or cause."""


def _fits(name: str, value: int, count: int) -> None:
    if not isinstance(value, int) or not 0 <= value < count:
        raise HostError(f"{name} {value!r}: the engine has {count}, from 0 on")


def _encoded(post: Post | RecvPost) -> int:
    try:
        return post.encode()
    except OverflowError as why:
        raise HostError(f"{post} does not fit into its fields: {why}") from None


class Memory:
    """Host memory in units of 16 bytes; 0 where nothing was written."""

    def __init__(self) -> None:
        self._units: dict[int, bytes] = {}

    def write(self, address: int, data: bytes) -> None:
        """Whole units at a multiple of 16."""
        for at in range(0, len(data), EQE_BYTES):
            self._units[address + at] = data[at : at + EQE_BYTES]

    def read(self, address: int, nbytes: int) -> bytes:
        """``nbytes``, a multiple of 16, from a multiple of 16 on."""
        units = range(address, address + nbytes, EQE_BYTES)
        return b"".join(self._units.get(at, bytes(EQE_BYTES)) for at in units)

    def clear(self, address: int, nbytes: int) -> None:
        """What the host does to a ring before it hands it over (CQ-15a)."""
        for at in range(address, address + nbytes, EQE_BYTES):
            self._units.pop(at, None)


def _created(readers: Mapping[int, _Reader], kind: str, number: int) -> _Reader:
    if number not in readers:
        raise HostError(f"{kind} {number}: it was not created")
    return readers[number]


@dataclass(frozen=True)
class NicReply:
    """Reply to a control command: result, and OUT0 to OUT7."""

    result: CommandResult
    out: tuple[int, ...] = (0,) * 8


class Nic:
    """One engine and its host memory; ``now``: clock cycle, moved on by :meth:`wait` only."""

    def __init__(self, params: Params | None = None) -> None:
        self.params = p = params or Params()
        self.memory = Memory()
        self.core = CompletionCore(p)
        self.posting = PostingModel(p, self._cq_page, KeyTable(p))
        self.receive = ReceiveModel(posting=self.posting)
        self.windows = WindowModel(self.receive)
        self.now = 0
        self.work: deque[Indication] = deque()  #: beats of ``m_axis_work``, in order
        self.terms: deque[StateStep] = deque()  #: told on ``m_axis_term``, in order
        self.interrupts: deque[int] = deque()  #: MSI-X vectors, in order
        self._cq_readers: dict[int, RingReader] = {}
        self._eq_readers: dict[int, EventReader] = {}

    @property
    def has_queue_pairs(self) -> bool:
        """It has queue pairs; without them it is the completion core alone."""
        return self.params.num_qp > 0

    # -- pins of the host --------------------------------------------------------------------

    def command(self, code: int, args: Args) -> NicReply:
        """A control command (``code``: 8 bits) with all that follows from it."""
        if not isinstance(args, Args):
            raise HostError(f"arguments {args!r}: make_args, make_qp_args and others make them")
        if code in control.USED_BITS:
            reply = self._core_command(Command(code), args)
        elif not self.has_queue_pairs:
            reply = NicReply(CommandResult.CMD_UNKNOWN)
        else:
            got = self.windows.command(code, args)
            reply = NicReply(got.result, got.out)
            self._told(got.step)
            if got.watermark is not None and got.watermark.event:
                self._watermark(args.number)
            self.core.removed = self.windows.removed
        self._settle()
        return reply

    def _core_command(self, code: Command, args: Args) -> NicReply:
        if code is Command.DESTROY_CQ and self.posting.uses_cq(args.number):
            return NicReply(CommandResult.CMD_IN_USE)
        got = self.core.command(code, args)
        if got.result is CommandResult.OK:
            self._read_rings(code, args, got.out)
        return NicReply(got.result, got.out)

    def _read_rings(self, code: Command, args: Args, out: Sequence[int]) -> None:
        """The readers of the host side follow the rings (CQ-15a, CQ-19)."""
        cq = code in (Command.CREATE_CQ, Command.RESIZE_CQ)
        if not cq and code not in (Command.CREATE_EQ, Command.RESIZE_EQ):
            return
        ring, number = args.ring(CQE_BYTES if cq else EQE_BYTES), args.number
        self.memory.clear(ring.base, ring.entries * ring.entry_bytes)
        if code is Command.CREATE_CQ:
            self._cq_readers[number] = RingReader(self.memory.read, ring.base, ring.log2)
        elif code is Command.CREATE_EQ:
            self._eq_readers[number] = EventReader(self.memory.read, ring.base, ring.log2)
        else:
            readers = self._cq_readers if cq else self._eq_readers
            readers[number].switch(ring.base, ring.log2, out[0], self.params.idx_w)

    def write(
        self, addr: int, data: int, *, size: int = 6, strb: int = _ALL_STROBES, length: int = 0
    ) -> Cause:
        """A write to the doorbell pages (byte address; 512 bits of the first beat; awsize, strobes,
        awlen) with all that follows from it; the cause that answers it.
        """
        if not isinstance(data, int):
            raise HostError(f"data {data!r}: a number of 512 bits, as Post.encode() makes it")
        beat = addr, length, size, strb, data
        result = self._post(*beat) if self.has_queue_pairs else None
        cause = None if result is None else result.cause
        if cause is None and self.has_queue_pairs:
            cause = self.receive.reap(*beat)
        if cause is None:
            cause = self.core.write(*beat).cause  # counts by itself
        else:
            self.core.note_write(addr, cause)
        self._settle()
        return cause

    def _post(
        self, addr: int, length: int, size: int, strb: int, data: int
    ) -> PostResult | RecvPostResult | None:
        """A write to a portal: a credit is asked for if nothing else is wrong (CQ-17)."""
        beat = addr, length, size, strb, data
        page, offset = divmod(addr, PAGE_BYTES)
        number, credit, cq_error = Post.decode(data).qp, True, False
        qp = self.posting.qps[number] if number < self.params.num_qp else None
        if is_receive_portal(addr):
            if offset == RECV_PORTAL and qp is not None:
                rq, cq = self.receive.rqs[number], qp.config.recv_cq
                rq.see_newest()
                cq_error = self._in_error(cq)
                faulty = any(receive_write_faults(*beat[:4], self.params)) or any(
                    rq.faults(RecvPost.decode(data), page, cq_error=cq_error)
                )
                credit = faulty or self.core.reserve(cq, rq.credits)
            return self.receive.write(*beat, credit=credit, cq_error=cq_error)
        if qp is not None and is_portal(addr):
            cq = qp.config.send_cq
            cq_error = self._in_error(cq)
            faulty = any(write_faults(*beat[:4], self.params)) or bool(
                self.posting.check(data, page, cq_error=cq_error)
            )
            credit = faulty or self.core.reserve(cq, 1)
        return self.posting.write(*beat, credit=credit, cq_error=cq_error, now=self.now)

    def read(self, addr: int, length: int = 0, size: int = 3) -> int | None:
        """A read of the doorbell pages: the 64-bit status word, or None if refused."""
        return self.core.read(addr, length, size)

    def wait(self, cycles: int) -> None:
        """Time passes: moderation and age limits."""
        if cycles < 0:
            raise HostError(f"wait({cycles}): time does not go back")
        self.now += cycles
        for cq, model in enumerate(self.core.cqs):
            if model.life is not Life.FREE:
                self.core.set_time(cq, self.now)
                self.core.moderation(cq)
        for qp in self.posting.qps:
            if qp.age_over(self.now):
                qp.age(self.now)
        self._settle()

    # -- pins of the transport ---------------------------------------------------------------

    def done(self, qp: int, status: int = 0) -> None:
        """The oldest request that the transport has of a queue pair is reported (8-bit status)."""
        _fits("status", status, 256)
        beat = next((b for b in self.work if b.qp == qp), None)
        if beat is None:
            raise HostError(f"the transport has no request of QP {qp}")
        self.work.remove(beat)
        self._told(self.posting.done_beat(pack_done(qp, beat.tag, status)).step)
        self._settle()

    def disconnected(self, qp: int) -> None:
        """The transport says that a connection has ended."""
        _fits("QP", qp, self.params.num_qp)
        beat = self.posting.conn_beat(pack_conn(qp))
        if beat.log is not LogCause.OK:
            raise HostError(f"refused: QP {qp} does not exist")
        self._told(beat.step)
        self._settle()

    def message(self, request: RecvRequest) -> TakeResult:
        """A message arrives: the answer of ``m_axis_scatter``."""
        credit, cq_error = True, False
        if request.qp < self.params.num_qp and not request.malformed:
            rq = self.receive.rqs[request.qp]
            cq = rq.qp.config.recv_cq
            cq_error = self._in_error(cq)
            rq.see_newest()
            if rq.srq is not None and rq.may_take and rq.not_ready(True, cq_error) is None:
                credit = self.core.reserve(cq, rq.credits)
        answer = self.receive.request_beat(
            request.encode(), credit=credit, cq_error=cq_error
        ).answer
        assert answer is not None
        if answer.event and answer.srq is not None:
            self._watermark(answer.srq)
        self._settle()
        return answer

    def message_done(self, qp: int, tag: int, status: int = 0) -> None:
        """A message is in its place, or failed (8-bit status)."""
        _fits("QP", qp, self.params.num_qp)
        _fits("tag", tag, 1 << 16)
        _fits("status", status, 256)
        beat = self.receive.done_beat(pack_rdone(qp, tag, status))
        if beat.log is not LogCause.OK:
            raise HostError(f"refused: nothing of QP {qp} is outstanding with tag {tag}")
        self._told(beat.step)
        self._settle()

    def check(self, request: CheckRequest) -> CheckResult:
        """A remote access is checked: the answer of ``m_axis_verdict`` (MW-10)."""
        result = self.windows.check_beat(request.encode())
        self._settle()
        return result

    # -- the host's driver, for short --------------------------------------------------------

    def create_cq(
        self,
        cq: int,
        log2: int = 4,
        *,
        page: int = 0,
        eq: int = 0,
        config: CqConfig | None = None,
        reservation: bool = True,
    ) -> None:
        """A completion queue of 2^log2 entries; its event queue is created with the first one."""
        _fits("CQ", cq, self.params.num_cq)
        if eq >= self.params.num_eq or not self.core.eqs[eq].exists:
            args = make_args(eq, base=_EQ_BASE + eq * _RING_BYTES, log2=8, vector=eq, page=page)
            self.demand(Command.CREATE_EQ, args)
        base = _CQ_BASE + cq * _RING_BYTES
        args = make_args(
            cq, base=base, log2=log2, page=page, eq=eq, config=config, reservation=reservation
        )
        self.demand(Command.CREATE_CQ, args)

    def create_qp(
        self, qp: int, config: QpConfig | None = None, receive: RecvConfig | None = None
    ) -> None:
        """A connected queue pair; by default with 8 send requests, completing in CQ 0."""
        _fits("QP", qp, self.params.num_qp)
        config = config or QpConfig(depth=8)
        self.demand(Command.CREATE_QP, make_create_args(qp, config, receive))
        self.demand(Command.CONNECT_QP, make_qp_args(qp, word=qp))

    def demand(self, code: Command, args: Args) -> NicReply:
        """A command that must succeed. Raises :class:`HostError`."""
        reply = self.command(code, args)
        if reply.result is not CommandResult.OK:
            raise HostError(f"{code.name}: {reply.result.name}")
        return reply

    def post(self, qp: int, post: Post) -> Cause:
        """A post through the page of the queue pair: its inline result."""
        return self.write(self._qp_page(qp) * PAGE_BYTES, _encoded(replace(post, qp=qp)))

    def post_receive(self, qp: int, post: RecvPost) -> Cause:
        """A receive post on the queue pair's own queue: its inline result."""
        addr = self._qp_page(qp) * PAGE_BYTES + RECV_PORTAL
        return self.write(addr, _encoded(replace(post, number=qp)))

    def _qp_page(self, qp: int) -> int:
        _fits("QP", qp, self.params.num_qp)
        return self.posting.qps[qp].config.page

    def arm(self, cq: int, arm: ArmType | None = ArmType.ANY) -> Cause:
        """ArmCq; None: only the consumer index is told."""
        index = self.params.index(_created(self._cq_readers, "CQ", cq).index)
        return self._doorbell(cq, CQ_DB, pack_doorbell(cq, index, arm))

    def callback_return(self, cq: int) -> Cause:
        """The consumer's callback has returned."""
        _created(self._cq_readers, "CQ", cq)
        return self._doorbell(cq, CB_RETURN, pack_return(cq))

    def _doorbell(self, cq: int, offset: int, word: int) -> Cause:
        addr = self.core.owner_page(cq) * PAGE_BYTES + offset
        lane = addr % LINE_BYTES
        return self.write(addr, word << 8 * lane, size=3, strb=0xFF << lane)

    def poll(self, cq: int, limit: int = 1 << 16) -> list[NdResultEx]:
        """GetCqResultsEx, at most ``limit`` results; the consumer index is told."""
        results = _created(self._cq_readers, "CQ", cq).get_results_ex(limit)
        if results:
            self.arm(cq, None)
        return results

    def events(self, eq: int = 0) -> list[Eqe]:
        """The event entries not yet read: one callback each."""
        return _created(self._eq_readers, "EQ", eq).get_events(1 << 16)

    def place(self, cq: int, cqe: Cqe) -> None:
        """A completion comes to a queue by itself, as at the pins of ``cde_cpl_top``; its credit is
        asked for first. Raises :class:`HostError` if there is none (CQ-17).
        """
        _created(self._cq_readers, "CQ", cq)
        if not self.core.reserve(cq, 1):
            raise HostError(f"CQ {cq} has no credit")
        self._complete(cq, cqe)
        self._settle()

    # -- what happens by itself --------------------------------------------------------------

    def _cq_page(self, cq: int) -> int | None:
        ready = cq < self.params.num_cq and self.core.cqs[cq].life is Life.READY
        return self.core.owner_page(cq) if ready else None

    def _in_error(self, cq: int) -> bool:
        return self.core.status(cq) is not CqStatus.OK

    def _told(self, step: StateStep | None) -> None:
        if step is not None and step.term:
            self.terms.append(step)

    def _watermark(self, srq: int) -> None:
        self.interrupts.append(self.receive.srqs[srq].config.vector)
        self.receive.srqs[srq].interrupt()

    def _complete(self, cq: int, cqe: Cqe, silent: bool = False) -> None:
        self.core.complete(cq, cqe.pack(), silent)

    def _settle(self) -> None:
        """Everything happens that needs neither host nor transport."""
        p, moving = self.params, True
        while moving:
            moved = [self._queue_pair(n) for n in range(p.num_qp)]
            moved += [self._entries(cq) for cq in range(p.num_cq)]
            moved += [self._events(eq) for eq in range(p.num_eq)]
            moving = any(moved)

    def _queue_pair(self, n: int) -> bool:
        qp, rq = self.posting.qps[n], self.receive.rqs[n]
        if qp.state is QpState.FREE:
            return False
        moved = False
        if qp.ending is not None and qp.ending == qp.connections:
            self._told(qp.fail())
            moved = True
        if rq.length_pending:
            self._told(rq.fail_length())
            moved = True
        if n in self.windows.removable:
            self._told(self.windows.end(n))
            moved = True
        if qp.next_indication() is not None:
            beat = self.posting.indicate(n)
            if not beat.local:
                self.work.append(beat)
            moved = True
        elif qp.retirable:
            done = self.posting.retire(n)
            self._complete(done.cq, done.cqe, done.silent)
            moved = True
        if rq.flushable:
            rq.flush_take()
            moved = True
        if rq.completable:
            self._received(n)
            moved = True
        return moved

    def _received(self, n: int) -> None:
        done = self.receive.complete(n)
        for cqe in done.cqes:
            self._complete(done.cq, cqe)
        for _ in range(done.given_back):
            self._complete(done.cq, done.cqe, silent=True)

    def _entries(self, cq: int) -> bool:
        """The next entry of a queue is written and acknowledged."""
        if self.core.idle(cq) or self.core.cqs[cq].life is Life.FREE:
            return False
        entry = self.core.memory_write(cq)
        self.memory.write(entry.address, entry.data)
        self.core.acknowledge(cq)
        return True

    def _events(self, eq: int) -> bool:
        """The callbacks of an event queue are written, acknowledged and interrupt."""
        model = self.core.eqs[eq]
        moved = bool(model.waiting)
        for cq in list(model.waiting):
            ((address, entry),) = model.expected([cq], self.core.status)
            self.memory.write(address, entry)
            model.write([cq])
            self.core.event_acknowledge(eq)
            model.interrupt()
            self.interrupts.append(model.vector)
        return moved
