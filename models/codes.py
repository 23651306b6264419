# SPDX-License-Identifier: Apache-2.0
"""Public codes that the reference model uses, one enumeration for each kind.

Sources: the rules of NDKPI (arm types, result types, flags), and ``docs/interfaces.md``,
``docs/posting.md``, ``docs/receive.md`` and ``docs/windows.md`` (everything that crosses a pin).
Nothing here is computed: the numbers are written out, so that this file can be compared with the
pages line by line. Offsets, sizes and limits are in :mod:`models.layouts`.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final


class ModelError(Exception):
    """The caller fed the model a step that cannot happen (a bug of the bench or of the design)."""


# -- completion queues -----------------------------------------------------------------------------


class ArmType(IntEnum):
    """Arm types with their public codes (CQ-12: neither max nor OR of these codes merges them)."""

    ERRORS = 0
    ANY = 1
    SOLICITED = 2


class CqStatus(IntEnum):
    """Status of a completion queue, as a callback reports it (EQE bits 31:24)."""

    OK = 0
    BUFFER_OVERFLOW = 1
    INTERNAL_ERROR = 2


class Life(IntEnum):
    """Life of a completion queue number (``QUERY_CQ`` OUT0[1:0])."""

    FREE = 0
    READY = 1
    DESTROYING = 2


class ResultType(IntEnum):
    """Type of a completion (16 bits), as GetCqResultsEx shows it (CQ-04)."""

    RECEIVE = 0x0001
    SEND = 0x0002
    FAST_REGISTER = 0x0004
    BIND = 0x0008
    INVALIDATE = 0x0010
    READ = 0x0020
    WRITE = 0x0040
    RECEIVE_AND_INVALIDATE = 0x8001


class Status(IntEnum):
    """Status of a completion (8 bits); a transport may report any one from 0x02 on.

    INVALID_TOKEN to NO_KEYS are those of requests that change keys, in order of precedence.
    """

    SUCCESS = 0x00
    CANCELED = 0x01
    TRANSPORT_ERROR = 0x02
    LENGTH_ERROR = 0x03
    INVALID_TOKEN = 0x04
    ALREADY_VALID = 0x05
    BAD_MEMORY = 0x06
    NO_KEYS = 0x07


#: Statuses of requests that change keys, in order of precedence.
KEY_STATUSES: Final = (
    Status.SUCCESS,
    Status.INVALID_TOKEN,
    Status.ALREADY_VALID,
    Status.BAD_MEMORY,
    Status.NO_KEYS,
)


class CqeFlag(IntEnum):
    """Flags of a completion entry; bit 0 here is bit 240 of the entry."""

    SOLICITED = 0x0001
    UNSIGNALLED = 0x0002


# -- doorbell pages --------------------------------------------------------------------------------


class Cause(IntEnum):
    """Causes of a refused write to a doorbell page, a post included; OK: it was taken.

    The tuples below have those of each kind of write, *in order of precedence*.
    """

    OK = 0x00
    BURST = 0x01
    BAD_SIZE = 0x02
    BAD_PAGE = 0x03
    BAD_OFFSET = 0x04
    RESERVED_BITS = 0x05
    BAD_ARM_TYPE = 0x06
    BAD_CQ = 0x07
    NO_CQ = 0x08
    NOT_OWNER = 0x09
    CQ_DESTROYING = 0x0A
    BAD_INDEX = 0x0B
    NO_CALLBACK = 0x0C
    BAD_QP = 0x0D
    NO_QP = 0x0E
    BAD_OPCODE = 0x0F
    BAD_FLAGS = 0x10
    TOO_MANY_SEGMENTS = 0x11
    BAD_LENGTH = 0x12
    NOT_CONNECTED = 0x13
    QUEUE_FULL = 0x14
    CQ_ERROR = 0x15
    NO_CREDIT = 0x16
    DEVICE_REMOVED = 0x17
    BAD_SRQ = 0x18
    NO_SRQ = 0x19
    BAD_REGION = 0x1A
    BAD_ZONE = 0x1B
    NO_LOCAL_WRITE = 0x1C
    BAD_RANGE = 0x1D
    BAD_STATE = 0x1E


#: Causes of a refused write to CQ_DB or CB_RETURN, and to an offset that nothing is at.
DOORBELL_CAUSES: Final = (
    Cause.OK,
    Cause.BURST,
    Cause.BAD_SIZE,
    Cause.BAD_PAGE,
    Cause.BAD_OFFSET,
    Cause.RESERVED_BITS,
    Cause.BAD_ARM_TYPE,
    Cause.BAD_CQ,
    Cause.NO_CQ,
    Cause.NOT_OWNER,
    Cause.CQ_DESTROYING,
    Cause.BAD_INDEX,
    Cause.NO_CALLBACK,
)

#: Causes of inline failure of a post (DF-14).
POST_CAUSES: Final = (
    Cause.OK,
    Cause.BURST,
    Cause.BAD_SIZE,
    Cause.BAD_PAGE,
    Cause.BAD_OFFSET,
    Cause.BAD_QP,
    Cause.NO_QP,
    Cause.NOT_OWNER,
    Cause.DEVICE_REMOVED,
    Cause.RESERVED_BITS,
    Cause.BAD_OPCODE,
    Cause.BAD_FLAGS,
    Cause.TOO_MANY_SEGMENTS,
    Cause.BAD_LENGTH,
    Cause.NOT_CONNECTED,
    Cause.QUEUE_FULL,
    Cause.CQ_ERROR,
    Cause.NO_CREDIT,
)

#: Causes that name no queue pair of the page: such a post releases nothing (ISO-01).
FOREIGN_CAUSES: Final = frozenset(
    {
        Cause.BURST,
        Cause.BAD_SIZE,
        Cause.BAD_PAGE,
        Cause.BAD_OFFSET,
        Cause.BAD_QP,
        Cause.NO_QP,
        Cause.NOT_OWNER,
    }
)

#: Causes of a failing receive post (SRQ-15); BAD_REGION to BAD_RANGE: checks of one segment.
RECEIVE_CAUSES: Final = (
    Cause.OK,
    Cause.BURST,
    Cause.BAD_SIZE,
    Cause.BAD_PAGE,
    Cause.BAD_OFFSET,
    Cause.BAD_QP,
    Cause.BAD_SRQ,
    Cause.NO_QP,
    Cause.NO_SRQ,
    Cause.NOT_OWNER,
    Cause.DEVICE_REMOVED,
    Cause.RESERVED_BITS,
    Cause.TOO_MANY_SEGMENTS,
    Cause.BAD_REGION,
    Cause.BAD_ZONE,
    Cause.NO_LOCAL_WRITE,
    Cause.BAD_RANGE,
    Cause.BAD_STATE,
    Cause.QUEUE_FULL,
    Cause.CQ_ERROR,
    Cause.NO_CREDIT,
)

#: Causes of a refused write to SRQ_DB.
REAP_CAUSES: Final = (
    Cause.OK,
    Cause.BURST,
    Cause.BAD_SIZE,
    Cause.BAD_PAGE,
    Cause.BAD_OFFSET,
    Cause.RESERVED_BITS,
    Cause.BAD_SRQ,
    Cause.NO_SRQ,
    Cause.NOT_OWNER,
    Cause.BAD_INDEX,
)


# -- requests and queue pairs ----------------------------------------------------------------------


class PostFlag(IntEnum):
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


class StateBy(IntEnum):
    """What changed a queue pair's state (operand of QP_STATE)."""

    COMMAND = 0
    CONN = 1
    REPORT = 2


