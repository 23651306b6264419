# SPDX-License-Identifier: Apache-2.0
"""What goes into the models of receive queues, and what their steps answer.

Source: ``docs/receive.md``. A *number* is unbounded, an *index* or *tag* is what the pins show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from models.codes import Cause, NotReady, RecvFlag, ScatterCode
from models.cq.entries import Cqe
from models.keys.window_types import KeyStep
from models.receive.receive_post import RecvPost


@dataclass(frozen=True)
class SrqConfig:
    """Arguments of CREATE_SRQ, 16 bits each; ``size``: buffers; ``vector``: of the watermark."""

    size: int = 1
    zone: int = 0
    page: int = 0
    vector: int = 0


@dataclass(frozen=True)
class RecvConfig:
    """The receive side of CREATE_QP. ``zone``: 16 bits; ``depth``: slots of the queue pair's own
    queue, 0 with an SRQ; ``srq``: number of the SRQ that it uses; ``flag``: see :class:`RecvFlag`;
    ``two``: a message that invalidates completes with two entries (NetworkDirect 1), not with one
    (NDKPI); ``guarded``: its requests, messages and checks use keys.
    """

    zone: int = 0
    depth: int = 0
    srq: int | None = None
    flag: int = RecvFlag.DEFAULT
    two: bool = False
    guarded: bool = False

    @property
    def words(self) -> tuple[int, int]:
        """ARG6 and ARG7 of CREATE_QP, OUT6 and OUT7 of QUERY_QP."""
        uses = 0 if self.srq is None else self.srq | 1 << 16
        uses |= self.two << 17 | self.guarded << 18 | self.flag << 24
        return self.zone | self.depth << 16, uses


@dataclass(frozen=True)
class Buffer:
    """An accepted receive post; ``number``: of its queue."""

    number: int
    post: RecvPost


@dataclass(slots=True)
class RecvPostResult:
    """Answer to a receive post; ``number``: of the accepted buffer."""

    cause: Cause
    number: int | None = None


@dataclass(frozen=True)
class WatermarkStep:
    """A threshold was set; ``event``: the watermark event came in this step."""

    threshold: int
    event: bool


_RESERVED: Final = 0xFFFF_FFFF << 96 | 0xFFFC_0000


@dataclass(frozen=True)
class RecvRequest:
    """A beat of ``s_axis_rreq``. ``length``: bytes, 32 bits; ``token``: 32 bits; ``reserved``: the
    bits that are 0 in a legal beat, in their places.
    """

    qp: int
    length: int = 0
    solicited: bool = False
    invalidate: bool = False
    token: int = 0
    reserved: int = 0

    def encode(self) -> int:
        """The 128 bits."""
        low = self.qp | self.solicited << 16 | self.invalidate << 17
        return low | self.length << 32 | self.token << 64 | self.reserved

    @classmethod
    def decode(cls, beat: int) -> RecvRequest:
        """From 128 bits; every value of them is a request."""
        return cls(
            qp=beat & 0xFFFF,
            length=beat >> 32 & 0xFFFF_FFFF,
            solicited=bool(beat >> 16 & 1),
            invalidate=bool(beat >> 17 & 1),
            token=beat >> 64 & 0xFFFF_FFFF,
            reserved=beat & _RESERVED,
        )

    @property
    def malformed(self) -> bool:
        """A bit that must be 0 is set; the token must be 0 unless ``invalidate``."""
        return bool(self.reserved) or (self.token != 0 and not self.invalidate)


@dataclass(slots=True)
class TakeResult:
    """Answer to a request, or a flush's take.

    ``why``: of NOT_READY; ``buffer``: what was taken; ``number``: of the take, ``tag`` as at the
    pins; ``srq``: the SRQ whose buffer it is; ``filled``: bytes of each segment; ``event``: the
    watermark event came in this step; ``reserved``: credits of the receive CQ are held from now on;
    ``key``: what the message did to keys in this step.
    """

    code: ScatterCode
    why: NotReady | None = None
    buffer: Buffer | None = None
    number: int | None = None
    tag: int = 0
    srq: int | None = None
    filled: tuple[int, ...] = ()
    event: bool = False
    reserved: bool = False
    key: KeyStep | None = None

    @property
    def tdata(self) -> int:
        """The 384 bits of the answer."""
        if self.code is not ScatterCode.SCATTER or self.buffer is None:
            return 0
        return self.buffer.post.scatter(self.filled)

    @property
    def tuser(self) -> int:
        """The 32 bits that go with them."""
        return self.code | (self.srq is not None) << 8 | self.tag << 16


@dataclass(slots=True)
class ReceiveCompletion:
    """A buffer's end: ``cqe`` is handed to ``cq``. ``number``: of the take; ``srq``: as there.

    ``first``: the invalidate result, handed over before ``cqe``; ``given_back``: credits that no
    entry used up.
    """

    number: int
    status: int
    srq: int | None
    flush: bool
    cq: int
    cqe: Cqe
    buffer: Buffer
    first: Cqe | None = None
    given_back: int = 0

    @property
    def cqes(self) -> tuple[Cqe, ...]:
        """All completions, in order."""
        return (self.cqe,) if self.first is None else (self.first, self.cqe)


@dataclass
class Taken:
    """A taken buffer that has not completed; ``request``: None if flushed; ``status``: as reported,
    None while in flight; ``key``: what the message did to keys.
    """

    number: int
    buffer: Buffer
    srq: int | None
    request: RecvRequest | None = None
    overlong: bool = False
    status: int | None = None
    key: KeyStep | None = None
    undecided: bool = False  #: the step of its token is still to come
    bad_token: bool = False

    @property
    def flush(self) -> bool:
        """It was taken for no message."""
        return self.request is None
