# SPDX-License-Identifier: Apache-2.0
"""Memory windows: their commands, checks of remote accesses, removal of the device.

Source: ``docs/windows.md``; the MW rules, CQ-03, CQ-05, DF-12, DF-15. The steps of keys are methods
of ``table`` (:class:`models.keys.keys.KeyTable`); requests make them at ``posting.indicate`` and
``posting.retire``, receive requests at ``receive.request_beat``. Whatever of these fails ends its
queue pair's connection in a step of its own: ``posting.qps[qp].fail()``, for receive requests
``receive.rqs[qp].fail_length()``.

::

    posting = PostingModel(params, keys=KeyTable(params))
    model = WindowModel(ReceiveModel(posting=posting))
    model.command(Command.CREATE_MW, make_window_args(0, zone=5, context=7)).out[0]
    model.check_beat(CheckRequest(qp, Access.READ, key, address, nbytes).encode()).tdata

A bench that follows the trace has the table make a step at its record of lane 8 and gives it to
``posting.qps[qp].give``, before the request's indication or retirement, or, with
``receive.rqs[qp].defers``, to ``receive.rqs[qp].decide``, after the take.
"""

from __future__ import annotations

from models.codes import (
    WINDOW_COMMANDS,
    Command,
    CommandResult,
    LogCause,
    ModelError,
    QpState,
    TraceOp,
    Verdict,
)
from models.host.control import Args
from models.keys.keys import KeyTable
from models.keys.window_control import KEY_COMMANDS, check_removed, decode_window
from models.keys.window_types import CheckRequest, CheckResult, KeyStep
from models.layouts import NO_QP, WINDOW_BIT
from models.post.qp_types import StateStep
from models.receive.receive import ReceiveModel, RecvReply

_OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)

__all__ = ["WindowModel"]


class WindowModel:
    """What there is of windows besides the steps of keys; ``receive`` is to have a key table."""

    def __init__(self, receive: ReceiveModel) -> None:
        if receive.keys is None:
            raise ModelError("windows need a key table")
        self.receive = receive
        self.posting = receive.posting
        self.params = receive.params
        self.table: KeyTable = receive.keys
        self.checks = 0  #: CNT_CHECKS
        self.checks_refused = 0  #: CNT_CHECKS_REFUSED

    @property
    def removed(self) -> bool:
        """The device is removed."""
        return self.table.removed

    # -- checks of remote accesses -----------------------------------------------------------

    def check_beat(self, tdata: int) -> CheckResult:
        """A beat of ``s_axis_check`` (192 bits): its verdict (MW-10).

        One that is neither GRANTED nor REFUSED ends the connection by :meth:`QpModel.fail`.
        """
        request = CheckRequest.decode(tdata)
        step, code = None, Verdict.REFUSED
        if self._may_check(request):
            qp = self.posting.qps[request.qp]
            step = self.table.check(
                request.qp, qp.zone, request.kind, request.key, request.address, request.length
            )
            code = Verdict(step.code)
            if code is not Verdict.GRANTED:
                qp.must_fail()
        refused = code is not Verdict.GRANTED
        self.checks += 1
        self.checks_refused += refused
        log = LogCause.CHECK_REFUSED if refused else LogCause.OK
        return CheckResult(request.qp, code, log, step)

    def _may_check(self, request: CheckRequest) -> bool:
        if request.malformed or request.qp >= self.params.num_qp or self.removed:
            return False
        qp = self.posting.qps[request.qp]
        return qp.state in _OPEN and qp.uses_keys

    # -- removal -----------------------------------------------------------------------------

    @property
    def removable(self) -> tuple[int, ...]:
        """Queue pairs whose connections the removal is still to end."""
        if not self.removed:
            return ()
        return tuple(qp.number for qp in self.posting.qps if qp.state in _OPEN)

    def end(self, qp: int) -> StateStep:
        """The removal ends a connection, as a failing report does, one at a time (MW-09)."""
        if qp not in self.removable:
            raise ModelError(f"MW-09: QP {qp}: no removal ends its connection")
        step = self.posting.qps[qp].receive_failed()
        assert step is not None
        return step

    # -- commands ----------------------------------------------------------------------------

    def command(
        self,
        code: int,
        args: Args,
        *,
        retired_seen: int | None = None,
        receiving: bool | None = None,
        keyed: bool | None = None,
        waiting: bool | None = None,
        tail_seen: int | None = None,
        start: int | None = None,
    ) -> RecvReply:
        """A control command with its steps; arguments as for :meth:`ReceiveModel.command`."""
        if self.removed:
            result = check_removed(code)
            if result is not CommandResult.OK:
                return RecvReply(result)
        key = args.number | (WINDOW_BIT if code >= Command.CREATE_MW else 0)
        before = self.table.state(key)
        if code in WINDOW_COMMANDS:
            reply = self._window_command(code, args)
        else:
            reply = self.receive.command(
                code,
                args,
                retired_seen=retired_seen,
                receiving=receiving,
                keyed=keyed,
                waiting=waiting,
                tail_seen=tail_seen,
                start=start,
            )
        if code not in KEY_COMMANDS or reply.result is not CommandResult.OK:
            return reply
        after, new_key = self.table.state(key), reply.out[0] or None
        op, window = TraceOp.KEY_COMMAND, bool(key & WINDOW_BIT)
        step = KeyStep(op, key, 0, code, before, after, NO_QP, new_key, window)
        return RecvReply(reply.result, reply.out, key=step)

    def _window_command(self, code: int, args: Args) -> RecvReply:
        result = decode_window(code, args, self.params)
        if result is not CommandResult.OK:
            return RecvReply(result)
        command, number, zone = Command(code), args.number, args.words[5]
        if command is Command.REMOVE_DEVICE:
            return RecvReply(result, key=self.table.remove())
        if command is Command.ALLOC_MR:
            result = self.table.check_allocate(number)
            if result is CommandResult.OK:
                return RecvReply(result, _out(self.table.allocate(number, zone)))
        elif command is Command.CREATE_MW:
            result = self.table.check_create(number)
            if result is CommandResult.OK:
                context = args.words[1] | args.words[2] << 32
                return RecvReply(result, _out(self.table.create(number, zone, context)))
        elif command is Command.CLOSE_MW:
            result = self.table.close(number)
        elif self.table.windows[number] is None:
            result = CommandResult.CMD_NO_OBJECT
        else:
            return RecvReply(result, self.table.query_window(number))
        return RecvReply(result)


def _out(word: int) -> tuple[int, ...]:
    return (word, 0, 0, 0, 0, 0, 0, 0)
