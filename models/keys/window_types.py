# SPDX-License-Identifier: Apache-2.0
"""What goes into the model of keys, and what its steps answer.

Source: ``docs/windows.md`` ("Keys", "Ports, added", "Trace, added: lanes 8 and 9").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from models.codes import Access, LogCause, Status, TraceOp
from models.layouts import NO_QP


@dataclass(frozen=True)
class Window:
    """A memory window. ``context``: 64 bits, from its creation; ``zone``: 16 bits; the rest is of
    its latest binding: ``qp`` and ``region``: numbers; ``base``: byte address; ``length``: bytes;
    ``rights``: remote ones, see :class:`models.codes.Rights`.
    """

    key: int
    context: int = 0
    zone: int = 0
    valid: bool = False
    qp: int = 0
    base: int = 0
    length: int = 0
    rights: int = 0
    region: int = 0


@dataclass(frozen=True)
class KeyState:
    """What trace lanes 8 and 9 show of a region or window; all 0: of no object.

    ``windows``: bound to the region, 0 on lane 9; ``used``: it is or was valid (not shown).
    """

    key: int = 0
    valid: bool = False
    exists: bool = False
    allocated: bool = False
    windows: int = 0
    qp: int = 0
    rights: int = 0
    region: int = 0
    used: bool = False

    def encode(self) -> int:
        """The 96 bits."""
        flags = self.valid | self.exists << 1 | self.allocated << 2 | self.windows << 3
        high = self.rights | self.region << 3
        return self.key | flags << 32 | self.qp << 48 | high << 64

    @property
    def defined(self) -> int:
        """Mask of the 96 bits that the page defines.

        The key says something of an object that exists; QP and rights of one that is or was valid,
        region of a valid one.
        """
        mask = ((1 << 96) - 1) ^ ((1 << 32) - 1) ^ ((1 << 31) - 1) << 48
        mask |= (1 << 32) - 1 if self.exists else 0
        mask |= ((1 << 19) - 1) << 48 if self.used else 0
        return mask | (((1 << 31) - 1) << 48 if self.valid else 0)


@dataclass(frozen=True)
class KeyStep:
    """One step of one region or window.

    ``key``: as named by the request; ``code``: a :class:`Status` or, of a check, a
    :class:`Verdict`; ``operand``: 32 bits of the trace record; ``qp``: its number field;
    ``new_key``: given by this step; ``window``: ``key`` names a window; ``context``: that the
    window had from its creation (64 bits; 0 for a region).
    """

    op: TraceOp
    key: int
    code: int
    operand: int
    before: KeyState
    after: KeyState
    qp: int = NO_QP
    new_key: int | None = None
    window: bool = False
    context: int = 0

    @property
    def okay(self) -> bool:
        """The step did what it was to do."""
        return self.code == Status.SUCCESS


_RESERVED: Final = 0xFFFF_FFFF << 160 | 0xFFFC_0000


@dataclass(frozen=True)
class CheckRequest:
    """A beat of ``s_axis_check``. ``kind``: 2 bits, see :class:`Access`; ``key``: 32 bits;
    ``address``: 64 bits; ``length``: bytes, 32 bits; ``reserved``: the bits that are 0 in a legal
    beat, in their places.
    """

    qp: int
    kind: int
    key: int = 0
    address: int = 0
    length: int = 0
    reserved: int = 0

    def encode(self) -> int:
        """The 192 bits."""
        low = self.qp | self.kind << 16 | self.key << 32
        return low | self.address << 64 | self.length << 128 | self.reserved

    @classmethod
    def decode(cls, beat: int) -> CheckRequest:
        """From 192 bits; every value of them is a check."""
        return cls(
            qp=beat & 0xFFFF,
            kind=beat >> 16 & 3,
            key=beat >> 32 & 0xFFFF_FFFF,
            address=beat >> 64 & (1 << 64) - 1,
            length=beat >> 128 & 0xFFFF_FFFF,
            reserved=beat & _RESERVED,
        )

    @property
    def malformed(self) -> bool:
        """Kind 0 or 3, or a bit that must be 0 is set."""
        return bool(self.reserved) or self.kind not in set(Access)


@dataclass(frozen=True)
class CheckResult:
    """Answer to a check. ``code``: a :class:`Verdict`; ``log``: what is logged, or OK; ``step``:
    of lane 9, None with REFUSED.
    """

    qp: int
    code: int
    log: LogCause
    step: KeyStep | None = None

    @property
    def tdata(self) -> int:
        """The 32 bits of ``m_axis_verdict``."""
        return self.qp | self.code << 16
