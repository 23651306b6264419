# SPDX-License-Identifier: Apache-2.0
"""Writes to the doorbell pages: answered once each, in order. What a write means, the check of its
offset in the page says.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

from models.layouts import PAGE_BYTES
from tb.env.harness.records import DoorbellRequest, DoorbellResponse
from tb.env.scoreboard.context import Check, Context, Left, Object
from tb.env.scoreboard.explain import Difference

P = TypeVar("P", bound="Pending")


class Pending:
    """A write without an answer. ``decided``: no later state counts for it."""

    def __init__(self, check: PageCheck, request: DoorbellRequest) -> None:
        self.check = check
        self.request = request
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

    @abstractmethod
    def wrong(self, pending: Pending, text: str, diff: Difference | None = None) -> NoReturn:
        """Something about a write is wrong."""

    def may_answer(self, pending: Pending, record: DoorbellResponse) -> None:
        """Looks up what the answer is judged by; raises NeedCommandError if that is not known."""


class PageWrites(Check):
    """All writes, in the order of their answers."""

    rules = "ISO-02"

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.waiting: deque[Pending] = deque()
        self._by_kind: defaultdict[type[Pending], deque[Any]] = defaultdict(deque)
        self.requests = 0
        #: The check of each offset in a page, and of all others.
        self.by_offset: dict[int, PageCheck] = {}
        self.others: PageCheck

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
                self.ctx.fail("the write is not that of the sequence's item", diff=diff, objs=objs)

    def response(self, record: DoorbellResponse) -> None:
        """A write was answered."""
        if not self.waiting:
            self.ctx.fail(f"answer to no doorbell: {record}")
        pending = self.waiting[0]
        pending.check.may_answer(pending, record)
        self.waiting.popleft()
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
