# SPDX-License-Identifier: Apache-2.0
"""Bind: gives a memory window rights on a part of a region; a local request.

With a key table (``docs/windows.md``) it executes where it is indicated: the window that the target
names becomes valid on this queue pair, with the range of the one segment, the remote rights of the
flags and a new key. The completion has the status of the execution.
"""

from __future__ import annotations

from models.codes import ALLOW_REMOTE_WRITE, PostFlag, ResultType, Status
from models.keys.keys import KeyTable
from models.keys.window_types import KeyStep
from models.post.post import Post
from models.verb import Verb, rights_of


class Bind(Verb):
    """Bind changes a window."""

    def execute(self, keys: KeyTable, qp: int, zone: int, post: Post) -> KeyStep:
        """BIND (MW-02, MW-03); without a segment the length is 0."""
        segment = next(iter(post.segments), None)
        return keys.bind(qp, zone, post.target.key, segment, rights_of(post))


VERB = Bind(
    name="Bind",
    opcode=0x01,
    result_type=ResultType.BIND,
    flags=PostFlag.ALLOW_REMOTE_READ | ALLOW_REMOTE_WRITE,
    max_segments=1,
    has_target=True,
    local=True,
    statuses=(Status.SUCCESS, Status.INVALID_TOKEN, Status.ALREADY_VALID, Status.BAD_MEMORY),
)
