# SPDX-License-Identifier: Apache-2.0
"""Mailbox commands of receiving: shared receive queues, memory regions, and the receive side of
queue pairs (SRQ-15 to SRQ-17, ISO-02).

Commands on regions and DESTROY_SRQ leave no step; the others have at most one. Results that depend
on traffic must be right in a state that the object had while the command ran.
"""

from __future__ import annotations

from enum import IntEnum

from models import codes
from models.codes import RECEIVE_COMMANDS, CommandResult, ModelError, TraceOp
from models.host.control import Args
from models.post.qp import QpModel
from models.receive.receive_control import (
    check_create_qp,
    check_srq,
    decode_receive,
    receive_config_of,
    region_config_of,
    srq_config_of,
)
from tb.env.harness.records import Command, Trace
from tb.env.scoreboard.base import Context, args_of
from tb.env.scoreboard.completions import CompletionChecks
from tb.env.scoreboard.memory import MemoryChecks
from tb.env.scoreboard.qp_context import LAG
from tb.env.scoreboard.qp_control import QpControlChecks
from tb.env.scoreboard.receive_context import ReceiveContext, SrqView
from tb.env.scoreboard.receive_credits import ReceiveCredits
from tb.env.scoreboard.receive_post import ReceivePostChecks
from tb.env.scoreboard.receive_qp import ReceiveQpChecks
from tb.env.scoreboard.take import TakeChecks

_CODES = frozenset(RECEIVE_COMMANDS)
_TAIL = 0xFFFF << 32
_OF_QP = 0xFFFF | 0xFFFF << 48


