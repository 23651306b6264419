# SPDX-License-Identifier: Apache-2.0
"""Writes with a step each (posts, receive posts), which tells their cause, as their answer must.
One that has no step is told a cause that was right in a state between it and its answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Generic, TypeVar

from models.codes import Cause
from models.layouts import PAGE_BYTES
from tb.env.harness.records import DoorbellRequest, DoorbellResponse
from tb.env.scoreboard.context import Context
from tb.env.scoreboard.cq.reserve import PostCredits
from tb.env.scoreboard.explain import coded
from tb.env.scoreboard.host.pages import PageCheck, PageWrites, Pending


class PortalWrite(Pending):
    """A write without an answer. It may hold ``credits`` of ``cq`` until it is decided."""

    def __init__(self, check: PageCheck, request: DoorbellRequest, serial: int, since: int) -> None:
        super().__init__(check, request)
        self.page = request.addr // PAGE_BYTES
        self.result: int | None = None  # by the write itself, or by its step
        self.foreign: set[int] = set()  # what it can have been told without a step
        self.serial = serial
        self.since = since
        self.cq = -1
        self.credits = 1


W = TypeVar("W", bound=PortalWrite)


class PortalCheck(PageCheck, Generic[W]):
    """The rules of such writes, of one kind; ``lane``: where their steps are."""

    def __init__(
        self, ctx: Context, pages: PageWrites, credits_: PostCredits, kind: type[W], lane: int
    ) -> None:
        self.ctx = ctx
        self.pages = pages
        self.credits = credits_
        self._kind = kind
        self._lane = lane
        self._latest = 0  # the write of the latest step

    @abstractmethod
    def look(self, pending: W) -> None:
        """Adds what it would be told in the present state without a step."""

    @abstractmethod
    def alike(self, one: W, two: W) -> bool:
        """The step of one may be that of the other."""

    def handed(self, pending: W, other: W) -> None:
        """The step that was taken for one write's is that of the other."""
        other.result = pending.result

    def answered(self, record: DoorbellResponse, request: DoorbellRequest) -> None:
        """It was answered, as is right."""

    def hold(self, pending: W, cq: int, credits_: int = 1) -> None:
        """It may have credits of this CQ from now on."""
        pending.cq, pending.credits = cq, credits_
        self.credits.lanes[self._lane][cq] += credits_

    def waiting(self) -> Iterator[W]:
        """Writes that wait for their steps, oldest first."""
        for pending in self.pages.of(self._kind):
            if pending.result is None:
                yield pending

    def candidates(self) -> Iterator[W]:
        """Those of them that the next step can be of."""
        for pending in self.waiting():
            if pending.serial > self._latest:
                yield pending

    def response(self, pending: Pending, record: DoorbellResponse) -> None:
        assert isinstance(pending, PortalWrite)
        cause = record.cause
        if cause and cause in pending.foreign:
            if pending.result is not None and not self._hand_on(pending):
                self.wrong(pending, f"refused with {cause:#x}, but it has a step")
        elif pending.result is None:
            right = coded("cause", Cause, cause, *(pending.foreign - {0}), none="a step").want
            self.wrong(pending, f"answered {cause:#x} without a step; right would be: {right}")
        elif cause != pending.result:
            text = f"cause {cause:#x}, expected {pending.result:#x}"
            self.wrong(pending, text, coded("cause", Cause, cause, pending.result))
        self.passed(pending)
        self.answered(record, pending.request)

    def _hand_on(self, pending: PortalWrite) -> bool:
        """The step that was taken for this write's may be that of a later one that is alike."""
        for other in self.waiting():
            if self.alike(other, pending):  # type: ignore[arg-type]
                self.handed(pending, other)  # type: ignore[arg-type]
                return True
        return False

    def stepped(self, pending: W, cause: int) -> None:
        """It has had its step, and everything in front of it its turn."""
        pending.result = cause
        self._latest = pending.serial
        self.pages.passed(pending, self._kind)

    def passed(self, pending: Pending) -> None:
        assert isinstance(pending, PortalWrite)
        pending.decided = True
        if pending.cq >= 0:
            self.credits.lanes[self._lane][pending.cq] -= pending.credits
            pending.cq = -1

    def oldest(self) -> int:
        """Serial of the state of the oldest write that waits for its step."""
        return next((pending.since for pending in self.waiting()), self.credits.serial)
