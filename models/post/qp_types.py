# SPDX-License-Identifier: Apache-2.0
"""What goes into the model of a queue pair, and what its steps answer.

Source: ``docs/posting.md``. A *number* (of a request, of a tag) is unbounded, an *index* is what
the pins show of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.codes import Cause, QpState, StateBy
from models.cq.entries import Cqe
from models.keys.window_types import KeyStep
from models.post.post import Post
from models.verb import Verb


@dataclass(frozen=True)
class QpConfig:
    """Arguments of CREATE_QP. ``context``: 64 bits; ``depth``: requests; ``watermark``: requests
    held, 0 is off; ``age``: units of ``mod_tick`` cycles, 0 is off.
    """

    context: int = 0
    send_cq: int = 0
    recv_cq: int = 0
    page: int = 0
    depth: int = 1
    watermark: int = 0
    age: int = 0


@dataclass(slots=True)
class PostResult:
    """Answer to a post; ``number``: of the accepted request; ``released``: numbers, maybe none."""

    cause: Cause
    number: int | None = None
    released: range = range(0)


@dataclass(frozen=True)
class StateStep:
    """A change of state; ``term``: the transport is told on ``m_axis_term``."""

    old: QpState
    new: QpState
    by: StateBy
    term: bool

    @property
    def term_state(self) -> QpState:
        """The state that ``m_axis_term`` names: a destruction ends a connection as a flush does."""
        destroyed = self.new in (QpState.DESTROYING, QpState.FREE)
        return QpState.ERROR if destroyed else self.new


@dataclass(slots=True)
class Indication:
    """A beat of ``m_axis_work``; ``index`` and ``tag`` as at the pins; ``peer``: 24 bits.

    ``step``: what the request did to keys in this moment, if anything.
    """

    qp: int
    number: int
    index: int
    tag: int
    local: bool
    last: bool
    post: Post
    peer: int
    step: KeyStep | None = None

    @property
    def tuser(self) -> int:
        """The 64 bits that go with the post."""
        return self.tag | self.index << 16 | self.peer << 32 | self.local << 56


@dataclass(slots=True)
class Retirement:
    """A request's end; ``silent``: no entry; ``cqe``: the completion that is handed to ``cq``;
    ``step``: what a Read did to keys in this moment, if anything.
    """

    number: int
    index: int
    status: int
    silent: bool
    skipped: bool
    cq: int
    cqe: Cqe
    post: Post
    step: KeyStep | None = None


@dataclass
class Request:
    """An accepted request that has not retired; ``time``: of its post, in clock cycles."""

    number: int
    post: Post
    verb: Verb
    time: int
    last: bool = False
    indicated: bool = False
    skipped: bool = False
    tag: int | None = None
    status: int | None = None

    @property
    def done(self) -> bool:
        """It needs nothing more to retire than that the earlier ones have."""
        return self.skipped or self.status is not None
