# SPDX-License-Identifier: Apache-2.0
"""What regions and windows have in common: a number, a present key, and how it changes.

The host knows the key that a Bind or FastRegister gives without asking (``docs/windows.md``): the
driver counts it up when the post is accepted. After a request that failed or was cancelled
``refresh`` reads the present key from the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from models.post.post import Post
from tb.env.defs import KEY, Cause, PostFlag, Right
from tb.env.host.qp import Qp

_M32 = (1 << 32) - 1
_NEXT = 1 << KEY["generation"].lsb
_FLAG_OF = {
    Right.LOCAL_WRITE: PostFlag.ALLOW_LOCAL_WRITE,
    Right.REMOTE_READ: PostFlag.ALLOW_REMOTE_READ,
    Right.REMOTE_WRITE: PostFlag.ALLOW_REMOTE_WRITE,
}


def next_key(key: int) -> int:
    """The key that an object is given after ``key``, 32 bits; wraps after the last generation,
    where the engine gives none.
    """
    return key + _NEXT & _M32


def rights_flags(rights: Right | int) -> int:
    """The post flags that ask for these rights; REMOTE_WRITE includes the flag of LOCAL_WRITE."""
    flags = 0
    for right, flag in _FLAG_OF.items():
        flags |= flag if rights & right else 0
    return flags


class KeyPosted(NamedTuple):
    """Inline result of a Bind or FastRegister, and the key that its object has when it succeeds."""

    cause: Cause
    key: int

    @property
    def accepted(self) -> bool:
        """The request is posted."""
        return self.cause == Cause.NONE


@dataclass(eq=False)
class Keyed:
    """What regions and windows have in common. ``key``: the present key, when every request that
    was posted has succeeded; ``valid``: the same of its validity.
    """

    host: Any
    number: int
    key: int = field(default=0, init=False)
    valid: bool = field(default=False, init=False)

    async def _give_key(self, qp: Qp, post: Post, **options: Any) -> KeyPosted:
        cause = await qp.post(post, **options)
        if cause != Cause.NONE:
            return KeyPosted(cause, self.key)
        self.key = next_key(self.key)
        self.valid = True
        return KeyPosted(cause, self.key)

    async def invalidate(self, qp: Qp, **fields: Any) -> Cause:
        """NdkInvalidate of the present key. ``fields``: those of ``Qp.make``."""
        cause = await qp.invalidate(self.key, **fields)
        if cause == Cause.NONE:
            self.valid = False
        return cause
