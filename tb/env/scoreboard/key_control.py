# SPDX-License-Identifier: Apache-2.0
"""Commands on regions and windows, device removal, and what both mean for queue pairs (MW-01,
MW-03, MW-08, MW-09, MW-11, ISO-02).

A command that changes a region or window has one step on lane 8; queries and refusals have none.
Outputs and results that depend on traffic must be right in a state that the object had while the
command ran.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from models import codes
from models.codes import RECEIVE_COMMANDS, WINDOW_COMMANDS, CommandResult, ModelError, QpState
from models.host.control import Args
from models.keys.window_control import REMOVED_COMMANDS, decode_window
from models.layouts import NO_QP, WINDOW_BIT
from models.post.qp import QpModel, StateStep
from models.receive.receive import RecvReply
from models.receive.receive_control import decode_receive, region_config_of
from tb.env.harness.records import Command, Trace
from tb.env.scoreboard.base import args_of
from tb.env.scoreboard.key_context import OBJECT, KeyContext
from tb.env.scoreboard.qp_context import OPEN
from tb.env.scoreboard.receive_qp import ReceiveQpChecks
from tb.env.scoreboard.srq_control import ReceiveControlChecks

_WINDOWS = frozenset(WINDOW_COMMANDS)
_REGIONS = frozenset(code for code in RECEIVE_COMMANDS if code >= codes.Command.REGISTER_MR)
_QUERIES = (codes.Command.QUERY_MR, codes.Command.QUERY_MW)
#: Commands without outputs.
_SILENT = (codes.Command.DEREGISTER_MR, codes.Command.CLOSE_MW, codes.Command.REMOVE_DEVICE)
_NAMES: dict[int, str] = {int(c): c.name for c in (*RECEIVE_COMMANDS, *WINDOW_COMMANDS)}


class KeyQpChecks(ReceiveQpChecks):
    """QP_STATE steps, with failures of keys, and removal."""

    kc: KeyContext
    #: Called with each QP whose state has changed.
    listeners: tuple[Callable[[int], None], ...] = ()

    def state_step(self, record: Trace) -> None:
        """QP_STATE."""
        super().state_step(record)
        for listener in self.listeners:
            listener(record.cq)

    def _by_report(self, record: Trace, model: QpModel) -> StateStep | None:
        if model.ending == model.connections:
            return model.fail()
        if self.kc.table.removed and self._unexplained(record, model):
            return model.flush()[1]
        return super()._by_report(record, model)

    def _unexplained(self, record: Trace, model: QpModel) -> bool:
        qp = record.cq
        told = qp in self.receives.failing or qp in self.retire.failing
        return not told and not self.rc.rqs[qp].length_pending and model.state in OPEN

    def _run(self, code: int, args: Args, model: QpModel, record: Trace) -> StateStep | None:
        destroys = code == codes.Command.DESTROY_QP and not self.seen
        if destroys and model.state is not QpState.DESTROYING:
            command = self.qpc.ctx.command()
            start = 0 if command is None else self.qpc.ctx.window_start(command)
            if not self.kc.unused(record.cq, start):
                self.qpc.fail(record.cq, "destroyed, although keys are valid on it", record)
        return super()._run(code, args, model, record)


class KeyControlChecks(ReceiveControlChecks):
    """All commands of an engine with memory windows."""

    kc: KeyContext
    #: Called when the device is removed.
    listeners: tuple[Callable[[], None], ...] = ()
    #: Step of lane 8 of the command in flight, and the model's reply.
    key_step: tuple[Trace, RecvReply] | None = None

    # -- steps -------------------------------------------------------------------------------------

    def _command_of(self, record: Trace, code: int) -> Command:
        command = self.ctx.command()  # may have to wait
        name = _NAMES.get(code, f"command {code:#x}")
        if record.cq != NO_QP:
            self.kc.fail_step(f"{name}: step of QP {record.cq}", record)
        if command is None or command.code != code:
            self.kc.fail_step(f"{name}: step without its command", record)
        if command.result:
            text = f"{name}: step, but its command answered {command.result:#x}"
            self.kc.fail_step(text, record)
        if self.key_step is not None:
            self.kc.fail_step(f"{name}: one more step of one command", record)
        return command

    def changes(self, record: Trace) -> None:
        """KEY_COMMAND."""
        kc, code = self.kc, record.operand
        args = args_of(self._command_of(record, code))
        number = args.number & OBJECT
        if code in _WINDOWS:
            number |= WINDOW_BIT if code >= codes.Command.CREATE_MW else 0
        window = kc.table.windows[number ^ WINDOW_BIT] if self._is_window(number) else None
        bound = [window.region] if window is not None and window.valid else []
        if number & WINDOW_BIT and number ^ WINDOW_BIT < kc.params.num_mw:
            kc.changing(number, *bound)
        elif number < kc.params.num_mr:
            kc.changing(number)
        old = kc.regions()
        reply = kc.model.command(code, args)
        if reply.result is not CommandResult.OK or reply.key is None:
            name = _NAMES.get(code, f"command {code:#x}")
            text = f"{name}: executed, the model refuses it: {reply.result.name}"
            kc.fail_step(text, record, number)
        kc.judge(record, reply.key)
        kc.note_regions(old)
        kc.changed(number)
        self.key_step = record, reply

    def _is_window(self, number: int) -> bool:
        return bool(number & WINDOW_BIT) and number ^ WINDOW_BIT < self.kc.params.num_mw

    def removes(self, record: Trace) -> None:
        """REMOVED."""
        kc = self.kc
        self._command_of(record, codes.Command.REMOVE_DEVICE)
        try:
            step = kc.table.remove()
        except ModelError as error:
            kc.fail_step(str(error), record)
        if record.operand or record.old or record.new:
            kc.fail_step("REMOVED with an operand or a state", record)
        kc.steps += 1
        kc.removed_at = record.cycle
        self.key_step = record, RecvReply(CommandResult.OK, key=step)
        for listener in self.listeners:
            listener()

    # -- commands ----------------------------------------------------------------------------------

    def command(self, record: Command) -> None:
        """A command that ended, at its place in the stream."""
        removed = self.kc.table.removed and self.key_step is None
        if removed and record.code in REMOVED_COMMANDS:
            self._removed(record)
        elif record.code in _WINDOWS or record.code in _REGIONS:
            self._key_command(record)
        elif self.key_step is not None:
            self.kc.fail_step(f"step of command {record.code:#x}", self.key_step[0])
        else:
            super().command(record)
            return
        self.key_step = None
        self.seen.clear()
        self.steps.clear()
        self.qps.seen.clear()
        self._ended(record)

    def _removed(self, record: Command) -> None:
        if self.seen or self.steps or self.qps.seen:
            self._wrong_key(record, "MW-09: executed, although the device is removed")
        if record.result != CommandResult.CMD_DEVICE_REMOVED:
            text = f"MW-09: answered {record.result:#x}, right would be: CMD_DEVICE_REMOVED"
            self._wrong_key(record, text)

    def _wrong_key(self, record: Command, text: str) -> None:
        args = ", ".join(f"{arg:#x}" for arg in record.args)
        code, number = record.code, None
        if code in _WINDOWS or code in _REGIONS:
            window = code in _WINDOWS and code >= codes.Command.CREATE_MW
            limit = self.kc.params.num_mw if window else self.kc.params.num_mr
            if record.args[0] < limit and code != codes.Command.REMOVE_DEVICE:
                number = record.args[0] | (WINDOW_BIT if window else 0)
        self.kc.fail(f"{_NAMES.get(code, f'command {code:#x}')}({args}): {text}", number)

    def _key_command(self, record: Command) -> None:
        if self.key_step is not None:
            outs = self.key_step[1].out
            if record.code not in _SILENT and record.outs != outs:
                self._wrong_key(record, f"outputs {record.outs}, expected {outs}")
            return
        allowed = self._key_results(record, args_of(record))
        if record.result not in allowed:
            names = ", ".join(sorted(result.name for result in allowed)) or "a step"
            self._wrong_key(record, f"answered {record.result:#x}, right would be: {names}")
        if not record.result:
            self._query_key(record)

    def _key_results(self, record: Command, args: Args) -> set[CommandResult]:
        """Results that are right without a step."""
        kc, code, number = self.kc, record.code, args.number
        if code in _WINDOWS:
            result = decode_window(code, args, kc.params)
        else:
            result = decode_receive(code, args, kc.params, True)
        if result is not CommandResult.OK:
            return {result}
        if code == codes.Command.REMOVE_DEVICE:
            return set()
        if code == codes.Command.REGISTER_MR:
            found = {kc.table.check_register(number, region_config_of(args))}
        elif code == codes.Command.ALLOC_MR:
            found = {kc.table.check_allocate(number)}
        elif code == codes.Command.CREATE_MW:
            found = {kc.table.check_create(number)}
        else:
            window = WINDOW_BIT if code in _WINDOWS else 0
            views = kc.views(number | window, self.ctx.window_start(record))
            if kc.query(number | window) is None:
                return {CommandResult.CMD_NO_OBJECT}
            found = {CommandResult.OK} if code in _QUERIES else set()
            if code == codes.Command.DEREGISTER_MR and any(view[6] >> 18 for view in views):
                found = {CommandResult.CMD_BUSY}
        return found if code in _QUERIES else found - {CommandResult.OK}

    def _query_key(self, record: Command) -> None:
        """QUERY_MR, QUERY_MW."""
        window = WINDOW_BIT if record.code in _WINDOWS else 0
        views = self.kc.views(record.args[0] | window, self.ctx.window_start(record))
        # Of an object that has never been valid the key and what its command gave count.
        if not any(self._shows(record.outs, view, bool(window)) for view in views):
            right = " or ".join(str(view) for view in views)
            self._wrong_key(record, f"outputs {record.outs}, expected {right}")

    @staticmethod
    def _shows(outs: tuple[int, ...], view: tuple[int, ...], window: bool) -> bool:
        if outs == view:
            return True
        if view[6] >> 16 & 1 or view[3] or view[4]:
            # The QP of a region is told of one by FastRegister.
            allocated = window or view[6] >> 17 & 1
            mask = 0xFFFF_FFFF if allocated else 0xFFFF_0000
            return (*outs[:6], outs[6] & mask, outs[7]) == (*view[:6], view[6] & mask, view[7])
        zone, flags = outs[5] & 0xFFFF, outs[6] >> 16
        return (outs[0], zone, flags) == (view[0], view[5] & 0xFFFF, view[6] >> 16)

    # -- queue pairs -------------------------------------------------------------------------------

    def _without_step(self, record: Command, code: codes.Command, args: Args) -> set[IntEnum]:
        found = super()._without_step(record, code, args)
        qp = record.args[0]
        if code is codes.Command.DESTROY_QP and self.kc.in_use(qp, self.ctx.window_start(record)):
            states = self.qpc.states_since(qp, self.ctx.window_start(record))
            if any(QpState(s & 0xF) is not QpState.FREE for s in states):
                found.add(CommandResult.CMD_IN_USE)
        return found
