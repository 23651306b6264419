# SPDX-License-Identifier: Apache-2.0
"""Codes of receives, shared receive queues and regions, as ``docs/receive.md`` has them.

They continue the tables of :mod:`models.codes` and :mod:`models.qp_codes`; a code of several has
the same number in all.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum, IntFlag
from typing import Final


class RecvCause(IntEnum):
    """Causes of a failing receive post, *in order of precedence*, not in that of the codes.

    BAD_REGION to BAD_RANGE are in the order of the checks of one segment.
    """

    OK = 0x00
    BURST = 0x01
    BAD_SIZE = 0x02
    BAD_PAGE = 0x03
    BAD_OFFSET = 0x04
    BAD_QP = 0x0D
    BAD_SRQ = 0x18
    NO_QP = 0x0E
    NO_SRQ = 0x19
    NOT_OWNER = 0x09
    DEVICE_REMOVED = 0x17
    RESERVED_BITS = 0x05
    TOO_MANY_SEGMENTS = 0x11
    BAD_REGION = 0x1A
    BAD_ZONE = 0x1B
    NO_LOCAL_WRITE = 0x1C
    BAD_RANGE = 0x1D
    BAD_STATE = 0x1E
    QUEUE_FULL = 0x14
    CQ_ERROR = 0x15
    NO_CREDIT = 0x16


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
DAT_RESULT: Final[Mapping[RecvCause, DatResult]] = {
    RecvCause.OK: DatResult.SUCCESS,
    RecvCause.BAD_QP: DatResult.INVALID_HANDLE,
    RecvCause.BAD_SRQ: DatResult.INVALID_HANDLE,
    RecvCause.NO_QP: DatResult.INVALID_HANDLE,
    RecvCause.NO_SRQ: DatResult.INVALID_HANDLE,
    RecvCause.NOT_OWNER: DatResult.INVALID_HANDLE,
    RecvCause.RESERVED_BITS: DatResult.INVALID_PARAMETER,
    RecvCause.TOO_MANY_SEGMENTS: DatResult.INVALID_PARAMETER,
    RecvCause.BAD_REGION: DatResult.PRIVILEGES_VIOLATION,
    RecvCause.BAD_ZONE: DatResult.PROTECTION_VIOLATION,
    RecvCause.NO_LOCAL_WRITE: DatResult.PRIVILEGES_VIOLATION,
    RecvCause.BAD_RANGE: DatResult.INVALID_PARAMETER,
    RecvCause.BAD_STATE: DatResult.INVALID_STATE,
    RecvCause.QUEUE_FULL: DatResult.INSUFFICIENT_RESOURCES,
    RecvCause.CQ_ERROR: DatResult.INSUFFICIENT_RESOURCES,
    RecvCause.NO_CREDIT: DatResult.INSUFFICIENT_RESOURCES,
}


class ReapCause(IntEnum):
    """Causes of a refused ``SRQ_DB`` write, in order of precedence."""

    OK = 0x00
    BURST = 0x01
    BAD_SIZE = 0x02
    BAD_PAGE = 0x03
    BAD_OFFSET = 0x04
    RESERVED_BITS = 0x05
    BAD_SRQ = 0x18
    NO_SRQ = 0x19
    NOT_OWNER = 0x09
    BAD_INDEX = 0x0B


class ScatterCode(IntEnum):
    """Codes of an answer on ``m_axis_scatter`` (``tuser``[3:0])."""

    SCATTER = 0
    NOT_READY = 1
    LENGTH_ERROR = 2
    REFUSED = 3
    BAD_TOKEN = 4


class NotReady(Enum):
    """Why nothing was taken; the answer is NOT_READY for each of them."""

    EMPTY = "no buffer available"
    IN_FLIGHT = "2^rx_log2 buffers of the queue pair in flight"
    NO_CREDIT = "no credit in the receive CQ"


class RecvFlag(IntEnum):
    """Receive completion flag of a queue pair (5 bits)."""

    DEFAULT = 0x00
    SOLICITED_WAIT = 0x02
    UNSIGNALLED = 0x04
    EVD_THRESHOLD = 0x10


class RecvStatus(IntEnum):
    """Status of a receive completion (8 bits); from 0x02 on a transport may report any."""

    SUCCESS = 0x00
    CANCELED = 0x01
    LENGTH_ERROR = 0x03
    INVALID_TOKEN = 0x04


class Rights(IntFlag):
    """Rights of a memory region (3 bits)."""

    LOCAL_WRITE = 1
    REMOTE_READ = 2
    REMOTE_WRITE = 4


class RecvCommand(IntEnum):
    """Commands of the control mailbox that name a shared receive queue or a region."""

    CREATE_SRQ = 0x30
    RESIZE_SRQ = 0x31
    SET_SRQ_WATERMARK = 0x32
    QUERY_SRQ = 0x33
    DESTROY_SRQ = 0x34
    REGISTER_MR = 0x40
    DEREGISTER_MR = 0x41
    QUERY_MR = 0x42


class RecvResult(IntEnum):
    """Results of these commands and, with receives, of those that name a queue pair."""

    OK = 0x00
    CMD_UNKNOWN = 0x40
    CMD_RESERVED = 0x41
    CMD_BAD_OBJECT = 0x42
    CMD_NO_OBJECT = 0x43
    CMD_EXISTS = 0x44
    CMD_BAD_SIZE = 0x45
    CMD_BAD_PAGE = 0x47
    CMD_TOO_SMALL = 0x4B
    CMD_IN_USE = 0x4C
    CMD_PENDING = 0x4D
    CMD_NO_CQ = 0x4F
    CMD_BAD_STATE = 0x50
    CMD_BUSY = 0x51
    CMD_NO_SRQ = 0x52
    CMD_BAD_FLAG = 0x53
    CMD_BAD_RANGE = 0x54
    CMD_NO_KEYS = 0x55
    CMD_DEVICE_REMOVED = 0x56


class RecvLog(IntEnum):
    """Causes in the error log; OK is none."""

    OK = 0x00
    RREQ_BAD = 0x33
    RDONE_BAD = 0x34
    RDONE_UNEXPECTED = 0x35
    TOKEN_REFUSED = 0x37


class RecvTraceOp(IntEnum):
    """Operations of trace lanes 5, 6 and 7."""

    TAKE = 0x50
    WATERMARK = 0x51
    RECV_POST = 0x58
    REAP = 0x59
    RECV_SIZE = 0x5A
    RECEIVE = 0x60


#: Page offset of the doorbell of shared receive queues.
SRQ_DB: Final = 0x110

#: Bits of a region's key: region number, number of the registration.
KEY_REGION_BITS: Final = 12
KEY_BITS: Final = 32
