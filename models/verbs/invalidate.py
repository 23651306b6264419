# SPDX-License-Identifier: Apache-2.0
"""Invalidate: a token is no longer valid; a local request without data."""

from __future__ import annotations

from models.codes import ResultType
from models.verb import Verb

VERB = Verb(
    name="Invalidate",
    opcode=0x03,
    result_type=ResultType.INVALIDATE,
    has_target=True,
    local=True,
)
