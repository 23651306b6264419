# SPDX-License-Identifier: Apache-2.0
"""Codes of posts, queue pairs and their commands, written out as ``docs/posting.md`` has them.

They continue the tables of :mod:`models.codes`; a code of both has the same number in both.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final


class PostCause(IntEnum):
    """Causes of inline failure, *in order of precedence* (which is not the order of the codes)."""

    OK = 0x00
    BURST = 0x01
    BAD_SIZE = 0x02
    BAD_PAGE = 0x03
    BAD_OFFSET = 0x04
    BAD_QP = 0x0D
    NO_QP = 0x0E
    NOT_OWNER = 0x09
    DEVICE_REMOVED = 0x17
    RESERVED_BITS = 0x05
    BAD_OPCODE = 0x0F
    BAD_FLAGS = 0x10
    TOO_MANY_SEGMENTS = 0x11
    BAD_LENGTH = 0x12
    NOT_CONNECTED = 0x13
    QUEUE_FULL = 0x14
    CQ_ERROR = 0x15
    NO_CREDIT = 0x16


#: Causes that name no queue pair of the page: they release nothing (ISO-01).
FOREIGN_CAUSES: Final = frozenset(
    {
        PostCause.BURST,
        PostCause.BAD_SIZE,
        PostCause.BAD_PAGE,
        PostCause.BAD_OFFSET,
        PostCause.BAD_QP,
        PostCause.NO_QP,
        PostCause.NOT_OWNER,
    }
)


class PostFlag(IntFlag):
    """Flags of a post (16 bits). REMOTE_WRITE_BIT is the upper half of ALLOW_REMOTE_WRITE 0x30."""

    SILENT_SUCCESS = 0x001
    READ_FENCE = 0x002
    SEND_AND_SOLICIT_EVENT = 0x004
    ALLOW_REMOTE_READ = 0x008
    ALLOW_LOCAL_WRITE = 0x010
    REMOTE_WRITE_BIT = 0x020
    INLINE = 0x040
    RDMA_READ_SINK = 0x080
    RDMA_READ_LOCAL_INVALIDATE = 0x100
    DEFER = 0x200


#: The public value: local write is part of it.
ALLOW_REMOTE_WRITE: Final = PostFlag.ALLOW_LOCAL_WRITE | PostFlag.REMOTE_WRITE_BIT

#: Flags that every request may have.
COMMON_FLAGS: Final = PostFlag.SILENT_SUCCESS | PostFlag.READ_FENCE | PostFlag.DEFER


class Status(IntEnum):
    """Status of a completion (8 bits); a transport may report any other one above them, too."""

    SUCCESS = 0x00
    CANCELED = 0x01
    TRANSPORT_ERROR = 0x02


class QpState(IntEnum):
    """State of a queue pair (4 bits)."""

    FREE = 0
    IDLE = 1
    CONNECTED = 2
    DISCONNECT_PENDING = 3
    DISCONNECTED = 4
    ERROR = 5
    DESTROYING = 6


class ConnEvent(IntEnum):
    """Events of ``s_axis_conn`` (bits 23:16)."""

    DISCONNECTED = 1


class QpCommand(IntEnum):
    """Commands of the control mailbox that name a queue pair."""

    CREATE_QP = 0x20
    MODIFY_QP = 0x21
    CONNECT_QP = 0x22
    SET_QP_STATE = 0x23
    FLUSH_QP = 0x24
    QUERY_QP = 0x25
    DESTROY_QP = 0x26


class QpResult(IntEnum):
    """Results of these commands."""

    OK = 0x00
    CMD_UNKNOWN = 0x40
    CMD_RESERVED = 0x41
    CMD_BAD_OBJECT = 0x42
    CMD_NO_OBJECT = 0x43
    CMD_EXISTS = 0x44
    CMD_BAD_SIZE = 0x45
    CMD_BAD_PAGE = 0x47
    CMD_IN_USE = 0x4C
    CMD_PENDING = 0x4D
    CMD_NO_CQ = 0x4F
    CMD_BAD_STATE = 0x50
    CMD_BUSY = 0x51


class QpLog(IntEnum):
    """Causes in the error log; OK is none."""

    OK = 0x00
    DONE_BAD = 0x30
    DONE_UNEXPECTED = 0x31
    CONN_NO_QP = 0x32


class QpTraceOp(IntEnum):
    """Operations of trace lanes 3 and 4."""

    POST = 0x30
    AGE = 0x31
    QP_STATE = 0x32
    RETIRE = 0x40


class StateBy(IntEnum):
    """What changed a queue pair's state (operand of QP_STATE)."""

    COMMAND = 0
    CONN = 1
    REPORT = 2


#: Page offsets of the portals, and the end of the portals' part of a page.
SEND_PORTAL: Final = 0x000
RECV_PORTAL: Final = 0x040
SRQ_PORTAL: Final = 0x080
PORTALS_END: Final = 0x100

#: Most bytes of one request.
MAX_LENGTH: Final = 1 << 31
