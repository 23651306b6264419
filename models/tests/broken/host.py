# SPDX-License-Identifier: Apache-2.0
"""Doorbell pages with one rule taken out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from models.arm.arm import Step
from models.cq.core import CompletionCore
from models.layouts import LINE_BYTES, PAGE_BYTES
from models.tests.broken.parts import Parts


class TakesAnyPage(CompletionCore):
    """A doorbell through another owner's page is accepted."""

    def write(self, addr: int, length: int, size: int, strb: int, data: int) -> Step:
        cq = data >> 8 * (addr % LINE_BYTES) + 32 & 0xFFFF
        page = self.info[cq].page if cq < self.params.num_cq else 0
        return super().write(page * PAGE_BYTES + addr % PAGE_BYTES, length, size, strb, data)


class IgnoresReservedBits(CompletionCore):
    """Reserved bits of a doorbell are ignored."""

    def write(self, addr: int, length: int, size: int, strb: int, data: int) -> Step:
        shift = 8 * (addr % LINE_BYTES)
        armed = data >> shift + 63 & 1
        legal = self.params.index(-1) | 0xFFFF << 32 | armed << 63 | (0xF << 48 if armed else 0)
        return super().write(addr, length, size, strb, data & legal << shift)


#: Variants by the rule that they lack.
BROKEN: Final[Mapping[str, Parts]] = {
    "ISO-01": Parts(core=TakesAnyPage),
    "ISO-02": Parts(core=IgnoresReservedBits),
}
