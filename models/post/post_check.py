# SPDX-License-Identifier: Apache-2.0
"""Why a post fails inline, as far as the write and its 512 bits alone tell.

Source: ``docs/posting.md``, "Causes of inline failure (DF-14)". Each function yields *all* faults
of its part, in order of precedence; the first one is the cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from models.codes import Cause
from models.layouts import LINE_BYTES, PAGE_BYTES, PORTALS_END, SEND_PORTAL
from models.params import Params
from models.post.post import Post
from models.verbs import VERBS

_ALL_STROBES = (1 << LINE_BYTES) - 1


def is_portal(addr: int) -> bool:
    """True if the byte address has the size rule of posts; others have that of doorbells."""
    return addr % PAGE_BYTES < PORTALS_END and addr % LINE_BYTES == 0


def write_faults(addr: int, length: int, size: int, strb: int, params: Params) -> Iterator[Cause]:
    """Faults of a write to a portal (BURST to BAD_OFFSET).

    ``addr``: byte address; ``length``: awlen; ``size``: awsize; ``strb``: 64 bits.
    """
    page, offset = divmod(addr, PAGE_BYTES)
    if length != 0:
        yield Cause.BURST
    if size != 6 or strb != _ALL_STROBES:
        yield Cause.BAD_SIZE
    if page >= params.num_pages:
        yield Cause.BAD_PAGE
    if offset != SEND_PORTAL:
        yield Cause.BAD_OFFSET


@lru_cache(maxsize=256)
def static_faults(post: Post) -> tuple[Cause, ...]:
    """Faults of the 512 bits, whatever the queue pair (RESERVED_BITS to BAD_LENGTH)."""
    return tuple(_static_faults(post))


def _static_faults(post: Post) -> Iterator[Cause]:
    if post.reserved:
        yield Cause.RESERVED_BITS
    verb = VERBS.get(post.opcode)
    if verb is None:
        yield Cause.BAD_OPCODE
        return
    if not verb.flags_ok(post.flags):
        yield Cause.BAD_FLAGS
    if not verb.segments_ok(post):
        yield Cause.TOO_MANY_SEGMENTS
    if not verb.length_ok(post):
        yield Cause.BAD_LENGTH
