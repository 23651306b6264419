# SPDX-License-Identifier: Apache-2.0
"""Mailbox commands of the full engine: those of queue pairs, and what queue pairs change in others.

A command with a step was judged at the step. One without must have had no reason for a step, in
one of the states that the QP had while the command ran.
"""

from __future__ import annotations

from enum import IntEnum

from models import codes
from models.codes import CommandResult, QpState
from models.host.control import Args
from models.post.qp_control import config_of, decode_command
from models.receive.receive_control import check_create_qp, decode_receive
from tb.env.defs import QP_LEFT, QP_POSTED, QP_STATE, QSTATE
from tb.env.harness.records import Command, Trace
from tb.env.scoreboard.context import args_of
from tb.env.scoreboard.explain import coded
from tb.env.scoreboard.host.commands import CommandCheck
from tb.env.scoreboard.keys.context import KeyContext
from tb.env.scoreboard.post.context import LAG, OPEN
from tb.env.scoreboard.post.posts import PostChecks
from tb.env.scoreboard.post.states import QpChecks


class QpCommands(CommandCheck):
    """Commands of queue pairs."""

    rules = "DF-11, DF-15, ISO-02"

    def __init__(self, kc: KeyContext, qps: QpChecks, posts: PostChecks) -> None:
        super().__init__(kc.ctx, lambda record: [("QP", record.args[0])])
        self.kc = kc
        self.rc = kc.rc
        self.qpc = kc.qpc
        self.posts = posts
        self.seen = qps.seen
        #: The step of the receive side of the command in flight.
        self.sizes: list[Trace] = []

    def command(self, record: Command) -> None:
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
