# SPDX-License-Identifier: Apache-2.0
"""Mailbox commands of the full engine: those of queue pairs, and what queue pairs change in others.

A command with a step was judged at the step. One without must have had no reason for a step, in
one of the states that the QP had while the command ran.
"""

from __future__ import annotations

from enum import IntEnum

from models import codes
from models.codes import QP_COMMANDS, CommandResult, QpState
from models.host.control import Args
from models.post.qp import QpModel
from models.post.qp_control import check_create, config_of, decode_command
from tb.env.harness.records import Command, Trace
from tb.env.scoreboard.base import Context, args_of
from tb.env.scoreboard.completions import CompletionChecks
from tb.env.scoreboard.control import ControlChecks
from tb.env.scoreboard.doorbells import DoorbellChecks
from tb.env.scoreboard.memory import MemoryChecks
from tb.env.scoreboard.qp import QpChecks
from tb.env.scoreboard.qp_context import LAG, OPEN, QpContext
from tb.env.scoreboard.reserve import PostCredits

_CODES = range(min(QP_COMMANDS), max(QP_COMMANDS) + 1)


class QpControlChecks(ControlChecks):
    """All commands of the full engine."""

    def __init__(
        self,
        ctx: Context,
        completions: CompletionChecks,
        credits_: PostCredits,
        doorbells: DoorbellChecks,
        memory: MemoryChecks,
        qpc: QpContext,
        qps: QpChecks,
    ) -> None:
        super().__init__(ctx, completions, credits_, doorbells, memory)
        self.qpc = qpc
        self.qps = qps

    def expect(self, record: Trace) -> Command:
        """A step of a command of completion queues."""
        command = super().expect(record)
        if command.code == codes.Command.DESTROY_CQ and self.qpc.model.uses_cq(record.cq):
            self.ctx.fail("destroyed, although a QP names it", record.cq, record)
        return command

    def command(self, record: Command) -> None:
        """A command that ended, at its place in the stream."""
        if record.code not in _CODES:
            super().command(record)
            return
        qpc, qp = self.qpc, record.args[0]
        args = args_of(record)
        code = self._decode(record.code, args)
        steps = self.qps.seen
        if not isinstance(code, codes.Command):
            if steps or record.result != code:
                self._refuse(record, f"answered {record.result:#x}, expected {code!r}")
        elif steps:
            freed = qpc.qps[qp].state is QpState.FREE
            if code is codes.Command.DESTROY_QP and freed is not (record.result == 0):
                self._refuse(record, f"answered {record.result:#x}, freed: {freed}")
        else:
            allowed = self._without_step(record, code, args)
            if record.result not in allowed:
                names = ", ".join(sorted(r.name for r in allowed)) or "a step"
                self._refuse(record, f"left no step and answered {record.result:#x}, not {names}")
            if record.result == 0 and code is codes.Command.MODIFY_QP:
                config = config_of(args)
                qpc.qps[qp].modify(config.watermark, config.age, record.cycle)
                self.qps.posts.changed_qp(qp)
            if record.result == 0 and code is codes.Command.QUERY_QP:
                self._query(record, qp)
        steps.clear()
        self._ended(record)

    def _ended(self, record: Command) -> None:
        self.commands += 1
        self.ctx.finished.append(record)
        self.ctx.last_command = record.cycle

    def _decode(self, code: int, args: Args) -> IntEnum:
        """The command, or why it is refused whatever the state."""
        return decode_command(code, args, self.ctx.params)

    def _check_result(self, record: Command, expected: CommandResult) -> None:
        done = (CommandResult.OK, CommandResult.CMD_PENDING)
        destroy = record.code == codes.Command.DESTROY_CQ
        if destroy and expected in done and self.qpc.model.uses_cq(record.args[0]):
            expected = CommandResult.CMD_IN_USE
        super()._check_result(record, expected)

    # -- without a step ----------------------------------------------------------------------------

    def _without_step(self, record: Command, code: codes.Command, args: Args) -> set[IntEnum]:
        """Results that are right although nothing changed."""
        qpc, qp = self.qpc, record.args[0]
        model = qpc.qps[qp]
        if code is codes.Command.CREATE_QP:
            return {self._may_create(args, model)} - {CommandResult.OK}
        start = self.ctx.window_start(record)
        states = {QpState(s & 0xF) for s in qpc.states_since(qp, start)}
        busy = self._busy(qp, start - LAG)
        found = {self._result(code, args, state, busy) for state in states}
        return {result for result in found if result is not None}

    def _may_create(self, args: Args, model: QpModel) -> IntEnum:
        """The result of CREATE_QP after :meth:`_decode`."""
        return check_create(args, model, self.qpc.model.cq_page)

    def _busy(self, qp: int, since: int) -> bool:
        """Something may have been outstanding at some time from this cycle on."""
        return self.qpc.qps[qp].tail > self.qpc.retired_before(qp, since)

    def _outs(self, qp: int) -> tuple[int, ...]:
        """OUT0 to OUT7 of QUERY_QP in the present state."""
        return self.qpc.qps[qp].query()

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
        expected = self._outs(qp)
        outs = record.outs
        if (outs[0] >> 8, *outs[3:8]) != (expected[0] >> 8, *expected[3:8]):
            self._refuse(record, f"OUT0, OUT3 to OUT7 {outs}, expected {expected}")
        states = {
            (s & 0xF, s >> 16 & 0xFFFF, s >> 32 & 0xFFFF) for s in qpc.states_since(qp, start)
        }
        seen = (outs[0] & 0xFF, outs[1] & 0xFFFF, outs[1] >> 16)
        history = qpc.history[qp]
        lost = len(history) == history.maxlen and history[0].cycle >= start
        if seen not in states and not lost:
            text = f"state, tail, released {seen}, expected one of {sorted(states)}"
            self._refuse(record, text)
        retired = range(qpc.retired_before(qp, start - LAG), model.retired + 1)
        if outs[2] >> 16 not in map(index, retired):
            self._refuse(record, f"retired {outs[2] >> 16}, expected {[*map(index, retired)]}")
        # One more is offered, and what is skipped may count.
        end = model.tail if model.state is not QpState.CONNECTED else model.released
        last = max(min(model.indicated + 2, end), model.indicated)
        if model.state is not QpState.CONNECTED:
            last = model.tail
        indicated = range(qpc.indicated_before(qp, start), last + 1)
        if outs[2] & 0xFFFF not in map(index, indicated):
            text = f"indicated {outs[2] & 0xFFFF}, expected {[*map(index, indicated)]}"
            self._refuse(record, text)

    def _refuse(self, record: Command, text: str) -> None:
        args = ", ".join(f"{arg:#x}" for arg in record.args)
        name = codes.Command(record.code).name
        self.qpc.fail(record.args[0], f"{name}({args}): {text}")
