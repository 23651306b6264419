# SPDX-License-Identifier: Apache-2.0
"""Why a post fails inline, as far as the write and its 512 bits alone tell.

Source: ``docs/posting.md``, "Causes of inline failure (DF-14)". Each function yields *all* faults
of its part, in order of precedence; the first one is the cause.
"""

from __future__ import annotations

from collections.abc import Iterator

from models.codes import LINE_BYTES, PAGE_BYTES
from models.params import Params
from models.post.post import Post
from models.qp_codes import PORTALS_END, SEND_PORTAL, PostCause
from models.verbs import VERBS

_ALL_STROBES = (1 << LINE_BYTES) - 1


def is_portal(addr: int) -> bool:
    """True if the byte address has the size rule of posts; others have that of doorbells."""
    return addr % PAGE_BYTES < PORTALS_END and addr % LINE_BYTES == 0


def write_faults(
    addr: int, length: int, size: int, strb: int, params: Params
) -> Iterator[PostCause]:
    """Faults of a write to a portal (BURST to BAD_OFFSET).

    ``addr``: byte address; ``length``: awlen; ``size``: awsize; ``strb``: 64 bits.
    """
    page, offset = divmod(addr, PAGE_BYTES)
    if length != 0:
        yield PostCause.BURST
    if size != 6 or strb != _ALL_STROBES:
        yield PostCause.BAD_SIZE
    if page >= params.num_pages:
        yield PostCause.BAD_PAGE
    if offset != SEND_PORTAL:
        yield PostCause.BAD_OFFSET


def static_faults(post: Post) -> Iterator[PostCause]:
    """Faults of the 512 bits, whatever the queue pair (RESERVED_BITS to BAD_LENGTH)."""
    if post.reserved:
        yield PostCause.RESERVED_BITS
    verb = VERBS.get(post.opcode)
    if verb is None:
        yield PostCause.BAD_OPCODE
        return
    if not verb.flags_ok(post.flags):
        yield PostCause.BAD_FLAGS
    if not verb.segments_ok(post):
        yield PostCause.TOO_MANY_SEGMENTS
    if not verb.length_ok(post):
        yield PostCause.BAD_LENGTH
