# SPDX-License-Identifier: Apache-2.0
"""Codes of keys, windows, checks of remote accesses and device removal (``docs/windows.md``).

They continue the tables of :mod:`models.qp_codes` and :mod:`models.receive_codes`; a code of
several has the same number in all.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final


class KeyStatus(IntEnum):
    """Status of a request that changes keys (8 bits), *in order of precedence*."""

    SUCCESS = 0x00
    INVALID_TOKEN = 0x04
    ALREADY_VALID = 0x05
    BAD_MEMORY = 0x06
    NO_KEYS = 0x07


class Verdict(IntEnum):
    """Codes of ``m_axis_verdict`` (bits 19:16), *in order of precedence*, GRANTED aside."""

    GRANTED = 0
    REFUSED = 5
    BAD_KEY = 1
    WRONG_QP = 2
    NO_RIGHT = 3
    BAD_RANGE = 4


class Access(IntEnum):
    """Kinds of remote access (``s_axis_check`` bits 17:16); 0 and 3 are malformed."""

    READ = 1
    WRITE = 2


class By(Enum):
    """Who invalidates a key."""

    REQUEST = "an Invalidate"
    PEER = "a SendAndInvalidate of the peer"
    READ = "a Read with RDMA_READ_LOCAL_INVALIDATE"


class WindowCommand(IntEnum):
    """Commands of the control mailbox that come with windows, and the one that ends all."""

    ALLOC_MR = 0x43
    CREATE_MW = 0x48
    CLOSE_MW = 0x49
    QUERY_MW = 0x4A
    REMOVE_DEVICE = 0x4F


class WindowLog(IntEnum):
    """Causes in the error log; OK is none. TOKEN_REFUSED is one of :class:`RecvLog`, too."""

    OK = 0x00
    CHECK_REFUSED = 0x36
    TOKEN_REFUSED = 0x37


class KeyTraceOp(IntEnum):
    """Operations of trace lane 8, and of lane 9 (CHECK)."""

    BIND = 0x70
    FAST_REGISTER = 0x71
    INVALIDATE = 0x72
    CHECK = 0x73
    KEY_COMMAND = 0x74
    REMOVED = 0x75


#: Bit of a key's number that tells a window (1) from a region (0).
WINDOW_BIT: Final = 0x800

#: Generations of an object's keys: 20 bits; the last one is given, and no further one.
LAST_GENERATION: Final = (1 << 20) - 1

#: What the number field of lane 8 holds with a command.
NO_QP: Final = 0xFFFF

#: Kind of object in the error log.
LOG_KIND_KEY: Final = 7
