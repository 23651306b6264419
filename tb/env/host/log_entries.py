# SPDX-License-Identifier: Apache-2.0
"""What the error log must say of accesses to doorbell pages, and which objects an entry can name
(docs/interfaces.md, posting.md, receive.md).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tb.env.config import Config
from tb.env.defs import CQ_DB, Cause, Kind, PageReg

if TYPE_CHECKING:
    from tb.env.agents.doorbell import DoorbellAgent

#: Cause, kind, object, detail.
Entry = tuple[int, int, int, int]

_PAGE_BITS = 12
#: Causes of entries whose detail has no meaning.
_VAGUE = {Cause.CPL_BAD_CQ, Cause.CPL_NO_CQ}
#: Kinds of the causes that say what a completion or a write of the engine met.
_KINDS = {
    Cause.CPL_BAD_CQ: Kind.PORT,
    Cause.CPL_NO_CQ: Kind.CQ,
    Cause.CPL_NO_CREDIT: Kind.CQ,
    Cause.CQ_OVERFLOW: Kind.CQ,
    Cause.CPL_CQ_ERROR: Kind.CQ,
    Cause.CQE_WRITE_ERROR: Kind.CQ,
    Cause.EQE_WRITE_ERROR: Kind.CQ,
    Cause.EQ_FAILED: Kind.CQ,
    Cause.STRAY_B: Kind.PORT,
}


def shown(cause: int, kind: int, number: int, detail: int) -> Entry:
    """The entry as it is compared."""
    return cause, kind, number, 0 if cause in _VAGUE else detail


def sensible(entry: Entry, num_cq: int) -> bool:
    """The kind is that of the cause, and a CQ is one that there is."""
    cause, kind, number, _ = entry
    wanted = _KINDS.get(Cause(cause), kind) if cause in set(Cause) else None
    return kind == wanted and (kind != Kind.CQ or number < num_cq or cause < Cause.CPL_BAD_CQ)


class LogOfPages:
    """Entries of refused writes and reads."""

    causes = frozenset(cause for cause in Cause if Cause.NONE < cause < Cause.CPL_BAD_CQ)

    def __init__(self, config: Config) -> None:
        self._pages = config.num_pages
        self._queues = {PageReg.SEND: Kind.QP} if config.num_qp else {}
        if config.num_srq:
            self._queues |= {
                PageReg.RECV: Kind.QP,
                PageReg.SRQ_RECV: Kind.SRQ,
                PageReg.SRQ_DB: Kind.SRQ,
            }

    def entries(self, doorbells: DoorbellAgent) -> Counter[Entry]:
        """All since the reset."""
        writes = Counter(self.write(*refused) for refused in doorbells.writes_refused)
        return writes + Counter(self._read(*refused) for refused in doorbells.reads_refused)

    def write(self, cause: int, addr: int, word: int) -> Entry:
        """The entry of a refused write; ``word``: what it wrote, of a post its first bits."""
        page = addr >> _PAGE_BITS & 0xFFFF
        kind = Kind.CQ
        if cause > Cause.BAD_PAGE:
            offset = addr & (1 << _PAGE_BITS) - 1
            kind = self._queues.get(PageReg(offset), kind) if offset in set(PageReg) else kind
        if cause <= Cause.RESERVED_BITS and kind is Kind.CQ:
            return cause, Kind.PAGE, page, page
        return cause, kind, CQ_DB["cq"].get(word), page

    def _read(self, addr: int, length: int, size: int) -> Entry:
        page = addr >> _PAGE_BITS & 0xFFFF
        if length:
            cause = Cause.BURST
        elif size < 3 or addr & 7:
            cause = Cause.BAD_SIZE
        elif addr >> _PAGE_BITS >= self._pages:
            cause = Cause.BAD_PAGE
        else:
            cause = Cause.BAD_OFFSET
        return cause, Kind.PAGE, page, page
