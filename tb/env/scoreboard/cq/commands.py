# SPDX-License-Identifier: Apache-2.0
"""Mailbox commands: results, outputs, and the steps that they leave on the trace port.

The record of a command comes at its end, after its steps; a step waits for it. Results that depend
on traffic (queries, CMD_CQ_ERROR, CMD_TOO_SMALL, CMD_PENDING) must be right in a state that the
object had while the command ran, all others in the one state there is.
"""

from __future__ import annotations

from collections.abc import Callable

from models import codes
from models.codes import CQ_COMMANDS, CommandResult, CqStatus, Life, TraceOp
from models.host.control import check_command
from models.layouts import CQE_BYTES
from models.trace import QUERIED, queried
from tb.env.defs import STATE, TRC_CREATE
from tb.env.harness.records import Command, Trace
from tb.env.scoreboard.context import Context, Object, args_of
from tb.env.scoreboard.cq.credits import Credits
from tb.env.scoreboard.cq.entries import CompletionChecks
from tb.env.scoreboard.explain import coded
from tb.env.scoreboard.host.commands import CommandCheck
from tb.env.scoreboard.host.doorbells import DoorbellChecks
from tb.env.scoreboard.host.memory import MemoryChecks

OK, PENDING = CommandResult.OK, CommandResult.CMD_PENDING
TOO_SMALL, IN_ERROR = CommandResult.CMD_TOO_SMALL, CommandResult.CMD_CQ_ERROR

_COMMAND_OF = {
    TraceOp.CREATE: codes.Command.CREATE_CQ,
    TraceOp.START: codes.Command.CREATE_CQ,
    TraceOp.RESIZE: codes.Command.RESIZE_CQ,
    TraceOp.STOP: codes.Command.DESTROY_CQ,
    TraceOp.DESTROY: codes.Command.DESTROY_CQ,
}


