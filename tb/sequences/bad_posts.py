# SPDX-License-Identifier: Apache-2.0
"""Posts that must fail inline, one kind for each cause that the write and its 512 bits decide."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from models.codes import Cause, PostFlag
from models.layouts import MAX_LENGTH
from models.post.post import Post, Segment, slots_of
from models.verbs import BAD_OPCODES, VERBS
from tb.env.config import Config

#: What :func:`bad_post` makes.
WRITE_CAUSES = (Cause.BURST, Cause.BAD_SIZE, Cause.BAD_PAGE, Cause.BAD_OFFSET, Cause.BAD_QP)
#: Causes of posts that name a QP of their page: these release what it holds.
OWN_CAUSES = (
    Cause.RESERVED_BITS,
    Cause.BAD_OPCODE,
    Cause.BAD_FLAGS,
    Cause.TOO_MANY_SEGMENTS,
    Cause.BAD_LENGTH,
)
FOREIGN_CAUSES = (*WRITE_CAUSES, Cause.NOT_OWNER)

#: Where a portal could be, and none is.
_NO_PORTAL = 0x0C0


@dataclass(frozen=True)
class BadWrite:
    """Arguments of a write that fails."""

    page: int
    post: Any
    options: dict[str, Any]
    offset: int = 0


def bad_post(rng: random.Random, cause: Cause, post: Post, page: int, config: Config) -> BadWrite:
    """A legal post through its owner's page, made to fail with ``cause``."""
    where, offset, options = page, 0, dict[str, Any]()
    if cause is Cause.BURST:
        options["length"] = rng.choice((1, 2))
    elif cause is Cause.BAD_SIZE:
        options = bad_size(rng)
    elif cause is Cause.BAD_PAGE:
        where = config.num_pages + rng.randrange(64)
    elif cause is Cause.BAD_OFFSET:
        offset = _NO_PORTAL
    elif cause is Cause.BAD_QP:
        post = replace(post, qp=rng.choice((config.num_qp, 0xFFFF, post.qp + config.num_qp)))
    elif cause is Cause.NOT_OWNER:
        where = (page + rng.randrange(1, config.num_pages)) % config.num_pages
    else:
        post = bad_bits(rng, cause, post)
    return BadWrite(where, post, options, offset)


def bad_size(rng: random.Random) -> dict[str, Any]:
    """Options of a write of less than a line, or with a byte left out."""
    if rng.random() < 0.5:
        return {"size": rng.choice((3, 4, 5))}
    return {"strb": (1 << 64) - 1 & ~(1 << rng.randrange(64))}


def bad_bits(rng: random.Random, cause: Cause, post: Post) -> Post:
    """A legal post, made to fail with ``cause``, one of ``OWN_CAUSES``."""
    if cause is Cause.RESERVED_BITS:
        return replace(post, reserved=rng.randrange(1, 256))
    if cause is Cause.BAD_OPCODE:
        return replace(post, opcode=rng.choice(BAD_OPCODES))
    verb = VERBS[post.opcode]
    if cause is Cause.BAD_FLAGS:
        illegal = [1 << bit for bit in range(16) if not verb.flags_ok(post.flags | 1 << bit)]
        return replace(post, flags=post.flags | rng.choice(illegal))
    inline = post.has(PostFlag.INLINE)
    if cause is Cause.TOO_MANY_SEGMENTS:
        most = 0 if inline else verb.max_segments
        return replace(post, num_segments=rng.choice((most + 1, 255, rng.randint(most + 1, 255))))
    assert cause is Cause.BAD_LENGTH
    if inline or not verb.max_segments or rng.random() < 0.3:
        most = verb.max_inline if inline else 0
        return replace(post, inline_bytes=rng.choice((most + 1, 255)))
    if verb.min_segments and rng.random() < 0.3:
        return replace(post, num_segments=rng.randrange(verb.min_segments))
    count = rng.randint(max(1, verb.min_segments), verb.max_segments)
    lengths = [MAX_LENGTH, *(rng.choice((0, MAX_LENGTH)) for _ in range(count - 1))]
    if verb.exact_length is not None and rng.random() < 0.8:
        lengths = [verb.exact_length, *[0] * (count - 1)]
    lengths[rng.randrange(count)] += 1
    target = Segment.decode(post.slots[2]) if verb.has_target else None
    slots = slots_of([Segment(rng.getrandbits(64), n, 0) for n in lengths], target)
    return replace(post, num_segments=count, inline_bytes=0, slots=slots)
