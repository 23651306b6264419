# SPDX-License-Identifier: Apache-2.0
"""Shared receive queues as the host sees them (the objects that ``Adapter.create_srq`` makes), and
what they have in common with a QP's own receive queue: receive posts and their results.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from models import codes
from models.codes import RECEIVE_CAUSES
from models.post.post import Post, Segment, slots_of
from models.receive.dat import DAT_RESULT, DatResult
from models.receive.receive_post import RecvPost
from tb.env import defs
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import SRQ_DB, Cause, Cmd, PageReg
from tb.env.host.object import HostObject


class Posted(NamedTuple):
    """Inline result of a receive post: its public result (None for a malformed write, which no
    driver makes) and the cause.
    """

    result: DatResult | None
    cause: Cause

    @property
    def accepted(self) -> bool:
        """The buffer is posted."""
        return self.cause == Cause.NONE


def posted(answer: WriteResult) -> Posted:
    """From the answer to the write."""
    resp, cause = answer
    assert bool(resp) == bool(cause), f"response {resp} with cause {cause}"
    known = cause in RECEIVE_CAUSES
    return Posted(DAT_RESULT.get(codes.Cause(cause)) if known else None, Cause(cause))


@dataclass(eq=False)
class ReceiveQueue(HostObject):
    """A queue that takes buffers. Posts go through the owner's page unless ``page`` says otherwise.

    ``portal`` is where; ``number`` that of the QP or SRQ.
    """

    portal: ClassVar[PageReg]

    page: int
    _cookies: int = field(default=0, init=False)

    def make_recv(self, segments: Sequence[Segment] = (), cookie: int | None = None) -> RecvPost:
        """A receive post for this queue: up to three segments, 64-bit context. Default context: the
        number of the queue in the upper half with bit 63 set, counted in the lower.
        """
        if cookie is None:
            cookie = 1 << 63 | int(self.portal) << 48 | self.number << 32 | self._cookies
            self._cookies += 1
        return RecvPost(self.number, len(segments), cookie, slots_of(segments))

    def queue_recv(
        self, post: RecvPost | int, *, page: int | None = None, at: int = 0, **options: Any
    ) -> Pending[WriteResult]:
        """Queues the write of a receive post (or of any 512 bits) and returns its answer to come;
        posts go out one per cycle. Options: those of ``DoorbellAgent.post``.
        """
        return self.queue_line(self.portal, post, page, at=at, **options)

    def queue_line(
        self, portal: int, post: Post | RecvPost | int, page: int | None, **options: Any
    ) -> Pending[WriteResult]:
        """Queues the write of 512 bits; default: to the owner's page."""
        options = {"line": post if isinstance(post, int) else post.encode(), "size": 6} | options
        page = self.page if page is None else page
        return self.host.env.doorbells.post(page, portal, 0, **options)

    def queue_recv_many(self, posts: Iterable[RecvPost | int]) -> list[Pending[WriteResult]]:
        """Queues many receive posts; await the answers as needed."""
        return [self.queue_recv(post) for post in posts]

    async def post_recv(
        self, segments: Sequence[Segment] = (), cookie: int | None = None, **options: Any
    ) -> Posted:
        """dat_ep_post_recv, dat_srq_post_recv: posts one buffer; returns the inline result."""
        return posted(await self.queue_recv(self.make_recv(segments, cookie), **options))


class SrqStatus(NamedTuple):
    """Answer to QUERY_SRQ; indices and counts have 16 bits."""

    available: int
    outstanding: int
    tail: int
    reaped: int
    completed: int
    watermark: int
    armed: bool
    waiting: bool
    """An event waits for the interrupt port."""
    users: int
    """QPs that use it."""
    size: int
    zone: int
    page: int
    vector: int

    @classmethod
    def from_outs(cls, outs: tuple[int, ...]) -> SrqStatus:
        """From OUT0 to OUT5."""
        layouts = (defs.SRQ_BUFFERS, defs.SRQ_ENDS, defs.SRQ_DONE, defs.SRQ_SIZE, defs.SRQ_OWNER)
        words = zip(layouts, (*outs[:3], *outs[4:6]), strict=True)
        fields = {name: n for layout, out in words for name, n in layout.unpack(out).items()}
        state = defs.SRQ_STATE.unpack(outs[3])
        return cls(
            **fields, armed=bool(state["armed"]), waiting=bool(state["waits"]), users=state["users"]
        )


