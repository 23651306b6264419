# SPDX-License-Identifier: Apache-2.0
"""Read: fetches remote memory; a fence of a later request waits for it (DF-13)."""

from __future__ import annotations

from models.codes import ResultType
from models.qp_codes import PostFlag
from models.verb import Verb

VERB = Verb(
    name="Read",
    opcode=0x04,
    result_type=ResultType.READ,
    flags=PostFlag.RDMA_READ_LOCAL_INVALIDATE,
    max_segments=2,
    has_target=True,
    is_read=True,
    transfers=True,
)
