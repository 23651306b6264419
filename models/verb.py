# SPDX-License-Identifier: Apache-2.0
"""What one request type is: its limits, random legal posts of it, its completion, its coverage.

The request types are the files of :mod:`models.verbs`, one each; nothing else knows one of them.
"""

from __future__ import annotations

import functools
import random
import re
from dataclasses import dataclass
from typing import Final

from models.codes import COMMON_FLAGS, Access, Cause, PostFlag, Rights, Status
from models.keys.keys import KeyTable
from models.keys.window_types import KeyStep
from models.layouts import MAX_LENGTH
from models.post.post import (
    NUM_SLOTS,
    SLOT_BITS,
    TARGET_SLOT,
    Post,
    Segment,
    inline_slots,
    slots_of,
)

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


def rights_of(post: Post) -> int:
    """The rights that the flags of a Bind or FastRegister give (3 bits)."""
    rights = 0
    for flag, right in (
        (PostFlag.ALLOW_LOCAL_WRITE, Rights.LOCAL_WRITE),
        (PostFlag.RDMA_READ_SINK, Rights.LOCAL_WRITE),
        (PostFlag.ALLOW_REMOTE_READ, Rights.REMOTE_READ),
        (PostFlag.REMOTE_WRITE_BIT, Rights.REMOTE_WRITE),
    ):
        rights |= right if post.has(flag) else 0
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


