# SPDX-License-Identifier: Apache-2.0
"""One receive post: the 512 bits that a consumer writes to a receive portal, and how it is filled.

Source: ``docs/receive.md``, "Receive posts: 64-byte writes" and "Ports, added"; rules SRQ-01,
SRQ-03, SRQ-04. Only this file knows where the fields stand. A post here may be illegal in every way
that its 512 bits can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from models.codes import Cause
from models.layouts import LINE_BYTES, PAGE_BYTES, RECV_PORTAL, SRQ_PORTAL
from models.params import Params
from models.post.post import NUM_SLOTS, SLOT_BITS, Segment

_U64: Final = (1 << 64) - 1
_ALL_STROBES: Final = (1 << LINE_BYTES) - 1

#: Bits of the first 64 that are 0 in a legal post.
RESERVED: Final = 0xFFFF_0000_FFFF_00FF


@dataclass(frozen=True)
class RecvPost:
    """A receive post. ``number``: QP or SRQ, 16 bits; ``num_segments``: 8 bits; ``context``: 64
    bits; ``slots``: three times 128 bits; ``reserved``: bits of :data:`RESERVED`, in their places.
    """

    number: int = 0
    num_segments: int = 0
    context: int = 0
    slots: tuple[int, int, int] = (0, 0, 0)
    reserved: int = 0

    def encode(self) -> int:
        """The 512 bits, bit 0 first. Raises ``OverflowError`` if a field does not fit."""
        if self.num_segments >> 8 or self.number >> 16 or self.context >> 64:
            raise OverflowError("a field does not fit")
        if self.reserved & ~RESERVED or any(slot >> SLOT_BITS for slot in self.slots):
            raise OverflowError("reserved bits or a slot do not fit")
        word = self.num_segments << 8 | self.number << 32 | self.context << 64 | self.reserved
        for i, slot in enumerate(self.slots):
            word |= slot << 128 + SLOT_BITS * i
        return word

    @classmethod
    def decode(cls, word: int) -> RecvPost:
        """From 512 bits; every value of them is a post."""
        slot = (1 << SLOT_BITS) - 1
        first, second, third = (word >> 128 + SLOT_BITS * i & slot for i in range(NUM_SLOTS))
        return cls(
            number=word >> 32 & 0xFFFF,
            num_segments=word >> 8 & 0xFF,
            context=word >> 64 & _U64,
            slots=(first, second, third),
            reserved=word & RESERVED,
        )

    @cached_property
    def segments(self) -> list[Segment]:
        """The slots that the post calls segments (at most the three that exist)."""
        return [Segment.decode(slot) for slot in self.slots[: self.num_segments]]

    @cached_property
    def length(self) -> int:
        """Bytes of the buffer: at most three times 2^32 - 1."""
        return sum(segment.length for segment in self.segments)

    def scatter(self, filled: Sequence[int]) -> int:
        """The 384 bits of ``m_axis_scatter`` for the bytes to fill of each segment."""
        word = 0
        for i, (segment, nbytes) in enumerate(zip(self.segments, filled, strict=True)):
            word |= Segment(segment.address, nbytes, segment.key).encode() << SLOT_BITS * i
        return word


def fill(segments: Sequence[Segment], length: int) -> list[int]:
    """Bytes of a message of ``length`` bytes that go to each segment (SRQ-03).

    All segments in front are full, at most one is partial, the others have 0.
    """
    filled = []
    for segment in segments:
        part = min(length, segment.length)
        filled.append(part)
        length -= part
    return filled


def is_receive_portal(addr: int) -> bool:
    """True if a write to the byte address is a receive post."""
    return addr % PAGE_BYTES in (RECV_PORTAL, SRQ_PORTAL)


def receive_write_faults(
    addr: int, length: int, size: int, strb: int, params: Params
) -> Iterator[Cause]:
    """Faults of a write to a receive portal (BURST to BAD_PAGE), in order of precedence.

    ``addr``: byte address; ``length``: awlen; ``size``: awsize; ``strb``: 64 bits.
    """
    if length != 0:
        yield Cause.BURST
    if size != 6 or strb != _ALL_STROBES:
        yield Cause.BAD_SIZE
    if addr // PAGE_BYTES >= params.num_pages:
        yield Cause.BAD_PAGE
