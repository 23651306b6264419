# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of receive queues: posts, reaping, sizes, takes, watermarks."""

from __future__ import annotations

from collections import deque

from models.codes import REAP_CAUSES, RECEIVE_CAUSES, Cause, QpState
from models.layouts import KEY_REGION_BITS, PAGE_BYTES, RECV_PORTAL
from models.post.post import NUM_SLOTS
from models.receive.receive_post import RecvPost, receive_write_faults
from tb.env import defs
from tb.env.coverage.memory import Group, SharedQueue, Situation, TakenBuffer
from tb.env.defs import BSTATE, TRC_RECV_POST, TRC_RECV_SIZE, TRC_TAKE, TRC_WATERMARK, TSTATE
from tb.env.harness.records import DoorbellRequest, DoorbellResponse, Interrupt, Trace

_tail, _freed, _size = (field.get for field in BSTATE.fields.values())
_SEGMENT_CAUSES = (*(Cause.BAD_REGION, Cause.BAD_ZONE), *(Cause.NO_LOCAL_WRITE, Cause.BAD_RANGE))


class QueueCoverage(Group):
    """Situations of receive queues."""

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        #: Writes without an answer, and those of them without a step, with their pages.
        self._receives: deque[RecvPost] = deque()
        self._stepless: deque[tuple[bool, int, RecvPost]] = deque()
        self._contexts: set[int] = set()

    # -- writes ------------------------------------------------------------------------------------

    def request(self, record: DoorbellRequest) -> None:
        """A write to a receive portal."""
        offset = record.addr % PAGE_BYTES
        post = RecvPost.decode(record.data)
        self._receives.append(post)
        faults = receive_write_faults(
            record.addr, record.length, record.size, record.strb, self.m.params
        )
        if not any(faults):
            page = record.addr // PAGE_BYTES
            self._stepless.append((offset != RECV_PORTAL, page, post))

    def reaped(self, record: DoorbellResponse, _: int) -> None:
        """An answer to a write to SRQ_DB."""
        if record.cause in REAP_CAUSES and record.cause != Cause.BAD_OFFSET:
            self.m.hit(f"reap cause/{Cause(record.cause).name}")

    def response(self, record: DoorbellResponse, offset: int) -> None:
        """An answer to a write to a receive portal."""
        post = self._receives.popleft()
        shared = offset != RECV_PORTAL
        kind = "shared" if shared else "own"
        self.m.hit_if(record.cause, f"portal/{'shared receive' if shared else 'receive'}")
        name = f"receive cause/{kind}, "
        if record.cause in RECEIVE_CAUSES:
            self.m.hit_if_known(name + Cause(record.cause).name)
        if record.cause == Cause.NO_QP:
            self.m.hit(f"receive post in state/{self.m.qps[post.number].state.name}")
        self._stepped(shared, post)

    def _stepped(self, shared: bool, post: RecvPost) -> None:
        """This write has no step to come."""
        entry = next((e for e in self._stepless if (e[0], e[2]) == (shared, post)), None)
        if entry is not None:
            self._stepless.remove(entry)

    # -- steps -------------------------------------------------------------------------------------

    def receive_post(self, record: Trace) -> None:
        cause, of_srq = TRC_RECV_POST.unpack(record.operand).values()
        shared, number = bool(of_srq), record.cq
        # Those of other pages have no step.
        owner = self.m.owners.get((shared, number))
        found = [e for e in self._stepless if (e[0], e[2].number) == (shared, number)]
        found = [e for e in found if owner in (None, e[1])]
        if cause == Cause.OK:
            found = [e for e in found if e[2].num_segments <= NUM_SLOTS and not e[2].reserved]
        if not found:
            return
        post = found[0][2]
        self._stepless.remove(found[0])
        self.m.hit_if(not shared, f"receive post in state/{self.m.qps[number].state.name}")
        self._keys_of(post, cause)
        if not shared or cause != Cause.OK:
            self._post_and_take(record, shared, cause)
        if cause != Cause.OK:
            return
        self.m.hit(f"segments/{'shared' if shared else 'own'}, {post.num_segments}")
        self.m.hit_if(post.context in self._contexts, "receive/context twice")
        self._contexts.add(post.context)
        if not shared:
            self.m.receivers[number].buffers.append(post)
            return
        srq = self.m.srqs[number]
        self.m.hit_if(not any(self._users(number)), "srq/post while nobody uses it")
        self._post_and_take(record, shared, cause)
        srq.buffers.append(post)
        srq.tail = _tail(record.new)
        self.m.hit_if(srq.tail < _tail(record.old), "receive index/SRQ tail wraps")

    def _post_and_take(self, record: Trace, shared: bool, cause: int) -> None:
        """The steps of lane 5 of this cycle."""
        for take in self.m.takes_in(record.cycle):
            code, takes_srq, _, _, srq = TRC_TAKE.unpack(take.operand).values()
            if not shared:
                self.m.hit_if(take.cq == record.cq, "same cycle/post and take, own")
            elif takes_srq and srq == record.cq:
                self.m.hit("same cycle/post and take, SRQ")
                if code and cause == Cause.OK:
                    self.m.hit("same cycle/post and take, empty SRQ")
                elif not code and cause == Cause.QUEUE_FULL:
                    self.m.hit("same cycle/post and take, full SRQ")

    def _keys_of(self, post: RecvPost, cause: int) -> None:
        """Keys and what became of them."""
        segments = post.segments
        good = [s.key in self.m.keys for s in segments if s.length]
        if cause == Cause.OK:
            if any(not s.length and s.key not in self.m.keys for s in segments):
                self.m.hit("mr/segment without bytes is not checked")
        elif cause in _SEGMENT_CAUSES:
            if cause == Cause.BAD_REGION and False in good and good.index(False) > 0:
                self.m.hit("mr/second segment fails")
            if cause == Cause.BAD_REGION:
                key = next((s.key for s in segments if s.length and s.key not in self.m.keys), 0)
                region = key & (1 << KEY_REGION_BITS) - 1
                if key not in self.m.old_keys:
                    self.m.hit("mr/key that nobody was given")
                elif region in self.m.keys.values():
                    self.m.hit("mr/key of an earlier registration")
                else:
                    self.m.hit("mr/key of a region that is gone")

    def reap(self, record: Trace) -> None:
        srq = self.m.srqs[record.cq]
        index = defs.TRC_REAP["index"].get(record.operand)
        by = index - srq.reaped & self.m.mask
        self.m.hit(f"reap/{'nothing' if not by else 'one' if by == 1 else 'several'}")
        if by and _tail(record.old) - _freed(record.old) & self.m.mask == srq.size:
            self.m.hit("reap/makes room in a full SRQ")
        srq.reaped = index
        for take in self.m.takes_in(record.cycle):
            fields = TRC_TAKE.unpack(take.operand)
            if fields["shared"] and fields["srq"] == record.cq:
                self.m.hit("same cycle/reap and take")

    def size(self, record: Trace) -> None:
        if not TRC_RECV_SIZE["shared"].get(record.operand):
            receiver = self.m.receivers[record.cq]
            if receiver.lives and _tail(record.new):
                self.m.hit("receive index/tag goes on after re-creation")
            receiver.lives += 1
            return
        srq, size = self.m.srqs[record.cq], _size(record.new)
        if TRC_RECV_SIZE["start"].get(record.operand):
            self.m.hit_if(srq.lives, "srq/created again")
            start = _tail(record.new)
            self.m.srqs[record.cq] = SharedQueue(
                size=size, tail=start, reaped=start, lives=srq.lives + 1
            )
            return
        self.m.hit_if(size != srq.size, f"srq resize/{'up' if size > srq.size else 'down'}")
        if size == _tail(record.new) - _freed(record.new) & self.m.mask:
            self.m.hit("srq resize/to what is outstanding")
        self.m.hit_if(srq.flight, "srq resize/with buffers in flight")
        srq.size = size

    def _users(self, srq: int) -> list[int]:
        return [
            qp
            for qp, receiver in enumerate(self.m.receivers)
            if receiver.config.srq == srq and self.m.qps[qp].state is not QpState.FREE
        ]

    # -- takes -------------------------------------------------------------------------------------

    def take(self, record: Trace) -> None:
        code, shared, flush, _, srq_number = TRC_TAKE.unpack(record.operand).values()
        receiver = self.m.receivers[record.cq]
        srq = self.m.srqs[srq_number] if shared else None
        kind = "own" if srq is None else "SRQ"
        if code:
            self._not_ready(record, kind)
            receiver.not_ready = True
            return
        if receiver.not_ready:
            self.m.hit("not ready/the next message takes")
            receiver.not_ready = False
        buffers = receiver.buffers if srq is None else srq.buffers
        post = buffers.popleft() if buffers else RecvPost()
        tag = TSTATE["taken"].get(record.old)
        self.m.hit_if(TSTATE["taken"].get(record.new) < tag, "receive index/tag wraps")
        taken = TakenBuffer(tag, post)
        receiver.taken.append(taken)
        if flush:
            taken.reported = True
            return
        receiver.unanswered.append(taken)
        self.m.taken_order.append(record.cq)
        if any(s.length and s.key not in self.m.keys for s in post.segments):
            self.m.hit("mr/buffer outlives its region")
        if srq is not None:
            self._shared_take(record, srq)

    def _not_ready(self, record: Trace, kind: str) -> None:
        taken, head, tail, reported, *_ = TSTATE.unpack(record.new).values()
        if tail == (head if kind == "SRQ" else taken):
            self.m.hit(f"not ready/empty, {kind}")
        elif taken - reported & self.m.mask >= 1 << self.m.params.rx_log2:
            self.m.hit(f"not ready/in flight, {kind}")
        else:
            cq = self.m.cqs[self.m.receivers[record.cq].recv_cq]
            failed = defs.STATE["status"].get(cq.state)
            self.m.hit(f"not ready/{'CQ in error' if failed else 'no credit'}")

    def _shared_take(self, record: Trace, srq: SharedQueue) -> None:
        srq.flight += 1
        if srq.taker not in (-1, record.cq):
            self.m.hit("srq/taken by another QP")
            if self.m.receivers[srq.taker].recv_cq != self.m.receivers[record.cq].recv_cq:
                self.m.hit("srq/taken by a QP with another CQ")
        srq.taker = record.cq
        _, head, tail, _, watermark, armed = TSTATE.unpack(record.new).values()
        if TRC_TAKE["event"].get(record.operand):
            self._event(srq)
            self.m.hit("watermark/on a take")
        elif armed and tail - head & self.m.mask == watermark:
            self.m.hit("watermark/take that leaves T")
        srq.armed = bool(armed)

    def _event(self, srq: SharedQueue) -> None:
        srq.events += 1
        if any(other.events for other in self.m.srqs if other is not srq):
            self.m.hit("watermark/of two SRQs at once")

    def watermark(self, record: Trace) -> None:
        srq = self.m.srqs[record.cq]
        threshold, event = TRC_WATERMARK.unpack(record.operand).values()
        if not threshold:
            return
        if srq.armed:
            self.m.hit("watermark/changed while armed")
        elif srq.watermark:
            self.m.hit("watermark/again")
        if event:
            self._event(srq)
            self.m.hit("watermark/at once")
        srq.armed, srq.watermark = bool(TSTATE["armed"].get(record.new)), threshold

    def interrupt(self, record: Interrupt) -> bool:
        """Whether it is one of a watermark."""
        for srq in self.m.srqs:
            if srq.events and srq.vector == record.vector:
                srq.events -= 1
                self.m.hit_if(record.vector in self.m.vectors, "watermark/vector of an EQ")
                return True
        return False
