# SPDX-License-Identifier: Apache-2.0
"""Streams of records as a right full engine would leave them: posts, work, reports, retirement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

from models import codes
from models.codes import FOREIGN_CAUSES, Cause, CqStatus, Life, PostFlag, TraceOp
from models.cq.entries import Cqe
from models.host.control import Args
from models.host.doorbell import pack_doorbell
from models.layouts import CQ_DB, SEND_PORTAL
from models.params import Params
from models.post.post import Post, Segment, slots_of
from models.post.post_check import write_faults
from models.post.posting import PostingModel, pack_conn, pack_done
from models.post.qp import QpConfig, Retirement
from models.post.qp_control import make_qp_args
from models.post.qp_types import StateStep
from tb.env.harness.records import (
    Command,
    ConnReport,
    DoneReport,
    DoorbellRequest,
    DoorbellResponse,
    TermRequest,
    Trace,
    WorkBeat,
)
from tb.selftest.streams import ALL, PAGE, Stream

PARAMS = Params(
    num_cq=4,
    num_eq=2,
    num_pages=4,
    idx_w=6,
    mod_tick=8,
    num_qp=4,
    sq_log2=3,
    burst=2,
    num_srq=2,
    rq_log2=2,
    srq_log2=3,
    rx_log2=1,
    num_mr=4,
    num_mw=4,
)
DEFER, SILENT, FENCE = PostFlag.DEFER, PostFlag.SILENT_SUCCESS, PostFlag.READ_FENCE
BIND, INVALIDATE, READ, SEND, WRITE = 1, 3, 4, 5, 7


class PostStream(Stream):
    """An ideal full engine: each method lets something happen and adds its records."""

    def __init__(self, params: Params = PARAMS) -> None:
        super().__init__(params)
        self.posting = PostingModel(params, self._page_of)
        self.number = 0

    def _page_of(self, cq: int) -> int | None:
        if cq >= self.params.num_cq or self.engine.cqs[cq].life is not Life.READY:
            return None
        return self.engine.owner_page(cq)

    def step(self, op: TraceOp, qp: int, operand: int, run: Callable[[], object]) -> None:
        """A step of a QP and its trace record, in the present cycle."""
        model, lane = self.posting.qps[qp], 4 if op is TraceOp.RETIRE else 3
        if lane == 3:
            model.see(None)
        old = model.trace_state(lane)
        run()
        new = model.trace_state(lane)
        self.add(Trace(self.cycle, lane, op, qp, False, 0, operand, old, new))

    # -- queue pairs -------------------------------------------------------------------------------

    def qp_command(
        self, code: int, args: Args, begin: Callable[[], None] | None = None
    ) -> tuple[int, ...]:
        """A command with its step, if it has one; returns its outputs."""
        start = self.tick()
        self.tick()
        if begin is not None:
            begin()
        qp = args.number
        known = qp < self.params.num_qp
        if known:
            self.posting.qps[qp].see(None)
        old = self.posting.qps[qp].trace_state(3) if known else 0
        reply = self.posting.command(code, args)
        if reply.step is not None:
            self._state(qp, old, reply.step)
        out = reply.out
        self.add(Command(self.tick(5), start, code, args.words, reply.result, out))
        if reply.step is not None and reply.step.term:
            self.term(qp, reply.step.term_state)
        return out

    def _state(self, qp: int, old: int, step: StateStep) -> None:
        new = self.posting.qps[qp].trace_state(3)
        self.add(Trace(self.cycle, 3, TraceOp.QP_STATE, qp, False, 0, step.by, old, new))

    def create_qp(self, qp: int = 0, cq: int = 0, **options: int) -> None:
        """CREATE_QP."""
        values = {"context": 0xABC0 + qp, "depth": 4, "page": PAGE, "send_cq": cq, "recv_cq": cq}
        config = QpConfig(**{**values, **options})
        self.qp_command(codes.Command.CREATE_QP, make_qp_args(qp, config))

    def connect(self, qp: int = 0, peer: int = 9) -> None:
        """CONNECT_QP."""
        self.qp_command(codes.Command.CONNECT_QP, make_qp_args(qp, word=peer))

    def set_state(self, qp: int, state: int) -> None:
        """SET_QP_STATE."""
        self.qp_command(codes.Command.SET_QP_STATE, make_qp_args(qp, word=state))

    def plain(self, code: codes.Command, qp: int = 0) -> tuple[int, ...]:
        """A command without arguments."""
        return self.qp_command(code, make_qp_args(qp))

    # -- posts -------------------------------------------------------------------------------------

    def make(self, opcode: int = SEND, flags: int = 0, qp: int = 0, **fields: Any) -> Post:
        """A post with a context of its own."""
        self.number += 1
        verb_segments = 0 if opcode == INVALIDATE else 1
        slots = slots_of([Segment(0x1000 * self.number, 64, 7)])
        values: dict[str, Any] = {"num_segments": verb_segments, "context": self.number}
        return Post(opcode, flags=flags, qp=qp, **{"slots": slots, **values, **fields})

    def wrote(self, post: Post, page: int = PAGE, offset: int = SEND_PORTAL, **odd: int) -> None:
        """A post is taken from the host."""
        self.tick()
        fields = {"addr": page * 4096 + offset, "length": 0, "size": 6, "strb": ALL}
        fields |= odd
        self.add(DoorbellRequest(self.cycle, 5, data=post.encode(), **fields))

    def answered(self, cause: int) -> None:
        """The oldest write is answered."""
        self.tick()
        self.add(DoorbellResponse(self.cycle, 5, 2 if cause else 0, cause))

    def taken(self, post: Post, page: int = PAGE, want: Cause | None = None) -> Cause:
        """The step of a post, if it has one, in the present cycle."""
        if post.qp >= self.params.num_qp:
            return Cause.BAD_QP
        model = self.posting.qps[post.qp]
        model.see(None)
        cq = model.config.send_cq
        error = self.engine.status(cq) is not CqStatus.OK
        producer, q = self.engine.producers[cq], self.engine.cqs[cq]
        used = producer.alloc - q.cons + producer.credits_held
        credit = not producer.reservation or used < producer.ring.entries
        if want is Cause.NO_CREDIT:
            credit = False
        cause = model.check(post, page, credit=credit, cq_error=error)
        if cause in FOREIGN_CAUSES and cause is not Cause.OK:
            return cause
        operand = cause | (post.opcode & 0xFF) << 8 | post.flags << 16
        self.step(
            TraceOp.POST,
            post.qp,
            operand,
            lambda: model.post(post, page, credit=credit, cq_error=error, now=self.cycle),
        )
        if cause is Cause.OK:
            self.engine.reserve(cq, 1)
        return cause

    def post(self, post: Post | None = None, page: int = PAGE, **odd: int) -> Cause:
        """A post from the write to its answer."""
        post = post or self.make()
        self.wrote(post, page, **odd)
        last = self.records[-1]
        assert isinstance(last, DoorbellRequest)
        faults = write_faults(last.addr, last.length, last.size, last.strb, self.params)
        cause = next(faults, Cause.OK)
        self.tick()
        if cause is Cause.OK:
            cause = self.taken(post, page)
        self.answered(cause)
        return cause

    def doorbell_step(self, cq: int, polled: int) -> None:
        """A doorbell takes effect behind a write that waits, both not answered yet."""
        index = self.params.index(self.engine.cqs[cq].cons + polled)
        self.request(CQ_DB, pack_doorbell(cq, index))
        self.tick()
        self.ring(cq, index)

    def age(self, qp: int = 0) -> None:
        """AGE in the present cycle."""
        self.step(TraceOp.AGE, qp, 0, lambda: self.posting.qps[qp].age(self.cycle))

    # -- work, reports, retirement -----------------------------------------------------------------

    def work(self, qp: int = 0, late: bool = False) -> int:
        """The next work beat of a QP; returns its tag."""
        self.tick()
        found = self.posting.indicate(qp, late)
        beat = WorkBeat(self.cycle, qp, found.last, found.tuser, found.post.encode())
        self.add(beat)
        return found.tag

    def done(self, qp: int, tag: int, status: int = 0) -> None:
        """A done report, and the change of state that it makes."""
        self.tick()
        data = pack_done(qp, tag, status)
        self.add(DoneReport(self.cycle, data))
        self.tick(2)
        model = self.posting.qps[qp] if qp < self.params.num_qp else None
        if model:
            model.see(None)
        old = model.trace_state(3) if model else 0
        step = self.posting.done_beat(data).step
        if step is not None:
            self._state(qp, old, step)
            self.term(qp, step.term_state)

    def conn(self, qp: int = 0, data: int | None = None) -> None:
        """A connection event, and the change of state that it makes."""
        self.tick()
        data = pack_conn(qp) if data is None else data
        self.add(ConnReport(self.cycle, data))
        self.tick(2)
        model = self.posting.qps[qp]
        model.see(None)
        old = model.trace_state(3)
        step = self.posting.conn_beat(data).step
        if step is not None:
            self._state(qp, old, step)
            self.term(qp, step.term_state)

    def term(self, qp: int, state: int) -> None:
        """A terminate request."""
        self.tick()
        self.add(TermRequest(self.cycle, qp | int(state) << 16))

    def retire(self, qp: int = 0, write: bool = True) -> Retirement:
        """The oldest request retires, and its completion is published."""
        self.tick()
        model = self.posting.qps[qp]
        old = model.trace_state(4)
        end = model.retire()
        operand = end.status | end.silent << 8 | end.skipped << 9 | end.cq << 16
        new = model.trace_state(4)
        self.add(Trace(self.cycle, 4, TraceOp.RETIRE, qp, False, 0, operand, old, new))
        if write:
            self.complete_cq(end.cq, end.cqe, end.silent)
        return end

    def complete_cq(self, cq: int, cqe: Cqe, silent: bool) -> None:
        """What a retirement hands to the CQ is placed, written and published."""
        if self.engine.status(cq) is not CqStatus.OK:
            return
        if silent:
            self.place(cq, back=1)
            return
        self.place(cq, cqe.pack())
        self.write(cq)
        self.answer(cq)
        self.tick()
        self.publish(cq)

    # -- whole scenarios ---------------------------------------------------------------------------

    def connected(self, qps: int = 1, cqs: int = 1, log2: int = 3, **options: int) -> Self:
        """An EQ, CQs, and connected QPs; QP n completes to CQ n modulo ``cqs``."""
        self.ready(cqs, log2=log2)
        for qp in range(qps):
            self.create_qp(qp, qp % cqs, **options)
            self.connect(qp)
        return self

    def run(self, qp: int = 0, statuses: Iterable[int] = ()) -> None:
        """Everything released of a QP is indicated, reported and retires."""
        model = self.posting.qps[qp]
        left = list(statuses)
        while model.next_indication() is not None or model.retirable:
            found = model.next_indication()
            if found is None:
                self.retire(qp)
                continue
            tag = self.work(qp)
            if not found.verb.local:
                self.done(qp, tag, left.pop(0) if left else 0)
            while model.retirable:
                self.retire(qp)

    def all_verbs(self) -> Self:
        """A bit of everything that works."""
        self.connected(2, 2)
        for opcode in (BIND, INVALIDATE, READ, SEND, WRITE, 2, 6):
            assert self.post(self.make(opcode)) is Cause.OK
            self.run()
            self.doorbell(0, polled=1)
        for flags in (DEFER, DEFER | SILENT, FENCE):
            self.post(self.make(READ, flags, qp=1))
        self.work(1)
        self.work(1)
        self.done(1, 0)
        self.done(1, 1)
        self.retire(1)
        self.retire(1)
        self.run(1)
        assert self.post(self.make(99)) is Cause.BAD_OPCODE
        assert self.post(self.make(qp=3)) is Cause.NO_QP
        assert self.post(self.make(qp=1), 2) is Cause.NOT_OWNER
        self.post(self.make(WRITE, DEFER))
        self.post(self.make(WRITE, DEFER))
        assert self.post(self.make(num_segments=5)) is Cause.TOO_MANY_SEGMENTS
        self.run(0, [7])
        for _ in range(len(self.posting.qps[0].requests)):
            self.retire(0)
        self.plain(codes.Command.QUERY_QP)
        self.plain(codes.Command.DESTROY_QP)
        self.conn(1)
        self.plain(codes.Command.FLUSH_QP, 1)
        self.set_state(1, 1)
        self.connect(1)
        return self
