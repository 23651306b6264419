# SPDX-License-Identifier: Apache-2.0
"""Read: fetches remote memory; a fence of a later request waits for it (DF-13).

With a key table (``docs/windows.md``) a Read with RDMA_READ_LOCAL_INVALIDATE that retires with
success invalidates the key of its first segment; if that fails, it completes with INVALID_TOKEN.
"""

from __future__ import annotations

from models.codes import Access, By, PostFlag, ResultType, Status
from models.keys.keys import KeyTable
from models.keys.window_types import KeyStep
from models.post.post import Post
from models.verb import Verb


class Read(Verb):
    """Read changes keys when it retires."""

    def retire(self, keys: KeyTable, qp: int, post: Post) -> KeyStep | None:
        """INVALIDATE by a Read; without a segment there is no key, and it fails as key 0 does."""
        if not post.has(PostFlag.RDMA_READ_LOCAL_INVALIDATE):
            return None
        key = post.segments[0].key if post.segments else 0
        return keys.invalidate(qp, key, By.READ)


VERB = Read(
    name="Read",
    opcode=0x04,
    result_type=ResultType.READ,
    flags=PostFlag.RDMA_READ_LOCAL_INVALIDATE,
    max_segments=2,
    has_target=True,
    is_read=True,
    transfers=True,
    access=Access.READ,
    statuses=(Status.SUCCESS, Status.INVALID_TOKEN),
)
