# SPDX-License-Identifier: Apache-2.0
"""Write: puts data into remote memory."""

from __future__ import annotations

from models.codes import Access, PostFlag, ResultType
from models.verb import Verb

VERB = Verb(
    name="Write",
    opcode=0x07,
    result_type=ResultType.WRITE,
    flags=PostFlag.INLINE,
    max_segments=2,
    has_target=True,
    max_inline=32,
    transfers=True,
    access=Access.WRITE,
)