@dataclass(eq=False)
class Srq(ReceiveQueue):
    """A shared receive queue and its consumer. Commands raise ``CommandError`` if not OK.

    Completions of its buffers are reaped by the driver when they are polled: it writes ``SRQ_DB``
    once for each poll that found some (``auto_reap``).
    """

    portal: ClassVar[PageReg] = PageReg.SRQ_RECV
    kind: ClassVar[str] = "srqs"

    size: int
    zone: int
    vector: int
    auto_reap: bool = field(default=True, init=False)
    """Without it only :meth:`reap` tells the engine."""
    index: int = field(default=0, init=False)
    """Reaped index: completions of its buffers that were polled, from the start index on."""
    events: list[int] = field(default_factory=list, init=False)
    """Cycles of the interrupts with its vector since creation."""
    _answers: deque[Pending[WriteResult]] = field(default_factory=deque, init=False)

    # -- consuming ---------------------------------------------------------------------------------

    def polled(self, count: int) -> None:
        """``count`` completions of its buffers were taken from CQs."""
        assert self.host.env.config is not None
        self.index = (self.index + count) & (1 << self.host.env.config.idx_w) - 1
        if count and self.auto_reap and self.host.srqs.get(self.number) is self:
            self.check_reaped()
            self._answers.append(self.post_reap())

    def check_reaped(self) -> None:
        """All answers to the driver's own ``SRQ_DB`` writes that have come are OKAY."""
        while self._answers and self._answers[0].done:
            result = self._answers.popleft().result
            assert result == (0, 0), f"SRQ {self.number}: SRQ_DB answered {result}"

    def post_reap(
        self, index: int | None = None, *, page: int | None = None
    ) -> Pending[WriteResult]:
        """Queues an ``SRQ_DB`` write (default: what was polled) and returns its answer to come."""
        word = SRQ_DB.pack(index=self.index if index is None else index, srq=self.number)
        page = self.page if page is None else page
        return self.host.env.doorbells.post(page, PageReg.SRQ_DB, word)

    async def reap(self, index: int | None = None, *, page: int | None = None) -> WriteResult:
        """Tells the engine what was polled; returns (resp, cause)."""
        return await self.post_reap(index, page=page)

    async def wait_events(self, count: int = 1) -> list[int]:
        """Waits until ``count`` watermark events came since creation; returns their cycles."""
        await self.until("events", lambda: len(self.events), count, 20_000)
        return self.events

    # -- commands ----------------------------------------------------------------------------------

    async def create(self) -> int:
        """dat_srq_create: CREATE_SRQ, also after :meth:`free`; returns the start index."""
        command = await self.host.create(
            *(self.host.srqs, self, Cmd.CREATE_SRQ),
            defs.SRQ_SIZE.pack(size=self.size, zone=self.zone),
            defs.SRQ_OWNER.pack(page=self.page, vector=self.vector),
        )
        self.index = command.outs[0] & 0xFFFF
        self.events.clear()
        return self.index

    async def resize(self, size: int) -> None:
        """dat_srq_resize: RESIZE_SRQ."""
        await self.command(Cmd.RESIZE_SRQ, size)
        self.size = size

    async def set_lw(self, watermark: int) -> None:
        """dat_srq_set_lw: SET_SRQ_WATERMARK; arms one event unless 0."""
        await self.command(Cmd.SET_SRQ_WATERMARK, watermark)

    async def status(self) -> SrqStatus:
        """QUERY_SRQ, everything."""
        return SrqStatus.from_outs((await self.command(Cmd.QUERY_SRQ)).outs)

    async def query(self) -> tuple[int, int]:
        """dat_srq_query: buffers available, buffers outstanding."""
        status = await self.status()
        return status.available, status.outstanding

    async def free(self) -> None:
        """dat_srq_free: DESTROY_SRQ."""
        await self.end(Cmd.DESTROY_SRQ)
