# SPDX-License-Identifier: Apache-2.0
"""Bytes of completion entries (32) and event entries (16), little-endian, bit 0 first.

Source: ``docs/interfaces.md``, "CQE" and "EQE". The phase bit is the last bit of each entry.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from models.codes import CqeFlag, CqStatus, ResultType
from models.layouts import CQE_BYTES, EQE_BYTES, EQE_TYPE_CQ

#: Two contexts, length, token, type, QP (16 and 8 bits), status, flags.
_CQE = struct.Struct("<QQIIHHBBH")

_RECEIVES = (ResultType.RECEIVE, ResultType.RECEIVE_AND_INVALIDATE)
#: What UNSIGNALLED keeps from satisfying an arm.
_QUIET = (*_RECEIVES, ResultType.INVALIDATE)


def with_phase(entry: bytes, phase: int) -> bytes:
    """The entry with its phase bit (the top bit of its last byte) set to ``phase``."""
    last = (entry[-1] & 0x7F) | (phase << 7)
    return entry[:-1] + last.to_bytes(1, "little")


def phase_of(entry: bytes) -> int:
    """The phase bit of an entry."""
    return entry[-1] >> 7


class Cqe(NamedTuple):
    """A completion. Field widths in bits: see :meth:`pack`; ``type`` need not be a known code."""

    request_context: int = 0
    qp_context: int = 0
    nbytes: int = 0
    token: int = 0
    type: int = ResultType.SEND
    qp: int = 0
    status: int = 0
    flags: int = 0

    def pack(self, phase: int = 0) -> bytes:
        """The 32 bytes in memory. Raises ``OverflowError`` if a field does not fit."""
        if self.flags >> 15:
            raise OverflowError("flags have 15 bits")
        *head, qp, status, flags = self
        try:
            return _CQE.pack(*head, qp & 0xFFFF, qp >> 16, status, flags | phase << 15)
        except struct.error as why:
            raise OverflowError(str(why)) from None

    @classmethod
    def unpack(cls, data: bytes) -> Cqe:
        """From 32 bytes; the phase bit is dropped. Raises ``ValueError`` on another length."""
        if len(data) != CQE_BYTES:
            raise ValueError("a completion entry has 32 bytes")
        context, qp_context, nbytes, token, kind, low, high, status, flags = _CQE.unpack(data)
        return cls(
            context, qp_context, nbytes, token, kind, low | high << 16, status, flags & 0x7FFF
        )

    @property
    def solicited_class(self) -> bool:
        """CQ-08: an error, or a receive completion whose Send carried the solicit flag."""
        if self.status != 0:
            return True
        return bool(self.flags & CqeFlag.SOLICITED) and self.type in _RECEIVES

    @property
    def unsignalled(self) -> bool:
        """SRQ-07: it satisfies no standing arm, whatever its class. An Invalidate is the first of
        two entries of a receive (MW-07).
        """
        if self.status != 0 or not self.flags & CqeFlag.UNSIGNALLED:
            return False
        return self.type in _QUIET


@dataclass(frozen=True)
class Eqe:
    """A callback as it appears in an event ring; ``snap`` is an index."""

    cq: int
    status: CqStatus
    snap: int
    type: int = EQE_TYPE_CQ

    def pack(self, phase: int = 0) -> bytes:
        """The 16 bytes in memory."""
        word = self.cq | self.type << 16 | self.status << 24 | self.snap << 32 | phase << 127
        return word.to_bytes(EQE_BYTES, "little")

    @classmethod
    def unpack(cls, data: bytes) -> Eqe:
        """From 16 bytes. Raises ``ValueError`` on a bad length, status or a bit that must be 0."""
        if len(data) != EQE_BYTES:
            raise ValueError("an event entry has 16 bytes")
        word = int.from_bytes(data, "little")
        if word >> 64 & (1 << 63) - 1:
            raise ValueError("event entry: bits 126:64 are not 0")
        return cls(
            cq=word & 0xFFFF,
            type=word >> 16 & 0xFF,
            status=CqStatus(word >> 24 & 0xFF),
            snap=word >> 32 & 0xFFFF_FFFF,
        )
