# SPDX-License-Identifier: Apache-2.0
"""Streams of records as a right full engine would leave them, all of it: what :class:`WorkStream`
has, and receive posts, messages, shared receive queues, regions, windows, checks, device removal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from models import codes
from models.codes import (
    Access,
    Cause,
    CqStatus,
    PostFlag,
    ScatterCode,
    TraceOp,
)
from models.keys.region import RegionConfig
from models.keys.window_control import make_window_args
from models.keys.window_types import CheckRequest, CheckResult
from models.layouts import RECV_PORTAL, SRQ_DB, SRQ_PORTAL
from models.params import Params
from models.post.post import Post, Segment, slots_of
from models.post.qp import Retirement
from models.receive.receive import RecvReply, pack_rdone, pack_reap
from models.receive.receive_control import make_region_args, make_srq_args
from models.receive.receive_post import RecvPost, receive_write_faults
from models.receive.receive_types import (
    ReceiveCompletion,
    RecvConfig,
    RecvRequest,
    SrqConfig,
    TakeResult,
)
from tb.env.harness.records import AccessCheck, AccessVerdict, RecvDone, ScatterAnswer
from tb.env.harness.records import RecvRequest as RequestBeat
from tb.selftest.streams import PAGE
from tb.selftest.work_streams import BIND, FAST_REGISTER, INVALIDATE, PARAMS, READ, WorkStream

ZONE, SRQ_VECTOR = 5, 3
BASE, LENGTH = 0x10000, 0x10000
CONTEXT = 0xFEDC_BA98_7654_3210
READ_FLAG = PostFlag.ALLOW_REMOTE_READ
OWN, FIRST, SECOND = 0, 1, 2
OTHER = 3  #: the QP that is not guarded
#: Region 1 is allocated.
FAST = 1
TAKE, RECV_POST, RECEIVE = TraceOp.TAKE, TraceOp.RECV_POST, TraceOp.RECEIVE


class EngineStream(WorkStream):
    """An ideal full engine: each method lets something happen and adds its records."""

    def __init__(self, params: Params = PARAMS) -> None:
        super().__init__(params)
        self.table = self.windows.table
        self.keys: dict[int, int] = {}
        self.tokens: dict[int, int] = {}

    # -- commands ----------------------------------------------------------------------------------

    def create_srq(self, srq: int = 0, **options: int) -> None:
        values = {"size": 4, "zone": ZONE, "page": PAGE, "vector": SRQ_VECTOR} | options
        self.execute(codes.Command.CREATE_SRQ, make_srq_args(srq, SrqConfig(**values)))

    def srq_command(self, code: codes.Command, srq: int = 0, word: int = 0) -> RecvReply:
        """Any other command of an SRQ."""
        return self.execute(code, make_srq_args(srq, word=word))

    def register(self, number: int = 0, **options: int) -> int:
        """REGISTER_MR; returns the key."""
        values = {"base": BASE, "length": LENGTH, "zone": ZONE} | options
        args = make_region_args(number, RegionConfig(**values))
        self.keys[number] = self.execute(codes.Command.REGISTER_MR, args).out[0]
        return self.keys[number]

    def key_command(self, code: int, number: int = 0, zone: int = 0, context: int = 0) -> RecvReply:
        """Any other command of regions and windows."""
        return self.execute(code, make_window_args(number, zone, context))

    def window(self, number: int = 0) -> int:
        """CREATE_MW; returns the key."""
        reply = self.key_command(codes.Command.CREATE_MW, number, ZONE, CONTEXT)
        self.tokens[number] = reply.out[0]
        return reply.out[0]

    def create_receiver(
        self, qp: int, srq: int | None = None, cq: int = 0, depth: int = 4, **options: Any
    ) -> None:
        """CREATE_QP with a receive queue of its own, or with an SRQ."""
        receive = RecvConfig(ZONE, 4 if srq is None else 0, srq, **options)
        self.create_qp(qp, cq, receive, depth=depth)

    def remove(self) -> None:
        """REMOVE_DEVICE, and the ends of the connections."""
        self.key_command(codes.Command.REMOVE_DEVICE)
        for qp in self.windows.removable:
            self.may_end(qp, lambda qp=qp: self.windows.end(qp))  # type: ignore[misc]

    # -- receive posts -----------------------------------------------------------------------------

    def buffer(
        self, number: int = 0, lengths: Sequence[int] = (64,), **fields: int | tuple[int, ...]
    ) -> RecvPost:
        """A receive post with a context of its own."""
        self.number += 1
        key = self.keys.get(0, 0)
        slots = slots_of([Segment(BASE + 0x100 * i, n, key) for i, n in enumerate(lengths)])
        values = {"num_segments": len(lengths), "context": self.number, "slots": slots}
        return RecvPost(number, **{**values, **fields})  # type: ignore[arg-type]

    def wrote_receive(self, post: RecvPost, shared: bool = False) -> None:
        """A receive post is taken from the host."""
        self.wrote(post, offset=SRQ_PORTAL if shared else RECV_PORTAL)

    def took(self, post: RecvPost, shared: bool = False, credit: bool | None = None) -> Cause:
        """The step of a receive post, if it has one, in the present cycle."""
        number = post.number
        rq, queue = self.receiving.rqs[number], self.receiving.srqs[number % self.params.num_srq]
        cq = rq.qp.config.recv_cq
        if shared:
            queue.reaped_seen = queue.reaped
            old = queue.trace_state(6)
            cause = queue.post(post, PAGE).cause
        else:
            rq.completed_seen = rq.completed
            old = rq.trace_state(6)
            error = self.engine.status(cq) is not CqStatus.OK
            free = self.free_credit(cq, rq.credits) if credit is None else credit
            cause = rq.post(post, PAGE, credit=free, cq_error=error).cause
        if cause in (Cause.NO_QP, Cause.NO_SRQ, Cause.NOT_OWNER):
            return cause
        new = queue.trace_state(6) if shared else rq.trace_state(6)
        self.lane(6, TraceOp.RECV_POST, number, cause | shared << 8, old, new)
        if cause is Cause.OK and not shared:
            self.engine.reserve(cq, rq.credits)
        return cause

    def receive(self, post: RecvPost | None = None, shared: bool = False) -> Cause:
        """A receive post from the write to its answer."""
        post = self.buffer() if post is None else post
        self.wrote_receive(post, shared)
        cause = self.fault(receive_write_faults) or self.took(post, shared)
        self.respond(cause)
        return cause

    def reap(self, srq: int, index: int) -> int:
        """A write to SRQ_DB; returns the cause."""
        self.request(SRQ_DB, pack_reap(srq, index))
        self.tick()
        queue = self.receiving.srqs[srq]
        old = queue.trace_state(6)
        cause = self.receiving.reap(*self.records[-1][2:])
        assert cause is not None
        if not cause:
            queue.reaped_seen = queue.reaped
            self.lane(6, TraceOp.REAP, srq, index, old, queue.trace_state(6))
        self.respond(cause)
        return cause

    # -- messages ----------------------------------------------------------------------------------

    def arrives(self, request: RecvRequest) -> None:
        """A message arrives."""
        self.add(RequestBeat(self.tick(), request.encode()))

    def take(self, request: RecvRequest, credit: bool | None = None) -> TakeResult:
        """The step of a message, if it has one, and that of its token, in the present cycle."""
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
        srq = rq.config.srq
        where = 0 if srq is None else 1 << 4 | srq << 16
        operand = (result.buffer is None) | where | result.event << 6
        self.lane(5, TraceOp.TAKE, request.qp, operand, old, rq.trace_state(5))
        if result.reserved:
            self.engine.reserve(cq, rq.credits)
        if result.key is not None:
            self.key_lane(result.key)
        return result

    def answers(self, request: RecvRequest, result: TakeResult) -> None:
        """The answer is taken, and what it does to the state follows."""
        self.add(ScatterAnswer(self.tick(1), request.qp, result.tuser, result.tdata))
        if result.code in (ScatterCode.LENGTH_ERROR, ScatterCode.BAD_TOKEN):
            self.ends(request.qp)

    def ends(self, qp: int) -> None:
        """The change of state by a message that was too long, or by its token."""
        self.may_end(qp, self.receiving.rqs[qp].fail_length)

    def message(self, qp: int = 0, length: int = 10, **fields: int | bool) -> TakeResult:
        """A message from its arrival to the answer."""
        request = RecvRequest(qp, length, **fields)  # type: ignore[arg-type]
        self.arrives(request)
        self.tick()
        result = self.take(request)
        self.answers(request, result)
        return result

    def report(self, qp: int, tag: int, status: int = 0) -> None:
        """A report, and the change of state that it makes."""
        data = pack_rdone(qp, tag, status)
        self.add(RecvDone(self.tick(), data))
        self.may_end(qp, lambda: self.receiving.done_beat(data).step)

    def completes(self, qp: int = 0) -> ReceiveCompletion:
        """RECEIVE, and the entry that it leads to."""
        self.tick()
        rq = self.receiving.rqs[qp]
        old = rq.trace_state(7)
        end = rq.complete()
        operand = end.status | (end.srq is not None) << 8 | end.flush << 9 | end.cq << 16
        self.lane(7, TraceOp.RECEIVE, qp, operand, old, rq.trace_state(7))
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

    def raised(self, srq: int = 0) -> None:
        """The vector of a watermark event."""
        self.interrupt(self.receiving.srqs[srq].config.vector)
        self.receiving.srqs[srq].interrupt()

    # -- requests that change keys -----------------------------------------------------------------

    def key_of(self, window: int) -> int:
        """The present key of a window, or one that it never had."""
        found = self.table.windows[window]
        return found.key if found is not None else 0x1800 | window

    def bind_post(self, qp: int = OWN, window: int = 0) -> Post:
        """A Bind of the present key of a window to all of region 0."""
        target = Segment(0, 0, self.key_of(window))
        slots = slots_of([Segment(BASE, LENGTH, self.keys.get(0, 0))], target)
        return self.make(BIND, READ_FLAG, qp, slots=slots)

    def invalidate_post(self, token: int, qp: int = OWN) -> Post:
        """An Invalidate."""
        return self.make(INVALIDATE, 0, qp, slots=slots_of([], Segment(0, 0, token)))

    def executes(self, post: Post) -> int:
        """A local request from its post to its retirement; returns its status."""
        assert self.post(post) is Cause.OK
        self.work(post.qp)
        status = self.retire(post.qp).status
        cq = self.posting.qps[post.qp].config.send_cq
        self.doorbell(cq, polled=self.engine.cqs[cq].prod - self.engine.cqs[cq].cons)
        return status

    def bind(self, qp: int = OWN, window: int = 0) -> int:
        """A Bind; returns its status."""
        status = self.executes(self.bind_post(qp, window))
        self.tokens[window] = self.key_of(window)
        return status

    def fast_register(self, qp: int = OWN, region: int = FAST) -> int:
        """A FastRegister of the present key of a region; returns its status."""
        slots = slots_of([Segment(BASE, LENGTH, 0)], Segment(0, 0, self.keys[region]))
        status = self.executes(self.make(FAST_REGISTER, READ_FLAG, qp, slots=slots))
        found = self.table.regions[region]
        self.keys[region] = found.key if found is not None else 0
        return status

    def invalidate(self, token: int, qp: int = OWN) -> int:
        """An Invalidate; returns its status."""
        return self.executes(self.invalidate_post(token, qp))

    def read(self, token: int, qp: int = OWN, status: int = 0) -> Retirement:
        """A Read with RDMA_READ_LOCAL_INVALIDATE, to its retirement."""
        flags, slots = PostFlag.RDMA_READ_LOCAL_INVALIDATE, slots_of([Segment(BASE, 8, token)])
        assert self.post(self.make(READ, flags, qp, slots=slots)) is Cause.OK
        self.done(qp, self.work(qp), status)
        return self.retire(qp)

    # -- checks ------------------------------------------------------------------------------------

    def asks(self, request: CheckRequest) -> None:
        """A check is taken."""
        self.add(AccessCheck(self.tick(), request.encode()))

    def decides(self, request: CheckRequest) -> CheckResult:
        """Its step in the present cycle, if it has one."""
        result = self.windows.check_beat(request.encode())
        if result.step is not None:
            self.key_lane(result.step)
        return result

    def judged(self, result: CheckResult) -> None:
        """The verdict is taken, and what it does to the state follows."""
        self.add(AccessVerdict(self.tick(1), result.tdata))
        if result.code not in (codes.Verdict.GRANTED, codes.Verdict.REFUSED):
            self.fails(result.qp)

    def check(self, key: int, qp: int = OWN, **fields: int) -> int:
        """A check from its arrival to its verdict; returns the code."""
        good = {"kind": Access.READ, "address": BASE, "length": 8}
        request = CheckRequest(qp, key=key, **{**good, **fields})
        self.asks(request)
        self.tick(1)
        result = self.decides(request)
        self.judged(result)
        return result.code

    # -- whole scenarios ---------------------------------------------------------------------------

    def receivers(self, flag: int = 0) -> Self:
        """Regions, an SRQ, a connected QP with its own queue, and two that share the SRQ."""
        self.ready(2, log2=3)
        self.register(0)
        self.create_srq(0)
        for qp in (OWN, FIRST, SECOND):
            self.create_receiver(qp, None if qp == OWN else 0, qp % 2, flag=flag)
            self.connect(qp)
        return self

    def guards(self, two: bool = False) -> Self:
        """Regions, windows, an SRQ; guarded QPs: one with its own queue, two with the SRQ; and one
        QP that is not guarded.
        """
        self.ready(2, log2=4)
        self.register(0, rights=3)
        self.keys[FAST] = self.key_command(codes.Command.ALLOC_MR, FAST, ZONE).out[0]
        for number in range(2):
            self.window(number)
        self.create_srq(0)
        for qp in (OWN, FIRST, SECOND, OTHER):
            srq, guarded = 0 if qp in (FIRST, SECOND) else None, qp != OTHER
            self.create_receiver(qp, srq, qp % 2 * guarded, 8, two=two and guarded, guarded=guarded)
            self.connect(qp)
        return self

    def bound(self) -> Self:
        """Window 0 is valid on the QP with its own queue."""
        self.guards()
        assert self.bind() == 0
        return self

    def message_with(self, token: int, qp: int = OWN, length: int = 10) -> TakeResult:
        """A message that invalidates a token; with a buffer for it."""
        shared = self.receiving.rqs[qp].srq is not None
        assert self.receive(self.buffer(0 if shared else qp), shared) is Cause.OK
        return self.message(qp, length, invalidate=True, token=token, solicited=True)

    def again(self, qp: int) -> None:
        """A QP whose connection has ended is connected again."""
        model = self.posting.qps[qp]
        while model.retirable:
            self.retire(qp)
        self.flush(qp)
        self.set_state(qp, 1)
        self.connect(qp)
