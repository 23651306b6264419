# SPDX-License-Identifier: Apache-2.0
"""The scoreboard of an engine that receives: that of the full engine, and receives on top of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models import codes
from tb.env.defs import Reg, TraceOp
from tb.env.harness.records import Interrupt, Record, RecvDone, RecvRequest, ScatterAnswer, Trace
from tb.env.scoreboard.base import Context
from tb.env.scoreboard.completions import CompletionChecks
from tb.env.scoreboard.dispatch import DispatchChecks
from tb.env.scoreboard.engine_board import EngineScoreboard
from tb.env.scoreboard.memory import MemoryChecks
from tb.env.scoreboard.qp_context import QpContext
from tb.env.scoreboard.receive_context import ReceiveContext
from tb.env.scoreboard.receive_credits import ReceiveCredits
from tb.env.scoreboard.receive_done import ReceiveDoneChecks
from tb.env.scoreboard.receive_post import ReceivePostChecks
from tb.env.scoreboard.receive_qp import ReceiveQpChecks
from tb.env.scoreboard.retire import RetireChecks
from tb.env.scoreboard.srq_control import ReceiveControlChecks
from tb.env.scoreboard.steps import StepChecks
from tb.env.scoreboard.take import TakeChecks

_Left = list[tuple[int, str, int | None]]

#: Operations of each lane, and whether bit 8 of the operand says that it is an SRQ's.
_LANES: dict[int, int] = {
    codes.TraceOp.TAKE: 5,
    codes.TraceOp.WATERMARK: 5,
    codes.TraceOp.RECV_POST: 6,
    codes.TraceOp.REAP: 6,
    codes.TraceOp.RECV_SIZE: 6,
    codes.TraceOp.RECEIVE: 7,
}
_ALWAYS_SHARED = (codes.TraceOp.WATERMARK, codes.TraceOp.REAP)
_PERHAPS_SHARED = (codes.TraceOp.RECV_POST, codes.TraceOp.RECV_SIZE)


def _order(record: Record) -> tuple[int, bool]:
    return record.cycle, not (type(record) is Trace and record.lane >= 5)


class ReceiveScoreboard(EngineScoreboard):
    """For builds whose design is cde_top with receives."""

    allowances = EngineScoreboard.allowances | {
        "scatter": "answers to receive requests are held back",
        "receives": "the transport does not report every buffer that was taken",
        "no_receives": "the test posts no receive that is accepted",
    }

    def _make_checks(self, ctx: Context) -> None:
        self.qpc = qpc = QpContext(ctx)
        self.rc = rc = ReceiveContext(qpc)
        self.credits = reserved = ReceiveCredits(ctx)
        self.doorbells = self.posts = posts = ReceivePostChecks(ctx, rc, reserved)
        self.completions = CompletionChecks(ctx, reserved)
        self.memory = MemoryChecks(ctx, posts, self.completions)
        self.dispatch = posts.dispatch = DispatchChecks(qpc)
        self.retire = RetireChecks(qpc, self.completions, self.dispatch)
        self.takes = TakeChecks(rc, reserved, posts, self.memory)
        self.receives = ReceiveDoneChecks(rc, self.completions, posts)
        self.qps = qps = ReceiveQpChecks(
            rc, posts, self.dispatch, self.retire, self.takes, self.receives
        )
        self.control = self.receive_control = ReceiveControlChecks(
            ctx, self.completions, reserved, posts, self.memory, rc, qps, self.takes
        )
        self.steps = StepChecks(ctx, self.completions, reserved, posts, self.memory, self.control)
        self._looked = 0
        self._by_receive_op = self._receive_ops()

    def _receive_ops(self) -> dict[int, Callable[[Trace], None]]:
        assert isinstance(self.posts, ReceivePostChecks)
        return {
            codes.TraceOp.TAKE: self.takes.step,
            codes.TraceOp.WATERMARK: self.receive_control.watermark_step,
            codes.TraceOp.RECV_POST: self.posts.receive_step,
            codes.TraceOp.REAP: self.posts.reap_step,
            codes.TraceOp.RECV_SIZE: self.receive_control.size_step,
            codes.TraceOp.RECEIVE: self.receives.receive,
        }

    def _handlers(self) -> dict[type, Callable[[Any], None]]:
        return super()._handlers() | {
            Interrupt: self.takes.interrupt,
            RecvRequest: self.takes.request,
            ScatterAnswer: self.takes.answer,
            RecvDone: self.receives.done,
        }

    def __call__(self, records: list[Record]) -> None:
        """Judges a block of records. Lanes 5 to 7 of a cycle happened ahead of the others."""
        if any(type(record) is Trace and record.lane >= 5 for record in records):
            records = sorted(records, key=_order)
        super().__call__(records)

    def _trace(self, record: Trace) -> None:
        self.rc.settle(record.cycle)
        if record.lane < 5:
            if record.op == TraceOp.CQ_ERROR and record.lane == 1:
                self.rc.doubts.cq_failed(record.cq, record.cycle)
            super()._trace(record)
            return
        if _LANES.get(record.op) != record.lane:
            self.ctx.fail(f"trace: operation {record.op:#x} on lane {record.lane}")
        shared = record.op in _ALWAYS_SHARED
        shared = shared or (record.op in _PERHAPS_SHARED and bool(record.operand >> 8 & 1))
        limit = self.params.num_srq if shared else self.params.num_qp
        if record.cq >= limit:
            name = "SRQ" if shared else "QP"
            self.ctx.fail(f"trace: step of {name} {record.cq}, which is out of range")
        if record.event or record.event_status:
            self.rc.fail_step("callback in a step of receiving", record, shared)
        self._by_receive_op[record.op](record)

    def _look(self) -> None:
        super()._look()
        self.takes.tick()
        self.receives.tick()

    # -- what tests compare with -------------------------------------------------------------------

    def counters(self) -> dict[Reg, int]:
        """Those of receiving, too."""
        model = self.rc.model
        return super().counters() | {
            Reg.CNT_RECV_POSTS: model.posts,
            Reg.CNT_TAKEN: model.takes,
            Reg.CNT_NOT_READY: model.not_ready,
            Reg.CNT_RECV_REFUSED: model.refused,
            Reg.CNT_RECV_DONE: model.done,
        }

    def log(self) -> list[tuple[int, int, int, int]]:
        """What reports, events and requests have left in the error log: cause, kind, object,
        detail.
        """
        return [*super().log(), *self.takes.log, *self.receives.log]

    def log_maybe(self) -> list[tuple[int, int, int, int]]:
        """Those of requests whose queue pair came or went meanwhile."""
        return [*super().log_maybe(), *self.takes.maybe]

    # -- end of the test ---------------------------------------------------------------------------

    def _vacuous(self, allowed: set[str]) -> None:
        # A test of receives alone, or of posts alone, has seen something.
        if self.received:
            allowed = allowed | {"no_posts", "no_receives"}
        super()._vacuous(allowed)
        if not allowed & {"no_traffic", "no_receives"} and not self.accepted:
            self.ctx.fail("vacuous: not one accepted receive; allow 'no_receives' if meant")

    @property
    def received(self) -> int:
        """Receive posts accepted, over all lives of the engine."""
        return self._received_before + self.rc.posted

    @property
    def completed(self) -> int:
        """Requests retired and receives completed, over all lives of the engine."""
        return super().completed + self.rc.completed

    _received_before = 0

    def reset(self) -> None:
        """The engine was reset."""
        self._received_before = self.received
        super().reset()

    def _left(self, now: int) -> dict[str, _Left]:
        found = super()._left(now)
        scatter: _Left = [
            (w.cycle, "no answer to the receive request of cycle", None)
            for w in self.takes.requests
        ]
        kinds: dict[str, _Left] = {"scatter": scatter, "receives": []}
        here = 0
        other = found[""]
        for qp, rq in enumerate(self.rc.rqs):
            where = f"QP {qp}:"
            here += rq.available + len(rq.flight)
            open_ = [taken for taken in rq.flight if taken.status is None]
            if open_:
                kinds["receives"].append((open_[0].number, f"{where} not reported: tag", None))
            if rq.completable:
                other.append((rq.flight[0].number, f"{where} never completed: tag", None))
            if rq.flushable:
                other.append((rq.buffers[0].number, f"{where} never flushed: buffer", None))
            if self.takes.takes[qp]:
                cycle = self.takes.takes[qp][0].cycle
                kinds["scatter"].append((cycle, f"{where} no answer to the take of cycle", None))
            if qp in self.receives.failing or rq.length_pending:
                other.append((qp, "no change of state for the failing receive of QP", None))
        for srq in self.rc.srqs:
            here += srq.available
            if srq.waiting:
                found["interrupts"].append((srq.number, "no watermark interrupt of SRQ", None))
        rc = self.rc
        if rc.posted != here + rc.completed + rc.given_back:
            other.append((rc.posted, "buffers are unaccounted for, of", None))
        other += [
            (step.cycle, "the command has not ended of the step of cycle", None)
            for step in self.receive_control.steps
        ]
        return found | kinds
