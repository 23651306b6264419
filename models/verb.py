# SPDX-License-Identifier: Apache-2.0
"""What one request type is: its limits, random legal posts of it, its completion, its coverage.

The request types are the files of :mod:`models.verbs`, one each; nothing else knows one of them.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from typing import Final

from models.codes import COMMON_FLAGS, Cause, PostFlag, Rights, Status
from models.keys.keys import KeyTable
from models.keys.window_types import KeyStep
from models.layouts import MAX_LENGTH
from models.post.post import NUM_SLOTS, TARGET_SLOT, Post, Segment, inline_slots, slots_of

_U32: Final = (1 << 32) - 1

#: Inline failures that are told apart by the request type of the post.
VERB_CAUSES: Final = (
    Cause.BAD_FLAGS,
    Cause.TOO_MANY_SEGMENTS,
    Cause.BAD_LENGTH,
    Cause.NOT_CONNECTED,
    Cause.QUEUE_FULL,
    Cause.CQ_ERROR,
    Cause.NO_CREDIT,
)


def rights_of(post: Post) -> Rights:
    """The rights that the flags of a Bind or FastRegister give (3 bits)."""
    rights = Rights(0)
    for flag, right in (
        (PostFlag.ALLOW_LOCAL_WRITE, Rights.LOCAL_WRITE),
        (PostFlag.RDMA_READ_SINK, Rights.LOCAL_WRITE),
        (PostFlag.ALLOW_REMOTE_READ, Rights.REMOTE_READ),
        (PostFlag.REMOTE_WRITE_BIT, Rights.REMOTE_WRITE),
    ):
        rights |= right if post.has(flag) else Rights(0)
    return rights


@dataclass(frozen=True)
class Limits:
    """Constraints on random posts. ``flags``: bits that may be set; ``need``: bits that are set
    where the request type has them; ``max_length``: most bytes of a request.
    """

    qp: int = 0
    flags: int = 0xFFFF
    need: int = 0
    max_length: int = MAX_LENGTH


@dataclass(frozen=True)
class Completion:
    """What a request's completion says of its type. ``type``: 16 bits; ``nbytes``: 32 bits."""

    type: int
    nbytes: int


