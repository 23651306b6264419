# SPDX-License-Identifier: Apache-2.0
"""Requests that change keys: each request of a guarded QP is executed once, in its place among the
QP's indications, with the status of the rules, which its completion has, too (DF-12, DF-15, MW-02,
MW-03, MW-05, MW-11).

A local request has one step on trace lane 8 and one beat on m_axis_work, as close to each other as
the engine's pipeline makes them; in the model it is indicated by the step. Nothing else of its QP
is indicated in between. A Read that invalidates has its step ahead of that of its retirement.
"""

from __future__ import annotations

from collections import deque

from models.codes import By, ModelError, PostFlag, TraceOp
from models.keys.window_types import KeyStep
from models.post.qp_types import Indication, Request
from models.verbs import VERBS
from tb.env.harness.records import Trace, WorkBeat
from tb.env.scoreboard.completions import CompletionChecks
from tb.env.scoreboard.dispatch import DispatchChecks
from tb.env.scoreboard.key_context import OBJECT, KeyContext
from tb.env.scoreboard.qp_context import LAG
from tb.env.scoreboard.retire import RetireChecks

#: Requests of a QP that are indicated while their beats are not taken.
MOST_BEATS = 4

#: Cycles that turns wait for a request that is executed, beside those from its beat to its step;
#: for one that fails.
EXECUTION, FAILURE = 8, 24

#: Bits of the operand of INVALIDATE.
BY_PEER, BY_READ = 1 << 8, 1 << 9


class KeyDispatchChecks(DispatchChecks):
    """Beats of m_axis_work, with local requests that execute."""

    def __init__(self, kc: KeyContext) -> None:
        super().__init__(kc.qpc)
        self.kc = kc
        self._executing = False
        #: Beats of local requests that have not been executed, by QP.
        self.ahead: dict[int, WorkBeat] = {}

    def work(self, record: WorkBeat) -> None:
        """A beat was taken."""
        qp = record.qp
        if qp < self.kc.params.num_qp and not self.owed[qp] and self.kc.guarded(qp):
            if qp in self.ahead:
                cycle = self.ahead[qp].cycle
                text = f"DF-12: indicated, but the request of cycle {cycle} was not executed"
                self.qpc.fail(qp, text)
            if record.user >> 56 & 1:
                self.beats += 1
                self._not_late(qp)
                self.ahead[qp] = record
                self._fair(qp)
                self.heads.pop(qp, None)
                return
        super().work(record)

    def tick(self) -> None:
        """Time has passed."""
        super().tick()
        self.tick_ahead()

    def tick_ahead(self) -> None:
        """Has a local request waited for too long to be executed?"""
        for qp, record in self.ahead.items():
            if self.qpc.ctx.cycle - record.cycle > LAG:
                text = f"DF-12: the request of cycle {record.cycle} was not executed"
                self.qpc.fail(qp, text)

    @property
    def now(self) -> int:
        """Cycles in which turns could be taken."""
        if not self.ahead:
            return super().now
        return min(record.cycle for record in self.ahead.values()) - self.executing

    def execute(self, record: Trace) -> Indication:
        """The step of a local request: it is indicated, and so is what is in front of it."""
        qp = record.cq
        self.tick_ahead()
        self._executing = True
        while True:
            if len(self.owed[qp]) >= MOST_BEATS:
                text = f"executed, while {MOST_BEATS} beats in front of it are not taken"
                self.kc.fail_step(text, record)
            found = self._indicate(qp)
            beat = self.ahead.pop(qp, None)
            if beat is not None:
                self.executing += record.cycle - beat.cycle
                self._compare(beat, found)
            else:
                self.owed[qp].append(found)
            if VERBS[found.post.opcode].changes_keys:
                break
        self._executing = False
        self.executing += FAILURE if record.operand & 0xFF else EXECUTION
        self.changed(qp)
        return found

    def _indicate(self, qp: int) -> Indication:
        found = super()._indicate(qp)
        keyed = VERBS[found.post.opcode].changes_keys and self.kc.guarded(qp)
        if keyed and not self._executing:
            self.qpc.fail(qp, f"DF-12: request {found.number} was not executed: no step of keys")
        return found


class KeyRetireChecks(RetireChecks):
    """Retirement, with Reads that invalidate."""

    def __init__(
        self, kc: KeyContext, completions: CompletionChecks, dispatch: DispatchChecks
    ) -> None:
        super().__init__(kc.qpc, completions, dispatch)
        self.kc = kc
        #: Steps of Reads that have not retired: number of the request, step.
        self.reads: list[deque[tuple[int, KeyStep]]] = [deque() for _ in range(kc.params.num_qp)]

    def invalidates(self, qp: int, request: Request) -> bool:
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
            if request.number in known or not self.invalidates(qp, request):
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

    def retire(self, record: Trace) -> None:
        """RETIRE."""
        qp = record.cq
        model = self.qpc.qps[qp]
        oldest = model.requests[0] if model.requests else None
        if oldest is not None and not model.failed and self.invalidates(qp, oldest):
            if not self.reads[qp]:
                text = f"DF-12: Read {oldest.number} retires, but its key was not invalidated"
                self.qpc.fail(qp, text, record)
            number, step = self.reads[qp].popleft()
            if number != oldest.number:
                self.qpc.fail(qp, f"{oldest.number} retires, invalidated was for {number}", record)
            model.give(step)
        super().retire(record)


class KeyChecks:
    """Steps of requests on lane 8."""

    def __init__(
        self, kc: KeyContext, dispatch: KeyDispatchChecks, retire: KeyRetireChecks
    ) -> None:
        self.kc = kc
        self.dispatch = dispatch
        self.retire = retire
        self.executed = 0

    def request_step(self, record: Trace) -> None:
        """BIND, FAST_REGISTER, INVALIDATE by a request or a Read."""
        kc, qp = self.kc, record.cq
        if not kc.guarded(qp):
            kc.fail_step("step of a QP that is not guarded", record)
        old = kc.regions()
        if record.op == TraceOp.INVALIDATE and record.operand & BY_READ:
            self.retire.read_step(record)
        else:
            self._execute(record)
        kc.note_regions(old)

    def _execute(self, record: Trace) -> None:
        kc, qp = self.kc, record.cq
        upcoming = [r for r in kc.qpc.qps[qp].requests if not r.indicated and r.verb.changes_keys]
        if upcoming:
            post = upcoming[0].post
            keys = (post.target.key, *(s.key for s in post.segments))
            kc.changing(*(n for key in keys for n in (key & OBJECT, *kc.regions_of(key))))
        try:
            found = self.dispatch.execute(record)
        except ModelError as error:
            kc.fail_step(str(error), record)
        step = found.step
        if step is None:
            kc.fail_step(f"request {found.number} changes no keys", record)
        kc.judge(record, step)
        kc.changed(step.key & OBJECT)
        self.executed += 1
        if not step.okay:
            kc.must_end(qp)
