# SPDX-License-Identifier: Apache-2.0
"""Streams of records as a right full engine would leave them: commands, queue pairs, posts, work,
reports, retirement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from models import codes
from models.codes import (
    FOREIGN_CAUSES,
    QP_COMMANDS,
    Cause,
    CqStatus,
    Life,
    PostFlag,
    TraceOp,
)
from models.cq.entries import Cqe
from models.host.control import Args
from models.keys.keys import KeyTable
from models.keys.window import WindowModel
from models.keys.window_types import KeyStep
from models.layouts import SEND_PORTAL
from models.params import Params
from models.post.post import Post, Segment, slots_of
from models.post.post_check import write_faults
from models.post.posting import PostingModel, pack_conn, pack_done
from models.post.qp import Indication, QpConfig, Retirement
from models.post.qp_control import make_qp_args
from models.post.qp_types import StateStep
from models.receive.receive import ReceiveModel, RecvReply
from models.receive.receive_control import make_create_args
from models.receive.receive_post import RecvPost
from models.receive.receive_types import RecvConfig
from tb.env.harness.records import (
    Command,
    ConnReport,
    DoneReport,
    DoorbellRequest,
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
BIND, FAST_REGISTER, INVALIDATE, READ, SEND, WRITE = 1, 2, 3, 4, 5, 7


class WorkStream(Stream):
    """An ideal full engine: each method lets something happen and adds its records."""

    def __init__(self, params: Params = PARAMS) -> None:
        super().__init__(params)
        self.posting = PostingModel(params, self._page_of, keys=KeyTable(params))
        self.receiving = ReceiveModel(posting=self.posting)
        self.windows = WindowModel(self.receiving)
        self.number = 0

    def _page_of(self, cq: int) -> int | None:
        if cq >= self.params.num_cq or self.engine.cqs[cq].life is not Life.READY:
            return None
        return self.engine.owner_page(cq)

    # -- steps -------------------------------------------------------------------------------------

    def lane(self, lane: int, op: int, number: int, operand: int, old: int, new: int) -> None:
        """A step in the present cycle."""
        self.add(Trace(self.cycle, lane, op, number, False, 0, operand, old, new))

    def key_lane(self, step: KeyStep) -> None:
        """A step of lane 8 or 9 in the present cycle."""
        lane = 9 if step.op is TraceOp.CHECK else 8
        old, new = step.before.encode(), step.after.encode()
        self.lane(lane, step.op, step.qp, step.operand, old, new)

    def step(self, op: TraceOp, qp: int, operand: int, run: Callable[[], object]) -> None:
        """A step of posting in the present cycle."""
        model = self.posting.qps[qp]
        model.see(None)
        old = model.trace_state(3)
        run()
        self.lane(3, op, qp, operand, old, model.trace_state(3))

    def state_step(self, qp: int, old: int, step: StateStep) -> None:
        """A change of state in the present cycle."""
        self.lane(3, TraceOp.QP_STATE, qp, step.by, old, self.posting.qps[qp].trace_state(3))

    def term(self, qp: int, state: int) -> None:
        """A terminate request."""
        self.tick()
        self.add(TermRequest(self.cycle, qp | int(state) << 16))

    def may_end(self, qp: int, run: Callable[[], StateStep | None]) -> None:
        """What changes the state of a queue pair, or does not."""
        self.tick(2)
        old = 0
        if qp < self.params.num_qp:
            self.posting.qps[qp].see(None)
            old = self.posting.qps[qp].trace_state(3)
        step = run()
        if step is not None:
            self.state_step(qp, old, step)
            self.term(qp, step.term_state)

    def fails(self, qp: int) -> None:
        """The connection ends by a request or a check."""
        self.may_end(qp, self.posting.qps[qp].fail)

    # -- commands ----------------------------------------------------------------------------------

    def execute(self, code: int, args: Args) -> RecvReply:
        """A command with its steps."""
        number, shown = args.number, dict[int, Any]()
        start = self.tick()
        self.tick()
        if code in range(0x30, 0x35) and number < self.params.num_srq:
            shown = dict.fromkeys((5, 6), self.receiving.srqs[number])
        elif code in QP_COMMANDS and number < self.params.num_qp:
            self.posting.qps[number].see(None)
            shown = {3: self.posting.qps[number], 6: self.receiving.rqs[number]}
        old = {lane: model.trace_state(lane) for lane, model in shown.items()}
        reply = self.windows.command(code, args)
        if not reply.result or reply.step is not None:
            for lane, op, operand in self._steps_of(code, args, reply):
                self.lane(lane, op, number, operand, old[lane], shown[lane].trace_state(lane))
        if reply.key is not None:
            self.key_lane(reply.key)
        if reply.step is not None:
            self.tick(1)
            self.state_step(number, old[3], reply.step)
        self.add(Command(self.tick(5), start, code, args.words, reply.result, reply.out))
        if reply.step is not None and reply.step.term:
            self.term(number, reply.step.term_state)
        return reply

    def _steps_of(self, code: int, args: Args, reply: RecvReply) -> Iterator[tuple[int, int, int]]:
        """Lane, operation and operand of what a command does to a receive queue."""
        if code in (codes.Command.CREATE_SRQ, codes.Command.RESIZE_SRQ):
            yield 6, TraceOp.RECV_SIZE, 0x100 | (code == codes.Command.CREATE_SRQ)
        elif reply.watermark is not None and args.words[1]:
            yield 5, TraceOp.WATERMARK, args.words[1] | reply.watermark.event << 16
        elif code == codes.Command.CREATE_QP:
            yield 6, TraceOp.RECV_SIZE, 1

    def create_qp(
        self, qp: int = 0, cq: int = 0, receive: RecvConfig | None = None, **options: int
    ) -> None:
        values = {"context": 0xABC0 + qp, "depth": 4, "page": PAGE, "send_cq": cq, "recv_cq": cq}
        config = QpConfig(**{**values, **options})
        self.execute(codes.Command.CREATE_QP, make_create_args(qp, config, receive))

    def plain(self, code: codes.Command, qp: int = 0, word: int = 0) -> RecvReply:
        """A command of a queue pair, with one argument at most."""
        return self.execute(code, make_qp_args(qp, word=word))

    def connect(self, qp: int = 0) -> None:
        self.plain(codes.Command.CONNECT_QP, qp, 9)

    def set_state(self, qp: int, state: int) -> None:
        self.plain(codes.Command.SET_QP_STATE, qp, state)

    # -- posts -------------------------------------------------------------------------------------

    def make(self, opcode: int = SEND, flags: int = 0, qp: int = 0, **fields: Any) -> Post:
        """A post with a context of its own."""
        self.number += 1
        verb_segments = 0 if opcode == INVALIDATE else 1
        slots = slots_of([Segment(0x1000 * self.number, 64, 7)])
        values: dict[str, Any] = {"num_segments": verb_segments, "context": self.number}
        return Post(opcode, flags=flags, qp=qp, **{"slots": slots, **values, **fields})

    def wrote(
        self, post: Post | RecvPost, page: int = PAGE, offset: int = SEND_PORTAL, **odd: int
    ) -> None:
        """A post is taken from the host."""
        self.tick()
        fields = {"addr": page * 4096 + offset, "length": 0, "size": 6, "strb": ALL} | odd
        self.add(DoorbellRequest(self.cycle, 5, data=post.encode(), **fields))

    def fault(self, faults: Callable[..., Iterator[Cause]]) -> Cause:
        """What is wrong with the newest write, as a write, if anything."""
        last = self.records[-1]
        assert isinstance(last, DoorbellRequest)
        self.tick()
        return next(faults(last.addr, last.length, last.size, last.strb, self.params), Cause.OK)

    def free_credit(self, cq: int, wanted: int = 1) -> bool:
        """Has a CQ so many credits?"""
        producer, q = self.engine.producers[cq], self.engine.cqs[cq]
        used = producer.alloc - q.cons + producer.credits_held
        return not producer.reservation or used + wanted <= producer.ring.entries

    def taken(self, post: Post, page: int = PAGE) -> Cause:
        """The step of a post, if it has one, in the present cycle."""
        if post.qp >= self.params.num_qp:
            return Cause.BAD_QP
        model = self.posting.qps[post.qp]
        model.see(None)
        cq = model.config.send_cq
        error = self.engine.status(cq) is not CqStatus.OK
        credit = self.free_credit(cq)
        cause = model.check(post, page, credit=credit, cq_error=error)
        if cause in FOREIGN_CAUSES and cause is not Cause.OK:
            return cause

        def run() -> None:
            model.post(post, page, credit=credit, cq_error=error, now=self.cycle)

        self.step(TraceOp.POST, post.qp, cause | (post.opcode & 0xFF) << 8 | post.flags << 16, run)
        if cause is Cause.OK:
            self.engine.reserve(cq, 1)
        return cause

    def post(self, post: Post | None = None, page: int = PAGE, **odd: int) -> Cause:
        """A post from the write to its answer."""
        post = post or self.make()
        self.wrote(post, page, **odd)
        cause = self.fault(write_faults) or self.taken(post, page)
        self.respond(cause)
        return cause

    def age(self, qp: int = 0) -> None:
        """AGE in the present cycle."""
        self.step(TraceOp.AGE, qp, 0, lambda: self.posting.qps[qp].age(self.cycle))

    # -- work, reports, retirement -----------------------------------------------------------------

    def beat(self, qp: int, found: Indication) -> None:
        """A work beat."""
        self.add(WorkBeat(self.cycle, qp, found.last, found.tuser, found.post.encode()))

    def work(self, qp: int = 0, late: bool = False) -> int:
        """The next work beat of a QP, after its execution; returns its tag."""
        self.tick()
        found = self.posting.indicate(qp, late)
        if found.step is not None:
            self.key_lane(found.step)
            self.tick(1)
        self.beat(qp, found)
        if found.step is not None and not found.step.okay:
            self.fails(qp)
        return found.tag

    def done(self, qp: int, tag: int, status: int = 0) -> None:
        """A done report, and the change of state that it makes."""
        data = pack_done(qp, tag, status)
        self.add(DoneReport(self.tick(), data))
        self.may_end(qp, lambda: self.posting.done_beat(data).step)

    def conn(self, qp: int = 0, data: int | None = None) -> None:
        """A connection event, and the change of state that it makes."""
        data = pack_conn(qp) if data is None else data
        self.add(ConnReport(self.tick(), data))
        self.may_end(qp, lambda: self.posting.conn_beat(data).step)

    def retire(self, qp: int = 0, write: bool = True) -> Retirement:
        """The oldest request retires, and its completion is published."""
        self.tick()
        model = self.posting.qps[qp]
        old = model.trace_state(4)
        end = model.retire()
        if end.step is not None:
            self.key_lane(end.step)
        operand = end.status | end.silent << 8 | end.skipped << 9 | end.cq << 16
        self.lane(4, TraceOp.RETIRE, qp, operand, old, model.trace_state(4))
        if write:
            self.complete_cq(end.cq, end.cqe, end.silent)
        if end.step is not None and not end.step.okay and model.ending == model.connections:
            self.fails(qp)
        return end

    def complete_cq(self, cq: int, cqe: Cqe, silent: bool) -> None:
        """What a retirement hands to the CQ is placed, written and published."""
        if self.engine.status(cq) is not CqStatus.OK:
            return
        if silent:
            self.place(cq, back=1)
            return
        self.place(cq, cqe.pack())
        self.written(cq)

    # -- whole scenarios ---------------------------------------------------------------------------

    def connected(self, qps: int = 1, cqs: int = 1, log2: int = 3, **options: Any) -> Self:
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
            if found is not None:
                tag = self.work(qp)
                if not found.verb.local:
                    self.done(qp, tag, left.pop(0) if left else 0)
            while model.retirable:
                self.retire(qp)

    def sent(self, **options: Any) -> Self:
        """A connected QP of which one request has completed."""
        self.connected(**options)
        self.post()
        self.run()
        return self
