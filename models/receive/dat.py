# SPDX-License-Identifier: Apache-2.0
"""Return values of ``dat_srq_post_recv``, and which one a driver returns for a cause (SRQ-15)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from models.codes import Cause


class DatResult(Enum):
    """Return values of ``dat_srq_post_recv``; INVALID_STATE belongs to a queue pair's own queue."""

    SUCCESS = "DAT_SUCCESS"
    INVALID_HANDLE = "DAT_INVALID_HANDLE"
    INSUFFICIENT_RESOURCES = "DAT_INSUFFICIENT_RESOURCES"
    INVALID_PARAMETER = "DAT_INVALID_PARAMETER"
    PROTECTION_VIOLATION = "DAT_PROTECTION_VIOLATION"
    PRIVILEGES_VIOLATION = "DAT_PRIVILEGES_VIOLATION"
    INVALID_STATE = "DAT_INVALID_STATE"


#: What a driver returns for a cause (SRQ-15); causes of a malformed write have no public result.
DAT_RESULT: Final[Mapping[Cause, DatResult]] = {
    Cause.OK: DatResult.SUCCESS,
    Cause.BAD_QP: DatResult.INVALID_HANDLE,
    Cause.BAD_SRQ: DatResult.INVALID_HANDLE,
    Cause.NO_QP: DatResult.INVALID_HANDLE,
    Cause.NO_SRQ: DatResult.INVALID_HANDLE,
    Cause.NOT_OWNER: DatResult.INVALID_HANDLE,
    Cause.RESERVED_BITS: DatResult.INVALID_PARAMETER,
    Cause.TOO_MANY_SEGMENTS: DatResult.INVALID_PARAMETER,
    Cause.BAD_REGION: DatResult.PRIVILEGES_VIOLATION,
    Cause.BAD_ZONE: DatResult.PROTECTION_VIOLATION,
    Cause.NO_LOCAL_WRITE: DatResult.PRIVILEGES_VIOLATION,
    Cause.BAD_RANGE: DatResult.INVALID_PARAMETER,
    Cause.BAD_STATE: DatResult.INVALID_STATE,
    Cause.QUEUE_FULL: DatResult.INSUFFICIENT_RESOURCES,
    Cause.CQ_ERROR: DatResult.INSUFFICIENT_RESOURCES,
    Cause.NO_CREDIT: DatResult.INSUFFICIENT_RESOURCES,
}