@dataclass(frozen=True, eq=False)
class Verb:
    """One request type.

    ``result_type``: 16 bits; ``flags``: those besides the common ones; ``min_segments``,
    ``max_segments``: without INLINE; ``max_inline``: bytes, 0 if it knows no INLINE;
    ``exact_length``: the only legal number of bytes, None: any up to 2^31; ``local``: executed by
    the engine; ``is_read``: a later fence waits for it; ``transfers``: its length is reported as
    bytes transferred; ``message``: it arrives at the peer, with the key of its target if it has
    one; ``access``: what the peer's engine checks; ``statuses``: of a request that changes keys.
    Raises ``ValueError`` for a type that no post could be of, and for the opcodes 0x00 and 0xFF:
    what was never written is no request.
    """

    name: str
    opcode: int
    result_type: int
    flags: int = 0
    min_segments: int = 0
    max_segments: int = 0
    has_target: bool = False
    max_inline: int = 0
    exact_length: int | None = None
    local: bool = False
    is_read: bool = False
    transfers: bool = False
    message: bool = False
    access: Access | None = None
    statuses: tuple[Status, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.opcode < 0xFF:
            raise ValueError(f"{self.name}: opcode {self.opcode:#x} stays free")
        slots = NUM_SLOTS - self.has_target
        most = MAX_LENGTH if self.max_segments else 0
        if not 0 <= self.min_segments <= self.max_segments <= slots:
            number = f"{self.min_segments} to {self.max_segments} segments"
            raise ValueError(f"{self.name}: {number}, at most {slots} ({self._file})")
        if not 0 <= self.max_inline <= slots * SLOT_BITS // 8:
            most = slots * SLOT_BITS // 8
            raise ValueError(
                f"{self.name}: {self.max_inline} inline bytes, at most {most} ({self._file})"
            )
        if self.local and self.is_read:
            raise ValueError(f"{self.name}: no fence waits for a local request")
        if self.exact_length is not None and not 0 <= self.exact_length <= most:
            raise ValueError(f"{self.name}: {self.exact_length} bytes")

    @property
    def _file(self) -> str:
        return f"models/verbs/{re.sub('(?<!^)(?=[A-Z])', '_', self.name).lower()}.py"

    @property
    def legal_flags(self) -> int:
        """All flags that a post of this type may have."""
        return self.flags | COMMON_FLAGS

    @property
    def changes_keys(self) -> bool:
        """Executed on the keys where it is indicated, in a step of trace lane 8, if its queue pair
        is guarded.
        """
        return self.local and bool(self.statuses)

    def flags_ok(self, flags: int) -> bool:
        """True if these 16 bits are legal: remote write (0x20) is only there with local write."""
        alone = flags & PostFlag.REMOTE_WRITE_BIT and not flags & PostFlag.ALLOW_LOCAL_WRITE
        return not flags & ~self.legal_flags and not alone

    def segments_ok(self, post: Post) -> bool:
        """True if there are not too many segments."""
        return post.num_segments <= (0 if post.has(PostFlag.INLINE) else self.max_segments)

    def length_ok(self, post: Post) -> bool:
        """True if the length is legal, the inline bytes are, and no segment is missing."""
        inline = post.has(PostFlag.INLINE)
        if post.inline_bytes > (self.max_inline if inline else 0) or post.length > MAX_LENGTH:
            return False
        if not inline and post.num_segments < self.min_segments:
            return False
        return self.exact_length in (None, post.length)

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

    # -- posts -------------------------------------------------------------------------------

    def least(self, flags: int = 0, qp: int = 0) -> Post:
        """The smallest legal post with these flags (16 bits): no more segments and bytes than
        needed, target and context 0.
        """
        nbytes = self.exact_length or 0
        if flags & PostFlag.INLINE:
            return Post(self.opcode, flags=flags, qp=qp, inline_bytes=nbytes)
        count = max(self.min_segments, nbytes > 0)
        slots = slots_of([Segment(0, nbytes)] if count else [])
        return Post(self.opcode, count, flags, qp, slots=slots)

    def fields(self, rng: random.Random, limits: Limits | None = None) -> Post:
        """A random legal post; corners (no segment, lengths 0 and the most) come often."""
        limits = limits or Limits()
        legal = self.legal_flags
        flags = rng.getrandbits(16) & rng.choice((0, 0xFFFF, rng.getrandbits(16)))
        flags = flags & legal & limits.flags | limits.need & legal
        if not self.flags_ok(flags):
            flags &= ~PostFlag.REMOTE_WRITE_BIT
        inline, count = 0, 0
        target = Segment(rng.getrandbits(64), rng.getrandbits(32), rng.getrandbits(32))
        if flags & PostFlag.INLINE:
            most = min(self.max_inline, limits.max_length)
            inline = rng.choice((0, most, rng.randint(0, most)))
            inline = inline if self.exact_length is None else self.exact_length
            slots = inline_slots(rng.randbytes(inline), target if self.has_target else None)
        else:
            least = max(self.min_segments, (self.exact_length or 0) > 0)
            count = rng.randint(least, self.max_segments)
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

    def _lengths(self, rng: random.Random, count: int, most: int) -> list[int]:
        """Lengths whose sum is legal and at most ``most``; often exactly that, often 0."""
        total = rng.choice((0, most, rng.randint(0, most), rng.randint(0, min(most, 4096))))
        total = total if self.exact_length is None else self.exact_length
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
        least = max(self.min_segments, (self.exact_length or 0) > 0)
        bins = [f"segments.{n}" for n in range(least, self.max_segments + 1)]
        lengths = ("zero", "some", "most") if self.exact_length is None else ("exact",)
        if self.max_segments:
            bins += [f"length.{length}" for length in lengths]
        if self.max_inline:
            bins += [f"inline.{length}" for length in lengths]
        bins += [f"flag.{flag.name}" for flag in PostFlag if flag & self.legal_flags]
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
        most = self.max_inline if post.has(PostFlag.INLINE) else MAX_LENGTH
        length = {0: "zero", most: "most"}.get(post.length, "some")
        return self._bins(post.flags, post.num_segments, length, cause, status)

    @functools.lru_cache(maxsize=4096)  # noqa: B019 (as above)
    def _bins(
        self, flags: int, segments: int, length: str, cause: int, status: int | None
    ) -> tuple[str, ...]:
        if status is not None:
            name = "ERROR" if status > Status.CANCELED else Status(status).name
            bins = [f"status.{name}"]
            if flags & PostFlag.SILENT_SUCCESS:
                bins.append(f"silent.{name}")
        elif cause != Cause.OK:
            defer = "deferred" if flags & PostFlag.DEFER else "plain"
            bins = [f"refused.{Cause(cause).name}", f"{defer}.refused"]
        else:
            inline = bool(flags & PostFlag.INLINE)
            length = length if self.exact_length is None else "exact"
            bins = [f"{'inline' if inline else 'length'}.{length}"]
            bins += [f"flag.{flag.name}" for flag in PostFlag if flag & flags]
            bins += [] if inline else [f"segments.{segments}"]
        mine = self.all_bins()
        return tuple(name for name in (f"{self.name}.{b}" for b in bins) if name in mine)
