# SPDX-License-Identifier: Apache-2.0
"""Streams of records as a right engine would leave them that receives: receive posts, requests,
answers, reports, completions, shared receive queues, regions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from models import codes
from models.codes import QP_COMMANDS, Cause, CqStatus, ScatterCode, TraceOp
from models.host.control import Args
from models.keys.region import RegionConfig
from models.layouts import RECV_PORTAL, SRQ_DB, SRQ_PORTAL
from models.params import Params
from models.post.post import Segment, slots_of
from models.post.qp import QpConfig
from models.receive.receive import ReceiveModel, RecvReply, pack_rdone, pack_reap
from models.receive.receive_control import make_create_args, make_region_args, make_srq_args
from models.receive.receive_post import RecvPost, receive_write_faults
from models.receive.receive_types import (
    ReceiveCompletion,
    RecvConfig,
    RecvRequest,
    SrqConfig,
    TakeResult,
)
from tb.env.harness.records import (
    Command,
    DoorbellRequest,
    DoorbellResponse,
    RecvDone,
    ScatterAnswer,
    Trace,
)
from tb.env.harness.records import RecvRequest as RequestBeat
from tb.selftest.post_streams import PARAMS, PostStream
from tb.selftest.streams import ALL, PAGE

ZONE, SRQ_VECTOR = 5, 3
BASE, LENGTH = 0x10000, 0x10000
OWN, FIRST, SECOND = 0, 1, 2


class ReceiveStream(PostStream):
    """An ideal engine that receives: each method lets something happen and adds its records."""

    def __init__(self, params: Params = PARAMS) -> None:
        super().__init__(params)
        self.receiving = ReceiveModel(params, self.posting)
        self.keys: dict[int, int] = {}

    # -- commands ----------------------------------------------------------------------------------

    def recv_command(self, code: int, args: Args, post: RecvPost | None = None) -> RecvReply:
        """A command with its steps. ``post``: written and taken while it runs."""
        model, number = self.receiving, args.number
        start = self.tick()
        self.tick()
        srq = code in range(0x30, 0x35) and number < self.params.num_srq
        qp = code in QP_COMMANDS and number < self.params.num_qp
        lane6 = model.srqs[number].trace_state(6) if srq else 0
        lane5 = model.srqs[number].trace_state(5) if srq else 0
        lane3 = 0
        if qp:
            self.posting.qps[number].see(None)
            lane3 = self.posting.qps[number].trace_state(3)
            lane6 = model.rqs[number].trace_state(6)
        reply = model.command(code, args)
        if not reply.result or reply.step is not None:
            if code in (codes.Command.CREATE_SRQ, codes.Command.RESIZE_SRQ):
                operand = 0x100 | (code == codes.Command.CREATE_SRQ)
                new = model.srqs[number].trace_state(6)
                self.lane(6, TraceOp.RECV_SIZE, number, operand, lane6, new)
            elif reply.watermark is not None and args.words[1]:
                operand = args.words[1] | reply.watermark.event << 16
                new = model.srqs[number].trace_state(5)
                self.lane(5, TraceOp.WATERMARK, number, operand, lane5, new)
            elif code == codes.Command.CREATE_QP:
                new = model.rqs[number].trace_state(6)
                self.lane(6, TraceOp.RECV_SIZE, number, 1, lane6, new)
        if reply.step is not None:
            self.tick(1)
            self._state(number, lane3, reply.step)
        if post is not None:
            self.tick()
            cause = self.took(post, False)
            self.answered(cause)
        self.add(Command(self.tick(5), start, code, args.words, reply.result, reply.out))
        if reply.step is not None and reply.step.term:
            self.term(number, reply.step.term_state)
        return reply

    def qp_command(
        self, code: int, args: Args, begin: Callable[[], None] | None = None
    ) -> tuple[int, ...]:
        """A command of a queue pair."""
        assert begin is None
        return self.recv_command(code, args).out

    def lane(self, lane: int, op: int, number: int, operand: int, old: int, new: int) -> None:
        """A step in the present cycle."""
        self.add(Trace(self.cycle, lane, op, number, False, 0, operand, old, new))

    def create_srq(self, srq: int = 0, **options: int) -> None:
        """CREATE_SRQ."""
        values = {"size": 4, "zone": ZONE, "page": PAGE, "vector": SRQ_VECTOR} | options
        self.recv_command(codes.Command.CREATE_SRQ, make_srq_args(srq, SrqConfig(**values)))

    def srq_command(self, code: codes.Command, srq: int = 0, word: int = 0) -> RecvReply:
        """Any other command of an SRQ."""
        return self.recv_command(code, make_srq_args(srq, word=word))

    def register(self, number: int = 0, **options: int) -> int:
        """REGISTER_MR; returns the key."""
        values = {"base": BASE, "length": LENGTH, "zone": ZONE} | options
        args = make_region_args(number, RegionConfig(**values))
        self.keys[number] = self.recv_command(codes.Command.REGISTER_MR, args).out[0]
        return self.keys[number]

    def mr_command(self, code: codes.Command, number: int = 0) -> RecvReply:
        """DEREGISTER_MR, QUERY_MR."""
        return self.recv_command(code, make_region_args(number))

    def create_receiver(
        self, qp: int, srq: int | None = None, cq: int = 0, depth: int = 4, flag: int = 0
    ) -> None:
        """CREATE_QP with a receive queue of its own, or with an SRQ."""
        config = QpConfig(0xABC0 + qp, cq, cq, PAGE, 4)
        receive = RecvConfig(ZONE, depth if srq is None else 0, srq, flag)
        self.recv_command(codes.Command.CREATE_QP, make_create_args(qp, config, receive))

    # -- posts -------------------------------------------------------------------------------------

    def buffer(
        self, number: int = 0, lengths: Sequence[int] = (64,), **fields: int | tuple[int, ...]
    ) -> RecvPost:
        """A receive post with a context of its own."""
        self.number += 1
        key = self.keys.get(0, 0)
        slots = slots_of([Segment(BASE + 0x100 * i, n, key) for i, n in enumerate(lengths)])
        values = {"num_segments": len(lengths), "context": self.number, "slots": slots}
        return RecvPost(number, **{**values, **fields})  # type: ignore[arg-type]

    def wrote_receive(self, post: RecvPost, shared: bool, page: int = PAGE, **odd: int) -> None:
        """A receive post is taken from the host."""
        self.tick()
        offset = SRQ_PORTAL if shared else RECV_PORTAL
        fields = {"addr": page * 4096 + offset, "length": 0, "size": 6, "strb": ALL} | odd
        self.add(DoorbellRequest(self.cycle, 5, data=post.encode(), **fields))

    def free_credit(self, cq: int, wanted: int = 1) -> bool:
        """Has a CQ so many credits?"""
        producer, q = self.engine.producers[cq], self.engine.cqs[cq]
        used = producer.alloc - q.cons + producer.credits_held
        return not producer.reservation or used + wanted <= producer.ring.entries

    def took(
        self, post: RecvPost, shared: bool, page: int = PAGE, credit: bool | None = None
    ) -> Cause:
        """The step of a receive post, if it has one, in the present cycle."""
        model, number = self.receiving, post.number
        cq = 0
        if shared:
            queue = model.srqs[number]
            queue.reaped_seen = queue.reaped
            old = queue.trace_state(6)
            cause = queue.post(post, page).cause
        else:
            rq = model.rqs[number]
            cq = rq.qp.config.recv_cq
            rq.completed_seen = rq.completed
            old = rq.trace_state(6)
            error = self.engine.status(cq) is not CqStatus.OK
            free = self.free_credit(cq, rq.credits) if credit is None else credit
            cause = rq.post(post, page, credit=free, cq_error=error).cause
        if cause in (Cause.NO_QP, Cause.NO_SRQ, Cause.NOT_OWNER):
            return cause
        state = model.srqs[number].trace_state(6) if shared else model.rqs[number].trace_state(6)
        self.lane(6, TraceOp.RECV_POST, number, cause | shared << 8, old, state)
        if cause is Cause.OK and not shared:
            self.engine.reserve(cq, model.rqs[number].credits)
        return cause

    def receive(
        self, post: RecvPost | None = None, shared: bool = False, page: int = PAGE, **odd: int
    ) -> Cause:
        """A receive post from the write to its answer."""
        post = self.buffer() if post is None else post
        self.wrote_receive(post, shared, page, **odd)
        last = self.records[-1]
        assert isinstance(last, DoorbellRequest)
        limit = self.params.num_srq if shared else self.params.num_qp
        faults = receive_write_faults(last.addr, last.length, last.size, last.strb, self.params)
        cause = next(faults, Cause.OK)
        if cause is Cause.OK and post.number >= limit:
            cause = Cause.BAD_SRQ if shared else Cause.BAD_QP
        self.tick()
        if cause is Cause.OK:
            cause = self.took(post, shared, page)
        self.answered(cause)
        return cause

    def reap(self, srq: int, index: int, page: int = PAGE, word: int | None = None) -> int:
        """A write to SRQ_DB; returns the cause."""
        self.tick()
        word = pack_reap(srq, index) if word is None else word
        addr = page * 4096 + SRQ_DB
        lane = addr % 64
        write = (addr, 0, 3, 0xFF << lane, word << 8 * lane)
        self.add(DoorbellRequest(self.cycle, 5, *write))
        self.tick()
        known = srq < self.params.num_srq
        old = self.receiving.srqs[srq].trace_state(6) if known else 0
        cause = self.receiving.reap(*write)
        assert cause is not None
        if not cause:
            model = self.receiving.srqs[srq]
            model.reaped_seen = model.reaped
            self.lane(6, TraceOp.REAP, srq, index, old, model.trace_state(6))
        self.tick()
        self.add(DoorbellResponse(self.cycle, 5, 2 if cause else 0, cause))
        return cause

    # -- messages ----------------------------------------------------------------------------------

    def arrives(self, request: RecvRequest) -> None:
        """A message arrives."""
        self.tick()
        self.add(RequestBeat(self.cycle, request.encode()))

    def take(self, request: RecvRequest, credit: bool | None = None) -> TakeResult:
        """The step of a message, if it has one, in the present cycle."""
        if request.malformed or request.qp >= self.params.num_qp:
            self.receiving.refused += 1
            return TakeResult(ScatterCode.REFUSED)
        rq = self.receiving.rqs[request.qp]
        rq.reported_seen = rq.reported
        queue = rq if rq.srq is None else rq.srq
        queue.tail_seen = queue.tail
        old = rq.trace_state(5)
        cq = rq.qp.config.recv_cq
        error = self.engine.status(cq) is not CqStatus.OK
        free = self.free_credit(cq, rq.credits) and not error if credit is None else credit
        result = rq.take(request, credit=free)
        if result.code is ScatterCode.REFUSED:
            return result
        code = int(result.buffer is None)
        srq = rq.config.srq
        where = 0 if srq is None else 1 << 4 | srq << 16
        operand = code | where | result.event << 6
        self.lane(5, TraceOp.TAKE, request.qp, operand, old, rq.trace_state(5))
        if result.reserved:
            self.engine.reserve(cq, rq.credits)
        return result

    def answers(self, request: RecvRequest, result: TakeResult) -> None:
        """The answer is taken, and what it does to the state follows."""
        self.tick(1)
        self.add(ScatterAnswer(self.cycle, request.qp, result.tuser, result.tdata))
        if result.code is ScatterCode.LENGTH_ERROR:
            self.ends(request.qp)

    def ends(self, qp: int) -> None:
        """The change of state by a message that was too long."""
        self.tick(2)
        model = self.posting.qps[qp]
        model.see(None)
        old = model.trace_state(3)
        step = self.receiving.rqs[qp].fail_length()
        if step is not None:
            self._state(qp, old, step)
            self.term(qp, step.term_state)

    def message(self, qp: int = 0, length: int = 10, **fields: int | bool) -> TakeResult:
        """A message from its arrival to the answer."""
        request = RecvRequest(qp, length, **fields)  # type: ignore[arg-type]
        self.arrives(request)
        self.tick()
        result = self.take(request)
        self.answers(request, result)
        return result

    def report(self, qp: int, tag: int, status: int = 0, data: int | None = None) -> None:
        """A report, and the change of state that it makes."""
        self.tick()
        data = pack_rdone(qp, tag, status) if data is None else data
        self.add(RecvDone(self.cycle, data))
        self.tick(2)
        model = self.posting.qps[qp] if qp < self.params.num_qp else None
        if model:
            model.see(None)
        old = model.trace_state(3) if model else 0
        step = self.receiving.done_beat(data).step
        if step is not None:
            self._state(qp, old, step)
            self.term(qp, step.term_state)

    def completes(self, qp: int = 0, write: bool = True) -> ReceiveCompletion:
        """RECEIVE, and the entry that it leads to."""
        self.tick()
        rq = self.receiving.rqs[qp]
        old = rq.trace_state(7)
        end = rq.complete()
        operand = end.status | (end.srq is not None) << 8 | end.flush << 9 | end.cq << 16
        self.lane(7, TraceOp.RECEIVE, qp, operand, old, rq.trace_state(7))
        if write:
            if end.given_back:
                self.place(end.cq, back=end.given_back)
            for cqe in end.cqes:
                self.complete_cq(end.cq, cqe, False)
        return end

    def flush(self, qp: int = 0) -> None:
        """All available buffers of an own queue complete."""
        rq = self.receiving.rqs[qp]
        while rq.flushable:
            self.tick()
            rq.reported_seen, rq.tail_seen = rq.reported, rq.tail
            old = rq.trace_state(5)
            rq.flush_take()
            self.lane(5, TraceOp.TAKE, qp, 1 << 5, old, rq.trace_state(5))
            self.completes(qp)

    def whole(self, qp: int = 0, length: int = 10, status: int = 0, **fields: int | bool) -> None:
        """A message from its arrival to its completion."""
        result = self.message(qp, length, **fields)
        assert result.buffer is not None
        self.report(qp, result.tag, status)
        self.completes(qp)

    def whole_after_post(self) -> None:
        """One message on a queue of its own that gets a buffer for it."""
        self.receive(self.buffer(OWN))
        self.whole(OWN)

    def publish(self, cq: int, count: int = 1) -> None:
        """PUBLISH in the present cycle."""
        placed = self.engine.producers[cq].placed
        first = self.engine.cqs[cq].prod
        operand = count
        for i in range(count):
            entry = placed[first + i]
            operand |= entry.solicited << 2 + i | entry.unsignalled << 4 + i
        self.traced(TraceOp.PUBLISH, cq, operand, lambda: self.engine.publish(cq, count))

    def raised(self, srq: int = 0) -> None:
        """The vector of a watermark event."""
        self.interrupt(self.receiving.srqs[srq].config.vector)
        self.receiving.srqs[srq].interrupt()

    # -- whole scenarios ---------------------------------------------------------------------------

    def receivers(self, cqs: int = 2, log2: int = 3, flag: int = 0, size: int = 4) -> Self:
        """Regions, an SRQ, a connected QP with its own queue, and two that share the SRQ."""
        self.ready(cqs, log2=log2)
        self.register(0)
        self.create_srq(0, size=size)
        for qp in (OWN, FIRST, SECOND):
            self.create_receiver(qp, None if qp == OWN else 0, qp % cqs, flag=flag)
            self.connect(qp)
        return self

    def all_receives(self) -> Self:
        """A bit of everything that works."""
        self.receivers(flag=2)
        for lengths in ((64,), (16, 0, 16), (0,), ()):
            assert self.receive(self.buffer(OWN, lengths)) is Cause.OK
        assert self.receive(self.buffer(OWN)) is Cause.QUEUE_FULL
        self.whole(OWN, 64, solicited=True)
        self.whole(OWN, 20)
        self.whole(OWN, 0, invalidate=True, token=77)
        self.doorbell(0, polled=3)
        for _ in range(4):
            assert self.receive(self.buffer(0), True) is Cause.OK
        assert self.receive(self.buffer(0), True) is Cause.QUEUE_FULL
        self.srq_command(codes.Command.SET_SRQ_WATERMARK, 0, 4)
        assert self.message(FIRST, 64).event
        self.raised()
        self.message(SECOND, 3)
        self.report(SECOND, 0)
        self.completes(SECOND)
        self.report(FIRST, 0)
        self.completes(FIRST)
        assert self.reap(0, 2) == 0
        assert self.reap(0, 5) == 0x0B
        self.tick(400)
        self.srq_command(codes.Command.QUERY_SRQ, 0)
        self.srq_command(codes.Command.RESIZE_SRQ, 0, 5)
        assert self.message(FIRST, 100).code is ScatterCode.LENGTH_ERROR
        self.report(FIRST, 1)
        self.completes(FIRST)
        assert self.message(FIRST).code is ScatterCode.REFUSED
        assert self.message(SECOND, 1).code is ScatterCode.SCATTER
        assert self.message(SECOND, 1).code is ScatterCode.NOT_READY
        self.report(SECOND, 1, 9)
        self.completes(SECOND)
        self.plain(codes.Command.QUERY_QP, SECOND)
        self.receive(self.buffer(OWN, (8,)))
        self.plain(codes.Command.FLUSH_QP, OWN)
        self.flush(OWN)
        assert self.receive(self.buffer(OWN)) is Cause.BAD_STATE
        for qp in (OWN, FIRST, SECOND):
            self.plain(codes.Command.DESTROY_QP, qp)
        assert self.reap(0, 4) == 0
        assert self.receive(self.buffer(0), True) is Cause.OK
        self.srq_command(codes.Command.DESTROY_SRQ, 0)
        self.mr_command(codes.Command.QUERY_MR)
        self.mr_command(codes.Command.DEREGISTER_MR)
        return self


#: Operations by name, for mutations.
TAKE, WATERMARK = TraceOp.TAKE, TraceOp.WATERMARK
RECV_POST, REAP, RECV_SIZE = TraceOp.RECV_POST, TraceOp.REAP, TraceOp.RECV_SIZE
RECEIVE, STATE = TraceOp.RECEIVE, TraceOp.QP_STATE
