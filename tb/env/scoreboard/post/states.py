# SPDX-License-Identifier: Apache-2.0
"""States of queue pairs: who may change them, connection events, terminate requests (DF-11, DF-15,
SRQ-13, SRQ-14, SRQ-18, MW-03, MW-09); their mailbox commands, and what they change in others.

A command with a step was judged at the step. One without must have had no reason for a step, in
one of the states that the QP had while the command ran.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import IntEnum

from models import codes
from models.codes import CommandResult, LogCause, QpState, StateBy
from models.host.control import Args
from models.post.qp import QpModel, StateStep
from models.post.qp_control import config_of, decode_command
from models.receive.receive_control import check_create_qp, decode_receive
from tb.env.defs import CONN, QP_LEFT, QP_POSTED, QP_STATE, QSTATE, TERM, Reg
from tb.env.harness.records import Command, ConnReport, TermRequest, Trace
from tb.env.scoreboard.context import Left, args_of
from tb.env.scoreboard.explain import Difference, coded, name_of
from tb.env.scoreboard.host.commands import CommandCheck
from tb.env.scoreboard.keys.context import KeyContext
from tb.env.scoreboard.post.context import EVENT, LAG, OPEN, RECEIVE, REPORT
from tb.env.scoreboard.post.dispatch import DispatchChecks
from tb.env.scoreboard.post.posts import PostChecks
from tb.env.scoreboard.receive.takes import TakeChecks

#: Commands that have steps.
_STEPPING = (
    codes.Command.CREATE_QP,
    codes.Command.CONNECT_QP,
    codes.Command.SET_QP_STATE,
    codes.Command.FLUSH_QP,
    codes.Command.DESTROY_QP,
)


class QpChecks(CommandCheck):
    """QP_STATE steps, s_axis_conn, m_axis_term, and commands of queue pairs."""

    rules = "DF-11, DF-15"

    def __init__(
        self, kc: KeyContext, dispatch: DispatchChecks, takes: TakeChecks, posts: PostChecks
    ) -> None:
        super().__init__(kc.ctx, lambda record: [("QP", record.args[0])])
        self.kc = kc
        self.rc = kc.rc
        self.qpc = qpc = kc.qpc
        self.dispatch = dispatch
        self.takes = takes
        self.posts = posts
        #: Told of each QP whose state has changed.
        self.listeners: tuple[Callable[[int], None], ...] = ()
        #: The step of the receive side of the command in flight.
        self.sizes: list[Trace] = []
        #: States that the terminate requests still to come can tell, oldest first.
        self.owed: list[deque[set[int]]] = [deque() for _ in range(qpc.ctx.params.num_qp)]
        #: Connection events that may still get their step; those of them that must.
        self._events: dict[int, deque[int]] = {}
        #: Events without a step: a command may have met them, so whether they were refused is open.
        self.unsettled = 0

    # -- transport ---------------------------------------------------------------------------------

    def conn(self, record: ConnReport) -> None:
        """A connection event was taken."""
        qpc, qp = self.qpc, CONN["qp"].get(record.data)
        log = qpc.heard(qpc.model.conn_beat, record.data, 0, EVENT, True)
        if log is not LogCause.DONE_BAD:
            self.unsettled += 1
            self._events.setdefault(qp, deque(maxlen=16)).append(record.cycle)

    def term(self, record: TermRequest) -> None:
        """A terminate request was taken."""
        qpc, qp, state = self.qpc, TERM["qp"].get(record.data), record.data >> TERM["state"].lsb
        if qp >= qpc.ctx.params.num_qp or not self.owed[qp]:
            self.fail(
                f"terminate request {record.data:#x}, but no connection has ended", ("QP", qp)
            )
        expected = self.owed[qp].popleft()
        if state not in expected:
            text = f"terminate request with state {state}, expected {sorted(expected)}"
            names = " or ".join(QpState(s).name for s in sorted(expected))
            self.fail(text, ("QP", qp), diff=Difference("state", name_of(QpState, state), names))

    # -- steps -------------------------------------------------------------------------------------

    def state_step(self, record: Trace) -> None:
        """QP_STATE."""
        qpc, qp = self.qpc, record.cq
        model = qpc.qps[qp]
        new = QSTATE["state"].get(record.new)
        if record.operand > max(StateBy):
            self.fail(f"QP_STATE with operand {record.operand:#x}")
        command = None
        if record.operand == StateBy.COMMAND:
            pending = new == QpState.DESTROYING
            results = (0, CommandResult.CMD_PENDING) if pending else (0,)
            command = self.ctx.step_of(record, self.seen, *_STEPPING, results=results, most=2)
        qpc.begin(record)
        if model.state == new:
            self.fail("QP_STATE that changes nothing")
        old = model.state
        if command is not None:
            step = self._by_command(record, model, command)
        elif record.operand == StateBy.CONN:
            step = self._by_conn(record, model)
        else:
            step = self._by_report(record, model)
        if step is None or step.new != new:
            text, states = "the model does not take this step", set(QpState)
            want = "none" if step is None else QpState(step.new).name
            got = QpState(new).name if new in states else str(new)
            self.fail(text, diff=Difference("state", got, want))
        qpc.end(record)
        if step.term:
            self.owed[qp].append({int(step.term_state)})
        if old in OPEN and step.new not in OPEN:
            qpc.ended(qp)
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
            self.fail("disconnected without an event")
        self.unsettled -= 1
        return model.disconnected()[1]

    def _by_report(self, record: Trace, model: QpModel) -> StateStep | None:
        qp = record.cq
        rq = self.rc.rqs[qp]
        received, reported = (qp, RECEIVE) in self.qpc.ends, (qp, REPORT) in self.qpc.ends
        if model.ending == model.connections:
            return model.fail()
        unexplained = not received and not reported and not rq.length_pending
        if self.kc.table.removed and unexplained and model.state in OPEN:
            return model.flush()[1]
        if received:
            return model.receive_failed()
        if rq.length_pending:
            return rq.fail_length()
        if not reported and self.takes.may_be_too_long(qp):
            rq.overlong = model.connections
            return rq.fail_length()
        if not reported:
            self.fail("in error without a failing report")
        return model.flush()[1]

    def _by_command(self, record: Trace, model: QpModel, command: Command) -> StateStep | None:
        code, args = command.code, args_of(command)
        known, new = QSTATE["retired"].get(record.new), QSTATE["state"].get(record.new)
        if len(self.seen) > 1 and code != codes.Command.DESTROY_QP:
            self.fail("one more QP_STATE of one command")
        self._may_leave(command, new, model, record.cq)
        if code == codes.Command.CREATE_QP:
            result = self._may_create(args, model)
            if result:
                self.fail(f"created, the model refuses it: {result.name}")
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

    def _may_leave(self, command: Command, new: int, model: QpModel, qp: int) -> None:
        """Neither receives nor keys hold a QP that becomes idle or free."""
        code = command.code
        destroys = code == codes.Command.DESTROY_QP and len(self.seen) == 1
        destroys = destroys and model.state is not QpState.DESTROYING
        if destroys and not self.kc.unused(qp, self.ctx.window_start(command)):
            self.fail("destroyed, although keys are valid on it", rule="MW-03")
        left = new in (QpState.IDLE, QpState.FREE) and code != codes.Command.CREATE_QP
        if left and self.rc.rqs[qp].busy:
            self.fail("SRQ-14: empty, but it has receives not completed")

    def _may_create(self, args: Args, model: QpModel) -> IntEnum:
        """The result of CREATE_QP."""
        result = decode_receive(codes.Command.CREATE_QP, args, self.kc.params, True)
        if result is not CommandResult.OK:
            return result
        return check_create_qp(args, model, self.qpc.model.cq_page, self.rc.srqs)

    # -- commands ----------------------------------------------------------------------------------

    def command(self, record: Command) -> None:
        self.ctx.rules = "DF-11, DF-15, ISO-02"
        qpc, qp = self.qpc, record.args[0]
        args = args_of(record)
        code = self._decode(record.code, args)
        steps = self.seen
        if not isinstance(code, codes.Command):
            if steps or record.result != code:
                self.wrong(record, f"answered {record.result:#x}, expected {code!r}")
        elif steps:
            freed = qpc.qps[qp].state is QpState.FREE
            if code is codes.Command.DESTROY_QP and freed is not (record.result == 0):
                self.wrong(record, f"answered {record.result:#x}, freed: {freed}")
        else:
            allowed = self._without_step(record, code, args)
            if record.result not in allowed:
                diff = coded("result", CommandResult, record.result, *allowed, none="a step")
                text = f"left no step and answered {record.result:#x}, not {diff.want}"
                self.wrong(record, text, diff)
            if record.result == 0 and code is codes.Command.MODIFY_QP:
                config = config_of(args)
                qpc.qps[qp].modify(config.watermark, config.age, record.cycle)
                self.posts.changed_qp(qp)
            if record.result == 0 and code is codes.Command.QUERY_QP:
                self._query(record, qp)
        sized = bool(self.sizes)
        self.sizes.clear()
        if sized is not (code is codes.Command.CREATE_QP and not record.result):
            self.wrong(record, f"command {record.code:#x}: RECV_SIZE {sized}")

    def _decode(self, code: int, args: Args) -> IntEnum:
        """The command, or why it is refused whatever the state."""
        if code == codes.Command.CREATE_QP:
            result = decode_receive(code, args, self.ctx.params, True)
            return codes.Command.CREATE_QP if result is CommandResult.OK else result
        return decode_command(code, args, self.ctx.params)

    # -- without a step ----------------------------------------------------------------------------

    def _without_step(self, record: Command, code: codes.Command, args: Args) -> set[IntEnum]:
        """Results that are right although nothing changed."""
        qpc, qp = self.qpc, record.args[0]
        model = qpc.qps[qp]
        if code is codes.Command.CREATE_QP:
            result = check_create_qp(args, model, qpc.model.cq_page, self.rc.srqs)
            refused: set[IntEnum] = {result}
            return refused - {CommandResult.OK}
        start = self.ctx.window_start(record)
        states = {QpState(QSTATE["state"].get(s)) for s in qpc.states_since(qp, start)}
        # Something may have been outstanding while it ran.
        posted = qpc.qps[qp].tail > qpc.retired_before(qp, start - LAG)
        busy = posted or self.rc.busy(qp, start - LAG)
        results = {self._result(code, args, state, busy) for state in states}
        found: set[IntEnum] = {result for result in results if result is not None}
        if (
            code is codes.Command.DESTROY_QP
            and states - {QpState.FREE}
            and self.kc.in_use(qp, start)
        ):
            found.add(CommandResult.CMD_IN_USE)
        return found

    @staticmethod
    def _result(
        code: codes.Command, args: Args, state: QpState, busy: bool
    ) -> CommandResult | None:
        """The result in a state; None if the command would have a step. ``busy``: requests may be
        outstanding.
        """
        going = state is QpState.DESTROYING
        word = args.words[1]
        if state is QpState.FREE:
            return CommandResult.CMD_NO_OBJECT
        if code is codes.Command.QUERY_QP:
            return CommandResult.OK
        if code is codes.Command.MODIFY_QP:
            return CommandResult.CMD_NO_OBJECT if going else CommandResult.OK
        if code is codes.Command.DESTROY_QP:
            return CommandResult.CMD_PENDING if going and busy else None
        step = False
        if code is codes.Command.CONNECT_QP:
            step = state is QpState.IDLE
        elif code is codes.Command.FLUSH_QP:
            if state in (QpState.ERROR, QpState.DISCONNECTED):
                return CommandResult.OK
            step = state in OPEN
        elif word == QpState.IDLE and state in (QpState.ERROR, QpState.DISCONNECTED):
            return CommandResult.CMD_BUSY if busy else None
        elif word == QpState.DISCONNECT_PENDING:
            step = state is QpState.CONNECTED
        elif word == QpState.DISCONNECTED:
            step = state in OPEN
        return None if step else CommandResult.CMD_BAD_STATE

    # -- queries -----------------------------------------------------------------------------------

    def _query(self, record: Command, qp: int) -> None:
        qpc, index = self.qpc, self.ctx.params.index
        model = qpc.qps[qp]
        start = self.ctx.window_start(record)
        expected = (*model.query()[:6], *self.rc.rqs[qp].config.words)
        outs = record.outs
        peer = QP_STATE["peer"]
        if (peer.get(outs[0]), *outs[3:8]) != (peer.get(expected[0]), *expected[3:8]):
            self.wrong(record, f"OUT0, OUT3 to OUT7 {outs}, expected {expected}")
        states = {(*QSTATE.unpack(s).values(),)[:3] for s in qpc.states_since(qp, start)}
        seen = (outs[0] & ~peer.mask, *QP_POSTED.unpack(outs[1]).values())
        history = qpc.history[qp]
        lost = len(history) == history.maxlen and history[0].cycle >= start
        if seen not in states and not lost:
            text = f"state, tail, released {seen}, expected one of {sorted(states)}"
            self.wrong(record, text)
        left = QP_LEFT.unpack(outs[2])
        retired = range(qpc.retired_before(qp, start - LAG), model.retired + 1)
        if left["retired"] not in map(index, retired):
            self.wrong(record, f"retired {left['retired']}, expected {[*map(index, retired)]}")
        # One more is offered, and what is skipped may count.
        end = model.tail if model.state is not QpState.CONNECTED else model.released
        last = max(min(model.indicated + 2, end), model.indicated)
        if model.state is not QpState.CONNECTED:
            last = model.tail
        indicated = range(qpc.indicated_before(qp, start), last + 1)
        if left["indicated"] not in map(index, indicated):
            text = f"indicated {left['indicated']}, expected {[*map(index, indicated)]}"
            self.wrong(record, text)

    # -- the end -----------------------------------------------------------------------------------

    def left(self) -> Iterator[Left]:
        """Terminate requests to come, steps whose command has not ended."""
        yield from super().left()
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
