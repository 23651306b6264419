# SPDX-License-Identifier: Apache-2.0
"""Bind: gives a memory window rights on a part of a region; a local request."""

from __future__ import annotations

from models.codes import ResultType
from models.qp_codes import ALLOW_REMOTE_WRITE, PostFlag
from models.verb import Verb

VERB = Verb(
    name="Bind",
    opcode=0x01,
    result_type=ResultType.BIND,
    flags=PostFlag.ALLOW_REMOTE_READ | ALLOW_REMOTE_WRITE,
    max_segments=1,
    has_target=True,
    local=True,
)