class ReceiveControlChecks(QpControlChecks):
    """All commands of an engine that receives."""

    def __init__(
        self,
        ctx: Context,
        completions: CompletionChecks,
        credits_: ReceiveCredits,
        posts: ReceivePostChecks,
        memory: MemoryChecks,
        rc: ReceiveContext,
        qps: ReceiveQpChecks,
        takes: TakeChecks,
    ) -> None:
        super().__init__(ctx, completions, credits_, posts, memory, rc.qpc, qps)
        self.rc = rc
        self.posts = posts
        self.takes = takes
        #: Steps of lanes 5 and 6 of the command in flight.
        self.steps: list[Trace] = []

    # -- steps -------------------------------------------------------------------------------------

    def _step_of(self, record: Trace, shared: bool, *codes: int) -> Command:
        """The command of a step; it has one at most."""
        command = self.qpc.command_for(record.cq, *codes)  # may have to wait
        if command is None or command.result or self.steps:
            why = "no command" if command is None else f"its command answered {command.result:#x}"
            why = "one more step of one command" if self.steps else why
            self.rc.fail_step(f"{TraceOp(record.op).name}: {why}", record, shared)
        self.steps.append(record)
        return command

    def size_step(self, record: Trace) -> None:
        """RECV_SIZE."""
        rc, operand = self.rc, record.operand
        if operand == 0x001:
            command = self._step_of(record, False, codes.Command.CREATE_QP)
            self._size_qp(record, args_of(command))
        elif operand == 0x101:
            command = self._step_of(record, True, codes.Command.CREATE_SRQ)
            self._create_srq(record, args_of(command))
        elif operand == 0x100:
            command = self._step_of(record, True, codes.Command.RESIZE_SRQ)
            self._resize_srq(record, args_of(command))
        else:
            rc.fail_step(f"RECV_SIZE with operand {operand:#x}", record, bool(operand >> 8 & 1))

    def _size_qp(self, record: Trace, args: Args) -> None:
        """The receive side of CREATE_QP; its other step may come before or behind it."""
        rc, qp = self.rc, record.cq
        config = receive_config_of(args)
        rq = rc.rqs[qp]
        if config.srq is not None and config.srq >= len(rc.srqs):
            rc.fail_step(f"created, the model refuses it: there is no SRQ {config.srq}", record)
        try:
            rq.create(config, None if config.srq is None else rc.srqs[config.srq])
        except ModelError as error:
            rc.fail_step(f"created, the model refuses it: {error}", record)
        if record.new != rq.trace_state(6):
            rc.fail_step("state after the step differs from the model", record)
        rc.history[qp].append(record)

    def _create_srq(self, record: Trace, args: Args) -> None:
        rc, number = self.rc, record.cq
        srq = rc.srqs[number]
        self._must_pass(codes.Command.CREATE_SRQ, args, record)
        start = record.new & 0xFFFF
        try:
            srq.create(srq_config_of(args), start)
        except ModelError as error:
            rc.fail_step(str(error), record, True)
        rc.completions[number].clear()
        self._sized(record)

    def _resize_srq(self, record: Trace, args: Args) -> None:
        rc, number = self.rc, record.cq
        srq = rc.srqs[number]
        srq.reaped_seen = srq.reaped
        if record.old != srq.trace_state(6):
            rc.fail_step("state before the step differs from the model", record, True)
        self._must_pass(codes.Command.RESIZE_SRQ, args, record)
        srq.resize(args.words[1])
        self._sized(record)

    def _must_pass(self, code: int, args: Args, record: Trace) -> None:
        result = self._expected(code, args)
        if result is not CommandResult.OK:
            self.rc.fail_step(f"executed, the model refuses it: {result.name}", record, True)

    def _sized(self, record: Trace) -> None:
        rc, number = self.rc, record.cq
        if record.new != rc.srqs[number].trace_state(6):
            rc.fail_step("state after the step differs from the model", record, True)
        rc.shared[number].append(record)
        rc.note(number)
        self.posts.changed_srq(number)

    def watermark_step(self, record: Trace) -> None:
        """WATERMARK."""
        rc, number, operand = self.rc, record.cq, record.operand
        srq = rc.srqs[number]
        command = self._step_of(record, True, codes.Command.SET_SRQ_WATERMARK)
        threshold = operand & 0xFFFF
        if operand >> 17 or threshold != command.args[1] or not srq.exists:
            rc.fail_step(f"WATERMARK with operand {operand:#x}", record, True)
        before = srq.tail_seen
        if (record.old ^ srq.trace_state(5)) & ~(_TAIL | _OF_QP):
            rc.fail_step("state before the step differs from the model", record, True)
        known = rc.known(
            record, True, "tail", record.new >> 32 & 0xFFFF, before, srq.tail, rc.srq_tails[number]
        )
        if not rc.between(record.old >> 32 & 0xFFFF, before, known):
            rc.fail_step("the step knew of other posts before it", record, True)
        if threshold and srq.waiting:
            rc.fail_step("armed while an event waits", record, True)
        try:
            step = srq.watermark(threshold, tail_seen=rc.params.index(known))
        except ModelError as error:
            rc.fail_step(str(error), record, True)
        if step.event != bool(operand >> 16):
            rc.fail_step(f"event {operand >> 16}, expected {int(step.event)}", record, True)
        if (record.new ^ srq.trace_state(5)) & ~_OF_QP:
            rc.fail_step("state after the step differs from the model", record, True)
        if step.event:
            self.takes.raised(number)
        rc.shared[number].append(record)
        rc.note(number)

    # -- commands ----------------------------------------------------------------------------------

    def command(self, record: Command) -> None:
        """A command that ended, at its place in the stream."""
        if record.code not in _CODES:
            sized = bool(self.steps)
            self.steps.clear()
            super().command(record)
            if sized is not (record.code == codes.Command.CREATE_QP and not record.result):
                self.rc.fail(f"command {record.code:#x}: RECV_SIZE {sized}", record.args[0])
            return
        args = args_of(record)
        code = codes.Command(record.code)
        result = decode_receive(code, args, self.rc.params, self.rc.windows is not None)
        if result is not CommandResult.OK:
            self._must_answer(record, {result})
        elif code >= codes.Command.REGISTER_MR:
            self._region(record, code, args)
        else:
            self._srq(record, code, args)
        self.steps.clear()
        self._ended(record)

    def _must_answer(self, record: Command, allowed: set[CommandResult]) -> None:
        if record.result not in allowed:
            names = ", ".join(sorted(result.name for result in allowed)) or "a step"
            self._wrong(record, f"answered {record.result:#x}, right would be: {names}")

    def _wrong(self, record: Command, text: str) -> None:
        code = codes.Command(record.code)
        args = ", ".join(f"{arg:#x}" for arg in record.args)
        srq = record.args[0] if code < codes.Command.REGISTER_MR else None
        self.rc.fail(f"{code.name}({args}): {text}", srq=srq)

    def _expected(self, code: int, args: Args) -> CommandResult:
        """The result in the present state."""
        rc, number = self.rc, args.number
        result = decode_receive(code, args, rc.params)
        if result is not CommandResult.OK:
            return result
        srq, users = rc.srqs[number], rc.model.users(number)
        return check_srq(code, args, srq, users)

    def _srq(self, record: Command, code: codes.Command, args: Args) -> None:
        rc, number = self.rc, args.number
        srq = rc.srqs[number]
        if self.steps:
            if code is codes.Command.CREATE_SRQ and record.outs[0] != self.steps[0].new & 0xFFFF:
                self._wrong(record, f"start index {record.outs[0]}, {self.steps[0].new & 0xFFFF}")
            return
        allowed = self._srq_results(record, code, args)
        stepping = code in (codes.Command.CREATE_SRQ, codes.Command.RESIZE_SRQ)
        if stepping or (code is codes.Command.SET_SRQ_WATERMARK and args.words[1]):
            allowed.discard(CommandResult.OK)
        self._must_answer(record, allowed)
        if record.result:
            return
        if code is codes.Command.QUERY_SRQ:
            self._query_srq(record, number)
        elif code is codes.Command.DESTROY_SRQ:
            try:
                rc.given_back += len(srq.destroy())
            except ModelError as error:
                self._wrong(record, str(error))
            self.posts.changed_srq(number)

    def _srq_results(self, record: Command, code: codes.Command, args: Args) -> set[CommandResult]:
        """Results that were right at some time while the command ran."""
        number = args.number
        srq, start = self.rc.srqs[number], self.ctx.window_start(record) - LAG
        allowed = {self._expected(code, args)}
        views = self.rc.views(number, start) if srq.exists else []
        if code is codes.Command.RESIZE_SRQ and CommandResult.OK in allowed:
            needs = [max(view.outstanding, view.watermark) for view in views]
            if needs and max(needs) > args.words[1]:
                allowed.add(CommandResult.CMD_TOO_SMALL)
        waits = {view.waits for view in views}
        if code is codes.Command.DESTROY_SRQ and allowed == {CommandResult.OK} and waits == {True}:
            allowed = {CommandResult.CMD_BUSY}
        if code in (codes.Command.SET_SRQ_WATERMARK, codes.Command.DESTROY_SRQ):
            moving = {CommandResult.OK, CommandResult.CMD_BUSY}
            by_event = code is codes.Command.DESTROY_SRQ or args.words[1]
            if by_event and len(waits) == 2 and not allowed.isdisjoint(moving):
                allowed |= moving
        return allowed

    def _query_srq(self, record: Command, number: int) -> None:
        rc, outs = self.rc, record.outs
        c = rc.srqs[number].config
        views = rc.views(number, self.ctx.window_start(record) - LAG)
        shown = (
            *(outs[0] & 0xFFFF, outs[0] >> 16, outs[1] & 0xFFFF, outs[1] >> 16, outs[2] & 0xFFFF),
            *(outs[2] >> 16, outs[3] & 1, outs[3] >> 1 & 1),
        )
        for i, (name, value) in enumerate(zip(views[0]._fields, shown, strict=True)):
            right = {int(view[i]) for view in views}
            if not i:
                right |= self._available(views, shown[2])
            if value not in right:
                self._wrong(record, f"{name} {value}, expected one of {sorted(right)}")
        fixed = (outs[3] >> 2, *outs[4:])
        users = rc.model.users(number) << 14
        want = (users, c.size | c.zone << 16, c.page | c.vector << 16, 0, 0)
        if fixed != want:
            self._wrong(record, f"OUT3[31:2], OUT4 to OUT7 {fixed}, expected {want}")

    def _available(self, views: list[SrqView], tail: int) -> set[int]:
        """Buffers behind the head of that moment or an earlier one: the tail is read later
        (receive.md). The latest view comes first.
        """
        mask = (1 << self.rc.params.idx_w) - 1
        latest = next((i for i, view in enumerate(views) if view.tail == tail), len(views))
        heads = {view.tail - view.available for view in views[latest:]}
        return {tail - head & mask for head in heads}

    def _region(self, record: Command, code: codes.Command, args: Args) -> None:
        rc, number = self.rc, args.number
        regions = rc.model.regions
        old = regions.regions[number]
        if code is codes.Command.REGISTER_MR:
            result = regions.check_register(number, region_config_of(args))
        else:
            result = CommandResult.OK if old is not None else CommandResult.CMD_NO_OBJECT
        self._must_answer(record, {result})
        if result is not CommandResult.OK:
            return
        outs: tuple[int, ...] = (0,) * 8
        if code is codes.Command.QUERY_MR:
            outs = regions.query(number)
        elif code is codes.Command.REGISTER_MR:
            outs = (regions.register(number, region_config_of(args)), *outs[1:])
        else:
            regions.deregister(number)
        if code is not codes.Command.DEREGISTER_MR and record.outs != outs:
            self._wrong(record, f"outputs {record.outs}, expected {outs}")
        if code is not codes.Command.QUERY_MR:
            rc.region_changed(number, old)

    # -- commands of queue pairs -------------------------------------------------------------------

    def _decode(self, code: int, args: Args) -> IntEnum:
        if code == codes.Command.CREATE_QP:
            result = decode_receive(code, args, self.rc.params, self.rc.windows is not None)
            return codes.Command.CREATE_QP if result is CommandResult.OK else result
        return super()._decode(code, args)

    def _may_create(self, args: Args, model: QpModel) -> IntEnum:
        return check_create_qp(args, model, self.qpc.model.cq_page, self.rc.srqs)

    def _busy(self, qp: int, since: int) -> bool:
        return super()._busy(qp, since) or self.rc.busy(qp, since)

    def _outs(self, qp: int) -> tuple[int, ...]:
        return (*super()._outs(qp)[:6], *self.rc.rqs[qp].config.words)
