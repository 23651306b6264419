# SPDX-License-Identifier: Apache-2.0
"""Queue pairs with one rule of posting taken out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from models.codes import Cause, CommandResult, LogCause, Status
from models.layouts import PAGE_BYTES, RECV_PORTAL
from models.post.post import Post
from models.post.posting import PostingModel
from models.post.qp import Indication, PostResult, QpModel, Request, Retirement, StateStep
from models.tests.broken.parts import Parts
from models.verbs import VERBS


class NeedsNoCredit(QpModel):
    """A post without a credit is accepted."""

    def faults(self, post: Post, page: int, **state: bool) -> Iterator[Cause]:
        return (c for c in super().faults(post, page, **state) if c is not Cause.NO_CREDIT)


class HoldsForEver(QpModel):
    """The watermark and the age limit are ignored."""

    def _watermark_reached(self) -> bool:
        return False

    def age(self, now: int | None = None) -> range:
        del now
        return range(0)


class QueuesFailures(QpModel):
    """A post that fails inline is queued and completes."""

    def _fail(self, post: Post, cause: Cause, now: int) -> range:
        if post.opcode in VERBS:
            self._accept(post, now)
        return super()._fail(post, cause, now)


class HidesFailures(QpModel):
    """SILENT_SUCCESS hides failed completions, too."""

    def _is_silent(self, post: Post, status: int) -> bool:
        del status
        return super()._is_silent(post, Status.SUCCESS)


class ReleasesNothing(QpModel):
    """An inline failure releases nothing."""

    def _fail(self, post: Post, cause: Cause, now: int) -> range:
        del post, cause, now
        return range(0)


class BatchesOfOne(QpModel):
    """Every released request is a batch of its own."""

    def _release(self) -> range:
        released = super()._release()
        for request in self.requests:
            request.last = request.last or request.number in released
        return released


class DropsWhatIsHeld(QpModel):
    """An inline failure drops what is held."""

    def _fail(self, post: Post, cause: Cause, now: int) -> range:
        self.requests = [r for r in self.requests if r.number < self.released]
        self.tail = self.released
        return super()._fail(post, cause, now)


class FullReleasesNothing(QpModel):
    """A post that finds the send queue full releases nothing."""

    def _fail(self, post: Post, cause: Cause, now: int) -> range:
        return range(0) if cause is Cause.QUEUE_FULL else super()._fail(post, cause, now)


class StartsAgain(QpModel):
    """A release starts again at the oldest request that has not retired."""

    def _release(self) -> range:
        released = super()._release()
        for request in self.requests:
            request.indicated = request.indicated and request.number in released
        self.indicated = self.retired
        return released


class ReceivePostsFailHere(PostingModel):
    """A write to a receive portal is a failed initiator post."""

    def write(
        self, addr: int, length: int, size: int, strb: int, data: int, **state: Any
    ) -> PostResult | None:
        qp = Post.decode(data).qp
        if addr % PAGE_BYTES >= RECV_PORTAL and qp < self.params.num_qp:
            self.qps[qp]._release()
        return super().write(addr, length, size, strb, data, **state)


class LeavesWhatIsHeld(QpModel):
    """What is held when the connection ends stays held."""

    def _skip(self) -> None:
        released = self.released
        super()._skip()
        self.released = released
        for request in self.requests:
            request.skipped = request.skipped and request.number < released


class RetiresWhenDone(QpModel):
    """A request retires as soon as it is done."""

    def _first(self) -> Request:
        return next((r for r in self.requests if r.done), self.requests[0])


class IgnoresTheFence(QpModel):
    """The fence is ignored."""

    def _fenced(self, request: Request) -> bool:
        del request
        return False


class NamesTheLowestCode(QpModel):
    """Of several causes the one with the lowest code is given."""

    def check(self, post: Post, page: int, **state: bool) -> Cause:
        return min(self.faults(post, page, **state), default=Cause.OK)


class GoesOnAfterFailures(QpModel):
    """A failed completion has no effect on the queue pair."""

    def receive_failed(self) -> StateStep | None:
        return None

    def _status(self, request: Request) -> int:
        return int(Status.CANCELED if request.status is None else request.status)


class TakesAnyPage(QpModel):
    """A post through another page is accepted."""

    def faults(self, post: Post, page: int, **state: bool) -> Iterator[Cause]:
        del page
        return super().faults(post, self.config.page, **state)


class IgnoresReservedBits(QpModel):
    """Reserved bits of a post are ignored."""

    def faults(self, post: Post, page: int, **state: bool) -> Iterator[Cause]:
        return super().faults(replace(post, reserved=0), page, **state)


class TakesAnyTag(QpModel):
    """A done report with a wrong tag is taken for the oldest request."""

    def report(self, tag: int, status: int) -> tuple[LogCause, StateStep | None]:
        tags = (r.tag for r in self.requests if r.tag is not None and r.status is None)
        return super().report(self.params.index(next(tags, tag)), status)


#: Variants by the rule that they lack.
BROKEN: Final[Mapping[str, Parts]] = {
    "CQ-17": Parts(qp=NeedsNoCredit),
    "DF-01": Parts(qp=HoldsForEver),
    "DF-02": Parts(qp=QueuesFailures),
    "DF-03": Parts(qp=HidesFailures),
    "DF-04": Parts(qp=ReleasesNothing),
    "DF-06": Parts(qp=BatchesOfOne),
    "DF-07": Parts(qp=DropsWhatIsHeld),
    "DF-08": Parts(qp=FullReleasesNothing),
    "DF-09": Parts(qp=StartsAgain),
    "DF-10": Parts(posting=ReceivePostsFailHere),
    "DF-11": Parts(qp=LeavesWhatIsHeld),
    "DF-12": Parts(qp=RetiresWhenDone),
    "DF-13": Parts(qp=IgnoresTheFence),
    "DF-14": Parts(qp=NamesTheLowestCode),
    "DF-15": Parts(qp=GoesOnAfterFailures),
    "ISO-01": Parts(qp=TakesAnyPage),
    "ISO-02": Parts(qp=IgnoresReservedBits),
    "ISO-03": Parts(qp=TakesAnyTag),
}


# -- mistakes that are no missing rule, for the walk -----------------------------------------------


class CountsLocal(QpModel):
    """Local requests use up tags."""

    def indicate(self, late: bool = False) -> Indication:
        beat = super().indicate(late)
        self.tags += beat.local
        return beat


class EndsEarly(QpModel):
    """A batch that is not indicated yet merges with the next one."""

    def _release(self) -> range:
        for request in self.requests:
            request.last = request.last and request.indicated
        return super()._release()


class ForgetsReports(QpModel):
    """Reports after the end of the connection are refused."""

    def report(self, tag: int, status: int) -> tuple[LogCause, StateStep | None]:
        if self.state not in (2, 3):
            return LogCause.DONE_UNEXPECTED, None
        return super().report(tag, status)


class FailsForEver(QpModel):
    """A new connection is still cancelled by the old one's failure."""

    def connect(self, peer: int) -> tuple[CommandResult, StateStep | None]:
        failed = self.failed
        answer = super().connect(peer)
        self.failed = failed
        return answer


class CancelsSilently(QpModel):
    """What is skipped gives no completion if it has SILENT_SUCCESS."""

    def retire(self) -> Retirement:
        r = super().retire()
        silent = r.silent or (r.skipped and bool(r.post.flags & 1))
        return replace(r, silent=silent)
