# SPDX-License-Identifier: Apache-2.0
"""SendAndInvalidate: a message that invalidates a token of the peer; completes as a Send.

The token is the peer's: it changes no key on this side. What arrives from the peer's
SendAndInvalidate is in :mod:`models.receive.receive_qp`.
"""

from __future__ import annotations

from models.codes import PostFlag, ResultType
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
    message=True,
)
