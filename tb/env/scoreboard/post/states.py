# SPDX-License-Identifier: Apache-2.0
"""States of queue pairs: who may change them, connection events, terminate requests (DF-11, DF-15,
SRQ-13, SRQ-14, SRQ-18, MW-03, MW-09).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import IntEnum

from models import codes
from models.codes import CommandResult, LogCause, QpState, StateBy
from models.host.control import Args
from models.post.qp import QpModel, StateStep
from models.post.qp_control import config_of
from models.receive.receive_control import check_create_qp, decode_receive
from tb.env.defs import CONN, QSTATE, TERM, Reg
from tb.env.harness.records import Command, ConnReport, TermRequest, Trace
from tb.env.scoreboard.context import Check, Left, args_of
from tb.env.scoreboard.explain import Difference, name_of
from tb.env.scoreboard.keys.context import KeyContext
from tb.env.scoreboard.post.context import LAG, OPEN
from tb.env.scoreboard.post.dispatch import DispatchChecks
from tb.env.scoreboard.post.retire import QP_KIND, RetireChecks
from tb.env.scoreboard.receive.reports import ReceiveDoneChecks
from tb.env.scoreboard.receive.takes import TakeChecks

#: Commands that have steps.
_STEPPING = (
    codes.Command.CREATE_QP,
    codes.Command.CONNECT_QP,
    codes.Command.SET_QP_STATE,
    codes.Command.FLUSH_QP,
    codes.Command.DESTROY_QP,
)


class QpChecks(Check):
    """QP_STATE steps, s_axis_conn, m_axis_term."""

    rules = "DF-11, DF-15"

    def __init__(
        self,
        kc: KeyContext,
        dispatch: DispatchChecks,
        retire: RetireChecks,
        takes: TakeChecks,
        receives: ReceiveDoneChecks,
    ) -> None:
        self.kc = kc
        self.rc = kc.rc
        self.qpc = qpc = kc.qpc
        self.dispatch = dispatch
        self.retire = retire
        self.takes = takes
        self.receives = receives
        #: Told of each QP whose state has changed.
        self.listeners: tuple[Callable[[int], None], ...] = ()
        #: Steps of the command in flight.
        self.seen: list[Trace] = []
        #: States that the terminate requests still to come can tell, oldest first.
        self.owed: list[deque[set[int]]] = [deque() for _ in range(qpc.ctx.params.num_qp)]
        #: Connection events that may still get their step; those of them that must.
        self._events: dict[int, deque[int]] = {}
        #: Events without a step: a command may have met them, so whether they were refused is open.
        self.unsettled = 0
        self.ending: dict[int, int] = {}

    # -- transport ---------------------------------------------------------------------------------

    def conn(self, record: ConnReport) -> None:
        """A connection event was taken."""
        qpc, qp = self.qpc, CONN["qp"].get(record.data)
        known = qp < qpc.ctx.params.num_qp
        state = qpc.qps[qp].state if known else QpState.FREE
        if known and state in OPEN:
            qpc.qps[qp].state = QpState.DISCONNECTED  # its change has a step of its own
        log = qpc.model.conn_beat(record.data).log
        if known:
            qpc.qps[qp].state = state
        if log is not LogCause.OK:
            qpc.ctx.log.append((log, QP_KIND, qp, 0))
        if log is LogCause.DONE_BAD:
            return
        self.unsettled += 1
        self._events.setdefault(qp, deque(maxlen=16)).append(record.cycle)
        if state in OPEN:
            self.ending.setdefault(qp, record.cycle)

    def term(self, record: TermRequest) -> None:
        """A terminate request was taken."""
        qpc, qp, state = self.qpc, TERM["qp"].get(record.data), record.data >> TERM["state"].lsb
        if qp >= qpc.ctx.params.num_qp or not self.owed[qp]:
            qpc.fail(qp, f"terminate request {record.data:#x}, but no connection has ended")
        expected = self.owed[qp].popleft()
        if state not in expected:
            text = f"terminate request with state {state}, expected {sorted(expected)}"
            names = " or ".join(QpState(s).name for s in sorted(expected))
            qpc.fail(qp, text, diff=Difference("state", name_of(QpState, state), names))

    # -- steps -------------------------------------------------------------------------------------

    def state_step(self, record: Trace) -> None:
        """QP_STATE."""
        qpc, qp = self.qpc, record.cq
        model = qpc.qps[qp]
        new = QSTATE["state"].get(record.new)
        if record.operand > max(StateBy):
            qpc.fail(qp, f"QP_STATE with operand {record.operand:#x}", record)
        command = None
        if record.operand == StateBy.COMMAND:
            command = qpc.ctx.command_for(qp, *_STEPPING)  # may have to wait
        qpc.begin(record)
        if model.state == new:
            qpc.fail(qp, "QP_STATE that changes nothing", record)
        old = model.state
        if record.operand == StateBy.CONN:
            step = self._by_conn(record, model)
        elif record.operand == StateBy.REPORT:
            step = self._by_report(record, model)
        else:
            step = self._by_command(record, model, command)
        if step is None or step.new != new:
            text, states = "the model does not take this step", set(QpState)
            want = "none" if step is None else QpState(step.new).name
            got = QpState(new).name if new in states else str(new)
            qpc.fail(qp, text, record, diff=Difference("state", got, want))
        qpc.end(record)
        if step.term:
            self.owed[qp].append({int(step.term_state)})
        if old in OPEN and step.new not in OPEN:
            self.retire.failing.pop(qp, None)
            self.ending.pop(qp, None)
            self._events.pop(qp, None)
        qpc.history[qp].append(record)
        if old is QpState.CONNECTED:
            self.dispatch.ended(qp)
        for listener in self.listeners:
            listener(qp)

    def _by_conn(self, record: Trace, model: QpModel) -> StateStep | None:
        events = self._events.get(record.cq)
        while events and record.cycle - events[0] > LAG:
            events.popleft()
        if not events:
            self.qpc.fail(record.cq, "disconnected without an event", record)
        self.unsettled -= 1
        return model.disconnected()[1]

    def _by_report(self, record: Trace, model: QpModel) -> StateStep | None:
        qp = record.cq
        rq = self.rc.rqs[qp]
        received = qp in self.receives.failing
        if model.ending == model.connections:
            return model.fail()
        unexplained = not received and qp not in self.retire.failing and not rq.length_pending
        if self.kc.table.removed and unexplained and model.state in OPEN:
            return model.flush()[1]
        if received:
            return model.receive_failed()
        if rq.length_pending:
            return rq.fail_length()
        if qp not in self.retire.failing and self.takes.may_be_too_long(qp):
            rq.overlong = model.connections
            return rq.fail_length()
        if qp not in self.retire.failing:
            self.qpc.fail(qp, "in error without a failing report", record)
        return model.flush()[1]

    def _by_command(
        self, record: Trace, model: QpModel, command: Command | None
    ) -> StateStep | None:
        qpc, qp = self.qpc, record.cq
        if command is None:
            qpc.fail(qp, "QP_STATE without a command", record)
        code, args, new = command.code, args_of(command), QSTATE["state"].get(record.new)
        limit = 2 if code == codes.Command.DESTROY_QP else 1
        if len(self.seen) >= limit:
            qpc.fail(qp, "one more QP_STATE of one command", record)
        pending = code == codes.Command.DESTROY_QP and new == QpState.DESTROYING
        if command.result not in ((0, CommandResult.CMD_PENDING) if pending else (0,)):
            qpc.fail(qp, f"its command answered {command.result:#x}", record)
        step = self._run(code, args, model, record)
        self.seen.append(record)
        return step

    def _run(self, code: int, args: Args, model: QpModel, record: Trace) -> StateStep | None:
        known, new = QSTATE["retired"].get(record.new), QSTATE["state"].get(record.new)
        self._may_leave(code, new, model, record)
        if code == codes.Command.CREATE_QP:
            result = self._may_create(args, model)
            if result:
                self.qpc.fail(record.cq, f"created, the model refuses it: {result.name}", record)
            return model.create(config_of(args))
        if code == codes.Command.CONNECT_QP:
            return model.connect(args.words[1])[1]
        if code == codes.Command.SET_QP_STATE:
            return model.set_state(args.words[1], retired_seen=known)[1]
        if code == codes.Command.FLUSH_QP:
            return model.flush()[1]
        if new == QpState.DESTROYING and model.state is not QpState.FREE:
            # Also with nothing outstanding: then a second step of the command follows.
            return model._go(QpState.DESTROYING, StateBy.COMMAND)
        return model.destroy(retired_seen=known)[1]

    def _may_leave(self, code: int, new: int, model: QpModel, record: Trace) -> None:
        """Neither receives nor keys hold a QP that becomes idle or free."""
        ctx, qp = self.qpc.ctx, record.cq
        destroys = code == codes.Command.DESTROY_QP and not self.seen
        if destroys and model.state is not QpState.DESTROYING:
            command = ctx.command()
            start = 0 if command is None else ctx.window_start(command)
            if not self.kc.unused(qp, start):
                self.qpc.fail(qp, "destroyed, although keys are valid on it", record, rule="MW-03")
        left = new in (QpState.IDLE, QpState.FREE) and code != codes.Command.CREATE_QP
        if left and self.rc.rqs[qp].busy:
            self.qpc.fail(qp, "SRQ-14: empty, but it has receives not completed", record)

    def _may_create(self, args: Args, model: QpModel) -> IntEnum:
        """The result of CREATE_QP."""
        result = decode_receive(codes.Command.CREATE_QP, args, self.kc.params, True)
        if result is not CommandResult.OK:
            return result
        return check_create_qp(args, model, self.qpc.model.cq_page, self.rc.srqs)

    # -- time --------------------------------------------------------------------------------------

    def tick(self) -> None:
        cycle = self.qpc.ctx.cycle
        late: tuple[tuple[dict[int, int], str], ...] = (
            (self.retire.failing, "still not in error, after the failing report of cycle"),
            (self.ending, "still connected, after the event of cycle"),
        )
        for waiting, text in late:
            for qp, since in waiting.items():
                if cycle - since > LAG:
                    self.qpc.fail(qp, f"{text} {since}")

    def left(self) -> Iterator[Left]:
        """Terminate requests to come, events without a change of state."""
        for since in self.ending.values():
            yield Left("", since, "no change of state for the report of cycle")
        for qp, owed in enumerate(self.owed):
            if owed:
                yield Left("terms", len(owed), f"QP {qp}: not terminated:")

    def counters(self) -> dict[Reg, int]:
        """Posting, as far as it is certain."""
        model = self.qpc.model
        found = {
            Reg.CNT_POSTS: model.posts,
            Reg.CNT_INDICATED: model.work_beats,
            Reg.CNT_DONE: model.done,
        }
        return found if self.unsettled else found | {Reg.CNT_DONE_REFUSED: model.done_refused}
