# SPDX-License-Identifier: Apache-2.0
"""Invalidate: a token is no longer valid; a local request without data.

With a key table (``docs/windows.md``) it executes where it is indicated, on a window bound to this
queue pair or a region that it registered with FastRegister. The completion has the status of the
execution; a failure ends the connection (CQ-05, MW-05).
"""

from __future__ import annotations

from models.codes import ResultType, Status
from models.keys.keys import KeyTable
from models.keys.window_types import KeyStep
from models.post.post import Post
from models.verb import Verb


class Invalidate(Verb):
    """Invalidate changes the object of its token."""

    def execute(self, keys: KeyTable, qp: int, zone: int, post: Post) -> KeyStep:  # noqa: ARG002
        """INVALIDATE."""
        return keys.invalidate(qp, post.target.key)


VERB = Invalidate(
    name="Invalidate",
    opcode=0x03,
    result_type=ResultType.INVALIDATE,
    has_target=True,
    local=True,
    statuses=(Status.SUCCESS, Status.INVALID_TOKEN),
)
