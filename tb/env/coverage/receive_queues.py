# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of receive queues: posts, reaping, sizes, takes, watermarks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from models.codes import REAP_CAUSES, RECEIVE_CAUSES, Cause, CqStatus, QpState, StateBy, TraceOp
from models.layouts import KEY_REGION_BITS, PAGE_BYTES, RECV_PORTAL, SRQ_DB
from models.params import Params
from models.post.post import NUM_SLOTS
from models.receive.receive_post import RecvPost, is_receive_portal, receive_write_faults
from models.receive.receive_types import RecvConfig, RecvRequest
from tb.env.coverage.post import EngineCoverage
from tb.env.coverage.receive_bins import RECEIVE_BINS
from tb.env.harness.records import (
    DoorbellRequest,
    DoorbellResponse,
    Interrupt,
    Trace,
)

_ALL = 0xFFFF
_OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
_FLUSHING = (QpState.DISCONNECTED, QpState.ERROR, QpState.DESTROYING)
_REASONS = {StateBy.COMMAND: "command", StateBy.CONN: "event", StateBy.REPORT: "report"}
_SEGMENT_CAUSES = (
    *(Cause.BAD_REGION, Cause.BAD_ZONE),
    *(Cause.NO_LOCAL_WRITE, Cause.BAD_RANGE),
)


@dataclass
class TakenBuffer:
    tag: int
    post: RecvPost
    request: RecvRequest | None = None
    too_long: bool = False
    reported: bool = False


@dataclass
class Receiver:
    """What coverage remembers of one QP."""

    config: RecvConfig = field(default_factory=RecvConfig)
    recv_cq: int = 0
    buffers: deque[RecvPost] = field(default_factory=deque)
    taken: deque[TakenBuffer] = field(default_factory=deque)  # not completed
    unanswered: deque[TakenBuffer] = field(default_factory=deque)
    tag: int = 0
    lives: int = 0
    failed: bool = False
    not_ready: bool = False
    too_long: bool = False


@dataclass
class SharedQueue:
    """What coverage remembers of one SRQ."""

    buffers: deque[RecvPost] = field(default_factory=deque)
    size: int = 0
    tail: int = 0
    reaped: int = 0
    flight: int = 0
    armed: bool = False
    watermark: int = 0
    events: int = 0
    vector: int = -1
    taker: int = -1
    lives: int = 0


