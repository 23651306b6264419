# SPDX-License-Identifier: Apache-2.0
"""What a QP's own receive queue and an SRQ have in common: receive posts and their results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from models import codes
from models.codes import RECEIVE_CAUSES
from models.post.post import Segment, slots_of
from models.receive.dat import DAT_RESULT, DatResult
from models.receive.receive_post import RecvPost
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import Cause, PageReg

_POST_SIZE = 6  # awsize


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
class ReceiveQueue:
    """A queue that takes buffers. Posts go through the owner's page unless ``page`` says otherwise.

    ``portal`` is where; ``number`` that of the QP or SRQ.
    """

    portal: ClassVar[PageReg]

    host: Any
    number: int
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
        line = post if isinstance(post, int) else post.encode()
        page = self.page if page is None else page
        options.setdefault("size", _POST_SIZE)
        return self.host.env.doorbells.post(page, self.portal, 0, line=line, at=at, **options)

    def queue_recv_many(self, posts: Iterable[RecvPost | int]) -> list[Pending[WriteResult]]:
        """Queues many receive posts; await the answers as needed."""
        return [self.queue_recv(post) for post in posts]

    async def post_recv(
        self, segments: Sequence[Segment] = (), cookie: int | None = None, **options: Any
    ) -> Posted:
        """dat_ep_post_recv, dat_srq_post_recv: posts one buffer; returns the inline result."""
        return posted(await self.queue_recv(self.make_recv(segments, cookie), **options))
