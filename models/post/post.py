# SPDX-License-Identifier: Apache-2.0
"""One post: the 512 bits that a consumer writes to the send portal.

Source: ``docs/posting.md``, "Posts: 64-byte writes". A post here may be illegal in every way that
its 512 bits can be; what is legal is in :mod:`models.post.post_check`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from models.codes import PostFlag

#: Slots of a post, bits of a slot, and the slot that holds the target of a request that has one.
NUM_SLOTS: Final = 3
SLOT_BITS: Final = 128
TARGET_SLOT: Final = 2

#: Bits 127:0: opcode, number of segments (8 bits each), flags, QP (16), inline bytes, reserved (8),
#: context (64).
_HEAD: Final = struct.Struct("<BBHHBBQ")


class Segment(NamedTuple):
    """A slot's content. ``address``: 64 bits; ``length``: bytes, 32 bits; ``key``: 32 bits."""

    address: int = 0
    length: int = 0
    key: int = 0

    def encode(self) -> int:
        """The 128 bits of the slot."""
        for value, width in ((self.address, 64), (self.length, 32), (self.key, 32)):
            if value >> width:
                raise OverflowError(f"{value:#x} does not fit into {width} bits")
        return self.address | self.length << 64 | self.key << 96

    @classmethod
    def decode(cls, slot: int) -> Segment:
        """From the 128 bits of a slot."""
        return cls(slot & (1 << 64) - 1, slot >> 64 & 0xFFFF_FFFF, slot >> 96 & 0xFFFF_FFFF)


@dataclass(frozen=True)
class Post:
    """Field widths in bits: see ``_HEAD``; ``slots``: three times 128 bits.

    ``reserved``: bits 63:56, 0 in a legal post.
    """

    opcode: int
    num_segments: int = 0
    flags: int = 0
    qp: int = 0
    inline_bytes: int = 0
    reserved: int = 0
    context: int = 0
    slots: tuple[int, int, int] = (0, 0, 0)

    def encode(self) -> int:
        """The 512 bits, bit 0 first. Raises ``OverflowError`` if a field does not fit."""
        fields = self.opcode, self.num_segments, self.flags, self.qp, self.inline_bytes
        try:
            head = _HEAD.pack(*fields, self.reserved, self.context)
        except struct.error as why:
            raise OverflowError(str(why)) from None
        first, second, third = self.slots
        if (first | second | third) >> SLOT_BITS:
            raise OverflowError("a slot has 128 bits")
        return int.from_bytes(head, "little") | first << 128 | second << 256 | third << 384

    @classmethod
    @lru_cache(maxsize=256)
    def decode(cls, word: int) -> Post:
        """From 512 bits; every value of them is a post."""
        mask = (1 << SLOT_BITS) - 1
        slots = (word >> 128 & mask, word >> 256 & mask, word >> 384 & mask)
        head = _HEAD.unpack((word & mask).to_bytes(16, "little"))
        opcode, count, flags, qp, inline, reserved, context = head
        return cls(opcode, count, flags, qp, inline, reserved, context, slots)

    def has(self, flag: int) -> bool:
        """True if all bits of ``flag`` are set."""
        return self.flags & flag == flag

    @property
    def segments(self) -> list[Segment]:
        """The slots that the post calls segments (at most the three that exist)."""
        return [Segment.decode(slot) for slot in self.slots[: self.num_segments]]

    @property
    def target(self) -> Segment:
        """The last slot, which holds the target of a request that has one."""
        return Segment.decode(self.slots[TARGET_SLOT])

    @property
    def inline_data(self) -> bytes:
        """The data of an INLINE post."""
        data = b"".join(slot.to_bytes(SLOT_BITS // 8, "little") for slot in self.slots)
        return data[: self.inline_bytes]

    @cached_property
    def length(self) -> int:
        """Bytes of the request: of its segments, or inline."""
        if self.has(PostFlag.INLINE):
            return self.inline_bytes
        return sum(segment.length for segment in self.segments)


def slots_of(segments: Sequence[Segment], target: Segment | None = None) -> tuple[int, int, int]:
    """The slots for some segments and an optional target."""
    slots = [segment.encode() for segment in segments]
    slots += [0] * (NUM_SLOTS - len(slots))
    if target is not None:
        slots[TARGET_SLOT] = target.encode()
    first, second, third = slots
    return first, second, third


def inline_slots(data: bytes, target: Segment | None = None) -> tuple[int, int, int]:
    """The slots for inline data and an optional target."""
    size = SLOT_BITS // 8
    padded = data.ljust(NUM_SLOTS * size, b"\0")
    parts = [padded[i * size : (i + 1) * size] for i in range(NUM_SLOTS)]
    first, second, third = (int.from_bytes(part, "little") for part in parts)
    return first, second, third if target is None else target.encode()
