# SPDX-License-Identifier: Apache-2.0
"""Done reports and retirement: each accepted request completes once, in order, with the status that
the rules give (DF-02, DF-03, DF-11, DF-12, DF-15, ISO-03).

The completion that a RETIRE step hands to the CQ is made here, by the model, from the post as it
was written; the checks of completions compare the entry with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from models.codes import By, LogCause, PostFlag, QpState, Status
from models.keys.window_types import KeyStep
from models.post.qp_types import Request
from tb.env.defs import DONE, TRC_RETIRE
from tb.env.harness.records import Completion, DoneReport, Trace
from tb.env.scoreboard.context import Check, Left
from tb.env.scoreboard.cq.entries import CompletionChecks
from tb.env.scoreboard.explain import Difference, name_of
from tb.env.scoreboard.keys.context import OBJECT, KeyContext
from tb.env.scoreboard.post.context import OPEN
from tb.env.scoreboard.post.dispatch import DispatchChecks

#: Requests that a QP retires while another one has something to retire (posting.md).
TURN = 16
#: Kinds of objects in the error log.
PORT, QP_KIND = 4, 5


class RetireChecks(Check):
    """s_axis_done, lane 4 of the trace port, and the steps of Reads that invalidate."""

    rules = "DF-03, DF-12, DF-15"

    def __init__(
        self, kc: KeyContext, completions: CompletionChecks, dispatch: DispatchChecks
    ) -> None:
        self.kc = kc
        self.qpc = qpc = kc.qpc
        self.completions = completions
        self.dispatch = dispatch
        dispatch.ripened = self._waits
        self.retired = 0
        #: How many had retired when the oldest request of a QP was done, by QP: those that wait
        #: longest first.
        self.ripe: dict[int, int] = {}
        #: How many of others may retire meanwhile (ISO-04): a turn of each other QP, another one
        #: of the six that were at work, in line or chosen before; some retire before it is known
        #: that one is done.
        self.bound = (qpc.ctx.params.num_qp + 5) * TURN + 16
        #: Cycle of a failing report whose change of state has not come, by QP.
        self.failing: dict[int, int] = {}
        #: Steps of Reads that have not retired: number of the request, step.
        self.reads: list[deque[tuple[int, KeyStep]]] = [deque() for _ in qpc.qps]

    def done(self, record: DoneReport) -> None:
        """A report was taken from the transport, to be accepted or refused."""
        qpc = self.qpc
        qp, tag, status = DONE.unpack(record.data).values()
        known = qp < qpc.ctx.params.num_qp
        state = qpc.qps[qp].state if known else QpState.FREE
        if known:
            qpc.qps[qp].state = QpState.IDLE  # its change has a step of its own
        log = qpc.model.done_beat(record.data).log
        if known:
            qpc.qps[qp].state = state
        if log is not LogCause.OK:
            self.kc.ctx.log.append((log, QP_KIND, qp, tag))
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
        oldest = model.requests[0] if model.requests else None
        if oldest is not None and not model.failed and self._invalidates(qp, oldest):
            self._give(record, oldest.number)
        qpc.compare("before", record)
        skipped = bool(TRC_RETIRE["skipped"].get(record.operand))
        # Local, and its beat is offered but not taken.
        if not skipped and oldest and oldest.verb.local and not oldest.indicated:
            self.dispatch.early(qp)
        end = model.retire()
        word = TRC_RETIRE.pack(status=end.status, silent=end.silent, skipped=end.skipped, cq=end.cq)
        if record.operand != word:
            text = f"operand {record.operand:#x}, expected {word:#x} (request {end.number})"
            got, want = TRC_RETIRE["status"].get(record.operand), end.status
            diff = Difference("status", name_of(Status, got), name_of(Status, want))
            qpc.fail(qp, text, record, diff=diff if got != want else None)
        qpc.end(record)
        qpc.note_retired(qp)
        qpc.history[qp].append(record)
        self.retired += 1
        self.ripe.pop(qp, None)
        self._waits(qp)
        self._fair(record)
        data = int.from_bytes(end.cqe.pack(), "little")
        self.completions.completion(
            Completion(record.cycle, 1, int(end.silent), (end.cq, 0), (data, 0))
        )
        self.dispatch.changed(qp)

    # -- Reads that invalidate ---------------------------------------------------------------------

    def _invalidates(self, qp: int, request: Request) -> bool:
        """A Read that invalidates when it retires now."""
        flag = request.post.has(PostFlag.RDMA_READ_LOCAL_INVALIDATE)
        return request.verb.is_read and flag and self.kc.guarded(qp) and request.status == 0

    def read_step(self, record: Trace) -> None:
        """INVALIDATE by a Read: the oldest one that has not had its step."""
        kc, qp = self.kc, record.cq
        model, known = kc.qpc.qps[qp], {number for number, _ in self.reads[qp]}
        failed = model.failed or any(not step.okay for _, step in self.reads[qp])
        for request in model.requests:
            if failed or not request.done or request.status:
                break
            if request.number in known or not self._invalidates(qp, request):
                continue
            segments = request.post.segments
            key = segments[0].key if segments else 0
            kc.changing(key & OBJECT, *kc.regions_of(key))
            step = kc.table.invalidate(qp, key, By.READ)
            kc.judge(record, step)
            kc.changed(key & OBJECT)
            self.reads[qp].append((request.number, step))
            if not step.okay:
                kc.must_end(qp)
            return
        kc.fail_step("INVALIDATE by a Read, but none can retire that invalidates", record)

    def _give(self, record: Trace, oldest: int) -> None:
        """The model gets the step of the Read that retires."""
        qp = record.cq
        if not self.reads[qp]:
            text = f"DF-12: Read {oldest} retires, but its key was not invalidated"
            self.qpc.fail(qp, text, record)
        number, step = self.reads[qp].popleft()
        if number != oldest:
            self.qpc.fail(qp, f"{oldest} retires, invalidated was for {number}", record)
        self.qpc.qps[qp].give(step)

    # -- the end -----------------------------------------------------------------------------------

    def left(self) -> Iterator[Left]:
        """What is not reported, or done and not retired; failures without a change of state."""
        for since in self.failing.values():
            yield Left("", since, "no change of state for the report of cycle")
        for qp, model in enumerate(self.qpc.qps):
            where = f"QP {qp}:"
            if unreported := [r.number for r in model.requests if r.indicated and not r.done]:
                yield Left("reports", unreported[0], f"{where} not reported: request")
            if model.retirable:
                yield Left("", model.requests[0].number, f"{where} never retired: request")
