# SPDX-License-Identifier: Apache-2.0
"""FastRegister: makes a region of memory accessible under a token; a local request."""

from __future__ import annotations

from models.codes import ResultType
from models.qp_codes import ALLOW_REMOTE_WRITE, PostFlag
from models.verb import Verb

VERB = Verb(
    name="FastRegister",
    opcode=0x02,
    result_type=ResultType.FAST_REGISTER,
    flags=PostFlag.ALLOW_REMOTE_READ | ALLOW_REMOTE_WRITE | PostFlag.RDMA_READ_SINK,
    max_segments=1,
    has_target=True,
    local=True,
)