# -- receives --------------------------------------------------------------------------------------


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


# -- keys ------------------------------------------------------------------------------------------


class Rights(IntEnum):
    """Rights of a memory region or window (3 bits)."""

    LOCAL_WRITE = 1
    REMOTE_READ = 2
    REMOTE_WRITE = 4


class Access(IntEnum):
    """Kinds of remote access (``s_axis_check`` bits 17:16); 0 and 3 are malformed."""

    READ = 1
    WRITE = 2


class Verdict(IntEnum):
    """Codes of ``m_axis_verdict`` (bits 19:16), *in order of precedence*, GRANTED aside."""

    GRANTED = 0
    REFUSED = 5
    BAD_KEY = 1
    WRONG_QP = 2
    NO_RIGHT = 3
    BAD_RANGE = 4


class By(Enum):
    """Who invalidates a key."""

    REQUEST = "an Invalidate"
    PEER = "a SendAndInvalidate of the peer"
    READ = "a Read with RDMA_READ_LOCAL_INVALIDATE"


# -- control, error log, trace ---------------------------------------------------------------------


class Command(IntEnum):
    """Commands of the control mailbox (``CMD``[7:0])."""

    CREATE_EQ = 0x01
    MODIFY_EQ = 0x02
    RESIZE_EQ = 0x03
    QUERY_EQ = 0x04
    DESTROY_EQ = 0x05
    CREATE_CQ = 0x10
    MODIFY_CQ = 0x11
    RESIZE_CQ = 0x12
    QUERY_CQ = 0x13
    DESTROY_CQ = 0x14
    CREATE_QP = 0x20
    MODIFY_QP = 0x21
    CONNECT_QP = 0x22
    SET_QP_STATE = 0x23
    FLUSH_QP = 0x24
    QUERY_QP = 0x25
    DESTROY_QP = 0x26
    CREATE_SRQ = 0x30
    RESIZE_SRQ = 0x31
    SET_SRQ_WATERMARK = 0x32
    QUERY_SRQ = 0x33
    DESTROY_SRQ = 0x34
    REGISTER_MR = 0x40
    DEREGISTER_MR = 0x41
    QUERY_MR = 0x42
    ALLOC_MR = 0x43
    CREATE_MW = 0x48
    CLOSE_MW = 0x49
    QUERY_MW = 0x4A
    REMOVE_DEVICE = 0x4F


