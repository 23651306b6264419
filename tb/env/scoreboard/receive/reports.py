# SPDX-License-Identifier: Apache-2.0
"""Reports of taken buffers, and their completions: each buffer completes once, in the order in
which its queue pair took it, with what the rules give (SRQ-04 to SRQ-07, SRQ-10, SRQ-14, SRQ-18,
ISO-03).

The completion that a RECEIVE step hands to the CQ is made here, by the model, from the post and the
request; the checks of completions compare the entry with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from models.codes import LogCause, QpState, Status
from tb.env.defs import RDONE, TRC_RECEIVE, Reg
from tb.env.harness.records import Completion, RecvDone, Trace
from tb.env.scoreboard.context import Check, Left
from tb.env.scoreboard.cq.entries import CompletionChecks
from tb.env.scoreboard.explain import Difference, name_of
from tb.env.scoreboard.post.context import LAG, OPEN
from tb.env.scoreboard.post.retire import QP_KIND
from tb.env.scoreboard.receive.context import ReceiveContext
from tb.env.scoreboard.receive.posts import ReceivePostChecks


class ReceiveDoneChecks(Check):
    """s_axis_rdone, and lane 7 of the trace port."""

    rules = "SRQ-05, SRQ-06, SRQ-10, SRQ-14"

    def __init__(
        self, rc: ReceiveContext, completions: CompletionChecks, posts: ReceivePostChecks
    ) -> None:
        self.rc = rc
        self.qpc = rc.qpc
        self.completions = completions
        self.posts = posts
        #: Cycle of a failing report whose change of state has not come, by QP: that waits for no
        #: room for the completion.
        self.failing: dict[int, int] = {}

    def done(self, record: RecvDone) -> None:
        """A report was taken from the transport, to be accepted or refused."""
        rc, qpc = self.rc, self.qpc
        qp, tag, status = RDONE.unpack(record.data).values()
        known = qp < rc.params.num_qp
        state = qpc.qps[qp].state if known else QpState.FREE
        if known:
            qpc.qps[qp].state = QpState.IDLE  # its change has a step of its own
        log = rc.model.done_beat(record.data).log
        if known:
            qpc.qps[qp].state = state
        if log is not LogCause.OK:
            self.rc.ctx.log.append((log, QP_KIND, qp, tag))
        elif status and state in OPEN:
            self.failing.setdefault(qp, record.cycle)

    def receive(self, record: Trace) -> None:
        """RECEIVE."""
        rc, qp = self.rc, record.cq
        rq = rc.rqs[qp]
        rc.compare("before", record)
        number = rq.completed
        end = rq.complete()
        of_srq = end.srq is not None
        expected = TRC_RECEIVE.pack(status=end.status, shared=of_srq, flush=end.flush, cq=end.cq)
        if record.operand != expected:
            text = f"operand {record.operand:#x}, expected {expected:#x} (tag {number})"
            got, want = TRC_RECEIVE["status"].get(record.operand), end.status
            diff = Difference("status", name_of(Status, got), name_of(Status, want))
            rc.fail_step(text, record, diff=diff if got != want else None)
        rc.compare("after", record)
        rc.history[qp].append(record)
        rc.completed += 1
        rc.completed_at[qp] = record.cycle
        for news in rc.done[qp]:
            news.note(rq.completed, record.cycle)
        if end.srq is not None:
            rc.completions[end.srq].append((record.cycle, rc.srqs[end.srq].completed - 1))
            rc.note(end.srq)
            self.posts.changed_srq(end.srq)
        # Two credits: two entries, or one and a credit that is given back before it.
        data = [int.from_bytes(cqe.pack(), "little") for cqe in end.cqes]
        data = [0, *data] if end.given_back else [*data, 0]
        keep = 3 if len(end.cqes) > 1 or end.given_back else 1
        silent = 1 if end.given_back else 0
        dest = end.cq, end.cq if keep == 3 else 0
        self.completions.completion(
            Completion(record.cycle, keep, silent, dest, (data[0], data[1]))
        )

    def changed_qp(self, qp: int) -> None:
        """The state of a QP changed."""
        if self.qpc.qps[qp].state not in OPEN:
            self.failing.pop(qp, None)

    def tick(self) -> None:
        for qp, since in self.failing.items():
            if self.rc.ctx.cycle - since > LAG:
                self.rc.fail(f"still not in error, after the failing receive of cycle {since}", qp)

    def left(self) -> Iterator[Left]:
        """Buffers that are not reported, completed, flushed, or found again anywhere."""
        rc = self.rc
        here = sum(rq.available + len(rq.flight) for rq in rc.rqs)
        here += sum(srq.available for srq in rc.srqs)
        for qp, rq in enumerate(rc.rqs):
            where = f"QP {qp}:"
            if open_ := [taken for taken in rq.flight if taken.status is None]:
                yield Left("receives", open_[0].number, f"{where} not reported: tag")
            if rq.completable:
                yield Left("", rq.flight[0].number, f"{where} never completed: tag")
            if rq.flushable:
                yield Left("", rq.buffers[0].number, f"{where} never flushed: buffer")
            if qp in self.failing or rq.length_pending:
                yield Left("", qp, "no change of state for the failing receive of QP")
        if rc.posted != here + rc.completed + rc.given_back:
            yield Left("", rc.posted, "buffers are unaccounted for, of")

    def counters(self) -> dict[Reg, int]:
        """Receive posts and reports."""
        model = self.rc.model
        return {Reg.CNT_RECV_POSTS: model.posts, Reg.CNT_RECV_DONE: model.done}
