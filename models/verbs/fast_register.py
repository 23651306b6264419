# SPDX-License-Identifier: Apache-2.0
"""FastRegister: makes a region of memory accessible under a token; a local request.

With a key table (``docs/windows.md``) it executes where it is indicated: the allocated region that
the target names becomes valid, with address and length of the one segment, the rights of the flags
and a new key. The completion has the status of the execution.
"""

from __future__ import annotations

from models.codes import ALLOW_REMOTE_WRITE, PostFlag, ResultType, Status
from models.keys.keys import KeyTable
from models.keys.window_types import KeyStep
from models.post.post import Post
from models.verb import Verb, rights_of


class FastRegister(Verb):
    """FastRegister changes a region."""

    def execute(self, keys: KeyTable, qp: int, zone: int, post: Post) -> KeyStep:
        """FAST_REGISTER (MW-11); without a segment the length is 0."""
        segment = next(iter(post.segments), None)
        return keys.fast_register(qp, zone, post.target.key, segment, rights_of(post))


VERB = FastRegister(
    name="FastRegister",
    opcode=0x02,
    result_type=ResultType.FAST_REGISTER,
    flags=PostFlag.ALLOW_REMOTE_READ | ALLOW_REMOTE_WRITE | PostFlag.RDMA_READ_SINK,
    max_segments=1,
    has_target=True,
    local=True,
    statuses=(Status.SUCCESS, Status.INVALID_TOKEN, Status.ALREADY_VALID, Status.BAD_MEMORY),
)
