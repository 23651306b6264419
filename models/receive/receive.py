# SPDX-License-Identifier: Apache-2.0
"""The receive side of an engine: regions, SRQs, receive queues, and what reaches them at the pins.

Source: ``docs/receive.md``; rules DF-10, ISO-01 to ISO-03, and SRQ as a whole. The methods of
this class take what the pins show (writes, commands, beats of ``s_axis_rreq`` and
``s_axis_rdone``); the steps of one object are methods of ``rqs[qp]`` (:class:`ReceiveQp`),
``srqs[number]`` (:class:`SrqModel`) and ``regions`` (:class:`RegionTable`). What depends on the
design's timing comes from the caller: whether the receive CQ had a credit or was in error, and how
much a step already knew.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from models.codes import (
    QP_COMMANDS,
    Cause,
    Command,
    CommandResult,
    LogCause,
    ModelError,
    QpState,
    ScatterCode,
)
from models.host.control import Args
from models.keys.keys import KeyTable
from models.keys.region import RegionTable
from models.keys.window_types import KeyStep
from models.layouts import LINE_BYTES, PAGE_BYTES, RECV_PORTAL, SRQ_DB
from models.params import Params
from models.post.posting import PostingModel
from models.post.qp_control import config_of
from models.post.qp_types import StateStep
from models.receive.receive_control import (
    check_create_qp,
    check_srq,
    decode_receive,
    receive_config_of,
    region_config_of,
    srq_config_of,
)
from models.receive.receive_post import RecvPost, is_receive_portal, receive_write_faults
from models.receive.receive_qp import ReceiveQp
from models.receive.receive_types import (
    Buffer,
    ReceiveCompletion,
    RecvPostResult,
    RecvRequest,
    TakeResult,
    WatermarkStep,
)
from models.receive.srq import SrqModel

__all__ = ["ReceiveModel", "RecvInput", "RecvReply", "pack_rdone", "pack_reap"]


@dataclass(frozen=True)
class RecvReply:
    """Reply to a control command: result, OUT0 to OUT7, and the steps that it made, if any.

    ``given_back``: buffers of a destroyed SRQ, which complete nowhere; ``key``: the step of lane 8.
    """

    result: CommandResult
    out: tuple[int, ...] = (0,) * 8
    step: StateStep | None = None
    watermark: WatermarkStep | None = None
    given_back: tuple[Buffer, ...] = ()
    key: KeyStep | None = None


@dataclass(frozen=True)
class RecvInput:
    """What became of a beat from the transport. ``log``: what is logged, or OK; ``qp``: its QP
    field; ``answer``: to a request; ``step``: the change of state by a report.
    """

    log: LogCause
    qp: int
    answer: TakeResult | None = None
    step: StateStep | None = None


def pack_rdone(qp: int, tag: int, status: int = 0) -> int:
    """The 64 bits of a receive done report."""
    return qp | tag << 16 | status << 32


def pack_reap(srq: int, index: int) -> int:
    """The 64-bit value of an SRQ_DB write."""
    return index | srq << 32


class ReceiveModel:
    """Regions, SRQs and the receive sides of ``posting``'s queue pairs; ``rq``, ``srq``: classes of
    the queues.

    With a key table in ``posting`` it is the table of the regions, and tokens that reach a guarded
    queue pair are invalidated;
    :class:`models.keys.window.WindowModel` has what else there is with windows.
    """

    def __init__(
        self,
        params: Params | None = None,
        posting: PostingModel | None = None,
        rq: type[ReceiveQp] = ReceiveQp,
        srq: type[SrqModel] = SrqModel,
    ) -> None:
        self.posting = posting or PostingModel(params)
        self.params = p = self.posting.params
        self.keys: KeyTable | None = self.posting.keys
        self.regions: RegionTable = self.keys or RegionTable(p)
        self.srqs = [srq(n, p, self.regions) for n in range(p.num_srq)]
        self.rqs = [rq(qp, self.regions) for qp in self.posting.qps]
        self.posts = 0  #: CNT_RECV_POSTS
        self.takes = 0  #: CNT_TAKEN
        self.not_ready = 0  #: CNT_NOT_READY
        self.refused = 0  #: CNT_RECV_REFUSED
        self.done = 0  #: CNT_RECV_DONE
        self.causes: Counter[int] = Counter()  #: writes by cause, OK included

    def users(self, srq: int) -> int:
        """Number of queue pairs that use an SRQ."""
        return sum(rq.config.srq == srq and rq.qp.state is not QpState.FREE for rq in self.rqs)

    # -- the consumer's writes ---------------------------------------------------------------

    def write(
        self,
        addr: int,
        length: int,
        size: int,
        strb: int,
        data: int,
        *,
        freed_seen: int | None = None,
        credit: bool = True,
        cq_error: bool = False,
    ) -> RecvPostResult | None:
        """A write to the doorbell pages; None if it is for no receive portal.

        ``addr``: byte address; ``length``: awlen; ``size``: awsize; ``strb``: 64 bits; ``data``:
        512 bits of the first beat; ``freed_seen``: ``completed_seen`` of :meth:`ReceiveQp.post` or
        ``reaped_seen`` of :meth:`SrqModel.post`; the rest as for :meth:`ReceiveQp.faults`.
        """
        if not is_receive_portal(addr):
            return None
        post, (page, offset) = RecvPost.decode(data), divmod(addr, PAGE_BYTES)
        own = offset == RECV_PORTAL
        cause = next(receive_write_faults(addr, length, size, strb, self.params), Cause.OK)
        number, p = post.number, self.params
        if cause is Cause.OK and number >= (p.num_qp if own else p.num_srq):
            cause = Cause.BAD_QP if own else Cause.BAD_SRQ
        if cause is not Cause.OK:
            result = RecvPostResult(cause)
        elif own:
            result = self.rqs[number].post(
                post, page, completed_seen=freed_seen, credit=credit, cq_error=cq_error
            )
        else:
            result = self.srqs[number].post(post, page, reaped_seen=freed_seen)
        self.causes[result.cause] += 1
        self.posts += result.cause is Cause.OK
        return result

    def reap_cause(
        self,
        addr: int,
        length: int,
        size: int,
        strb: int,
        data: int,
        completed: int | None = None,
    ) -> Cause | None:
        """Why a write to SRQ_DB is refused, or OK; changes nothing; None: it is no such write.

        Arguments as for :meth:`write`; ``completed``: see :meth:`SrqModel.reap_cause`.
        """
        page, offset = divmod(addr, PAGE_BYTES)
        if offset != SRQ_DB:
            return None
        lane = addr % LINE_BYTES
        if length != 0:
            return Cause.BURST
        if size < 3 or strb != 0xFF << lane:
            return Cause.BAD_SIZE
        if page >= self.params.num_pages:
            return Cause.BAD_PAGE
        word = data >> 8 * lane & (1 << 64) - 1
        index, srq = word & 0xFFFF, word >> 32 & 0xFFFF
        legal = pack_reap(srq, self.params.index(index))
        if word != legal:
            return Cause.RESERVED_BITS
        if srq >= self.params.num_srq:
            return Cause.BAD_SRQ
        return self.srqs[srq].reap_cause(index, page, completed)

    def reap(
        self,
        addr: int,
        length: int,
        size: int,
        strb: int,
        data: int,
        completed: int | None = None,
    ) -> Cause | None:
        """A write to SRQ_DB; arguments and result as for :meth:`reap_cause`."""
        cause = self.reap_cause(addr, length, size, strb, data, completed)
        if cause is None:
            return None
        if cause is Cause.OK:
            word = data >> 8 * (addr % LINE_BYTES)
            self.srqs[word >> 32 & 0xFFFF].reap(word & 0xFFFF, completed=completed)
        self.causes[cause] += 1
        return cause

    # -- transport ---------------------------------------------------------------------------

    def request_beat(
        self,
        tdata: int,
        *,
        credit: bool = True,
        cq_error: bool = False,
    ) -> RecvInput:
        """A beat of ``s_axis_rreq`` (128 bits); the rest as for :meth:`ReceiveQp.take`."""
        request = RecvRequest.decode(tdata)
        log = LogCause.OK
        answer = TakeResult(ScatterCode.REFUSED)
        rq = self.rqs[request.qp] if request.qp < self.params.num_qp else None
        if request.malformed or rq is None or rq.qp.state is QpState.FREE:
            log = LogCause.RREQ_BAD
        else:
            answer = rq.take(request, credit=credit, cq_error=cq_error)
            if answer.code is ScatterCode.BAD_TOKEN:
                log = LogCause.TOKEN_REFUSED
        self.takes += answer.buffer is not None
        self.not_ready += answer.code is ScatterCode.NOT_READY
        self.refused += answer.code is ScatterCode.REFUSED
        return RecvInput(log, request.qp, answer)

    def done_beat(self, tdata: int) -> RecvInput:
        """A beat of ``s_axis_rdone`` (64 bits)."""
        qp, tag, status = tdata & 0xFFFF, tdata >> 16 & 0xFFFF, tdata >> 32 & 0xFF
        step = None
        log = LogCause.RDONE_BAD
        if qp < self.params.num_qp and not tdata >> 40:
            log, step = self.rqs[qp].report(tag, status)
        self.done += log is LogCause.OK
        self.refused += log is not LogCause.OK
        return RecvInput(log, qp, step=step)

    def complete(self, qp: int) -> ReceiveCompletion:
        """The queue pair's oldest taken buffer completes; see :meth:`ReceiveQp.complete`."""
        return self.rqs[qp].complete()

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
        """A control command with its steps; CMD_UNKNOWN if it names no QP, SRQ or region.

        ``retired_seen``: see :meth:`QpModel.see`; ``receiving``: the queue pair has receives not
        completed, as the command knows it; ``keyed``: see :meth:`QpModel.destroy`; ``waiting``: see
        :meth:`SrqModel.check_watermark`; ``tail_seen``: see :meth:`SrqModel.watermark`; ``start``:
        see :meth:`SrqModel.create`.
        """
        if code in QP_COMMANDS and code != Command.CREATE_QP:
            return self._qp_command(code, args, retired_seen, receiving, keyed)
        result = decode_receive(code, args, self.params, self.keys is not None)
        if result is not CommandResult.OK:
            return RecvReply(result)
        if code == Command.CREATE_QP:
            return self._create_qp(args, retired_seen)
        if code >= Command.REGISTER_MR:
            return self._region_command(Command(code), args)
        srq, users = self.srqs[args.number], self.users(args.number)
        result = check_srq(code, args, srq, users, waiting)
        if result is not CommandResult.OK:
            return RecvReply(result)
        if code == Command.CREATE_SRQ:
            return RecvReply(result, _out(srq.create(srq_config_of(args), start)))
        if code == Command.SET_SRQ_WATERMARK:
            step = srq.watermark(args.words[1], tail_seen=tail_seen)
            return RecvReply(result, watermark=step)
        if code == Command.QUERY_SRQ:
            return RecvReply(result, srq.query(users))
        if code == Command.DESTROY_SRQ:
            return RecvReply(result, given_back=srq.destroy())
        return RecvReply(srq.resize(args.words[1]))

    def _create_qp(self, args: Args, retired_seen: int | None) -> RecvReply:
        qp = self.posting.qps[args.number]
        qp.see(retired_seen)
        result = check_create_qp(args, qp, self.posting.cq_page, self.srqs)
        if result is not CommandResult.OK:
            return RecvReply(result)
        step = qp.create(config_of(args))
        config = receive_config_of(args)
        srq = None if config.srq is None else self.srqs[config.srq]
        self.rqs[args.number].create(config, srq)
        return RecvReply(result, step=step)

    def _qp_command(
        self,
        code: int,
        args: Args,
        retired_seen: int | None,
        receiving: bool | None,
        keyed: bool | None,
    ) -> RecvReply:
        rq = self.rqs[args.number] if args.number < self.params.num_qp else None
        busy = rq is not None and rq.busy
        if receiving is False and busy:
            raise ModelError(f"SRQ-14: QP {args.number} is taken for empty, but it has receives")
        busy = busy if receiving is None else receiving
        reply = self.posting.command(
            code, args, retired_seen=retired_seen, receiving=busy, keyed=keyed
        )
        result, out = reply.result, reply.out
        if code == Command.QUERY_QP and result is CommandResult.OK and rq is not None:
            out = (*out[:6], *rq.config.words)
        return RecvReply(result, out, reply.step)

    def _region_command(self, command: Command, args: Args) -> RecvReply:
        regions, number = self.regions, args.number
        if command is Command.REGISTER_MR:
            config = region_config_of(args)
            result = regions.check_register(number, config)
            if result is not CommandResult.OK:
                return RecvReply(result)
            return RecvReply(result, _out(regions.register(number, config)))
        if regions.regions[number] is None:
            return RecvReply(CommandResult.CMD_NO_OBJECT)
        if command is Command.QUERY_MR:
            return RecvReply(CommandResult.OK, regions.query(number))
        return RecvReply(regions.deregister(number))


def _out(word: int) -> tuple[int, ...]:
    return (word, 0, 0, 0, 0, 0, 0, 0)
