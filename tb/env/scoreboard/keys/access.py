# SPDX-License-Identifier: Apache-2.0
"""Checks of remote accesses: one verdict each, in order, in time, with the code of the rules
(MW-02, MW-03, MW-10, MW-11, CQ-03).

A check that is decided by its key has a step on lane 9, before its verdict or a little after it.
One that is refused has none; then its queue pair must have been in a state for that between the
check and its verdict.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from models.codes import LogCause, Verdict
from models.keys.window_types import CheckRequest
from tb.env.defs import TRC_CHECK, VERDICT, Reg
from tb.env.harness.records import AccessCheck, AccessVerdict, Trace
from tb.env.scoreboard.context import Check, Left
from tb.env.scoreboard.explain import Difference, name_of
from tb.env.scoreboard.keys.context import OBJECT, KeyContext
from tb.env.scoreboard.post.context import LAG, OPEN
from tb.env.scoreboard.post.posts import SLACK
from tb.env.scoreboard.post.retire import QP_KIND

#: A verdict is valid at most so many cycles after its check.
BOUND = 6


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


class AccessChecks(Check):
    """s_axis_check, m_axis_verdict, CHECK."""

    rules = "MW-10"

    def __init__(self, kc: KeyContext) -> None:
        self.kc = kc
        self.requests: deque[_Waiting] = deque()
        #: Checks with a verdict whose steps have not come.
        self.stepless: deque[_Waiting] = deque()
        self.codes: Counter[int] = Counter()
        #: Since then nothing has stalled the verdicts.
        self.free_since = 0
        self._latest = -1

    # -- pins --------------------------------------------------------------------------------------

    def check(self, record: AccessCheck) -> None:
        """The transport asks."""
        waiting = _Waiting(CheckRequest.decode(record.data), record.cycle)
        self._look(waiting)
        self.requests.append(waiting)

    def _look(self, waiting: _Waiting) -> None:
        may = self._may(waiting.request)
        waiting.refusable = waiting.refusable or not may
        waiting.decidable = waiting.decidable or may

    def _may(self, request: CheckRequest) -> bool:
        """The present state does not refuse it."""
        kc, qp = self.kc, request.qp
        if request.malformed or qp >= kc.params.num_qp or kc.table.removed:
            return False
        return kc.guarded(qp) and kc.qpc.qps[qp].state in OPEN

    def changed_qp(self, qp: int) -> None:
        """The state of a QP changed."""
        for waiting in self.requests:
            if waiting.request.qp == qp:
                self._look(waiting)

    def removed(self) -> None:
        """The device is removed."""
        for waiting in self.requests:
            self._look(waiting)

    def verdict(self, record: AccessVerdict) -> None:
        """A verdict was taken by the transport."""
        kc = self.kc
        if not self.requests:
            kc.fail(f"verdict without a check: {record}")
        waiting = self.requests.popleft()
        request = waiting.request
        known = request.qp if request.qp < kc.params.num_qp else None
        number = request.key & OBJECT if waiting.code is not None else None
        qp, code = VERDICT["qp"].get(record.data), record.data >> VERDICT["code"].lsb
        if qp != request.qp:
            kc.fail(f"{waiting}: for QP {qp}", qp=known)
        if code == Verdict.REFUSED:
            if not waiting.refusable:
                diff = Difference("verdict", "REFUSED", "by its key")
                kc.fail(f"{waiting}: REFUSED in a state that allows it", qp=known, diff=diff)
            if waiting.code is not None and not self._hand_on(waiting):
                kc.fail(f"{waiting}: REFUSED, but it has a step", number, known)
        elif waiting.code is None and not waiting.decidable:
            diff = Difference("verdict", name_of(Verdict, code), "REFUSED")
            kc.fail(f"{waiting}: code {code:#x}, right would be: REFUSED", qp=known, diff=diff)
        elif waiting.code is None:
            waiting.told, waiting.told_at = code, record.cycle
            self.stepless.append(waiting)
        elif code != waiting.code:
            want = Verdict(waiting.code).name
            diff = Difference("verdict", name_of(Verdict, code), want)
            kc.fail(f"{waiting}: code {code:#x}, expected {want}", number, known, diff=diff)
        self.codes[code] += 1
        kc.model.checks += 1
        if code != Verdict.GRANTED:
            kc.model.checks_refused += 1
            self.kc.ctx.log.append((LogCause.CHECK_REFUSED, QP_KIND, request.qp, code))
        self._timely(record, waiting)

    def _hand_on(self, waiting: _Waiting) -> bool:
        """The step that was taken for this check's may be that of a later one that is alike."""
        for other in self.requests:
            if other.request == waiting.request and other.code is None:
                other.code = waiting.code
                return True
        return False

    def _timely(self, record: AccessVerdict, waiting: _Waiting) -> None:
        since = max(waiting.cycle, self.free_since) + BOUND
        if record.cycle > max(since, self._latest + 1):
            self.kc.fail(f"{waiting}: taken in cycle {record.cycle}, {BOUND} is the bound")
        self._latest = record.cycle

    # -- steps of lane 9 ---------------------------------------------------------------------------

    def step(self, record: Trace) -> None:
        """CHECK."""
        kc, qp = self.kc, record.cq
        kind = TRC_CHECK["kind"].get(record.operand)
        if self.stepless:
            waiting = self.stepless.popleft()
            request = waiting.request
            if (request.qp, request.kind) != (qp, kind) or not self._may(request):
                kc.fail_step(f"CHECK, but {request} has a verdict and no step", record)
            self._decide(record, waiting)
            if waiting.code != waiting.told:
                assert waiting.code is not None
                text = f"verdict {waiting.told:#x} of cycle {waiting.told_at} for {request}"
                text += f", expected {Verdict(waiting.code).name}"
                kc.fail_step(text, record, request.key & OBJECT)
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
        kc.fail_step("CHECK, but no check waits for it that its QP's state allows", record)

    def _decide(self, record: Trace, waiting: _Waiting) -> None:
        kc, qp, request = self.kc, record.cq, waiting.request
        step = kc.table.check(
            qp, kc.qpc.qps[qp].zone, request.kind, request.key, request.address, request.length
        )
        kc.judge(record, step)
        waiting.code = step.code
        if step.code != Verdict.GRANTED:
            kc.must_end(qp)

    # -- time --------------------------------------------------------------------------------------

    def stalled(self, cycle: int) -> None:
        """The verdicts were stalled up to this cycle."""
        self.free_since = max(self.free_since, cycle)

    def tick(self) -> None:
        if self.stepless and self.kc.ctx.cycle - self.stepless[0].told_at > LAG:
            waiting = self.stepless[0]
            text = f"verdict {waiting.told:#x} of cycle {waiting.told_at} for {waiting.request}"
            self.kc.fail(f"{text}: no step")
        if self.requests:
            waiting = self.requests[0]
            since = max(waiting.cycle, self.free_since, self._latest)
            if self.kc.ctx.cycle - since > BOUND + SLACK:
                text = f"no verdict for the check of cycle {waiting.cycle} ({waiting.request})"
                self.kc.fail(text)

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
