# SPDX-License-Identifier: Apache-2.0
"""Done reports and retirement: each accepted request completes once, in order, with the status that
the rules give (DF-02, DF-03, DF-11, DF-12, DF-15, ISO-03).

The completion that a RETIRE step hands to the CQ is made here, by the model, from the post as it
was written; the checks of completions compare the entry with it.
"""

from __future__ import annotations

from collections import Counter

from models.codes import LogCause, ModelError, QpState, Status, TraceOp
from tb.env.harness.records import Completion, DoneReport, Trace
from tb.env.scoreboard.completions import CompletionChecks
from tb.env.scoreboard.dispatch import DispatchChecks
from tb.env.scoreboard.qp_context import OPEN, QpContext

#: Requests that a QP retires while another one has something to retire (posting.md).
TURN = 16
#: Kinds of objects in the error log.
PORT, QP_KIND = 4, 5


class RetireChecks:
    """s_axis_done, and lane 4 of the trace port."""

    def __init__(
        self, qpc: QpContext, completions: CompletionChecks, dispatch: DispatchChecks
    ) -> None:
        self.qpc = qpc
        self.completions = completions
        self.dispatch = dispatch
        dispatch.ripened = self._waits
        self.retired = 0
        self.statuses: Counter[int] = Counter()
        #: How many had retired when the oldest request of a QP was done, by QP: those that wait
        #: longest first.
        self.ripe: dict[int, int] = {}
        #: How many of others may retire meanwhile (ISO-04): a turn of each QP, and another one of
        #: those that were at work and next before; some retire before it is known that one is done.
        self.bound = (qpc.ctx.params.num_qp + 1) * TURN + 8
        #: Cycle of a failing report whose change of state has not come, by QP.
        self.failing: dict[int, int] = {}
        #: What the error log gets by reports: cause, kind, object, detail.
        self.log: list[tuple[int, int, int, int]] = []

    def done(self, record: DoneReport) -> None:
        """A report was taken from the transport, to be accepted or refused."""
        qpc = self.qpc
        qp, tag, status = record.data & 0xFFFF, record.data >> 16 & 0xFFFF, record.data >> 32
        known = qp < qpc.ctx.params.num_qp
        state = qpc.qps[qp].state if known else QpState.FREE
        if known:
            qpc.qps[qp].state = QpState.IDLE  # its change has a step of its own
        log = qpc.model.done_beat(record.data).log
        if known:
            qpc.qps[qp].state = state
        if log is not LogCause.OK:
            self.log.append((log, QP_KIND, qp, tag))
        elif status and state in OPEN:
            self.failing.setdefault(qp, record.cycle)
        if log is LogCause.OK:
            self._waits(qp)

    def _waits(self, qp: int) -> None:
        """Notes since when the oldest request of the QP could retire."""
        if self.qpc.qps[qp].retirable:
            self.ripe.setdefault(qp, self.retired)
        else:
            self.ripe.pop(qp, None)

    def _fair(self, record: Trace) -> None:
        """Nobody has waited for too many others."""
        oldest = next(iter(self.ripe), None)
        if oldest is not None and (passed := self.retired - self.ripe[oldest]) > self.bound:
            text = f"{passed} requests of others retired before one that is done"
            self.qpc.fail(oldest, f"{text}, at most {self.bound}", record)

    def retire(self, record: Trace) -> None:
        """RETIRE."""
        qpc, qp = self.qpc, record.cq
        model = qpc.qps[qp]
        if record.op != TraceOp.RETIRE:
            qpc.fail(qp, f"operation {record.op:#x} on lane 4", record)
        if record.old != model.trace_state(4):
            qpc.fail(qp, "state before the step differs from the model", record)
        skipped = bool(record.operand >> 9 & 1)
        oldest = model.requests[0] if model.requests else None
        # Local, and its beat is offered but not taken.
        if not skipped and oldest and oldest.verb.local and not oldest.indicated:
            self.dispatch.early(qp)
        try:
            end = model.retire()
        except ModelError as error:
            qpc.fail(qp, str(error), record)
        expected = end.status | end.silent << 8 | end.skipped << 9 | end.cq << 16
        if record.operand != expected:
            text = f"operand {record.operand:#x}, expected {expected:#x} (request {end.number})"
            qpc.fail(qp, text, record)
        qpc.end(record)
        qpc.note_retired(qp)
        qpc.history[qp].append(record)
        self.retired += 1
        self.ripe.pop(qp, None)
        self._waits(qp)
        self._fair(record)
        self.statuses[min(end.status, Status.TRANSPORT_ERROR)] += 1
        data = int.from_bytes(end.cqe.pack(), "little")
        self.completions.completion(
            Completion(record.cycle, 1, int(end.silent), (end.cq, 0), (data, 0))
        )
        self.dispatch.changed(qp)
