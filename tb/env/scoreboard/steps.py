# SPDX-License-Identifier: Apache-2.0
"""The trace port: each step is replayed in the model and compared bit for bit.

A step may contradict the model's settings if a command that changes them is in flight: from some
moment of it on the new ones count. Then the step is judged again with the other settings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from models.arm.arm import CqConfig, CqModel, Entry, Step, moderation_mode
from models.codes import ArmType, Cause, Command, CommandResult, CqStatus, ModelError, TraceOp
from tb.env.harness.records import Trace
from tb.env.scoreboard.base import Context, args_of, look_patience
from tb.env.scoreboard.completions import CompletionChecks
from tb.env.scoreboard.control import ControlChecks
from tb.env.scoreboard.credits import CreditChecks
from tb.env.scoreboard.doorbells import DoorbellChecks
from tb.env.scoreboard.memory import MemoryChecks

_LANE = {
    **dict.fromkeys(range(0x01, 0x05), 1),
    **dict.fromkeys(range(0x10, 0x15), 2),
    **dict.fromkeys(range(0x20, 0x25), 0),
}

#: What other settings can change in a state: everything a callback touches, due and released.
_CALL_BITS = 0x7F0 | 0xFFFF_FFFF << 48 | 0xFFFF << 80

_Redo = Callable[[CqModel], Step]


class StepChecks:
    """Replays the trace port."""

    def __init__(
        self,
        ctx: Context,
        completions: CompletionChecks,
        credits_: CreditChecks,
        doorbells: DoorbellChecks,
        memory: MemoryChecks,
        control: ControlChecks,
    ) -> None:
        self.ctx = ctx
        self.completions = completions
        self.credits = credits_
        self.doorbells = doorbells
        self.memory = memory
        self.control = control
        self.steps = 0
        self.callbacks = 0
        # The step that waits for other settings: record, model before it, outcome so far.
        self._open: tuple[Trace, dict[str, Any], Step] | None = None
        # Entries of the latest PUBLISH that satisfy no standing arm.
        self._quiet: list[bool] = []
        self._by_op: dict[int, Callable[[Trace], None]] = {
            TraceOp.PUBLISH: self._publish,
            TraceOp.CQ_ERROR: self._cq_error,
            TraceOp.EVENT_FAILED: self._event_failed,
            TraceOp.EVENT_DONE: self._event_done,
            TraceOp.DOORBELL: self._doorbell,
            TraceOp.CB_RETURN: self._cb_return,
            TraceOp.MODERATION: self._moderation,
            TraceOp.CREATE: self._control_step,
            TraceOp.DESTROY: self._control_step,
            TraceOp.PLACE: self._producer,
            TraceOp.OVERFLOW: self._producer,
            TraceOp.START: self._producer,
            TraceOp.RESIZE: self._producer,
            TraceOp.STOP: self._producer,
        }

    def trace(self, record: Trace) -> None:
        """One record of the trace port."""
        ctx, cq = self.ctx, record.cq
        handler = self._by_op.get(record.op)
        if handler is None or record.lane != _LANE[record.op]:
            ctx.fail(f"trace: operation {record.op:#x} on lane {record.lane}")
        if cq >= ctx.params.num_cq:
            ctx.fail(f"trace: step of CQ {cq}, which is out of range")
        handler(record)
        self.steps += 1
        self.callbacks += record.event
        ctx.history[cq].append(record)

    # -- lanes 1 and 2 -----------------------------------------------------------------------------

    def _step(self, record: Trace, run: Callable[[], Step], redo: _Redo) -> None:
        """Replays a step; ``redo`` is its part in the model of the CQ alone."""
        ctx, cq = self.ctx, record.cq
        model = ctx.engine.cqs[cq]
        if self._open is None or self._open[0] is not record:
            before = model.__dict__.copy()
            model.now = record.cycle
            try:
                step = run()
            except ModelError as error:
                ctx.fail(str(error), cq, record)
            if step.cause is not Cause.OK:
                ctx.fail(f"accepted, the model refuses it: {step.cause.name}", cq, record)
            if self._agrees(record, step):
                ctx.state[cq] = record.new
                self._after(record)
                return
            difference = (record.new ^ ctx.encode(cq)) & ~_CALL_BITS
            if difference or not before["life"]:
                self._differs(record, step)
            self._open = (record, before, step)
        self._other_settings(record, redo)

    def _agrees(self, record: Trace, step: Step) -> bool:
        if record.new != self.ctx.encode(record.cq):
            return False
        if not step.calls:
            return not record.event and record.event_status == 0
        return record.event and record.event_status == step.calls[0].status

    def _differs(self, record: Trace, step: Step) -> None:
        call = step.calls[0] if step.calls else None
        expected = f"a callback with status {call.status.name}" if call else "no callback"
        self.ctx.fail(f"state or callback differ; the model has {expected}", record.cq, record)

    def _other_settings(self, record: Trace, redo: _Redo) -> None:
        assert self._open is not None
        ctx, cq = self.ctx, record.cq
        _, before, first = self._open
        configs = self._alternatives(cq, before["config"])  # may have to wait
        self._open = None
        model = ctx.engine.cqs[cq]
        for config in configs:
            self._restore(cq, before)
            model.config = config
            model.now = record.cycle
            step = redo(model)
            if self._agrees(record, step):
                eq = ctx.engine.eqs[ctx.engine.info[cq].eq]
                if first.calls:
                    eq.waiting.pop(cq, None)
                for call in step.calls:
                    eq.called(cq, call)
                ctx.state[cq] = record.new
                self._after(record)
                return
        self._restore(cq, before)
        model.now = record.cycle
        self._differs(record, redo(model))

    def _restore(self, cq: int, before: dict[str, Any]) -> None:
        model = self.ctx.engine.cqs[cq]
        model.__dict__.update(before)
        classes = self.ctx.classes[cq]
        model.entries = deque(Entry(i, classes[i]) for i in range(model.cons, model.prod))

    def _alternatives(self, cq: int, config: CqConfig) -> list[CqConfig]:
        ctx = self.ctx
        command = ctx.command_for(cq, Command.MODIFY_CQ, Command.RESIZE_CQ)
        if command is None or command.result != CommandResult.OK:
            return []
        args = args_of(command)
        if command.code == Command.MODIFY_CQ:
            return [replace(args.config, entries=config.entries)]
        sizes = {args.log2, ctx.old_log2.get(cq, args.log2)}
        return [replace(config, entries=1 << log2) for log2 in sizes]

    def _check_old(self, record: Trace) -> bool:
        """False if the step was looked at before."""
        if self._open is not None and self._open[0] is record:
            return False
        if record.old != self.ctx.state[record.cq]:
            self.ctx.fail("state before the step differs from the model", record.cq, record)
        return True

    def _after(self, record: Trace) -> None:
        """Other checks look at the new state."""
        cq = record.cq
        model = self.ctx.engine.cqs[cq]
        if not model.publishing:
            self.memory.answers[cq].clear()
        self.doorbells.changed(cq)
        self.credits.changed(cq)

    def _publish(self, record: Trace) -> None:
        ctx, cq = self.ctx, record.cq
        model = ctx.engine.cqs[cq]
        count = record.operand & 3
        if self._check_old(record):
            if not 1 <= count <= 2 or not model.publishing:
                ctx.fail(f"PUBLISH of {count} entries in this state", cq, record)
            self.memory.take(record, True, count)
            first = model.prod
            classes = ctx.classes[cq][first : first + count]
            placed = ctx.engine.producers[cq].placed
            self._quiet = quiet = [
                i in placed and placed[i].unsignalled for i in range(first, first + count)
            ]
            expected = count | sum(
                solicited << 2 + i | unsignalled << 4 + i
                for i, (solicited, unsignalled) in enumerate(zip(classes, quiet, strict=False))
            )
            if record.operand != expected:
                ctx.fail(f"operand {record.operand:#x}, expected {expected:#x}", cq, record)
            for i, solicited in enumerate(classes):
                if solicited:
                    ctx.solicited[cq] = first + i + 1
        classes, quiet = ctx.classes[cq], self._quiet
        self._step(
            record,
            lambda: ctx.engine.publish(cq, count),
            lambda m: m.publish(classes[m.prod : m.prod + count], quiet),
        )

    def _cq_error(self, record: Trace) -> None:
        ctx, cq = self.ctx, record.cq
        status, failed = record.operand & 3, record.operand >> 2
        if self._check_old(record):
            if status == CqStatus.BUFFER_OVERFLOW and not failed:
                self.completions.overflow_told(record)
            elif status == CqStatus.INTERNAL_ERROR and 1 <= failed <= 2:
                self.memory.take(record, False, failed)
            else:
                ctx.fail(f"CQ_ERROR with operand {record.operand:#x}", cq, record)
        kind = CqStatus(status)
        self._step(
            record,
            lambda: ctx.engine.cq_error(cq, kind, failed),
            lambda m: m.cq_error(kind),
        )
        self._in_error(record)

    def _event_failed(self, record: Trace) -> None:
        ctx, cq = self.ctx, record.cq
        self._check_old(record)
        if record.operand > 1:
            ctx.fail(f"EVENT_FAILED with operand {record.operand:#x}", cq, record)
        final = bool(record.operand)
        self._step(
            record,
            lambda: ctx.engine.event_failed(cq, final),
            lambda m: m.event_failed(final),
        )
        self._in_error(record)

    def _in_error(self, record: Trace) -> None:
        if self.ctx.failed_at[record.cq] < 0:
            self.ctx.failed_at[record.cq] = record.cycle
        self.completions.changed(record.cq)

    def _event_done(self, record: Trace) -> None:
        self._check_old(record)
        if record.operand:
            self.ctx.fail(f"EVENT_DONE with operand {record.operand:#x}", record.cq, record)
        self._step(record, lambda: self.ctx.engine.event_done(record.cq), lambda m: m.event_done())

    def _doorbell(self, record: Trace) -> None:
        ctx, cq, operand = self.ctx, record.cq, record.operand
        armed, kind = operand >> 16 & 1, operand >> 17
        if self._check_old(record):
            if kind > max(ArmType) or (kind and not armed):
                ctx.fail(f"DOORBELL with operand {operand:#x}", cq, record)
            self.doorbells.step(record)
        index = operand & 0xFFFF
        arm = ArmType(kind) if armed else None
        self._step(
            record,
            lambda: ctx.engine.doorbell(cq, index, arm),
            lambda m: m.doorbell(index, arm),
        )
        self.doorbells.after_step()

    def _cb_return(self, record: Trace) -> None:
        ctx, cq = self.ctx, record.cq
        if self._check_old(record):
            self.doorbells.step(record)
        self._step(record, lambda: ctx.engine.cb_return(cq), lambda m: m.callback_return())
        self.doorbells.after_step()

    def _moderation(self, record: Trace) -> None:
        ctx, cq = self.ctx, record.cq
        self._check_old(record)
        if record.operand or record.old == record.new:
            ctx.fail("MODERATION that changes nothing, or with an operand", cq, record)
        self._check_interval(record)
        self._step(record, lambda: ctx.engine.moderation(cq), lambda m: m.moderation())

    def _check_interval(self, record: Trace) -> None:
        """The look came in time after the end of the interval (CQ-21), whatever doorbells and
        completions came meanwhile; a setting that was changed counts from its answer on.
        """
        ctx = self.ctx
        q = ctx.engine.cqs[record.cq]
        config = q.config
        mode = moderation_mode(config.mod_count, config.mod_interval, config.entries)
        if mode is None or not mode.interval or not q.due:
            return
        queues = sum(producer.exists for producer in ctx.engine.producers)
        # Intervals end with a unit.
        over = max(q.due_time + (config.mod_interval + 2) * q.mod_tick, ctx.last_command)
        if record.cycle > over + look_patience(ctx.params.num_cq, queues):
            waited = record.cycle - q.due_time
            ctx.fail(f"moderated callback waits {waited} cycles, interval over", record.cq, record)

    # -- control, lane 0 ---------------------------------------------------------------------------

    def _control_step(self, record: Trace) -> None:
        ctx, cq = self.ctx, record.cq
        self._check_old(record)
        if record.event or record.event_status:
            ctx.fail("callback in a step of control", cq, record)
        if record.op == TraceOp.CREATE:
            self.control.create(record)
        else:
            self.control.destroy(record)
        if record.new != ctx.encode(cq):
            ctx.fail("state after the step differs from the model", cq, record)
        ctx.state[cq] = record.new
        self._after(record)
        self.completions.changed(cq)

    def _producer(self, record: Trace) -> None:
        ctx, cq, op = self.ctx, record.cq, record.op
        if record.event or record.event_status:
            ctx.fail("callback on lane 0", cq, record)
        if op in (TraceOp.START, TraceOp.RESIZE, TraceOp.STOP):
            self.control.expect(record)
        before = ctx.producer_state(cq)
        if op == TraceOp.START and cq not in self.completions.not_started:
            before = 0
        if record.old != before:
            ctx.fail("state before the step differs from the model", cq, record)
        if op == TraceOp.PLACE:
            self.completions.place(record)
        elif op == TraceOp.OVERFLOW:
            self.completions.overflow(record)
        else:
            self.control.producer(record)
        difference = record.new ^ ctx.producer_state(cq)
        if difference:
            ctx.fail("state after the step differs from the model", cq, record)
        self.credits.changed(cq)
        if op != TraceOp.PLACE:
            self.completions.changed(cq)