#: Commands by what they name: event and completion queues; queue pairs; SRQs and registered
#: regions; allocated regions, windows and the device.
CQ_COMMANDS: Final = tuple(c for c in Command if c < 0x20)
QP_COMMANDS: Final = tuple(c for c in Command if c >> 4 == 2)
RECEIVE_COMMANDS: Final = tuple(c for c in Command if 0x30 <= c <= 0x42)
WINDOW_COMMANDS: Final = tuple(c for c in Command if c >= 0x43)


class CommandResult(IntEnum):
    """Result of a control command (``CMD_STATUS``[15:8])."""

    OK = 0x00
    CMD_UNKNOWN = 0x40
    CMD_RESERVED = 0x41
    CMD_BAD_OBJECT = 0x42
    CMD_NO_OBJECT = 0x43
    CMD_EXISTS = 0x44
    CMD_BAD_SIZE = 0x45
    CMD_BAD_ALIGN = 0x46
    CMD_BAD_PAGE = 0x47
    CMD_NO_EQ = 0x48
    CMD_EQ_FULL = 0x49
    CMD_BAD_MODERATION = 0x4A
    CMD_TOO_SMALL = 0x4B
    CMD_IN_USE = 0x4C
    CMD_PENDING = 0x4D
    CMD_CQ_ERROR = 0x4E
    CMD_NO_CQ = 0x4F
    CMD_BAD_STATE = 0x50
    CMD_BUSY = 0x51
    CMD_NO_SRQ = 0x52
    CMD_BAD_FLAG = 0x53
    CMD_BAD_RANGE = 0x54
    CMD_NO_KEYS = 0x55
    CMD_DEVICE_REMOVED = 0x56


class LogCause(IntEnum):
    """Causes in the error log that no write to a doorbell page has; OK is none."""

    OK = 0x00
    CPL_BAD_CQ = 0x20
    CPL_NO_CQ = 0x21
    CPL_NO_CREDIT = 0x22
    CQ_OVERFLOW = 0x23
    CPL_CQ_ERROR = 0x24
    CQE_WRITE_ERROR = 0x25
    EQE_WRITE_ERROR = 0x26
    EQ_FAILED = 0x27
    STRAY_B = 0x28
    DONE_BAD = 0x30
    DONE_UNEXPECTED = 0x31
    CONN_NO_QP = 0x32
    RREQ_BAD = 0x33
    RDONE_BAD = 0x34
    RDONE_UNEXPECTED = 0x35
    CHECK_REFUSED = 0x36
    TOKEN_REFUSED = 0x37


class TraceOp(IntEnum):
    """Operations of the trace port (bits 7:0 of a record), by lane."""

    # Lane 1.
    PUBLISH = 0x01
    CQ_ERROR = 0x02
    EVENT_FAILED = 0x03
    # Lane 2.
    EVENT_DONE = 0x04
    DOORBELL = 0x10
    CB_RETURN = 0x11
    MODERATION = 0x12
    CREATE = 0x13
    DESTROY = 0x14
    # Lane 0.
    PLACE = 0x20
    OVERFLOW = 0x21
    START = 0x22
    RESIZE = 0x23
    STOP = 0x24
    # Lane 3; RETIRE: lane 4.
    POST = 0x30
    AGE = 0x31
    QP_STATE = 0x32
    RETIRE = 0x40
    # Lane 5; from RECV_POST on lane 6; RECEIVE: lane 7.
    TAKE = 0x50
    WATERMARK = 0x51
    RECV_POST = 0x58
    REAP = 0x59
    RECV_SIZE = 0x5A
    RECEIVE = 0x60
    # Lane 8; CHECK: lane 9.
    BIND = 0x70
    FAST_REGISTER = 0x71
    INVALIDATE = 0x72
    CHECK = 0x73
    KEY_COMMAND = 0x74
    REMOVED = 0x75
