# SPDX-License-Identifier: Apache-2.0
"""Trace steps of CQs (CQ-06 to CQ-14, CQ-16 to CQ-18, CQ-20 to CQ-22), replayed in the model.

A step may contradict the model's settings if a command that changes them is in flight: from some
moment of it on the new ones count. Then the step is judged again with the other settings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from models import codes
from models.arm.arm import CqConfig, CqModel, Entry, Step, moderation_mode
from models.codes import ArmType, Cause, CommandResult, CqStatus, TraceOp
from tb.env.defs import STATE, TRC_CQ_ERROR, TRC_DOORBELL, TRC_PUBLISH
from tb.env.harness.records import Trace
from tb.env.scoreboard.context import Check, Context, Left, args_of, look_patience
from tb.env.scoreboard.cq.commands import CqCommands
from tb.env.scoreboard.cq.credits import Credits
from tb.env.scoreboard.cq.entries import CompletionChecks
from tb.env.scoreboard.explain import Difference, differences, name_of, rule_of
from tb.env.scoreboard.host.doorbells import DoorbellChecks
from tb.env.scoreboard.host.memory import MemoryChecks

#: What other settings can change in a state: everything a callback touches, due and released.
_OTHERS = ("life", "status", "prod", "cons")
_CALL_BITS = sum(field.mask for field in STATE.fields.values() if field.name not in _OTHERS)

#: Steps of lane 0 that only a command makes.
_COMMANDED = frozenset({TraceOp.START, TraceOp.RESIZE, TraceOp.STOP})

_LAST_ARM = max(ArmType)

_Redo = Callable[[CqModel], Step]


class StepChecks(Check):
    """Replays lanes 0 to 2 of the trace port."""

    rules = "CQ-06, CQ-11"

    def __init__(
        self,
        ctx: Context,
        completions: CompletionChecks,
        credits_: Credits,
        doorbells: DoorbellChecks,
        memory: MemoryChecks,
        control: CqCommands,
    ) -> None:
        super().__init__(ctx)
        self.completions = completions
        self.credits = credits_
        self.doorbells = doorbells
        self.memory = memory
        self.control = control
        self.callbacks = 0
        # The step that waits for other settings: record, model before it, outcome so far.
        self._open: tuple[Trace, CqModel, Step] | None = None
        self._before = CqModel()
        # Entries of the latest PUBLISH that satisfy no standing arm.
        self._quiet: list[bool] = []

    # -- lanes 1 and 2 -----------------------------------------------------------------------------

    def _step(
        self, record: Trace, run: Callable[..., Step], arguments: tuple[Any, ...], redo: _Redo
    ) -> None:
        """Replays a step; ``redo`` is its part in the model of the CQ alone."""
        ctx, cq = self.ctx, record.cq
        model = ctx.engine.cqs[cq]
        if self._open is None or self._open[0] is not record:
            before = self._before
            before.assign(model)
            model.now = record.cycle
            step = run(cq, *arguments)
            if step.cause is not Cause.OK:
                self.fail(f"accepted, the model refuses it: {step.cause.name}")
            if self._agrees(record, step):
                self._after(record)
                return
            difference = (record.new ^ ctx.encode(cq)) & ~_CALL_BITS
            if difference or not before.life:
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
        """Tells each field in which the step and the model differ. A callback that only one of them
        makes comes first: fields follow from it.
        """
        ctx = self.ctx
        call = step.calls[0] if step.calls else None
        want = f"status {call.status.name}" if call else "none"
        got = f"status {name_of(CqStatus, record.event_status)}" if record.event else "none"
        found = differences(record.lane, record.new, ctx.encode(record.cq))
        if got != want or not found:
            found.insert(0, Difference("callback", got, want))
        expected = f"a callback with status {call.status.name}" if call else "no callback"
        self.fail(
            f"state or callback differ; the model has {expected}",
            diff=found[0],
            rule=rule_of(found[0].field, record.op),
            more=[f"  {one} ({rule_of(one.field, record.op)})" for one in found[1:]],
        )

    def _other_settings(self, record: Trace, redo: _Redo) -> None:
        assert self._open is not None
        ctx, cq = self.ctx, record.cq
        _, before, first = self._open
        configs = self._alternatives(cq, before.config)  # may have to wait
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
                self._after(record)
                return
        self._restore(cq, before)
        model.now = record.cycle
        self._differs(record, redo(model))

    def _restore(self, cq: int, before: CqModel) -> None:
        model = self.ctx.engine.cqs[cq]
        model.assign(before)
        classes = self.ctx.classes[cq]
        model.entries = deque(Entry(i, classes[i]) for i in range(model.cons, model.prod))

    def _alternatives(self, cq: int, config: CqConfig) -> list[CqConfig]:
        ctx = self.ctx
        command = ctx.command_for(cq, codes.Command.MODIFY_CQ, codes.Command.RESIZE_CQ)
        if command is None or command.result != CommandResult.OK:
            return []
        args = args_of(command)
        if command.code == codes.Command.MODIFY_CQ:
            return [replace(args.config, entries=config.entries)]
        sizes = {args.log2, ctx.old_log2.get(cq, args.log2)}
        return [replace(config, entries=1 << log2) for log2 in sizes]

    def _check_old(self, record: Trace) -> bool:
        """False if the step was looked at before."""
        if self._open is not None and self._open[0] is record:
            return False
        self.ctx.compare("before", record, self.ctx.state[record.cq])
        return True

    def _after(self, record: Trace) -> None:
        """The step is right: it is remembered, and other checks look at the new state."""
        ctx, cq = self.ctx, record.cq
        ctx.state[cq] = record.new
        ctx.history[cq].append(record)
        self.callbacks += record.event
        if not ctx.engine.cqs[cq].publishing:
            self.memory.answers[cq].clear()
        self.doorbells.changed(cq)
        self.credits.changed(cq)

    def publish(self, record: Trace) -> None:
        """PUBLISH."""
        ctx, cq = self.ctx, record.cq
        model = ctx.engine.cqs[cq]
        count = TRC_PUBLISH["count"].get(record.operand)
        if self._check_old(record):
            if not 1 <= count <= 2 or not model.publishing:
                self.fail(f"PUBLISH of {count} entries in this state")
            self.memory.take(record, True, count)
            first = model.prod
            placed = ctx.engine.producers[cq].placed
            self._quiet = quiet = [
                i in placed and placed[i].unsignalled for i in range(first, first + count)
            ]
            expected = TRC_PUBLISH.pack(count=count)
            for i, solicited in enumerate(ctx.classes[cq][first : first + count]):
                expected |= TRC_PUBLISH.pack(solicited=solicited << i, unsignalled=quiet[i] << i)
                if solicited:
                    ctx.solicited[cq] = first + i + 1
            if record.operand != expected:
                self.fail(f"operand {record.operand:#x}, expected {expected:#x}")
        classes, quiet = ctx.classes[cq], self._quiet
        self._step(
            record,
            ctx.engine.publish,
            (count,),
            lambda m: m.publish(classes[m.prod : m.prod + count], quiet),
        )

    def cq_error(self, record: Trace) -> None:
        """CQ_ERROR."""
        ctx = self.ctx
        status = TRC_CQ_ERROR["status"].get(record.operand)
        failed = record.operand >> TRC_CQ_ERROR["count"].lsb
        if self._check_old(record):
            if status == CqStatus.BUFFER_OVERFLOW and not failed:
                self.completions.overflow_told(record)
            elif status == CqStatus.INTERNAL_ERROR and 1 <= failed <= 2:
                self.memory.take(record, False, failed)
            else:
                self.fail(f"CQ_ERROR with operand {record.operand:#x}")
        kind = CqStatus(status)
        self._step(record, ctx.engine.cq_error, (kind, failed), lambda m: m.cq_error(kind))
        self._in_error(record)

    def event_failed(self, record: Trace) -> None:
        """EVENT_FAILED."""
        self._check_old(record)
        final = bool(record.operand)
        self._step(record, self.ctx.engine.event_failed, (final,), lambda m: m.event_failed(final))
        self._in_error(record)

    def _in_error(self, record: Trace) -> None:
        if self.ctx.failed_at[record.cq] < 0:
            self.ctx.failed_at[record.cq] = record.cycle
        self.completions.changed(record.cq)

    def event_done(self, record: Trace) -> None:
        """EVENT_DONE."""
        self._check_old(record)
        self._step(record, self.ctx.engine.event_done, (), lambda m: m.event_done())

    def doorbell(self, record: Trace) -> None:
        """DOORBELL."""
        ctx, operand = self.ctx, record.operand
        armed, kind = TRC_DOORBELL["arm"].get(operand), operand >> TRC_DOORBELL["arm_type"].lsb
        if self._check_old(record):
            if kind > _LAST_ARM or (kind and not armed):
                self.fail(f"DOORBELL with operand {operand:#x}")
            self.doorbells.step(record)
        index = TRC_DOORBELL["index"].get(operand)
        arm = ArmType(kind) if armed else None
        self._step(record, ctx.engine.doorbell, (index, arm), lambda m: m.doorbell(index, arm))
        self.doorbells.after_step()

    def cb_return(self, record: Trace) -> None:
        """CB_RETURN."""
        if self._check_old(record):
            self.doorbells.step(record)
        self._step(record, self.ctx.engine.cb_return, (), lambda m: m.callback_return())
        self.doorbells.after_step()

    def moderation(self, record: Trace) -> None:
        """MODERATION."""
        self._check_old(record)
        if record.old == record.new:
            self.fail("MODERATION that changes nothing")
        self._check_interval(record)
        self._step(record, self.ctx.engine.moderation, (), lambda m: m.moderation())

    def _check_interval(self, record: Trace) -> None:
        """The look came in time after the end of the interval (CQ-21), whatever doorbells and
        completions came meanwhile; a setting that was changed counts from its answer on.
        """
        ctx = self.ctx
        q = ctx.engine.cqs[record.cq]
        mode = moderation_mode(q.config.mod_count, q.config.mod_interval, q.config.entries)
        if mode is None or not mode.interval or not q.due:
            return
        queues = sum(producer.exists for producer in ctx.engine.producers)
        over = max(_interval_over(q), ctx.last_command)
        if record.cycle > over + look_patience(ctx.params.num_cq, queues):
            waited = record.cycle - q.due_time
            self.fail(f"moderated callback waits {waited} cycles, interval over")

    # -- control, lane 0 ---------------------------------------------------------------------------

    def control_step(self, record: Trace) -> None:
        """CREATE, DESTROY."""
        ctx, cq = self.ctx, record.cq
        self._check_old(record)
        if record.op == TraceOp.CREATE:
            self.control.create(record)
        else:
            self.control.destroy(record)
        ctx.compare("after", record, ctx.encode(cq))
        self._after(record)
        self.completions.changed(cq)

    def producer(self, record: Trace) -> None:
        """All of lane 0."""
        ctx, cq, op = self.ctx, record.cq, record.op
        before = ctx.producer_state(cq)
        command = self.control.expect(record) if op in _COMMANDED else None
        if op == TraceOp.START and cq not in self.completions.not_started:
            before = 0
        ctx.compare("before", record, before)
        if command is not None:
            self.control.producer(record, command)
        elif op == TraceOp.PLACE:
            self.completions.place(record)
        else:
            self.completions.overflow(record)
        ctx.compare("after", record, ctx.producer_state(cq))
        self.credits.changed(cq)
        if command is not None:
            self.completions.changed(cq)
        ctx.history[cq].append(record)

    # -- the end -----------------------------------------------------------------------------------

    def left(self) -> Iterator[Left]:
        """Callbacks that are due and that nothing delays."""
        ctx, now = self.ctx, self.ctx.cycle
        for cq, q in enumerate(ctx.engine.cqs):
            if not q.due or q.busy or not self._ripe(cq, now):
                continue
            history = ctx.history[cq]
            latest = max(history[-1].cycle if history else 0, ctx.last_command)
            if now - latest > self._patience():
                yield Left("", q.due_time, "callback due since cycle", cq)

    def grace(self, now: int) -> int:
        """Cycles that the engine still has for callbacks that moderation no longer delays."""
        cqs = self.ctx.engine.cqs
        ripe = [cq for cq, q in enumerate(cqs) if q.due and not q.busy and self._ripe(cq, now)]
        return self._patience() if ripe else 0

    def _patience(self) -> int:
        """The bound that docs/interfaces.md gives for the look at a callback that waits."""
        waiting = sum(q.due and not q.released for q in self.ctx.engine.cqs)
        return look_patience(self.ctx.params.num_cq, waiting)

    def _ripe(self, cq: int, now: int) -> bool:
        """Nothing but the engine's look delays the callback."""
        q = self.ctx.engine.cqs[cq]
        mode = moderation_mode(q.config.mod_count, q.config.mod_interval, q.config.entries)
        if mode is None or q.released or not (mode.count or mode.interval) or q.count_reached:
            return True
        return mode.interval and now > _interval_over(q)


def _interval_over(q: CqModel) -> int:
    """When the interval of a callback is over for certain: intervals end with a unit."""
    return q.due_time + (q.config.mod_interval + 2) * q.mod_tick
