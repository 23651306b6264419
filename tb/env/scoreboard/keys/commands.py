# SPDX-License-Identifier: Apache-2.0
"""Commands on regions and windows, device removal, and what both mean for queue pairs (MW-01,
MW-03, MW-08, MW-09, MW-11, ISO-02).

A command that changes a region or window has one step on lane 8; queries and refusals have none.
Outputs and results that depend on traffic must be right in a state that the object had while the
command ran.
"""

from __future__ import annotations

from collections.abc import Callable

from models import codes
from models.codes import RECEIVE_COMMANDS, WINDOW_COMMANDS, CommandResult
from models.host.control import Args
from models.keys.window_control import REMOVED_COMMANDS, decode_window
from models.layouts import NO_QP, WINDOW_BIT
from models.receive.receive import RecvReply
from models.receive.receive_control import decode_receive, region_config_of
from tb.env.defs import MR, MR_STATE
from tb.env.harness.records import Command, Trace
from tb.env.scoreboard.context import Object, args_of
from tb.env.scoreboard.explain import coded, name_of
from tb.env.scoreboard.host.commands import CommandCheck
from tb.env.scoreboard.keys.context import OBJECT, KeyContext, key_object

_WINDOWS = WINDOW_COMMANDS
_REGIONS = frozenset(code for code in RECEIVE_COMMANDS if code >= codes.Command.REGISTER_MR)
_QUERIES = (codes.Command.QUERY_MR, codes.Command.QUERY_MW)
#: Commands without outputs.
_SILENT = (codes.Command.DEREGISTER_MR, codes.Command.CLOSE_MW, codes.Command.REMOVE_DEVICE)


class KeyCommands(CommandCheck):
    """Commands of regions and windows, and removal."""

    rules = "MW-01, MW-03, MW-08, MW-11, ISO-02"

    def __init__(self, kc: KeyContext) -> None:
        super().__init__(kc.ctx, self._objects)
        self.kc = kc
        #: Called when the device is removed.
        self.listeners: tuple[Callable[[], None], ...] = ()
        #: The model's reply to the command in flight, if it has a step.
        self._reply: RecvReply | None = None

    # -- steps -------------------------------------------------------------------------------------

    def _command_of(self, record: Trace, code: int) -> Command:
        if record.cq != NO_QP:
            self.fail(f"{name_of(codes.Command, code)}: step of QP {record.cq}")
        return self.ctx.step_of(record, self.seen, code)

    def changes(self, record: Trace) -> None:
        """KEY_COMMAND."""
        kc, code = self.kc, record.operand
        args = args_of(self._command_of(record, code))
        number = args.number & OBJECT
        if code in _WINDOWS:
            number |= WINDOW_BIT if code >= codes.Command.CREATE_MW else 0
        if number & WINDOW_BIT and number ^ WINDOW_BIT < kc.params.num_mw:
            window = kc.table.windows[number ^ WINDOW_BIT]
            bound = [window.region] if window is not None and window.valid else []
            kc.changing(number, *bound)
        elif number < kc.params.num_mr:
            kc.changing(number)
        old = kc.regions()
        reply = kc.model.command(code, args)
        if reply.result is not CommandResult.OK or reply.key is None:
            text = f"executed, the model refuses it: {reply.result.name}"
            self.fail(text, key_object(number))
        kc.judge(record, reply.key)
        kc.note_regions(old)
        kc.changed(number)
        self._reply = reply

    def removes(self, record: Trace) -> None:
        """REMOVED."""
        kc = self.kc
        self._command_of(record, codes.Command.REMOVE_DEVICE)
        step = kc.table.remove()
        if record.old or record.new:
            self.fail("REMOVED with a state")
        kc.steps += 1
        kc.removed_at = record.cycle
        self._reply = RecvReply(CommandResult.OK, key=step)
        for listener in self.listeners:
            listener()

    # -- commands ----------------------------------------------------------------------------------

    def closed(self, record: Command, stepped: bool) -> bool:
        """The device is removed, and refuses such a command; judges its answer."""
        if not self.kc.table.removed or self.seen or record.code not in REMOVED_COMMANDS:
            return False
        if stepped:
            self.wrong(record, "MW-09: executed, although the device is removed")
        if record.result != CommandResult.CMD_DEVICE_REMOVED:
            diff = coded("result", CommandResult, record.result, CommandResult.CMD_DEVICE_REMOVED)
            text = f"MW-09: answered {record.result:#x}, right would be: {diff.want}"
            self.wrong(record, text, diff)
        return True

    def _objects(self, record: Command) -> list[Object]:
        code = record.code
        if (code in _WINDOWS or code in _REGIONS) and code != codes.Command.REMOVE_DEVICE:
            window = code in _WINDOWS and code >= codes.Command.CREATE_MW
            limit = self.kc.params.num_mw if window else self.kc.params.num_mr
            if record.args[0] < limit:
                return [("window" if window else "region", record.args[0])]
        return []

    def command(self, record: Command) -> None:
        if self.seen:
            assert self._reply is not None
            outs = self._reply.out
            if record.code not in _SILENT and record.outs != outs:
                self.wrong(record, f"outputs {record.outs}, expected {outs}")
            return
        self.must_answer(record, self._key_results(record, args_of(record)))
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
            bound = any(MR_STATE["windows"].get(view[6]) for view in views)
            if code == codes.Command.DEREGISTER_MR and bound:
                found = {CommandResult.CMD_BUSY}
        return found if code in _QUERIES else found - {CommandResult.OK}

    def _query_key(self, record: Command) -> None:
        """QUERY_MR, QUERY_MW."""
        window = WINDOW_BIT if record.code in _WINDOWS else 0
        views = self.kc.views(record.args[0] | window, self.ctx.window_start(record))
        # Of an object that has never been valid the key and what its command gave count.
        if not any(self._shows(record.outs, view, bool(window)) for view in views):
            right = " or ".join(str(view) for view in views)
            self.wrong(record, f"outputs {record.outs}, expected {right}")

    @staticmethod
    def _shows(outs: tuple[int, ...], view: tuple[int, ...], window: bool) -> bool:
        if outs == view:
            return True
        qp, zone = MR_STATE["qp"].mask, MR["zone"]
        if MR_STATE["valid"].get(view[6]) or view[3] or view[4]:
            # The QP of a region is told of one by FastRegister.
            hidden = 0 if window or MR_STATE["allocated"].get(view[6]) else qp
            return (*outs[:6], outs[6] | hidden, outs[7]) == (*view[:6], view[6] | hidden, view[7])
        got, want = ((words[0], zone.get(words[5]), words[6] | qp) for words in (outs, view))
        return got == want
