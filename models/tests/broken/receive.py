# SPDX-License-Identifier: Apache-2.0
"""Receive queues with one rule taken out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from models.codes import Cause, CommandResult, LogCause, NotReady, QpState, ScatterCode
from models.cq.entries import Cqe
from models.layouts import LINE_BYTES, SRQ_DB
from models.params import Params
from models.post.qp_types import StateStep
from models.receive.receive import ReceiveModel
from models.receive.receive_post import RecvPost, fill
from models.receive.receive_qp import ReceiveQp
from models.receive.receive_types import (
    Buffer,
    ReceiveCompletion,
    RecvPostResult,
    RecvRequest,
    SrqConfig,
    Taken,
    TakeResult,
)
from models.receive.srq import BufferQueue, SrqModel
from models.tests.broken.arm import WakesAlways
from models.tests.broken.parts import Parts

_FLUSHING = (QpState.DISCONNECTED, QpState.ERROR, QpState.DESTROYING)


class NeedsNoCredit(ReceiveQp):
    """A receive is posted, or a shared buffer taken, without a credit."""

    def faults(self, post: RecvPost, page: int, **state: bool) -> Iterator[Cause]:
        return (c for c in super().faults(post, page, **state) if c is not Cause.NO_CREDIT)

    def not_ready(self, credit: bool = True, cq_error: bool = False) -> NotReady | None:
        del credit, cq_error
        return super().not_ready()


class FailuresRelease(ReceiveModel):
    """A receive post that fails is a failed initiator post."""

    def write(
        self, addr: int, length: int, size: int, strb: int, data: int, **state: Any
    ) -> RecvPostResult | None:
        result = super().write(addr, length, size, strb, data, **state)
        number = RecvPost.decode(data).number
        if result is not None and result.cause is not Cause.OK and number < self.params.num_qp:
            self.posting.qps[number]._release()
        return result


class CompletesTheNewest(ReceiveQp):
    """Of several reported receives the newest completes first."""

    def _next(self) -> Taken:
        done = [t for t in self.flight if t.status is not None]
        return done[-1] if done else super()._next()


class AnyPage(ReceiveQp):
    """A receive post through another page is accepted."""

    def post(self, post: RecvPost, page: int | None = None, **state: Any) -> RecvPostResult:
        del page
        return super().post(post, **state)


class AnyPageShared(SrqModel):
    """A receive post or a reap through another page is accepted."""

    def post(self, post: RecvPost, page: int | None = None, **state: Any) -> RecvPostResult:
        del page
        return super().post(post, **state)

    def reap_cause(
        self, index: int, page: int | None = None, completed: int | None = None
    ) -> Cause:
        del page
        return super().reap_cause(index, None, completed)


class _IgnoresReserved(BufferQueue):
    def content_faults(self, post: RecvPost, page: int, owner: int, zone: int) -> Iterator[Cause]:
        return super().content_faults(replace(post, reserved=0), page, owner, zone)


class IgnoresReserved(_IgnoresReserved, ReceiveQp):
    """Reserved bits of a receive post are ignored."""


class IgnoresReservedShared(_IgnoresReserved, SrqModel):
    """Reserved bits of a receive post are ignored."""


class IgnoresReservedReaps(ReceiveModel):
    """Reserved bits of SRQ_DB are ignored."""

    def reap_cause(
        self,
        addr: int,
        length: int,
        size: int,
        strb: int,
        data: int,
        completed: int | None = None,
    ) -> Cause | None:
        legal = (self.params.index(-1) | 0xFFFF << 32) << 8 * (SRQ_DB % LINE_BYTES)
        return super().reap_cause(addr, length, size, strb, data & legal, completed)


class TakesAnyTag(ReceiveQp):
    """A report with a wrong tag is taken for the oldest buffer in flight."""

    def report(self, tag: int, status: int) -> tuple[LogCause, StateStep | None]:
        numbers = (t.number for t in self.flight if t.status is None)
        return super().report(self.params.index(next(numbers, tag)), status)


class _RefusesEmpty(BufferQueue):
    def content_faults(self, post: RecvPost, page: int, owner: int, zone: int) -> Iterator[Cause]:
        yield from super().content_faults(post, page, owner, zone)
        if not post.num_segments:
            yield Cause.TOO_MANY_SEGMENTS


class RefusesEmpty(_RefusesEmpty, ReceiveQp):
    """A post without segments is refused."""


class RefusesEmptyShared(_RefusesEmpty, SrqModel):
    """A post without segments is refused."""


class BelongsToTheFirst(SrqModel):
    """Only the queue pair that took first from a shared queue may take from it."""

    def __init__(self, number: int = 0, params: Params | None = None, regions: Any = None) -> None:
        super().__init__(number, params, regions)
        self.taker: int | None = None

    def create(self, config: SrqConfig, start: int | None = None) -> int:
        self.taker = None
        return super().create(config, start)

    def take(self, qp: int) -> tuple[Buffer, bool]:
        self.taker = qp if self.taker is None else self.taker
        return super().take(qp)


class TakesFromItsOwn(ReceiveQp):
    """Takes from a shared queue only if it was the first to do so."""

    def not_ready(self, credit: bool = True, cq_error: bool = False) -> NotReady | None:
        if isinstance(self.srq, BelongsToTheFirst) and self.srq.taker not in (None, self.number):
            return NotReady.EMPTY
        return super().not_ready(credit, cq_error)


class FillsBackwards(ReceiveQp):
    """Segments are filled from the last to the first."""

    def take(self, request: RecvRequest, **state: Any) -> TakeResult:
        answer = super().take(request, **state)
        if answer.buffer is None or not answer.filled:
            return answer
        filled = fill(answer.buffer.post.segments[::-1], request.length)
        return replace(answer, filled=tuple(filled[::-1]))


class CutsTheContext(ReceiveQp):
    """The context comes back with 32 bits."""

    def _cqe(self, taken: Taken, status: int) -> Cqe:
        cqe = super()._cqe(taken, status)
        return cqe._replace(request_context=cqe.request_context & 0xFFFF_FFFF)


class CompletesInTheSendCq(ReceiveQp):
    """The completion goes to the send CQ."""

    def complete(self) -> ReceiveCompletion:
        return replace(super().complete(), cq=self.qp.config.send_cq)


class FlushesOne(ReceiveQp):
    """A flush completes the oldest buffer, the others vanish."""

    def flush_take(self, **state: Any) -> TakeResult:
        answer = super().flush_take(**state)
        self.buffers.clear()
        return answer


class FlushesFirst(ReceiveQp):
    """Flushed buffers complete before those in flight."""

    @property
    def flushable(self) -> bool:
        return self.qp.state in _FLUSHING and self.srq is None and bool(self.buffers)

    def _next(self) -> Taken:
        return next((t for t in self.flight if t.flush), super()._next())


class WaitsForTheEvent(SrqModel):
    """A shared queue takes no post while its watermark event waits."""

    def faults(self, post: RecvPost, page: int) -> Iterator[Cause]:
        yield from super().faults(post, page)
        if self.waiting:
            yield Cause.QUEUE_FULL


class TakesInEveryState(ReceiveQp):
    """Every queue pair that exists takes buffers."""

    @property
    def may_take(self) -> bool:
        return self.qp.state is not QpState.FREE


class FlushesTheSharedQueue(ReceiveQp):
    """A queue pair whose connection ended flushes the shared queue, too."""

    @property
    def flushable(self) -> bool:
        if self.srq is None or self.qp.state not in _FLUSHING or self.in_flight:
            return super().flushable
        return bool(self.srq.buffers)


class _NamesTheLowest(BufferQueue):
    def first(self, faults: Iterable[Cause]) -> Cause:
        return min(faults, default=Cause.OK)


class NamesTheLowest(_NamesTheLowest, ReceiveQp):
    """Of several causes the one with the lowest code is given."""


class NamesTheLowestShared(_NamesTheLowest, SrqModel):
    """Of several causes the one with the lowest code is given."""


class StaysArmed(SrqModel):
    """The watermark stays armed after its event."""

    def _event(self) -> bool:
        event = super()._event()
        self.armed = self.armed or event
        return event


class ShrinksAlways(SrqModel):
    """A resize below what is outstanding is accepted."""

    def check_resize(self, size: int) -> CommandResult:
        result = super().check_resize(size)
        return CommandResult.OK if result is CommandResult.CMD_TOO_SMALL else result


class CutsMessages(ReceiveQp):
    """A message that is too long is cut."""

    def _too_long(self, request: RecvRequest, post: RecvPost) -> bool:
        del request, post
        return False


class ChecksNoSegment(ReceiveQp):
    """The segments of a queue pair's own receives are not checked."""

    def faults(self, post: RecvPost, page: int, **state: bool) -> Iterator[Cause]:
        for cause in super().faults(post, page, **state):
            if not Cause.BAD_REGION <= cause <= Cause.BAD_RANGE:
                yield cause


