# SPDX-License-Identifier: Apache-2.0
"""Writes to the doorbell pages: answered once each, in order. What a write means, the check of its
offset in the page says.

Writes with a step each (posts, receive posts), which tells their cause, as their answer must.
One that has no step is told a cause that was right in a state between it and its answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any, Generic, NoReturn, TypeVar

from models.codes import Cause
from models.layouts import PAGE_BYTES
from tb.env.harness.records import DoorbellRequest, DoorbellResponse
from tb.env.scoreboard.context import Check, Context, Left, Object
from tb.env.scoreboard.cq.credits import PostCredits
from tb.env.scoreboard.explain import Difference, coded

P = TypeVar("P", bound="Pending")


class Pending:
    """A write without an answer. ``obj``: what it is about; ``decided``: no later state counts for
    it.
    """

    def __init__(self, check: PageCheck, request: DoorbellRequest) -> None:
        self.check = check
        self.request = request
        self.obj: Object = "doorbell page", request.addr // PAGE_BYTES
        self.decided = False


class PageCheck(Check):
    """The rules of the writes to some offsets."""

    @abstractmethod
    def request(self, record: DoorbellRequest, serial: int) -> Pending:
        """A write was taken from the host; ``serial`` grows from write to write."""

    @abstractmethod
    def response(self, pending: Pending, record: DoorbellResponse) -> None:
        """It was answered."""

    @abstractmethod
    def passed(self, pending: Pending) -> None:
        """A later write has had its turn, and so has this one."""

    def wrong(self, pending: Pending, text: str, diff: Difference | None = None) -> NoReturn:
        """Something about a write is wrong."""
        self.fail(f"{pending}: {text}", pending.obj, diff=diff)

    def may_answer(self, pending: Pending, record: DoorbellResponse) -> None:
        """Looks up what the answer is judged by; raises NeedCommandError if that is not known."""


class PageWrites(Check):
    """All writes, in the order of their answers."""

    rules = "ISO-02"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.waiting: deque[Pending] = deque()
        self._by_kind: defaultdict[type[Pending], deque[Any]] = defaultdict(deque)
        self.requests = 0
        #: The check of each offset in a page, and of all others.
        self.by_offset: dict[int, PageCheck] = {}
        self.others: PageCheck
        #: The write of the latest answer.
        self.answered: Pending

    def of(self, kind: type[P]) -> Iterator[P]:
        """Writes of one kind without an answer, oldest first."""
        return iter(self._by_kind[kind])

    def request(self, record: DoorbellRequest) -> None:
        """A write was taken from the host."""
        self.requests += 1
        if self.ctx.asked:
            self._as_asked(record)
        check = self.by_offset.get(record.addr % PAGE_BYTES, self.others)
        pending = check.request(record, self.requests)
        self.waiting.append(pending)
        self._by_kind[type(pending)].append(pending)

    def _as_asked(self, record: DoorbellRequest) -> None:
        """A write of a sequence is at the pins what the item says."""
        asked = self.ctx.asked.pop(self.requests, None)
        if asked is None:
            return
        for field, got, want in (
            ("address", record.addr, asked.addr),
            ("data", record.data & asked.mask, asked.data),
        ):
            if got != want:
                diff = Difference(field, f"{got:#x}", f"{want:#x}")
                objs: list[Object] = [("doorbell page", asked.addr // PAGE_BYTES)]
                self.fail("the write is not that of the sequence's item", *objs, diff=diff)

    def response(self, record: DoorbellResponse) -> None:
        """A write was answered."""
        if not self.waiting:
            self.fail(f"answer to no doorbell: {record}")
        pending = self.waiting[0]
        pending.check.may_answer(pending, record)
        self.answered = self.waiting.popleft()
        self._by_kind[type(pending)].popleft()
        check, request = pending.check, pending.request
        self.ctx.rules = check.rules
        if record.axi_id != request.axi_id:
            check.wrong(pending, f"answered with ID {record.axi_id:#x}, not {request.axi_id:#x}")
        if record.resp != (2 if record.cause else 0):
            check.wrong(pending, f"response {record.resp} with cause {record.cause:#x}")
        check.response(pending, record)

    def passed(self, last: Pending, *kinds: type[Pending]) -> None:
        """A write has had its turn, and so has everything in front of it of these kinds; default:
        of all.
        """
        for pending in self.waiting:
            if not pending.decided and (not kinds or isinstance(pending, kinds)):
                pending.check.passed(pending)
            if pending is last:
                break

    def left(self) -> Iterator[Left]:
        """Writes without an answer."""
        for pending in self.waiting:
            cycle = pending.request.cycle
            yield Left("doorbells", cycle, "no answer to the doorbell of cycle")


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
        super().__init__(ctx)
        self.pages = pages
        self.credits = credits_
        self._kind = kind
        self._lane = lane
        #: The write of the latest step.
        self.latest: W | None = None

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
        latest = 0 if self.latest is None else self.latest.serial
        for pending in self.waiting():
            if pending.serial > latest:
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
        self.latest = pending
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
