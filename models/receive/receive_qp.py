# SPDX-License-Identifier: Apache-2.0
"""The receive side of one queue pair: own queue, taking, reports, completions, flush.

Sources: ``docs/receive.md``, "Taking and completing"; ``dat_srq_post_recv``; the SRQ rules,
CQ-17, DF-12. State, page, context and receive CQ are those of the queue pair's
:class:`models.post.qp.QpModel`. Every step is atomic, and raises :class:`ModelError`, with the
rule's ID in its text, if it cannot happen now.

::

    rq.post(RecvPost(context=7))                      # RECV_POST, on an own queue
    answer = rq.take(RecvRequest(qp=0, length=0))     # TAKE
    rq.report(answer.tag, 0)
    rq.complete().cqe                                 # RECEIVE
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from models.codes import (
    By,
    Cause,
    CqeFlag,
    LogCause,
    ModelError,
    NotReady,
    QpState,
    RecvFlag,
    ResultType,
    ScatterCode,
    Status,
)
from models.cq.entries import Cqe
from models.keys.keys import KeyTable
from models.keys.region import RegionTable
from models.keys.window_types import KeyStep
from models.post.qp import QpModel
from models.post.qp_types import StateStep
from models.receive.receive_post import RecvPost, fill
from models.receive.receive_types import (
    Buffer,
    ReceiveCompletion,
    RecvConfig,
    RecvPostResult,
    RecvRequest,
    Taken,
    TakeResult,
)
from models.receive.srq import BufferQueue, SrqModel

_OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
_FLUSHING = (QpState.DISCONNECTED, QpState.ERROR, QpState.DESTROYING)


class ReceiveQp(BufferQueue):
    """The receive side of one queue pair number, over all its lives.

    The numbers of takes and, with an own queue, of buffers are the same; they go on over
    destruction and re-creation.
    """

    def __init__(
        self,
        qp: QpModel,
        regions: RegionTable | None = None,
    ) -> None:
        super().__init__(qp.number, qp.params, regions)
        self.qp = qp
        self.keys = regions if isinstance(regions, KeyTable) else None
        self.defers = False  #: the caller invalidates tokens by :meth:`decide`, after the take
        self.config = RecvConfig()
        self.srq: SrqModel | None = None
        self.flight: list[Taken] = []  #: taken and not completed, in message order
        self.taken = 0  #: number of the next take
        self.reported = 0  #: takes reported, flushed ones included
        self.reported_seen = 0  #: the same as takes know it
        self.completed = 0
        self.completed_seen = 0  #: the same as posts know it
        self.overlong: int | None = None  #: connection that a message (too long, bad token) ends

    # -- looking -----------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """It has receives that have not completed: it is not empty for commands."""
        return bool(self.flight or (self.buffers and self.srq is None))

    @property
    def credits(self) -> int:
        """Entries of the receive CQ that each receive reserves (CQ-17, MW-07): all or none."""
        return 2 if self.config.two else 1

    @property
    def in_flight(self) -> int:
        """Buffers taken and not reported."""
        return self.taken - self.reported

    @property
    def length_pending(self) -> bool:
        """A message was too long, or its token bad, and the state ERROR is still to come
        (:meth:`fail_length`).
        """
        return self.overlong == self.qp.connections and self.qp.state in _OPEN

    @property
    def flushable(self) -> bool:
        """The next available buffer of its own queue can be flushed now: an SRQ keeps what it has
        (SRQ-14), and what was taken is reported first (SRQ-10).
        """
        if self.qp.state not in _FLUSHING or self.in_flight:
            return False
        return self.srq is None and bool(self.buffers)

    def trace_state(self, lane: int) -> int:
        """The 96-bit state in the trace port's encoding; lane 5, 6 or 7.

        A report shows in lane 7 with its completion.
        """
        index = self.params.index
        if lane == 6:
            return index(self.tail) | index(self.completed_seen) << 16 | self.config.depth << 32
        if lane == 7:
            return index(self.completed)
        low = index(self.taken) | index(self.reported_seen) << 48
        if self.srq is None:
            return low | index(self.tail_seen) << 32
        return low | self.srq.trace_state(5)

    # -- life --------------------------------------------------------------------------------

    def create(self, config: RecvConfig, srq: SrqModel | None = None) -> None:
        """RECV_SIZE: the receive side of CREATE_QP; ``srq``: the one that ``config`` names."""
        if self.busy:
            raise ModelError(f"QP {self.number}: created with receives of its former life")
        if (srq is None) is not (config.srq is None) or (srq and config.depth):
            raise ModelError(f"QP {self.number}: an own queue or an SRQ, not both")
        if config.guarded and self.keys is None:
            raise ModelError(f"QP {self.number}: guarded, but there is no key table")
        self.config, self.srq = config, srq
        self.qp.zone, self.qp.guarded = config.zone, config.guarded
        self.tail = self.tail_seen = self.taken
        self.completed_seen, self.reported_seen = self.completed, self.reported
        self.overlong = None

    # -- posts on an own queue ---------------------------------------------------------------

    def faults(
        self, post: RecvPost, page: int, *, credit: bool = True, cq_error: bool = False
    ) -> Iterator[Cause]:
        """All faults of a post from NO_QP on, in order of precedence.

        ``credit``: the receive CQ has an entry for it; ``cq_error``: the receive CQ is in error.
        """
        if self.qp.state in (QpState.FREE, QpState.DESTROYING):
            yield Cause.NO_QP
        yield from self.content_faults(post, page, self.qp.config.page, self.config.zone)
        if self.srq is not None or self.qp.state in (QpState.DISCONNECTED, QpState.ERROR):
            yield Cause.BAD_STATE
        if self.tail - self.completed_seen >= self.config.depth:
            yield Cause.QUEUE_FULL
        if cq_error:
            yield Cause.CQ_ERROR
        if not credit:
            yield Cause.NO_CREDIT

    def post(
        self,
        post: RecvPost,
        page: int | None = None,
        *,
        completed_seen: int | None = None,
        credit: bool = True,
        cq_error: bool = False,
    ) -> RecvPostResult:
        """RECV_POST (SRQ-19); an accepted one holds a credit of the receive CQ (CQ-17).

        ``page``: of the write, the owner's if left out; ``completed_seen``: index of the oldest
        buffer not completed as this step knows it, the newest if left out; the rest as for
        :meth:`faults`.
        """
        page = self.qp.config.page if page is None else page
        gone = self.qp.state in (QpState.FREE, QpState.DESTROYING)
        if not gone and page == self.qp.config.page:
            self.completed_seen = self.newest(
                "completed", self.completed_seen, self.completed, completed_seen
            )
        cause = self.first(self.faults(post, page, credit=credit, cq_error=cq_error))
        return self._append(post) if cause is Cause.OK else RecvPostResult(cause)

    # -- taking ------------------------------------------------------------------------------

    @property
    def may_take(self) -> bool:
        """The state lets the queue pair take buffers (SRQ-13)."""
        return self.qp.state in _OPEN and not self.regions.removed

    def not_ready(self, credit: bool = True, cq_error: bool = False) -> NotReady | None:
        """Why nothing would be taken now, as takes know things; changes nothing."""
        queue = self if self.srq is None else self.srq
        if queue.available_seen <= 0:
            return NotReady.EMPTY
        if self.taken - self.reported_seen >= 1 << self.params.rx_log2:
            return NotReady.IN_FLIGHT
        if cq_error or (self.srq is not None and not credit):
            return NotReady.NO_CREDIT
        return None

    def take(
        self,
        request: RecvRequest,
        *,
        credit: bool = True,
        cq_error: bool = False,
        tail_seen: int | None = None,
        reported_seen: int | None = None,
    ) -> TakeResult:
        """TAKE: the answer to a well-formed request. One that takes nothing invalidates nothing, so
        a peer that comes before the receive was posted (MW-06) finds NOT_READY.

        ``credit``: the receive CQ has an entry for it (it matters with an SRQ only: own buffers
        have theirs since the post); ``cq_error``: it is in error; ``tail_seen``: index of the
        queue's tail, ``reported_seen``: tag of the oldest unreported buffer, both as this step
        knows them, the newest if left out. With :attr:`defers` the answer is final only after
        :meth:`decide`.

        With LENGTH_ERROR or BAD_TOKEN the state ERROR comes by its own step, :meth:`fail_length`.
        """
        if not self.may_take:
            return TakeResult(ScatterCode.REFUSED)
        self._see(tail_seen, reported_seen)
        why = self.not_ready(credit, cq_error)
        if why is not None:
            return TakeResult(ScatterCode.NOT_READY, why)
        buffer, event = self._pop()
        post = buffer.post
        overlong = self._too_long(request, post)
        code = ScatterCode.LENGTH_ERROR if overlong else ScatterCode.SCATTER
        filled = () if overlong else fill(post.segments, request.length)
        if overlong:
            self._end_connection()
        answer = self._took(buffer, request, code, tuple(filled), event)
        self.flight[-1].undecided = (
            request.invalidate
            and self.keys is not None
            and self.qp.uses_keys
            and code is ScatterCode.SCATTER
        )
        return answer if self.defers else self.decide(answer)

    def _too_long(self, request: RecvRequest, post: RecvPost) -> bool:
        """SRQ-18: the message has more bytes than the buffer."""
        return request.length > post.length

    def _end_connection(self) -> None:
        """The state ERROR is to come, by :meth:`fail_length`."""
        self.overlong = self.qp.connections

    def _bad_token(self, step: KeyStep) -> bool:
        """MW-12: the token of the message was not valid on the queue pair."""
        return not step.okay

    def decide(self, answer: TakeResult, step: KeyStep | None = None) -> TakeResult:
        """The token of the message that took a buffer is invalidated, if it has one (MW-12).

        A queue pair that is not guarded carries every token without looking at it.
        Returns the final answer; BAD_TOKEN is logged (TOKEN_REFUSED), and the state ERROR comes by
        :meth:`fail_length`. ``step``: already made by the key table.
        """
        taken = next((t for t in self.flight if t.number == answer.number), None)
        request = taken.request if taken is not None else None
        if taken is None or request is None or not taken.undecided or self.keys is None:
            if step is not None:
                raise ModelError(f"MW-12: QP {self.number}: no message has a token to invalidate")
            return answer
        if step is None:
            step = self.keys.invalidate(self.number, request.token, By.PEER)
        if (step.qp, step.key) != (self.number, request.token):
            raise ModelError(f"MW-12: QP {self.number}: another token is invalidated")
        taken.undecided, taken.key = False, step
        if not self._bad_token(step):
            return replace(answer, key=step)
        taken.bad_token = True
        self._end_connection()
        return replace(answer, key=step, code=ScatterCode.BAD_TOKEN, filled=())

    def flush_take(
        self, *, tail_seen: int | None = None, reported_seen: int | None = None
    ) -> TakeResult:
        """TAKE with flush: the oldest available buffer is taken for no message (SRQ-14, SRQ-19).

        Arguments as for :meth:`take`; the code of the result is SCATTER, nothing is answered.
        """
        if not self.flushable:
            raise ModelError(
                f"SRQ-14: QP {self.number}: flush in state {self.qp.state.name} with "
                f"{self.available} buffers available and {self.in_flight} in flight"
            )
        self._see(tail_seen, reported_seen)
        buffer, event = self._pop()
        nothing = (0,) * len(buffer.post.segments)
        return self._took(buffer, None, ScatterCode.SCATTER, nothing, event)

    def see_newest(self) -> None:
        """Takes and posts know all that has happened, as if no time had passed."""
        self._see(None, None)
        self.completed_seen = self.completed

    def _see(self, tail_seen: int | None, reported_seen: int | None) -> None:
        queue: BufferQueue = self if self.srq is None else self.srq
        queue.tail_seen = queue.newest("tail", queue.tail_seen, queue.tail, tail_seen)
        self.reported_seen = self.newest(
            "reported", self.reported_seen, self.reported, reported_seen
        )

    def _pop(self) -> tuple[Buffer, bool]:
        if self.srq is not None:
            return self.srq.take(self.number)
        if self.available_seen <= 0:
            raise ModelError(f"SRQ-18: QP {self.number}: a buffer is taken, none is available")
        return self.buffers.pop(0), False

    def _took(
        self,
        buffer: Buffer,
        request: RecvRequest | None,
        code: ScatterCode,
        filled: tuple[int, ...],
        event: bool,
    ) -> TakeResult:
        srq = None if self.srq is None else self.srq.number
        overlong = code is ScatterCode.LENGTH_ERROR
        taken = Taken(self.taken, buffer, srq, request, overlong)
        self.taken += 1
        self.flight.append(taken)
        if request is None:
            taken.status = Status.CANCELED
            self.reported += 1
        return TakeResult(
            code,
            buffer=buffer,
            number=taken.number,
            tag=self.params.index(taken.number),
            srq=srq,
            filled=filled,
            event=event,
            reserved=srq is not None and request is not None,
        )

    def fail_length(self) -> StateStep | None:
        """The state ERROR that follows an answer LENGTH_ERROR (SRQ-18) or BAD_TOKEN (MW-12); None
        if the connection was left.
        """
        if self.overlong != self.qp.connections:
            raise ModelError(f"SRQ-18: QP {self.number}: no message was longer than its buffer")
        self.overlong = None
        return self.qp.receive_failed()

    # -- reports and completions -------------------------------------------------------------

    def report(self, tag: int, status: int) -> tuple[LogCause, StateStep | None]:
        """A receive done report (16-bit tag, 8-bit status): refused (ISO-03), or taken.

        A status other than 0 ends the connection: the change of state, if it makes one.
        """
        oldest = next((t for t in self.flight if t.status is None), None)
        if oldest is None:
            return LogCause.RDONE_UNEXPECTED, None
        if tag != self.params.index(oldest.number):
            return LogCause.RDONE_UNEXPECTED, None
        oldest.status = status
        self.reported += 1
        return LogCause.OK, self.qp.receive_failed() if status else None

    @property
    def completable(self) -> bool:
        """True if the oldest taken buffer can complete."""
        return bool(self.flight) and self.flight[0].status is not None

    def complete(self) -> ReceiveCompletion:
        """RECEIVE: the completion of the oldest taken buffer is handed to the CQ (SRQ-05)."""
        if not self.flight:
            raise ModelError(f"SRQ-06: QP {self.number}: nothing is left to complete")
        taken = self._next()
        if taken.status is None:
            raise ModelError(f"DF-12: QP {self.number}: {taken.number} completes unreported")
        if taken.undecided:
            raise ModelError(f"CQ-03: QP {self.number}: {taken.number} completes with a valid key")
        self.flight.remove(taken)
        self.completed += 1
        if self.srq is not None:
            self.srq.complete()
        status = int(Status.LENGTH_ERROR if taken.overlong else taken.status)
        status = int(Status.INVALID_TOKEN) if taken.bad_token else status
        cqe, first = self._cqe(taken, status), self._invalidate_result(taken)
        return ReceiveCompletion(
            number=taken.number,
            status=status,
            srq=taken.srq,
            flush=taken.flush,
            cq=self.qp.config.recv_cq,
            cqe=cqe,
            buffer=taken.buffer,
            first=first,
            given_back=self.credits - 1 - (first is not None),
        )

    def _next(self) -> Taken:
        """SRQ-10, DF-12: buffers complete in message order."""
        return self.flight[0]

    def _invalidate_result(self, taken: Taken) -> Cqe | None:
        """The entry before the receive result (MW-07, MW-08): the token was invalidated, whatever
        becomes of the message.
        """
        request = taken.request
        if not self.config.two or request is None or not request.invalidate:
            return None
        if taken.overlong or taken.bad_token:
            return None
        context = 0 if taken.key is None else taken.key.context
        return Cqe(
            request_context=context,
            qp_context=self.qp.config.context,
            token=request.token,
            type=ResultType.INVALIDATE,
            qp=self.number,
            flags=CqeFlag.UNSIGNALLED if self._quiet(request) else 0,
        )

    def _quiet(self, request: RecvRequest) -> bool:
        """SRQ-07: the Send was not solicited, and the queue pair signals for no other."""
        return self.config.flag == RecvFlag.SOLICITED_WAIT and not request.solicited

    def _cqe(self, taken: Taken, status: int) -> Cqe:
        """The receive result, with the context of the post (SRQ-04); of a failed one it says no
        length (SRQ-11). With one entry it tells type and token of the invalidation, too (MW-07).
        """
        request = taken.request or RecvRequest(self.number)
        invalidate = request.invalidate and not self.config.two
        flags = CqeFlag.SOLICITED if request.solicited else 0
        if self._quiet(request) and status == Status.SUCCESS:
            flags |= CqeFlag.UNSIGNALLED
        return Cqe(
            request_context=taken.buffer.post.context,
            qp_context=self.qp.config.context,
            nbytes=request.length if status == Status.SUCCESS else 0,
            token=request.token if invalidate else 0,
            type=ResultType.RECEIVE_AND_INVALIDATE if invalidate else ResultType.RECEIVE,
            qp=self.number,
            status=status,
            flags=flags,
        )
