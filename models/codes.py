# SPDX-License-Identifier: Apache-2.0
"""Public codes and fixed layouts that the reference model uses.

Sources: the completion-handling rules of NDKPI (arm types, result types) and ``docs/interfaces.md``
(everything that crosses a pin). Nothing here is computed: the numbers are written out, so that this
file can be compared with the page line by line.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final


class ModelError(Exception):
    """The caller fed the model a step that cannot happen (a bug of the bench or of the design)."""


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


class Cause(IntEnum):
    """Causes of a refused doorbell-page write; the codes are in order of precedence."""

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


class LogCause(IntEnum):
    """Causes in the error log that no doorbell write has."""

    CPL_BAD_CQ = 0x20
    CPL_NO_CQ = 0x21
    CPL_NO_CREDIT = 0x22
    CQ_OVERFLOW = 0x23
    CPL_CQ_ERROR = 0x24
    CQE_WRITE_ERROR = 0x25
    EQE_WRITE_ERROR = 0x26
    EQ_FAILED = 0x27
    STRAY_B = 0x28


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


class CqeFlag(IntFlag):
    """Flags of a completion entry; bit 0 here is bit 240 of the entry."""

    SOLICITED = 0x0001
    UNSIGNALLED = 0x0002


class CommandCode(IntEnum):
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
    CMD_DEVICE_REMOVED = 0x56


class TraceOp(IntEnum):
    """Operations of the trace port (bits 7:0 of a record)."""

    PUBLISH = 0x01
    CQ_ERROR = 0x02
    EVENT_FAILED = 0x03
    EVENT_DONE = 0x04
    DOORBELL = 0x10
    CB_RETURN = 0x11
    MODERATION = 0x12
    CREATE = 0x13
    DESTROY = 0x14
    PLACE = 0x20
    OVERFLOW = 0x21
    START = 0x22
    RESIZE = 0x23
    STOP = 0x24


#: Bytes of a doorbell page, and the offsets in it.
PAGE_BYTES: Final = 4096
CQ_DB: Final = 0x100
CB_RETURN: Final = 0x108
PAGE_STATUS: Final = 0x140

#: Bytes of one completion entry, one event entry, one memory beat.
CQE_BYTES: Final = 32
EQE_BYTES: Final = 16
LINE_BYTES: Final = 64

#: Type field of an event entry: completion queue notification.
EQE_TYPE_CQ: Final = 1

#: All-ones of the 16-bit moderation settings: "the other one only" (CQ-21).
MOD_OTHER_ONLY: Final = 0xFFFF