class CqCommands(CommandCheck):
    """Commands on completion queues and event queues, and their steps. Unknown codes are theirs,
    too.
    """

    rules = "CQ-19, CQ-20, ISO-02"

    def __init__(
        self,
        ctx: Context,
        completions: CompletionChecks,
        credits_: Credits,
        doorbells: DoorbellChecks,
        memory: MemoryChecks,
        used: Callable[[int], bool],
    ) -> None:
        """``used``: tells whether a queue pair names a CQ."""
        super().__init__(ctx, _objects)
        self.completions = completions
        self.credits = credits_
        self.doorbells = doorbells
        self.memory = memory
        self.used = used

    # -- steps -------------------------------------------------------------------------------------

    def expect(self, record: Trace) -> Command:
        """The command that a step belongs to; it has at most one step of each kind."""
        code = _COMMAND_OF[TraceOp(record.op)]
        command = self.ctx.step_of(record, self.seen, code, results=(OK, PENDING))
        if command.code == codes.Command.DESTROY_CQ and self.used(record.cq):
            self.fail("destroyed, although a QP names it")
        return command

    def create(self, record: Trace) -> None:
        """CREATE: the arm state of a new CQ. The producer's side may come before or after it."""
        ctx, cq = self.ctx, record.cq
        command = self.expect(record)
        started = any(step.op == TraceOp.START for step in self.seen)
        if not started:
            self._begin(command, cq)
            self.completions.not_started.add(cq)
        args = args_of(command)
        config = args.config
        if record.operand != TRC_CREATE.pack(typed=config.typed, rearm=config.rearm):
            self.fail(f"CREATE with operand {record.operand:#x}")
        ctx.engine.create(cq, config, args.page, args.eq)

    def _begin(self, command: Command, cq: int) -> None:
        ctx, args = self.ctx, args_of(command)
        self.must_pass(check_command(command.code, args, ctx.engine))
        ctx.engine.start(cq, args.ring(CQE_BYTES), args.reservation)
        ctx.classes[cq] = []
        ctx.solicited[cq] = 0
        ctx.failed_at[cq] = -1
        self.completions.overflows[cq] = 0
        self.credits.created(cq)
        self.doorbells.created(cq)
        self.memory.created(cq)

    def producer(self, record: Trace, command: Command) -> None:
        """START, RESIZE, STOP: the producer's side."""
        ctx, cq, args = self.ctx, record.cq, args_of(command)
        if record.op == TraceOp.RESIZE:
            self.must_pass(check_command(command.code, args, ctx.engine))
            ctx.old_log2[cq] = ctx.engine.producers[cq].ring.log2
            switch = ctx.engine.resize(cq, args.ring(CQE_BYTES))
            if record.operand != ctx.params.index(switch):
                self.fail(f"RESIZE at {record.operand}, expected {switch}")
        elif record.op == TraceOp.STOP:
            ctx.engine.stop(cq)
            self.completions.stop(cq)
        elif cq in self.completions.not_started:
            self.completions.not_started.discard(cq)
        else:
            self._begin(command, cq)

    def destroy(self, record: Trace) -> None:
        """DESTROY: the arm state of a CQ that goes."""
        ctx, cq = self.ctx, record.cq
        engine = ctx.engine
        command = self.expect(record)
        if not engine.producers[cq].stopped:
            self.fail("DESTROY of a CQ whose producer's side was not stopped")
        freed = record.operand == 1
        if (command.result == OK) is not freed:
            self.fail(f"operand {record.operand:#x}, result {command.result:#x}")
        if not freed and self.memory.answered_at[cq] >= ctx.window_start(command):
            # The latest answers came while the command ran: the engine may not know them yet.
            engine.cqs[cq].destroy(idle=False)
            engine.info[cq].answers.clear()
        else:
            engine.destroy(cq)
        if (engine.cqs[cq].life is Life.FREE) is not freed:
            self.fail(f"freed: {freed}, the model says otherwise")
        if freed:
            ctx.solicited[cq] = 0

    # -- commands ----------------------------------------------------------------------------------

    def command(self, record: Command) -> None:
        ctx = self.ctx
        args = args_of(record)
        code = codes.Command(record.code) if record.code in codes.CQ_COMMANDS else None
        steps = {step.op for step in self.seen}
        self._check_steps(record, code, steps)
        if not steps:
            self._check_result(record, check_command(record.code, args, ctx.engine))
        if record.result == OK and code is not None:
            self._effect(record, code)

    def _check_steps(self, record: Command, code: codes.Command | None, steps: set[int]) -> None:
        """The steps that a command must have left."""
        must: set[int] = set()
        may: set[int] = set()
        if record.result == OK and code is codes.Command.CREATE_CQ:
            must = may = {TraceOp.CREATE, TraceOp.START}
        elif record.result == OK and code is codes.Command.RESIZE_CQ:
            must = may = {TraceOp.RESIZE}
        elif record.result in (OK, PENDING) and code is codes.Command.DESTROY_CQ:
            must, may = {TraceOp.DESTROY}, {TraceOp.DESTROY, TraceOp.STOP}
        if not must <= steps <= may:
            left, right = (sorted(TraceOp(op).name for op in ops) for ops in (steps, must))
            self.wrong(record, f"left the steps {left}, expected {right}")

    def _check_result(self, record: Command, expected: CommandResult) -> None:
        result = record.result
        if record.code == codes.Command.DESTROY_CQ and expected in (OK, PENDING):
            expected = CommandResult.CMD_IN_USE if self.used(record.args[0]) else expected
        moving = (OK, TOO_SMALL, IN_ERROR)
        if record.code == codes.Command.RESIZE_CQ and expected in moving and result in moving:
            if self._refusal_right(record):
                return
        elif result == expected:
            return
        diff = coded("result", CommandResult, result, expected)
        self.wrong(record, f"answered {result:#x}, expected {expected!r}", diff)

    def _refusal_right(self, record: Command) -> bool:
        """Was there a moment for this refusal of a resize while the command ran?"""
        ctx, cq = self.ctx, record.args[0]
        start = ctx.window_start(record)
        engine = ctx.engine
        q, producer = engine.cqs[cq], engine.producers[cq]
        if record.result == IN_ERROR:
            return q.status is not CqStatus.OK or producer.refuses
        if record.result != TOO_SMALL or 0 <= ctx.failed_at[cq] < start:
            return False
        oldest = ctx.params.index(q.cons)
        for step in ctx.history[cq]:
            if step.lane and step.cycle >= start:
                oldest = STATE["cons"].get(step.old)
                break
        consumed = ctx.params.index(q.cons - oldest)
        # Silent completions give credits back, so that there may have been more of them.
        demand = max(alloc + held for alloc, held in self.credits.since(cq, start))
        most = demand - q.cons + consumed
        return most + self.credits.in_flight(cq) > 1 << args_of(record).log2

    def _effect(self, record: Command, code: codes.Command) -> None:
        """What a successful command changes without a step, and what it tells."""
        ctx, args, number = self.ctx, args_of(record), record.args[0]
        if code is codes.Command.QUERY_CQ:
            self._query_cq(record, number)
        elif code is codes.Command.QUERY_EQ:
            self._query_eq(record, number)
        elif code is codes.Command.RESIZE_EQ:
            model = ctx.engine.eqs[number]
            if model.leaving:
                self.wrong(record, f"answered; CQs {model.leaving} write to the old ring")
            at = model.prod + (record.outs[0] - model.prod) % (1 << ctx.params.idx_w)
            if at - model.prod <= len(model.waiting):
                self.memory.switch_at(number, at, args.ring(0).base, args.log2)
            elif (model.ring.base, model.ring.log2) != (args.ring(0).base, args.log2):
                self.wrong(record, f"switch index {record.outs[0]}, {model.prod} entries so far")
            elif ctx.params.index(model.ring.origin) != record.outs[0]:
                self.wrong(record, f"switch index {record.outs[0]}, was {model.ring.origin}")
        elif code is codes.Command.RESIZE_CQ:
            ring = ctx.engine.producers[number].ring
            if record.outs[0] != ctx.params.index(ring.origin):
                self.wrong(record, f"switch index {record.outs[0]}, was {ring.origin}")
            ctx.engine.cqs[number].resize(ring.entries)
        elif code is codes.Command.MODIFY_CQ:
            ctx.engine.modify(number, args.config)
        elif code not in (codes.Command.CREATE_CQ, codes.Command.DESTROY_CQ):
            ctx.engine.command(code, args)
            if code in (codes.Command.CREATE_EQ, codes.Command.MODIFY_EQ):
                self.memory.modified(number)
            if code is codes.Command.CREATE_EQ:
                self.memory.prods[number].clear()

    # -- queries -----------------------------------------------------------------------------------

    def _query_cq(self, record: Command, cq: int) -> None:
        ctx = self.ctx
        start = ctx.window_start(record)
        expected = list(ctx.engine.query_cq(cq))
        outs = list(record.outs[:6])
        states, history = [ctx.state[cq]], ctx.history[cq]
        for step in history:
            if step.lane and step.cycle >= start:
                states += (step.old, step.new)
        # A full history that begins within the window tells nothing of what was before.
        seen = [outs[0] & QUERIED, outs[1], outs[2]]
        if not any(
            seen == [queried(s), STATE["prod"].get(s), STATE["cons"].get(s)] for s in states
        ) and not (len(history) == history.maxlen and history[0].cycle >= start):
            self.wrong(record, f"OUT0 to OUT2 {outs[:3]}, expected {expected[:3]}")
        pairs = self.credits.since(cq, start)
        log = self.credits.log[cq]
        extra = self.credits.in_flight(cq)
        if not any(
            outs[3] == ctx.params.index(alloc) and held <= outs[4] <= held + extra
            for alloc, held in pairs
        ) and not (len(log) == log.maxlen and log[0][0] >= start):
            self.wrong(record, f"OUT3, OUT4 {outs[3:5]}, expected {expected[3:5]}")
        if [outs[0] & ~QUERIED, outs[5]] != [expected[0] & ~QUERIED, expected[5]]:
            self.wrong(record, f"OUT0, OUT5 {outs}, expected {expected[:6]}")

    def _query_eq(self, record: Command, eq: int) -> None:
        ctx = self.ctx
        start = ctx.window_start(record)
        model = ctx.engine.eqs[eq]
        expected = ctx.engine.query_eq(eq)
        prods = [model.prod + i for i in range(len(model.waiting) + 1)]
        prods += [prod for cycle, prod in self.memory.prods[eq] if cycle >= start]
        index = ctx.params.index
        if record.outs[1] not in map(index, prods) or (
            record.outs[0],
            record.outs[2],
            record.outs[3],
        ) != (expected[0], expected[2], expected[3]):
            self.wrong(record, f"OUT0 to OUT3 {record.outs[:4]}, expected {expected[:4]}")


def _objects(record: Command) -> list[Object]:
    of_eq = record.code in CQ_COMMANDS and record.code < codes.Command.CREATE_CQ
    return [("EQ" if of_eq else "CQ", record.args[0])] if record.code in CQ_COMMANDS else []
