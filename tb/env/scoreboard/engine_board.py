# SPDX-License-Identifier: Apache-2.0
"""The scoreboard of the full engine: that of the completion core, and posting on top of it.

Completions and credits have no pins here. What retires is handed to the checks of completions as
the model makes it from the post; what posts reserve is judged at their steps (check_reserve.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models.codes import QpState, TraceOp
from tb.env.defs import Cause, Reg
from tb.env.harness.records import (
    Command,
    Completion,
    ConnReport,
    CreditAnswer,
    CreditRequest,
    DoneReport,
    DoorbellRequest,
    DoorbellResponse,
    Interrupt,
    MemResponse,
    MemWrite,
    Record,
    TermRequest,
    Trace,
    WorkBeat,
)
from tb.env.scoreboard.base import Context
from tb.env.scoreboard.completions import CompletionChecks
from tb.env.scoreboard.dispatch import DispatchChecks
from tb.env.scoreboard.memory import MemoryChecks
from tb.env.scoreboard.post import PostChecks
from tb.env.scoreboard.qp import QpChecks
from tb.env.scoreboard.qp_context import QpContext
from tb.env.scoreboard.qp_control import QpControlChecks
from tb.env.scoreboard.reserve import PostCredits
from tb.env.scoreboard.retire import RetireChecks
from tb.env.scoreboard.scoreboard import ALLOWANCES, Scoreboard
from tb.env.scoreboard.steps import StepChecks

#: Cycles between two looks at bounds that nothing has met.
_LOOK = 32

_Left = list[tuple[int, str, int | None]]


class EngineScoreboard(Scoreboard):
    """For builds whose design is cde_top."""

    allowances = ALLOWANCES | {
        "held": "requests are held at the end: a chain has no end yet",
        "work": "work beats are held back",
        "reports": "the transport does not report everything",
        "terms": "terminate requests are held back",
        "no_posts": "the test posts nothing that is accepted",
    }

    def _make_checks(self, ctx: Context) -> None:
        self.qpc = qpc = QpContext(ctx)
        self.credits = reserved = PostCredits(ctx)
        self.doorbells = self.posts = PostChecks(ctx, qpc, reserved)
        self.completions = CompletionChecks(ctx, reserved)
        self.memory = MemoryChecks(ctx, self.posts, self.completions)
        self.dispatch = self.posts.dispatch = DispatchChecks(qpc)
        self.retire = RetireChecks(qpc, self.completions, self.dispatch)
        self.qps = QpChecks(qpc, self.posts, self.dispatch, self.retire)
        self.control = QpControlChecks(
            ctx, self.completions, reserved, self.posts, self.memory, qpc, self.qps
        )
        self.steps = StepChecks(
            ctx, self.completions, reserved, self.posts, self.memory, self.control
        )
        self._looked = 0

    def _handlers(self) -> dict[type, Callable[[Any], None]]:
        return {
            Trace: self._trace,
            MemResponse: self.memory.response,
            MemWrite: self.memory.write,
            Completion: self._not_here,
            DoorbellRequest: self.posts.request,
            DoorbellResponse: self.posts.response,
            CreditRequest: self._not_here,
            CreditAnswer: self._not_here,
            Interrupt: self.memory.interrupt,
            WorkBeat: self.dispatch.work,
            DoneReport: self.retire.done,
            ConnReport: self.qps.conn,
            TermRequest: self.qps.term,
            Command: self._command,
        }

    def _not_here(self, record: Record) -> None:
        self.ctx.fail(f"the full engine has no such port: {record}")

    def _trace(self, record: Trace) -> None:
        if record.cycle - self._looked >= _LOOK:
            self._look()
        if record.lane < 3:
            self.steps.trace(record)
            return
        if record.cq >= self.params.num_qp:
            self.ctx.fail(f"trace: step of QP {record.cq}, which is out of range")
        if record.event or record.event_status:
            self.qpc.fail(record.cq, "callback in a step of a QP", record)
        if record.lane == 4:
            self.retire.retire(record)
        elif record.op == TraceOp.QP_STATE:
            self.qps.state_step(record)
        elif record.lane == 3 and record.op in (TraceOp.POST, TraceOp.AGE):
            self.posts.step_3(record)
        else:
            self.qpc.fail(record.cq, f"operation {record.op:#x} on lane {record.lane}", record)

    def _look(self) -> None:
        """Bounds of time."""
        self.posts.tick()
        self.dispatch.tick()
        self.qps.tick()
        self._looked = self.ctx.cycle

    # -- what tests compare with -------------------------------------------------------------------

    def counters(self) -> dict[Reg, int]:
        """Those of posting, too, as far as they are certain."""
        model = self.qpc.model
        refused = {} if self.qps.unsettled else {Reg.CNT_DONE_REFUSED: model.done_refused}
        return super().counters() | {
            Reg.CNT_POSTS: model.posts,
            Reg.CNT_INDICATED: model.work_beats,
            Reg.CNT_DONE: model.done,
            **refused,
        }

    @property
    def logs(self) -> set[Cause]:
        """Causes of which :meth:`log` is certain."""
        uncertain = {Cause.CONN_NO_QP} if self.qps.unsettled else set()
        certain = {cause for cause in Cause if Cause.DONE_BAD <= cause < Cause.MEM_CORRECTED}
        return super().logs | certain - uncertain

    def log(self) -> list[tuple[int, int, int, int]]:
        """What reports and connection events have left in the error log, too."""
        return [*super().log(), *self.retire.log]

    # -- end of the test ---------------------------------------------------------------------------

    def _vacuous(self, allowed: set[str]) -> None:
        if "no_traffic" in allowed:
            return
        for count, name, what in (
            (self._kinds.get(Trace), "no_traffic", "Trace record"),
            (self._kinds.get(DoorbellRequest), "no_doorbells", "DoorbellRequest record"),
            (self.accepted, "no_posts", "accepted post"),
            (self.completed, "no_completions", "retired request"),
        ):
            excused = name in allowed or (name == "no_completions" and "no_posts" in allowed)
            if not count and not excused:
                self.ctx.fail(f"vacuous: not one {what}; allow {name!r} if meant")

    @property
    def accepted(self) -> int:
        """Posts accepted, over all lives of the engine."""
        return self._before[0] + self.qpc.model.posts

    @property
    def completed(self) -> int:
        """Requests retired, over all lives of the engine."""
        return self._before[1] + self.retire.retired

    _before = (0, 0)

    def reset(self) -> None:
        """The engine was reset."""
        self._before = self.accepted, self.completed
        super().reset()

    def grace(self, now: int) -> int:
        """Cycles that the engine still has, for releases by age, too."""
        deadlines = self.posts.deadlines.values()
        return max(super().grace(now), *(deadline - now for deadline in deadlines), 0)

    def _left(self, now: int) -> dict[str, _Left]:
        found: dict[str, _Left] = super()._left(now)
        self.ctx.cycle = max(self.ctx.cycle, now)
        self.ctx.resigned = True
        self._look()
        self.ctx.resigned = False
        kinds: dict[str, _Left] = {"held": [], "work": [], "reports": [], "terms": []}
        for since in (*self.retire.failing.values(), *self.qps.ending.values()):
            found[""].append((since, "no change of state for the report of cycle", None))
        for qp, model in enumerate(self.qpc.qps):
            where = f"QP {qp}:"
            connected = model.state is QpState.CONNECTED
            if connected and model.held:
                kinds["held"].append((model.held, f"{where} requests held:", None))
            waiting = [r for r in model.requests if not r.indicated and not r.skipped]
            if released := [r.number for r in waiting if r.number < model.released]:
                kinds["work"].append((released[0], f"{where} not indicated: request", None))
            if self.dispatch.owed[qp]:
                number = self.dispatch.owed[qp][0].number
                kinds["work"].append((number, f"{where} beat not taken: request", None))
            if unreported := [r.number for r in model.requests if r.indicated and not r.done]:
                kinds["reports"].append((unreported[0], f"{where} not reported: request", None))
            if model.retirable:
                number = model.requests[0].number
                found[""].append((number, f"{where} never retired: request", None))
            if self.qps.owed[qp]:
                kinds["terms"].append((len(self.qps.owed[qp]), f"{where} not terminated:", None))
        steps = [(step.cycle, "the command has not ended of the step of cycle", None)
                 for step in self.qps.seen]  # fmt: skip
        found[""] += steps
        return found | kinds