@dataclass(frozen=True)
class Verb:
    """One request type.

    ``result_type``: 16 bits; ``flags``: those besides the common ones; ``max_segments``: without
    INLINE; ``max_inline``: bytes, 0 if it knows no INLINE; ``local``: executed by the engine;
    ``transfers``: its length is reported as bytes transferred.
    """

    name: str
    opcode: int
    result_type: int
    flags: PostFlag = PostFlag(0)  # noqa: RUF009 (a constant)
    max_segments: int = 0
    has_target: bool = False
    max_inline: int = 0
    local: bool = False
    is_read: bool = False
    transfers: bool = False

    @property
    def legal_flags(self) -> PostFlag:
        """All flags that a post of this type may have."""
        return self.flags | COMMON_FLAGS

    def flags_ok(self, flags: int) -> bool:
        """True if these 16 bits are legal: remote write (0x20) is only there with local write."""
        alone = flags & PostFlag.REMOTE_WRITE_BIT and not flags & PostFlag.ALLOW_LOCAL_WRITE
        return not flags & ~int(self.legal_flags) and not alone

    def segments_ok(self, post: Post) -> bool:
        """True if the number of segments is legal."""
        return post.num_segments <= (0 if post.has(PostFlag.INLINE) else self.max_segments)

    def length_ok(self, post: Post) -> bool:
        """True if the length is legal, and the inline bytes are."""
        most = self.max_inline if post.has(PostFlag.INLINE) else 0
        return post.inline_bytes <= most and post.length <= MAX_LENGTH

    def length(self, post: Post) -> int:
        """Bytes of a legal request."""
        return post.length

    def completion(self, post: Post, status: int) -> Completion:
        """Type and bytes of the completion with this status."""
        nbytes = self.length(post) if self.transfers and status == Status.SUCCESS else 0
        return Completion(self.result_type, nbytes)

    # -- keys ------------------------------------------------------------------------------

    def execute(
        self,
        keys: KeyTable,  # noqa: ARG002
        qp: int,  # noqa: ARG002
        zone: int,  # noqa: ARG002
        post: Post,  # noqa: ARG002
    ) -> KeyStep | None:
        """What a local request does to keys when it is indicated; ``zone``: of the queue pair."""
        return None

    def retire(self, keys: KeyTable, qp: int, post: Post) -> KeyStep | None:  # noqa: ARG002
        """What a request that succeeded does to keys when it retires."""
        return None

    # -- random posts ------------------------------------------------------------------------

    def fields(self, rng: random.Random, limits: Limits | None = None) -> Post:
        """A random legal post; corners (no segment, lengths 0 and the most) come often."""
        limits = limits or Limits()
        legal = int(self.legal_flags)
        flags = rng.getrandbits(16) & rng.choice((0, 0xFFFF, rng.getrandbits(16)))
        flags = flags & legal & limits.flags | limits.need & legal
        if not self.flags_ok(flags):
            flags &= ~int(PostFlag.REMOTE_WRITE_BIT)
        inline, count = 0, 0
        target = Segment(rng.getrandbits(64), rng.getrandbits(32), rng.getrandbits(32))
        if flags & PostFlag.INLINE:
            most = min(self.max_inline, limits.max_length)
            inline = rng.choice((0, most, rng.randint(0, most)))
            slots = inline_slots(rng.randbytes(inline), target if self.has_target else None)
        else:
            count = rng.randint(0, self.max_segments)
            lengths = self._lengths(rng, count, limits.max_length)
            slots = slots_of(
                [Segment(rng.getrandbits(64), n, rng.getrandbits(32)) for n in lengths],
                target if self.has_target else None,
            )
        slots = self._noise(rng, slots, inline, count)
        return Post(
            opcode=self.opcode,
            num_segments=count,
            flags=flags,
            qp=limits.qp,
            inline_bytes=inline,
            context=rng.choice((0, (1 << 64) - 1, rng.getrandbits(64))),
            slots=slots,
        )

    @staticmethod
    def _lengths(rng: random.Random, count: int, most: int) -> list[int]:
        """Lengths whose sum is at most ``most``; often exactly that, often 0."""
        total = rng.choice((0, most, rng.randint(0, most), rng.randint(0, min(most, 4096))))
        lengths = []
        for left in range(count, 0, -1):
            part = total if left == 1 else rng.choice((0, total, rng.randint(0, total)))
            lengths.append(part)
            total -= part
        rng.shuffle(lengths)
        return lengths

    def _noise(
        self, rng: random.Random, slots: tuple[int, int, int], inline: int, count: int
    ) -> tuple[int, int, int]:
        """Unused slots are ignored: now and then something stands in them."""
        used = max(count, -(-inline // 16))
        words = list(slots)
        for i in range(used, NUM_SLOTS):
            if rng.random() < 0.5 and not (self.has_target and i == TARGET_SLOT):
                words[i] = rng.getrandbits(128)
        first, second, third = words
        return first, second, third

    # -- coverage ----------------------------------------------------------------------------

    @functools.cache  # noqa: B019 (the request types live as long as the program)
    def all_bins(self) -> tuple[str, ...]:
        """Names of all coverage bins of this type."""
        bins = [f"segments.{n}" for n in range(self.max_segments + 1)]
        if self.max_segments:
            bins += ["length.zero", "length.some", "length.most"]
        if self.max_inline:
            bins += ["inline.zero", "inline.some", "inline.most"]
        bins += [f"flag.{flag.name}" for flag in self.legal_flags]
        bins += [f"refused.{cause.name}" for cause in VERB_CAUSES]
        bins += ["deferred.refused", "plain.refused"]
        bins += ["status.SUCCESS", "status.CANCELED", "silent.SUCCESS", "silent.CANCELED"]
        if not self.local:
            bins += ["status.ERROR", "silent.ERROR"]
        return tuple(f"{self.name}.{name}" for name in bins)

    def bins(self, post: Post, cause: int = Cause.OK, status: int | None = None) -> tuple[str, ...]:
        """Bins that a post hits by being answered with ``cause``, or, with a ``status``, that its
        completion hits.
        """
        if status is not None:
            name = "ERROR" if status > Status.CANCELED else Status(status).name
            bins = [f"status.{name}"]
            if post.has(PostFlag.SILENT_SUCCESS):
                bins.append(f"silent.{name}")
        elif cause != Cause.OK:
            defer = "deferred" if post.has(PostFlag.DEFER) else "plain"
            bins = [f"refused.{Cause(cause).name}", f"{defer}.refused"]
        else:
            inline = post.has(PostFlag.INLINE)
            kind, most = ("inline", self.max_inline) if inline else ("length", MAX_LENGTH)
            length = {0: "zero", most: "most"}.get(post.length, "some")
            bins = [f"{kind}.{length}", *(f"flag.{f.name}" for f in PostFlag(post.flags))]
            bins += [] if inline else [f"segments.{post.num_segments}"]
        mine = self.all_bins()
        return tuple(name for name in (f"{self.name}.{b}" for b in bins) if name in mine)
