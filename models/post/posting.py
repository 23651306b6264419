# SPDX-License-Identifier: Apache-2.0
"""All queue pairs of an engine, and what reaches them from its pins.

Source: ``docs/posting.md``; the DF rules, ISO-01 to ISO-03. The methods of this class take what the
pins show (writes, commands, beats of ``s_axis_done`` and ``s_axis_conn``); the steps of one queue
pair are methods of ``qps[number]`` (:class:`models.post.qp.QpModel`). What depends on the design's
timing comes from the caller: whether the CQ had a credit or was in error, which retirements a post
already knew, and the moments of indications, retirements and releases by age.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from models.codes import Cause, Command, CommandResult, ConnEvent, LogCause, QpState
from models.host.control import Args
from models.keys.keys import KeyTable
from models.layouts import PAGE_BYTES
from models.params import Params
from models.post.post import Post
from models.post.post_check import is_portal, write_faults
from models.post.qp import Indication, PostResult, QpModel, Retirement, StateStep
from models.post.qp_control import CqPage, check_create, config_of, decode_command

__all__ = ["Input", "PostingModel", "QpReply", "pack_conn", "pack_done", "pack_term"]


@dataclass(frozen=True)
class QpReply:
    """Reply to a control command: result, OUT0 to OUT7, and the change of state, if any."""

    result: CommandResult
    out: tuple[int, ...] = (0,) * 8
    step: StateStep | None = None


@dataclass(frozen=True)
class Input:
    """What became of a beat from the transport. ``log``: why it was refused, or OK."""

    log: LogCause
    qp: int
    step: StateStep | None = None


def pack_done(qp: int, tag: int, status: int = 0) -> int:
    """The 64 bits of a done report."""
    return qp | tag << 16 | status << 32


def pack_conn(qp: int, event: int = ConnEvent.DISCONNECTED) -> int:
    """The 32 bits of a connection event."""
    return qp | event << 16


def pack_term(qp: int, step: StateStep) -> int:
    """The 32 bits that tell the transport about a change of state with ``term``."""
    return qp | step.term_state << 16


class PostingModel:
    """The queue pairs. ``cq_page``: see :data:`models.post.qp_control.CqPage`; ``keys``: with it,
    local requests of guarded queue pairs change keys (``docs/windows.md``); ``qp``: their class.
    """

    def __init__(
        self,
        params: Params | None = None,
        cq_page: CqPage | None = None,
        keys: KeyTable | None = None,
        qp: type[QpModel] = QpModel,
    ) -> None:
        self.params = params or (Params() if keys is None else keys.params)
        self.keys = keys
        self.cq_page: CqPage = cq_page or (lambda _: 0)
        numbers = range(self.params.num_qp)
        self.qps = [qp(n, self.params, keys) for n in numbers]
        self.posts = 0  #: CNT_POSTS
        self.work_beats = 0  #: CNT_INDICATED
        self.done = 0  #: CNT_DONE
        self.done_refused = 0  #: CNT_DONE_REFUSED
        self.causes: Counter[int] = Counter()  #: portal writes by cause, OK included

    def uses_cq(self, cq: int) -> bool:
        """True if a queue pair names the CQ: DESTROY_CQ answers CMD_IN_USE."""
        return any(
            qp.state is not QpState.FREE and cq in (qp.config.send_cq, qp.config.recv_cq)
            for qp in self.qps
        )

    # -- posts -------------------------------------------------------------------------------

    def check(
        self,
        post_beat: int,
        page: int,
        *,
        retired_seen: int | None = None,
        credit: bool = True,
        cq_error: bool = False,
    ) -> Cause:
        """The cause for 512 bits that reach the send portal of a page as one good write.

        ``retired_seen``: see :meth:`QpModel.see`; it is remembered, all else stays as it is.
        """
        post = Post.decode(post_beat)
        if post.qp >= self.params.num_qp:
            return Cause.BAD_QP
        self.qps[post.qp].see(retired_seen)
        return self.qps[post.qp].check(post, page, credit=credit, cq_error=cq_error)

    def write(
        self,
        addr: int,
        length: int,
        size: int,
        strb: int,
        data: int,
        *,
        retired_seen: int | None = None,
        credit: bool = True,
        cq_error: bool = False,
        now: int = 0,
    ) -> PostResult | None:
        """A write to the doorbell pages; None if it is for ``doorbell_cause``.

        ``addr``: byte address; ``length``: awlen; ``size``: awsize; ``strb``: 64 bits; ``data``:
        512 bits of the first beat; the rest as for :meth:`QpModel.post`.
        """
        if not is_portal(addr):
            return None
        post, page = Post.decode(data), addr // PAGE_BYTES
        cause = next(write_faults(addr, length, size, strb, self.params), Cause.OK)
        if cause is Cause.OK and post.qp >= self.params.num_qp:
            cause = Cause.BAD_QP
        if cause is not Cause.OK:
            result = PostResult(cause)
        else:
            result = self.qps[post.qp].post(
                post, page, retired_seen=retired_seen, credit=credit, cq_error=cq_error, now=now
            )
        self.causes[result.cause] += 1
        self.posts += result.cause is Cause.OK
        return result

    # -- transport ---------------------------------------------------------------------------

    def indicate(self, qp: int, late: bool = False) -> Indication:
        """A beat is offered on ``m_axis_work``; see :meth:`QpModel.indicate`."""
        indication = self.qps[qp].indicate(late)
        self.work_beats += 1
        return indication

    def done_beat(self, tdata: int) -> Input:
        """A beat of ``s_axis_done`` (64 bits)."""
        qp, tag, status = tdata & 0xFFFF, tdata >> 16 & 0xFFFF, tdata >> 32 & 0xFF
        step = None
        log = LogCause.DONE_BAD
        if qp < self.params.num_qp and not tdata >> 40:
            log, step = self.qps[qp].report(tag, status)
        self.done += log is LogCause.OK
        self.done_refused += log is not LogCause.OK
        return Input(log, qp, step)

    def conn_beat(self, tdata: int) -> Input:
        """A beat of ``s_axis_conn`` (32 bits)."""
        qp, event = tdata & 0xFFFF, tdata >> 16
        step = None
        log = LogCause.DONE_BAD
        if qp < self.params.num_qp and event == ConnEvent.DISCONNECTED:
            log, step = self.qps[qp].disconnected()
        self.done_refused += log is not LogCause.OK
        return Input(log, qp, step)

    def retire(self, qp: int) -> Retirement:
        """The queue pair's oldest request retires; see :meth:`QpModel.retire`."""
        return self.qps[qp].retire()

    # -- commands ----------------------------------------------------------------------------

    def command(
        self,
        code: int,
        args: Args,
        *,
        retired_seen: int | None = None,
        receiving: bool = False,
        keyed: bool | None = None,
    ) -> QpReply:
        """A control command with its step; CMD_UNKNOWN if it names no queue pair.

        ``retired_seen``: see :meth:`QpModel.see`; ``receiving``: see :meth:`QpModel.set_state`;
        ``keyed``: see :meth:`QpModel.destroy`.
        """
        command = decode_command(code, args, self.params)
        if isinstance(command, CommandResult):
            return QpReply(command)
        qp = self.qps[args.number]
        qp.see(retired_seen)
        if command is Command.CREATE_QP:
            result = check_create(args, qp, self.cq_page)
            if result is not CommandResult.OK:
                return QpReply(result)
            return QpReply(result, step=qp.create(config_of(args)))
        if qp.state is QpState.FREE:
            return QpReply(CommandResult.CMD_NO_OBJECT)
        if command is Command.QUERY_QP:
            return QpReply(CommandResult.OK, qp.query())
        if command is Command.MODIFY_QP:
            if qp.state is QpState.DESTROYING:
                return QpReply(CommandResult.CMD_NO_OBJECT)
            config = config_of(args)
            qp.modify(config.watermark, config.age)
            return QpReply(CommandResult.OK)
        if command is Command.CONNECT_QP:
            result, step = qp.connect(args.words[1])
        elif command is Command.SET_QP_STATE:
            result, step = qp.set_state(
                args.words[1], retired_seen=retired_seen, receiving=receiving
            )
        elif command is Command.FLUSH_QP:
            result, step = qp.flush()
        else:
            result, step = qp.destroy(retired_seen=retired_seen, receiving=receiving, keyed=keyed)
        return QpReply(result, step=step)
