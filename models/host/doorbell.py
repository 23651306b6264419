# SPDX-License-Identifier: Apache-2.0
"""Doorbell-page writes: what a write means, and why it is refused.

Source: ``docs/interfaces.md`` ("Doorbell page", "Causes of refusal, in order of precedence"),
rules CQ-22, ISO-01 and ISO-02.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from models.arm.arm import CqModel
from models.codes import ArmType, Cause, Life
from models.layouts import CB_RETURN, CQ_DB, LINE_BYTES, PAGE_BYTES, PAGE_STATUS
from models.params import Params

_LAST_ARM = max(ArmType)


class Queues(Protocol):
    """What the causes depend on; :class:`models.cq.core.CompletionCore` is one."""

    params: Params

    @property
    def cqs(self) -> Sequence[CqModel]:
        """The completion queues, by number."""

    def owner_page(self, cq: int) -> int:
        """Page that owns an existing queue."""


@dataclass(frozen=True)
class DoorbellWord:
    """A well-formed write. ``register``: CQ_DB or CB_RETURN; ``index`` is an index."""

    page: int
    register: int
    cq: int
    index: int = 0
    arm: ArmType | None = None


def pack_doorbell(cq: int, index: int, arm: ArmType | None = None) -> int:
    """The 64-bit value of a CQ_DB write."""
    word = index | cq << 32
    return word if arm is None else word | arm << 48 | 1 << 63


def pack_return(cq: int) -> int:
    """The 64-bit value of a CB_RETURN write."""
    return cq << 32


def decode_write(
    addr: int, length: int, size: int, strb: int, data: int, queues: Queues
) -> DoorbellWord | Cause:
    """The part of the checks that needs no state of any queue (causes up to BAD_CQ).

    ``addr``: byte address; ``length``: awlen; ``size``: awsize; ``strb``: 64 bits; ``data``: 512
    bits, both of the first beat.
    """
    params = queues.params
    if length != 0:
        return Cause.BURST
    lane = addr % LINE_BYTES
    if size < 3 or addr % 8 != 0 or strb != 0xFF << lane:
        return Cause.BAD_SIZE
    page, offset = divmod(addr, PAGE_BYTES)
    if page >= params.num_pages:
        return Cause.BAD_PAGE
    if offset not in (CQ_DB, CB_RETURN):
        return Cause.BAD_OFFSET
    word = data >> 8 * lane & (1 << 64) - 1
    cq = word >> 32 & 0xFFFF
    if offset == CB_RETURN:
        if word != cq << 32:
            return Cause.RESERVED_BITS
        return DoorbellWord(page, offset, cq) if cq < params.num_cq else Cause.BAD_CQ
    index, arm_type, armed = word & 0xFFFF_FFFF, word >> 48 & 0xF, bool(word >> 63)
    reserved = index >> params.idx_w or word >> 52 & 0x7FF or (arm_type and not armed)
    if reserved:
        return Cause.RESERVED_BITS
    if armed and arm_type > _LAST_ARM:
        return Cause.BAD_ARM_TYPE
    if cq >= params.num_cq:
        return Cause.BAD_CQ
    return DoorbellWord(page, offset, cq, params.index(index), ArmType(arm_type) if armed else None)


def doorbell_cause(
    addr: int,
    length: int,
    size: int,
    strb: int,
    data: int,
    queues: Queues,
) -> Cause:
    """Why a write is refused, or OK; changes nothing. Arguments as for :func:`decode_write`."""
    word = decode_write(addr, length, size, strb, data, queues)
    return word if isinstance(word, Cause) else word_cause(word, queues)


def word_cause(word: DoorbellWord, queues: Queues) -> Cause:
    """The same of a doorbell or callback return that names a queue."""
    cq = queues.cqs[word.cq]
    if cq.life is Life.FREE:
        return Cause.NO_CQ
    if word.page != queues.owner_page(word.cq):
        return Cause.NOT_OWNER
    if word.register == CB_RETURN:
        return Cause.OK if cq.running else Cause.NO_CALLBACK
    if cq.life is Life.DESTROYING:
        return Cause.CQ_DESTROYING
    return Cause.OK if cq.index_legal(word.index) else Cause.BAD_INDEX


def read_refused(addr: int, length: int, size: int, num_pages: int) -> bool:
    """True if a read of the doorbell pages is answered SLVERR (all but one beat of PAGE_STATUS)."""
    page, offset = divmod(addr, PAGE_BYTES)
    return length != 0 or size < 3 or page >= num_pages or offset != PAGE_STATUS
