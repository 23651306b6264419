# SPDX-License-Identifier: Apache-2.0
"""Uses of keys: checks of remote accesses, one verdict each, in order, in time, with the code of
the rules (MW-02, MW-03, MW-04, MW-10, MW-10e, MW-11, CQ-03); and requests that change keys, each
executed once, in its place among the QP's indications, with the status of the rules, which its
completion has, too (DF-12, DF-15, MW-02, MW-03, MW-05, MW-11, CQ-05).

A check that is decided by its key has a step on lane 9, before its verdict or a little after it.
One that is refused has none; then its queue pair must have been in a state for that between the
check and its verdict.

A local request has one step on trace lane 8 and one beat on m_axis_work, as close to each other as
the engine's pipeline makes them; in the model it is indicated by the step. Nothing else of its QP
is indicated in between. A Read that invalidates has its step before that of its retirement.

The peer invalidates in the step that takes the buffer of its message, once, with BAD_TOKEN where
the rules say so (MW-05, MW-12, CQ-03), and never without a buffer (MW-06). That step on lane 8
comes after that of the take, before the answer or a little after it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from models.codes import By, LogCause, ScatterCode, TraceOp, Verdict
from models.keys.window_types import CheckRequest
from models.post.qp_types import Indication
from models.receive.receive_types import RecvRequest, Taken, TakeResult
from tb.env.defs import TRC_CHECK, TRC_INVALIDATE, VERDICT, Kind, Reg
from tb.env.harness.records import AccessCheck, AccessVerdict, Trace
from tb.env.scoreboard.context import AnswerCheck, Check, Left
from tb.env.scoreboard.explain import Difference, coded, name_of
from tb.env.scoreboard.keys.context import OBJECT, KeyContext, key_object
from tb.env.scoreboard.post.context import LAG, OPEN
from tb.env.scoreboard.post.dispatch import DispatchChecks, RetireChecks


class KeyChecks(Check):
    """Steps of requests and of messages with a token on lane 8."""

    rules = "DF-12, MW-02, MW-05, MW-11, MW-12"

    def __init__(self, kc: KeyContext, dispatch: DispatchChecks, retire: RetireChecks) -> None:
        super().__init__(kc.ctx)
        self.kc = kc
        self.dispatch = dispatch
        self.retire = retire
        self.executed = self.invalidations = 0
        #: The latest request that changed keys.
        self.latest: Indication
        #: Answers before the steps of their tokens, by QP and number of the take: code, cycle.
        self.told: dict[tuple[int, int], tuple[int, int]] = {}

    def invalidate(self, record: Trace) -> None:
        """INVALIDATE: by a message of the peer, by a Read, or by a request."""
        if TRC_INVALIDATE["peer"].get(record.operand):
            self.peer_step(record)
        else:
            self.request_step(record)

    def request_step(self, record: Trace) -> None:
        """BIND, FAST_REGISTER, INVALIDATE by a request or a Read."""
        kc, qp = self.kc, record.cq
        if not kc.guarded(qp):
            self.fail("step of a QP that is not guarded")
        if record.op == TraceOp.INVALIDATE and TRC_INVALIDATE["read"].get(record.operand):
            self.retire.read_step(record)
        else:
            old = kc.regions()
            self._execute(record)
            kc.note_regions(old)

    def _execute(self, record: Trace) -> None:
        kc, qp = self.kc, record.cq
        upcoming = [r for r in kc.qpc.qps[qp].requests if not r.indicated and r.verb.changes_keys]
        if upcoming:
            post = upcoming[0].post
            keys = (post.target.key, *(s.key for s in post.segments))
            kc.changing(*(n for key in keys for n in (key & OBJECT, *kc.regions_of(key))))
        found = self.dispatch.execute(record)
        step = found.step
        if step is None:
            self.fail(f"request {found.number} changes no keys")
        kc.judge(record, step)
        kc.changed(step.key & OBJECT)
        self.executed += 1
        self.latest = found
        if not step.okay:
            kc.must_end(qp)

    # -- messages with a token ---------------------------------------------------------------------

    def answered(self, taken: Taken, request: RecvRequest, code: int) -> bool:
        """An answer with this code was taken. False: it has to be BAD_TOKEN; whether it is, the
        step of the token says.
        """
        qp = request.qp
        must = request.invalidate and not taken.overlong and self.kc.guarded(qp)
        if not must and taken.key is not None:
            self.fail(f"answer to {request}: its buffer was taken with an invalidation", ("QP", qp))
        taken.undecided = must and taken.key is None
        if not must:
            return True
        if taken.key is None:
            self.told[qp, taken.number] = code, self.kc.ctx.cycle
            return code != ScatterCode.BAD_TOKEN
        if taken.key.key != request.token:
            text = f"answer to {request}: key {taken.key.key:#x} was invalidated for it"
            self.fail(text, key_object(request.token), ("QP", qp))
        return taken.key.okay

    def peer_step(self, record: Trace) -> None:
        """INVALIDATE by the peer."""
        kc, qp = self.kc, record.cq
        rq = kc.rc.rqs[qp]
        if not kc.guarded(qp):
            self.fail("step of a QP that is not guarded")
        taken = next((t for t in rq.flight if t.undecided), None)
        if taken is None or taken.request is None:
            self.fail("INVALIDATE by the peer, but no taken message waits for it")
        token = taken.request.token
        step = kc.invalidate(record, token, By.PEER)
        self.invalidations += 1
        rq.decide(TakeResult(ScatterCode.SCATTER, number=taken.number), step)
        if not step.okay:
            kc.must_end(qp, told=False)
        right = ScatterCode.SCATTER if step.okay else ScatterCode.BAD_TOKEN
        code, cycle = self.told.pop((qp, taken.number), (right, 0))
        if code != right:
            text = f"answer of cycle {cycle} with code {code}, expected {right.name}"
            diff = Difference("code", name_of(ScatterCode, code), right.name)
            self.fail(text, key_object(token), *self.ctx.objs, diff=diff)

    def tick(self) -> None:
        for (qp, _), (_, cycle) in self.told.items():
            if self.kc.ctx.cycle - cycle > LAG:
                text = f"its token was not invalidated, of the message answered in cycle {cycle}"
                self.fail(text, ("QP", qp))

    def left(self) -> Iterator[Left]:
        """Tokens to be invalidated."""
        for qp, rq in enumerate(self.kc.rc.rqs):
            for taken in rq.flight:
                if taken.undecided:
                    yield Left("", taken.number, f"QP {qp}: token not invalidated of buffer")


@dataclass(eq=False)
class _Waiting:
    """A check without a verdict."""

    request: CheckRequest
    cycle: int
    refusable: bool = False
    decidable: bool = False  # at some time its QP's state let its key decide
    told: int = 0  # its verdict, before its step, and when
    told_at: int = 0
    code: int | None = None  # of its step
    passed: bool = False  # a later one has had its step

    def __str__(self) -> str:
        return f"verdict for the check of cycle {self.cycle} ({self.request})"


class AccessChecks(AnswerCheck[_Waiting]):
    """s_axis_check, m_axis_verdict, CHECK."""

    rules = "MW-10"
    bound = 6
    missing = "no verdict for the check"

    def __init__(self, kc: KeyContext) -> None:
        super().__init__(kc.ctx)
        self.kc = kc
        #: Checks with a verdict whose steps have not come.
        self.stepless: deque[_Waiting] = deque()
        self.codes: Counter[int] = Counter()
        #: The check of the latest step.
        self.decided: _Waiting

    # -- pins --------------------------------------------------------------------------------------

    def check(self, record: AccessCheck) -> None:
        """The transport asks."""
        waiting = _Waiting(CheckRequest.decode(record.data), record.cycle)
        self.look(waiting)
        self.requests.append(waiting)

    def look(self, waiting: _Waiting) -> None:
        may = self._may(waiting.request)
        waiting.refusable = waiting.refusable or not may
        waiting.decidable = waiting.decidable or may

    def _may(self, request: CheckRequest) -> bool:
        """The present state does not refuse it."""
        kc, qp = self.kc, request.qp
        if request.malformed or qp >= kc.params.num_qp or kc.table.removed:
            return False
        return kc.guarded(qp) and kc.qpc.qps[qp].state in OPEN

    def verdict(self, record: AccessVerdict) -> None:
        """A verdict was taken by the transport."""
        kc = self.kc
        waiting = self.next_of(record)
        request = waiting.request
        known = request.qp if request.qp < kc.params.num_qp else None
        self.ctx.objs = (("QP", known),)
        if waiting.code is not None:
            self.ctx.objs = key_object(request.key), ("QP", known)
        qp, code = VERDICT["qp"].get(record.data), record.data >> VERDICT["code"].lsb
        if qp != request.qp:
            self.fail(f"{waiting}: for QP {qp}")
        if code == Verdict.REFUSED:
            if not waiting.refusable:
                diff = Difference("verdict", "REFUSED", "by its key")
                self.fail(f"{waiting}: REFUSED in a state that allows it", diff=diff)
            if waiting.code is not None and not self._hand_on(waiting):
                self.fail(f"{waiting}: REFUSED, but it has a step")
        elif waiting.code is None and waiting.decidable:
            waiting.told, waiting.told_at = code, record.cycle
            self.stepless.append(waiting)
        elif code != (want := Verdict.REFUSED if waiting.code is None else waiting.code):
            diff = coded("verdict", Verdict, code, want)
            self.fail(f"{waiting}: code {code:#x}, right would be: {diff.want}", diff=diff)
        self.codes[code] += 1
        kc.model.checks += 1
        if code != Verdict.GRANTED:
            kc.model.checks_refused += 1
            self.kc.ctx.log.append((LogCause.CHECK_REFUSED, Kind.QP, request.qp, code))
        self.timely(waiting)

    def _hand_on(self, waiting: _Waiting) -> bool:
        """The step that was taken for this check's may be that of a later one that is alike."""
        for other in self.requests:
            if other.request == waiting.request and other.code is None:
                other.code = waiting.code
                return True
        return False

    # -- steps of lane 9 ---------------------------------------------------------------------------

    def step(self, record: Trace) -> None:
        """CHECK."""
        qp = record.cq
        kind = TRC_CHECK["kind"].get(record.operand)
        if self.stepless:
            waiting = self.stepless.popleft()
            request = waiting.request
            if (request.qp, request.kind) != (qp, kind) or not self._may(request):
                self.fail(f"CHECK, but {request} has a verdict and no step")
            self._decide(record, waiting)
            if waiting.code != waiting.told:
                assert waiting.code is not None
                text = f"verdict {waiting.told:#x} of cycle {waiting.told_at} for {request}"
                text += f", expected {Verdict(waiting.code).name}"
                self.fail(text, key_object(request.key), *self.ctx.objs)
            return
        for waiting in self.requests:
            request = waiting.request
            if waiting.code is not None or waiting.passed:
                continue
            if (request.qp, request.kind) == (qp, kind) and self._may(request):
                self._decide(record, waiting)
                return
            if not waiting.refusable:
                break
            waiting.passed = True
        self.fail("CHECK, but no check waits for it that its QP's state allows")

    def _decide(self, record: Trace, waiting: _Waiting) -> None:
        kc, qp, request = self.kc, record.cq, waiting.request
        step = kc.table.check(
            qp, kc.qpc.qps[qp].zone, request.kind, request.key, request.address, request.length
        )
        kc.judge(record, step)
        waiting.code = step.code
        self.decided = waiting
        if step.code != Verdict.GRANTED:
            kc.must_end(qp)

    # -- time --------------------------------------------------------------------------------------

    def tick(self) -> None:
        super().tick()
        if self.stepless and self.kc.ctx.cycle - self.stepless[0].told_at > LAG:
            waiting = self.stepless[0]
            text = f"verdict {waiting.told:#x} of cycle {waiting.told_at} for {waiting.request}"
            self.fail(f"{text}: no step")

    def left(self) -> Iterator[Left]:
        """Checks without a verdict, verdicts without a step."""
        for waiting in self.requests:
            yield Left("verdicts", waiting.cycle, "no verdict for the check of cycle")
        for waiting in self.stepless:
            yield Left("", waiting.told_at, "no step for the verdict of cycle")

    def counters(self) -> dict[Reg, int]:
        """Checks."""
        model = self.kc.model
        return {Reg.CNT_CHECKS: model.checks, Reg.CNT_CHECKS_REFUSED: model.checks_refused}
