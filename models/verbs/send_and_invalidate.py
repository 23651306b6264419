# SPDX-License-Identifier: Apache-2.0
"""SendAndInvalidate: a message that invalidates a token of the peer; completes as a Send."""

from __future__ import annotations

from models.codes import ResultType
from models.qp_codes import PostFlag
from models.verb import Verb

VERB = Verb(
    name="SendAndInvalidate",
    opcode=0x06,
    result_type=ResultType.SEND,
    flags=PostFlag.SEND_AND_SOLICIT_EVENT | PostFlag.INLINE,
    max_segments=2,
    has_target=True,
    max_inline=32,
    transfers=True,
)