class ReceiveQueueCoverage(EngineCoverage):
    """Situations of receive queues."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self._by_receive_op: dict[int, Callable[[Trace], None]] = {
            TraceOp.TAKE: self._take,
            TraceOp.WATERMARK: self._watermark,
            TraceOp.RECV_POST: self._receive_post,
            TraceOp.REAP: self._reap,
            TraceOp.RECV_SIZE: self._size,
        }

    def _begin(self) -> None:
        super()._begin()
        self._receivers = [Receiver() for _ in range(self.params.num_qp)]
        self._srqs = [SharedQueue() for _ in range(self.params.num_srq)]
        #: Writes without an answer, and those of them without a step.
        self._receives: deque[tuple[int, RecvPost]] = deque()
        self._stepless: deque[tuple[bool, int, RecvPost]] = deque()  # with their pages
        self._owners: dict[tuple[bool, int], int] = {}
        self._messages: deque[tuple[RecvRequest, set[QpState]]] = deque()
        self._taken_order: deque[int] = deque()
        self._contexts: set[int] = set()
        self._keys: dict[int, int] = {}  # keys that are valid
        self._old_keys: set[int] = set()
        self._latest: dict[tuple[int, bool, int], Trace] = {}  # by lane, shared, number

    # -- writes ------------------------------------------------------------------------------------

    def _request(self, record: DoorbellRequest) -> None:
        offset = record.addr % PAGE_BYTES
        if not is_receive_portal(record.addr):
            super()._request(record)
            return
        self._requests.append(offset)
        post = RecvPost.decode(record.data)
        self._receives.append((offset, post))
        faults = receive_write_faults(
            record.addr, record.length, record.size, record.strb, self.params
        )
        if not any(faults):
            page = record.addr // PAGE_BYTES
            self._stepless.append((offset != RECV_PORTAL, page, post))

    def _response(self, record: DoorbellResponse) -> None:
        offset = self._requests[0] if self._requests else 0
        if offset == SRQ_DB:
            self._requests.popleft()
            if record.cause in REAP_CAUSES and record.cause != Cause.BAD_OFFSET:
                self._hit(f"reap cause/{Cause(record.cause).name}")
            return
        if not is_receive_portal(offset) or not self._receives:
            super()._response(record)
            return
        self._requests.popleft()
        offset, post = self._receives.popleft()
        shared = offset != RECV_PORTAL
        kind = "shared" if shared else "own"
        if record.cause:
            self._hit(f"portal/{'shared receive' if shared else 'receive'}")
        name = f"receive cause/{kind}, "
        if record.cause in RECEIVE_CAUSES:
            self._known(name + Cause(record.cause).name)
        if record.cause == Cause.NO_QP:
            self._hit(f"receive post in state/{self._qps[post.number].state.name}")
        self._stepped(shared, post)

    def _stepped(self, shared: bool, post: RecvPost) -> None:
        """This write has no step to come."""
        entry = next((e for e in self._stepless if (e[0], e[2]) == (shared, post)), None)
        if entry is not None:
            self._stepless.remove(entry)

    def _known(self, name: str) -> None:
        """A hit, if there is such a bin: a wrong engine may answer anything."""
        if name in RECEIVE_BINS:
            self._hit(name)

    # -- steps -------------------------------------------------------------------------------------

    def _trace(self, record: Trace) -> None:
        if record.lane < 5:
            super()._trace(record)
            return
        handler = self._by_receive_op.get(record.op)
        shared = record.op in (TraceOp.WATERMARK, TraceOp.REAP)
        if record.op in (TraceOp.RECV_POST, TraceOp.RECV_SIZE):
            shared = bool(record.operand >> 8 & 1)
        limit = self.params.num_srq if shared else self.params.num_qp
        if handler is not None and record.cq < limit:
            handler(record)
            self._latest[record.lane, shared, record.cq] = record

    def _receive_post(self, record: Trace) -> None:
        shared, cause = bool(record.operand >> 8 & 1), record.operand & 0xFF
        number = record.cq
        # Those of other pages have no step.
        owner = self._owners.get((shared, number))
        found = [e for e in self._stepless if (e[0], e[2].number) == (shared, number)]
        found = [e for e in found if owner in (None, e[1])]
        if cause == Cause.OK:
            found = [e for e in found if e[2].num_segments <= NUM_SLOTS and not e[2].reserved]
        if not found:
            return
        post = found[0][2]
        self._stepless.remove(found[0])
        if not shared:
            self._hit(f"receive post in state/{self._qps[number].state.name}")
        self._keys_of(post, cause)
        if not shared or cause != Cause.OK:
            self._post_and_take(record, shared, cause)
        if cause != Cause.OK:
            return
        self._hit(f"segments/{'shared' if shared else 'own'}, {post.num_segments}")
        if post.context in self._contexts:
            self._hit("receive/context twice")
        self._contexts.add(post.context)
        if not shared:
            self._receivers[number].buffers.append(post)
            return
        srq = self._srqs[number]
        if not any(self._users(number)):
            self._hit("srq/post while nobody uses it")
        self._post_and_take(record, shared, cause)
        srq.buffers.append(post)
        srq.tail = record.new & _ALL
        if srq.tail < record.old & _ALL:
            self._hit("receive index/SRQ tail wraps")

    def _post_and_take(self, record: Trace, shared: bool, cause: int) -> None:
        """The steps of lane 5 of this cycle."""
        for take in self._takes_in(record.cycle):
            if not shared:
                if take.cq == record.cq:
                    self._hit("same cycle/post and take, own")
            elif take.operand >> 4 & 1 and take.operand >> 16 == record.cq:
                self._hit("same cycle/post and take, SRQ")
                if take.operand & 0xF and cause == Cause.OK:
                    self._hit("same cycle/post and take, empty SRQ")
                elif not take.operand & 0xF and cause == Cause.QUEUE_FULL:
                    self._hit("same cycle/post and take, full SRQ")

    def _takes_in(self, cycle: int) -> list[Trace]:
        return [
            step
            for (lane, shared, _), step in self._latest.items()
            if lane == 5 and not shared and step.cycle == cycle
        ]

    def _keys_of(self, post: RecvPost, cause: int) -> None:
        """Keys and what became of them."""
        segments = post.segments
        good = [s.key in self._keys for s in segments if s.length]
        if cause == Cause.OK:
            if any(not s.length and s.key not in self._keys for s in segments):
                self._hit("mr/segment without bytes is not checked")
        elif cause in _SEGMENT_CAUSES:
            if cause == Cause.BAD_REGION and False in good and good.index(False) > 0:
                self._hit("mr/second segment fails")
            if cause == Cause.BAD_REGION:
                key = next((s.key for s in segments if s.length and s.key not in self._keys), 0)
                region = key & (1 << KEY_REGION_BITS) - 1
                if key not in self._old_keys:
                    self._hit("mr/key that nobody was given")
                elif region in self._keys.values():
                    self._hit("mr/key of an earlier registration")
                else:
                    self._hit("mr/key of a region that is gone")

    def _reap(self, record: Trace) -> None:
        srq = self._srqs[record.cq]
        by = record.operand - srq.reaped & self._mask
        self._hit(f"reap/{'nothing' if not by else 'one' if by == 1 else 'several'}")
        if by and (record.old & _ALL) - (record.old >> 16) & self._mask == srq.size:
            self._hit("reap/makes room in a full SRQ")
        srq.reaped = record.operand
        for take in self._takes_in(record.cycle):
            if take.operand >> 4 & 1 and take.operand >> 16 == record.cq:
                self._hit("same cycle/reap and take")

    def _size(self, record: Trace) -> None:
        if not record.operand >> 8 & 1:
            receiver = self._receivers[record.cq]
            if receiver.lives and record.new & _ALL:
                self._hit("receive index/tag goes on after re-creation")
            receiver.lives += 1
            return
        srq, size = self._srqs[record.cq], record.new >> 32 & _ALL
        if record.operand & 1:
            if srq.lives:
                self._hit("srq/created again")
            start = record.new & _ALL
            self._srqs[record.cq] = SharedQueue(
                size=size, tail=start, reaped=start, lives=srq.lives + 1
            )
            return
        if size != srq.size:
            self._hit(f"srq resize/{'up' if size > srq.size else 'down'}")
        if size == (record.new & _ALL) - (record.new >> 16) & self._mask:
            self._hit("srq resize/to what is outstanding")
        if srq.flight:
            self._hit("srq resize/with buffers in flight")
        srq.size = size

    def _users(self, srq: int) -> list[int]:
        return [
            qp
            for qp, receiver in enumerate(self._receivers)
            if receiver.config.srq == srq and self._qps[qp].state is not QpState.FREE
        ]

    # -- takes -------------------------------------------------------------------------------------

    def _take(self, record: Trace) -> None:
        number, operand = record.cq, record.operand
        receiver = self._receivers[number]
        srq = self._srqs[operand >> 16] if operand >> 4 & 1 else None
        kind = "own" if srq is None else "SRQ"
        if operand & 0xF:
            self._not_ready(record, kind)
            receiver.not_ready = True
            return
        if receiver.not_ready:
            self._hit("not ready/the next message takes")
            receiver.not_ready = False
        buffers = receiver.buffers if srq is None else srq.buffers
        post = buffers.popleft() if buffers else RecvPost()
        tag = record.old & _ALL
        if record.new & _ALL < tag:
            self._hit("receive index/tag wraps")
        taken = TakenBuffer(tag, post)
        receiver.taken.append(taken)
        if operand >> 5 & 1:
            taken.reported = True
            return
        receiver.unanswered.append(taken)
        self._taken_order.append(number)
        if any(s.length and s.key not in self._keys for s in post.segments):
            self._hit("mr/buffer outlives its region")
        if srq is not None:
            self._shared_take(record, srq)

    def _not_ready(self, record: Trace, kind: str) -> None:
        new = record.new
        first = new >> 16 & _ALL if kind == "SRQ" else new & _ALL
        if (new >> 32 & _ALL) == first:
            self._hit(f"not ready/empty, {kind}")
        elif (new & _ALL) - (new >> 48 & _ALL) & self._mask >= 1 << self.params.rx_log2:
            self._hit(f"not ready/in flight, {kind}")
        else:
            cq = self._cqs[self._receivers[record.cq].recv_cq]
            failed = cq.state >> 2 & 3 != CqStatus.OK
            self._hit(f"not ready/{'CQ in error' if failed else 'no credit'}")

    def _shared_take(self, record: Trace, srq: SharedQueue) -> None:
        srq.flight += 1
        if srq.taker not in (-1, record.cq):
            self._hit("srq/taken by another QP")
            if self._receivers[srq.taker].recv_cq != self._receivers[record.cq].recv_cq:
                self._hit("srq/taken by a QP with another CQ")
        srq.taker = record.cq
        left = (record.new >> 32) - (record.new >> 16) & self._mask
        if record.operand >> 6 & 1:
            self._event(srq)
            self._hit("watermark/on a take")
        elif record.new >> 80 & 1 and left == record.new >> 64 & _ALL:
            self._hit("watermark/take that leaves T")
        srq.armed = bool(record.new >> 80 & 1)

    def _event(self, srq: SharedQueue) -> None:
        srq.events += 1
        if any(other.events for other in self._srqs if other is not srq):
            self._hit("watermark/of two SRQs at once")

    def _watermark(self, record: Trace) -> None:
        srq, operand = self._srqs[record.cq], record.operand
        if not operand & _ALL:
            return
        if srq.armed:
            self._hit("watermark/changed while armed")
        elif srq.watermark:
            self._hit("watermark/again")
        if operand >> 16 & 1:
            self._event(srq)
            self._hit("watermark/at once")
        srq.armed, srq.watermark = bool(record.new >> 80 & 1), operand & _ALL

    def _interrupt(self, record: Interrupt) -> None:
        for srq in self._srqs:
            if srq.events and srq.vector == record.vector:
                srq.events -= 1
                if record.vector in self._vectors:
                    self._hit("watermark/vector of an EQ")
                return
        super()._interrupt(record)