#: Variants by the rule that they lack.
BROKEN: Final[Mapping[str, Parts]] = {
    "CQ-17": Parts(rq=NeedsNoCredit),
    "DF-10": Parts(receive=FailuresRelease),
    "DF-12": Parts(rq=CompletesTheNewest),
    "ISO-01": Parts(rq=AnyPage, srq=AnyPageShared),
    "ISO-02": Parts(rq=IgnoresReserved, srq=IgnoresReservedShared, receive=IgnoresReservedReaps),
    "ISO-03": Parts(rq=TakesAnyTag),
    "SRQ-01": Parts(rq=RefusesEmpty, srq=RefusesEmptyShared),
    "SRQ-02": Parts(rq=TakesFromItsOwn, srq=BelongsToTheFirst),
    "SRQ-03": Parts(rq=FillsBackwards),
    "SRQ-04": Parts(rq=CutsTheContext),
    "SRQ-05": Parts(rq=CompletesInTheSendCq),
    "SRQ-06": Parts(rq=FlushesOne),
    "SRQ-07": Parts(cq=WakesAlways),
    "SRQ-10": Parts(rq=FlushesFirst),
    "SRQ-12": Parts(srq=WaitsForTheEvent),
    "SRQ-13": Parts(rq=TakesInEveryState),
    "SRQ-14": Parts(rq=FlushesTheSharedQueue),
    "SRQ-15": Parts(rq=NamesTheLowest, srq=NamesTheLowestShared),
    "SRQ-16": Parts(srq=StaysArmed),
    "SRQ-17": Parts(srq=ShrinksAlways),
    "SRQ-18": Parts(rq=CutsMessages),
    "SRQ-19": Parts(rq=ChecksNoSegment),
}


