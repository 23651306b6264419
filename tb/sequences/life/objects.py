# SPDX-License-Identifier: Apache-2.0
"""What a host knows of the objects of random traffic: as much as it needs to go on."""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from models.codes import Cause
from models.post.post import Post
from tb.env.agents.base import Pending
from tb.env.agents.control import CommandError
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import Right
from tb.env.host.qp import Qp
from tb.env.host.recv import Srq
from tb.env.host.regions import MemoryWindow, Region

BOTH = Right.REMOTE_READ | Right.REMOTE_WRITE


async def allowed(action: Coroutine[Any, Any, Any]) -> bool:
    """Runs commands; False if one is refused, which ends them."""
    try:
        await action
    except CommandError:
        return False
    return True


class Posted(NamedTuple):
    """A post of either kind. ``epoch``: connection of its QP."""

    answer: Pending[WriteResult]
    epoch: int
    post: Any

    @property
    def refused(self) -> bool:
        """It was answered, and not accepted."""
        return self.answer.done and self.answer.result != (0, 0)


def answered(unanswered: deque[Posted]) -> Iterator[tuple[Cause, Posted]]:
    """Takes those that have an answer."""
    while unanswered and (result := unanswered[0].answer.result) is not None:
        yield Cause(result.cause), unanswered.popleft()


@dataclass(eq=False)
class Life:
    """A QP from creation to destruction, as far as the host knows."""

    qp: Qp
    unanswered: deque[Posted] = field(default_factory=deque)
    open: deque[Posted] = field(default_factory=deque)
    """Legal posts that may be outstanding, in post order."""
    epoch: int = 0
    left: int = 0
    """Posts to the end of the chain."""
    down: int = 0
    """Answers NOT_CONNECTED of this connection."""
    busy: bool = False
    """Commands are running."""
    gone: bool = False
    """Destroyed, and comes again with another CQ; busy until then."""
    paused: bool = True
    """No legal posts."""


@dataclass(eq=False)
class Queue:
    """A queue of buffers from creation to destruction, as far as the host knows."""

    handle: Qp | Srq
    zone: int
    unanswered: deque[Posted] = field(default_factory=deque)
    accepted: list[int] = field(default_factory=list)
    """Bytes of each buffer that was accepted."""
    taken: int = 0
    """Of them, in order, by messages."""
    planned: int = 0
    """Posts that are to be queued soon."""
    polled: int = 0
    """Completions of its buffers."""
    users: int = 0
    """QPs that are being created."""
    busy: bool = False
    """Commands are running."""
    closing: bool = False
    """No new users."""
    paused: bool = False
    """No posts."""

    @property
    def shared(self) -> bool:
        """It is an SRQ."""
        return isinstance(self.handle, Srq)

    @property
    def srq(self) -> Srq:
        """The same."""
        assert isinstance(self.handle, Srq)
        return self.handle

    @property
    def room(self) -> int:
        """Buffers that it would take now."""
        size = self.handle.size if isinstance(self.handle, Srq) else self.handle.recv_depth
        coming = self.planned + len(self.unanswered)
        return size - (len(self.accepted) + coming - self.polled)


class Given(NamedTuple):
    """Part of a region that a window has."""

    window: MemoryWindow
    region: Region
    offset: int
    length: int
    rights: int


@dataclass(eq=False)
class Zone:
    """A protection zone with its objects; those that nobody has now are in the lists."""

    number: int
    regions: list[Region] = field(default_factory=list)
    readable: list[Region] = field(default_factory=list)  # without local write
    windows: list[MemoryWindow] = field(default_factory=list)
    fast: list[Region] = field(default_factory=list)  # allocated
    free: list[int] = field(default_factory=list)  # addresses for receive buffers


@dataclass(eq=False)
class Asked:
    """An accepted request, with its status when it was polled."""

    post: Post
    status: int | None = None

    @property
    def done(self) -> bool:
        """It was polled."""
        return self.status is not None

    @property
    def good(self) -> bool:
        """It has succeeded."""
        return self.status == 0


@dataclass(eq=False)
class Message:
    """A Send to ``side``."""

    side: Side
    received: bool = False


@dataclass(eq=False)
class Side:
    """One QP, from creation to destruction."""

    qp: Qp
    srq: Srq | None = None
    open: deque[Asked] = field(default_factory=deque)
    """Requests in post order, not polled."""
    buffers: deque[int] = field(default_factory=deque)
    """Addresses of receives, not polled."""
    kept: list[Given] = field(default_factory=list)
    """Windows that are valid on it."""

    @property
    def number(self) -> int:
        """Of the QP."""
        return self.qp.number

    @property
    def quiet(self) -> bool:
        """Every request is polled, and every receive of a queue that has no other user."""
        return not self.open and (self.srq is not None or not self.buffers)

    @property
    def room(self) -> int:
        """Buffers that its receive queue may hold."""
        return self.srq.size if self.srq else self.qp.recv_depth


@dataclass(eq=False)
class Link:
    """One connection of a pair."""

    sides: tuple[Side, Side]
    zone: Zone
    clean: bool = True
    over: bool = False
    left: list[MemoryWindow | Region] = field(default_factory=list)
    """Objects whose keys are to be looked at when it has ended."""
    messages: list[Message] = field(default_factory=list)
    """That this connection has sent or is about to send."""
