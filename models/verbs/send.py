# SPDX-License-Identifier: Apache-2.0
"""Send: a message to the peer; the only request without a target that takes three segments."""

from __future__ import annotations

from models.codes import PostFlag, ResultType
from models.verb import Verb

VERB = Verb(
    name="Send",
    opcode=0x05,
    result_type=ResultType.SEND,
    flags=PostFlag.SEND_AND_SOLICIT_EVENT | PostFlag.INLINE,
    max_segments=3,
    max_inline=48,
    transfers=True,
    message=True,
)