# -- mistakes that are no missing rule, for the walk -----------------------------------------------


class SkipsOne(ReceiveQp):
    """A completion takes two buffers with it."""

    def complete(self) -> ReceiveCompletion:
        done = super().complete()
        if len(self.flight) > 1:
            del self.flight[0]
        return done


class TakesAtAReport(ReceiveQp):
    """The limit of buffers in flight counts one too many."""

    def not_ready(self, credit: bool = True, cq_error: bool = False) -> NotReady | None:
        why = super().not_ready(credit, cq_error)
        return None if why is NotReady.IN_FLIGHT else why


class EndsAtOnce(ReceiveQp):
    """A message that is too long ends the connection in the step that takes."""

    def take(
        self,
        request: RecvRequest,
        *,
        credit: bool = True,
        cq_error: bool = False,
        tail_seen: int | None = None,
        reported_seen: int | None = None,
    ) -> TakeResult:
        got = super().take(
            request,
            credit=credit,
            cq_error=cq_error,
            tail_seen=tail_seen,
            reported_seen=reported_seen,
        )
        if got.code is ScatterCode.LENGTH_ERROR:
            self.qp.receive_failed()
        return got


class TakesNothingTooLong(ReceiveQp):
    """A message that is too long leaves the buffer in its queue."""

    def _pop(self) -> tuple[Buffer, bool]:
        queue = self if self.srq is None else self.srq
        buffers = list(queue.buffers)
        buffer, event = super()._pop()
        if self.flight and self.flight[-1].overlong:
            queue.buffers = buffers
        return buffer, event


class ForgetsReports(ReceiveQp):
    """Reports after the end of the connection are refused."""

    def report(self, tag: int, status: int) -> tuple[LogCause, StateStep | None]:
        if self.qp.state not in (2, 3):
            return LogCause.RDONE_UNEXPECTED, None
        return super().report(tag, status)


class NeverBusy(ReceiveQp):
    """Commands do not see receives."""

    @property
    def busy(self) -> bool:
        return False


class ReapsFree(SrqModel):
    """A completion frees the slot, not the reap."""

    def complete(self) -> None:
        super().complete()
        self.reaped = self.completed


class LosesTheFirst(SrqModel):
    """A queue that is full drops its oldest buffer."""

    def take(self, qp: int) -> tuple[Buffer, bool]:
        if self.available == self.config.size:
            self.buffers.pop(0)
        return super().take(qp)


class ArmsForTomorrow(SrqModel):
    """A threshold that is not reached already when it is set gives no event at once."""

    def _event(self) -> bool:
        return self.available > 0 and super()._event()


class CountsTaken(SrqModel):
    """The consumer may reap what is only taken."""

    def take(self, qp: int) -> tuple[Buffer, bool]:
        got = super().take(qp)
        self.completed = max(self.completed, self.head)
        return got


class RunsOver(SrqModel):
    """Takes the newest buffer."""

    def take(self, qp: int) -> tuple[Buffer, bool]:
        self.buffers.reverse()
        got = super().take(qp)
        self.buffers.reverse()
        return got
