# SPDX-License-Identifier: Apache-2.0
"""The scoreboard of an engine with memory windows: that of one that receives, and keys, checks of
remote accesses and device removal on top of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models.codes import TraceOp
from models.keys.keys import KeyTable
from models.layouts import NO_QP
from tb.env.defs import Reg
from tb.env.harness.records import AccessCheck, AccessVerdict, Record, Trace
from tb.env.scoreboard.access import AccessChecks
from tb.env.scoreboard.base import Context
from tb.env.scoreboard.completions import CompletionChecks
from tb.env.scoreboard.key_context import KeyContext
from tb.env.scoreboard.key_control import KeyControlChecks, KeyQpChecks
from tb.env.scoreboard.key_take import KeyReceivePostChecks, KeyTakeChecks
from tb.env.scoreboard.keys import BY_PEER, KeyChecks, KeyDispatchChecks, KeyRetireChecks
from tb.env.scoreboard.memory import MemoryChecks
from tb.env.scoreboard.qp_context import QpContext
from tb.env.scoreboard.receive_board import ReceiveScoreboard
from tb.env.scoreboard.receive_context import ReceiveContext
from tb.env.scoreboard.receive_credits import ReceiveCredits
from tb.env.scoreboard.receive_done import ReceiveDoneChecks
from tb.env.scoreboard.steps import StepChecks

_Left = list[tuple[int, str, int | None]]

_LANES: dict[int, int] = {
    op: 9 if op is TraceOp.CHECK else 8 for op in TraceOp if op >= TraceOp.BIND
}
_OF_COMMANDS = (TraceOp.KEY_COMMAND, TraceOp.REMOVED)

#: The order of the lanes in a cycle; lanes 0 to 4 come behind these.
_ORDER = {9: 0, 5: 1, 6: 2, 7: 3, 8: 4}


def _order(record: Record) -> tuple[int, int]:
    return record.cycle, _ORDER.get(record.lane, 5) if type(record) is Trace else 5


class WindowScoreboard(ReceiveScoreboard):
    """For builds whose design is cde_top with memory windows."""

    allowances = ReceiveScoreboard.allowances | {
        "verdicts": "verdicts are held back",
    }

    def _make_checks(self, ctx: Context) -> None:
        self.qpc = qpc = QpContext(ctx, KeyTable(ctx.params))
        self.rc = rc = ReceiveContext(qpc)
        self.kc = kc = KeyContext(rc)
        self.credits = reserved = ReceiveCredits(ctx)
        self.doorbells = self.posts = posts = KeyReceivePostChecks(ctx, rc, reserved)
        self.completions = CompletionChecks(ctx, reserved)
        self.memory = MemoryChecks(ctx, posts, self.completions)
        self.dispatch = self.key_dispatch = posts.dispatch = dispatch = KeyDispatchChecks(kc)
        self.retire = self.key_retire = KeyRetireChecks(kc, self.completions, dispatch)
        self.takes = self.key_takes = takes = KeyTakeChecks(kc, reserved, posts, self.memory)
        self.receives = ReceiveDoneChecks(rc, self.completions, posts)
        self.access = AccessChecks(kc)
        self.qps = qps = KeyQpChecks(rc, posts, dispatch, self.retire, takes, self.receives)
        qps.kc, qps.listeners = kc, (kc.changed_qp, self.access.changed_qp)
        self.control = self.receive_control = self.key_control = control = KeyControlChecks(
            ctx, self.completions, reserved, posts, self.memory, rc, qps, takes
        )
        control.kc, control.listeners = kc, (takes.removed, self.access.removed)
        self.steps = StepChecks(ctx, self.completions, reserved, posts, self.memory, control)
        self.keys = KeyChecks(kc, dispatch, self.key_retire)
        self._looked = 0
        self._by_receive_op = self._receive_ops()
        self._by_key_op: dict[int, Callable[[Trace], None]] = {
            TraceOp.BIND: self.keys.request_step,
            TraceOp.FAST_REGISTER: self.keys.request_step,
            TraceOp.INVALIDATE: self._invalidate,
            TraceOp.CHECK: self.access.step,
            TraceOp.KEY_COMMAND: control.changes,
            TraceOp.REMOVED: control.removes,
        }

    def _invalidate(self, record: Trace) -> None:
        by_peer = record.operand & BY_PEER
        (self.key_takes.peer_step if by_peer else self.keys.request_step)(record)

    def _handlers(self) -> dict[type, Callable[[Any], None]]:
        handlers: dict[type, Callable[[Any], None]] = {
            AccessCheck: self.access.check,
            AccessVerdict: self.access.verdict,
        }
        return super()._handlers() | handlers

    def __call__(self, records: list[Record]) -> None:
        """Judges a block of records, those of a cycle in the order in which they happened."""
        super().__call__(sorted(records, key=_order))

    def _trace(self, record: Trace) -> None:
        if record.lane < 8:
            super()._trace(record)
            return
        if _LANES.get(record.op) != record.lane:
            self.ctx.fail(f"trace: operation {record.op:#x} on lane {record.lane}")
        if record.event or record.event_status:
            self.kc.fail_step("callback in a step of keys", record)
        if record.cq >= self.params.num_qp and not (
            record.op in _OF_COMMANDS and record.cq == NO_QP
        ):
            self.ctx.fail(f"trace: step of QP {record.cq}, which is out of range")
        self._by_key_op[record.op](record)

    def _look(self) -> None:
        super()._look()
        self.kc.tick()
        self.access.tick()

    # -- what tests compare with -------------------------------------------------------------------

    def counters(self) -> dict[Reg, int]:
        """What the counters must show when all is quiet."""
        model = self.kc.model
        return super().counters() | {
            Reg.CNT_CHECKS: model.checks,
            Reg.CNT_CHECKS_REFUSED: model.checks_refused,
            Reg.CNT_INVALIDATED: model.table.invalidated,
        }

    def log(self) -> list[tuple[int, int, int, int]]:
        """What reports, events, requests and checks have left in the error log: cause, kind,
        object, detail.
        """
        return [*super().log(), *self.access.log]

    # -- end of the test ---------------------------------------------------------------------------

    def _vacuous(self, allowed: set[str]) -> None:
        # A test of keys alone has seen something.
        if self.keyed:
            allowed = allowed | {"no_posts", "no_receives"}
        super()._vacuous(allowed)

    _keyed_before = 0

    @property
    def keyed(self) -> int:
        """Requests and messages that were to change keys, and verdicts, over all lives of the
        engine.
        """
        seen = self.keys.executed + self.key_takes.invalidations + sum(self.access.codes.values())
        return self._keyed_before + seen

    def reset(self) -> None:
        """The engine was reset."""
        self._keyed_before = self.keyed
        super().reset()

    def _left(self, now: int) -> dict[str, _Left]:
        found = super()._left(now)
        other = found[""]
        verdicts: _Left = [
            (w.cycle, "no verdict for the check of cycle", None) for w in self.access.requests
        ]
        for qp, since in self.kc.ending.items():
            other.append((since, f"QP {qp}: no change of state for the failure of cycle", None))
        other += [(qp, "removed, but still connected: QP", None)
                  for qp in self.kc.model.removable]  # fmt: skip
        other += [
            (w.told_at, "no step for the verdict of cycle", None) for w in self.access.stepless
        ]
        other += [
            (beat.cycle, f"QP {qp}: not executed: request of cycle", None)
            for qp, beat in self.key_dispatch.ahead.items()
        ]
        for qp, rq in enumerate(self.rc.rqs):
            other += [
                (taken.number, f"QP {qp}: token not invalidated of buffer", None)
                for taken in rq.flight
                if taken.undecided
            ]
        return found | {"verdicts": verdicts}
