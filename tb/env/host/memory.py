# SPDX-License-Identifier: Apache-2.0
"""Host memory: sparse pages, written by the engine's m_axi writes and read by the driver.

A write is visible to the host as soon as m_axi accepted its address and data, before its response.
"""

from __future__ import annotations

import random
from bisect import bisect_right, insort

PAGE_BITS = 10
PAGE_BYTES = 1 << PAGE_BITS
_OFFSET = PAGE_BYTES - 1
_LINE = 64
_ALL = (1 << _LINE) - 1
_SPACE = 1 << 64


class HostMemory:
    """Byte-addressed memory. Bytes never written read as 0. ``rng``: where its ranges lie."""

    def __init__(self, rng: random.Random) -> None:
        self._pages: dict[int, bytearray] = {}
        self._rng = rng
        #: First byte and end of each range that was handed out, in order.
        self._ranges: list[tuple[int, int]] = []

    def write_line(self, addr: int, strb: int, line: bytes) -> None:
        """One beat: the bytes of ``line`` (64 bytes) that ``strb`` selects."""
        page = self._page(addr)
        base = addr & _OFFSET
        if strb == _ALL:
            page[base : base + _LINE] = line
            return
        if not strb:
            return
        low = (strb & -strb).bit_length() - 1
        high = strb.bit_length()
        if strb >> low == (1 << high - low) - 1:
            page[base + low : base + high] = line[low:high]
            return
        for i in range(low, high):
            if strb >> i & 1:
                page[base + i] = line[i]

    def read(self, addr: int, nbytes: int) -> bytes:
        """Bytes from ``addr`` on."""
        parts = []
        while nbytes:
            offset = addr & _OFFSET
            size = min(PAGE_BYTES - offset, nbytes)
            page = self._pages.get(addr >> PAGE_BITS)
            parts.append(bytes(size) if page is None else bytes(page[offset : offset + size]))
            addr += size
            nbytes -= size
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, addr: int, data: bytes) -> None:
        """What the host itself stores."""
        done = 0
        while done < len(data):
            offset = (addr + done) & _OFFSET
            size = min(PAGE_BYTES - offset, len(data) - done)
            self._page(addr + done)[offset : offset + size] = data[done : done + size]
            done += size

    def allocate(self, nbytes: int, align: int = 0) -> int:
        """A zeroed range that nobody used before, anywhere in the 64-bit address space, aligned to
        ``align`` (default: its size, at least 64).
        """
        align = align or max(_LINE, 1 << (nbytes - 1).bit_length())
        while True:
            base = self._rng.getrandbits(64) // align * align
            place = bisect_right(self._ranges, (base, _SPACE))
            before = self._ranges[place - 1][1] if place else 0
            behind = self._ranges[place][0] if place < len(self._ranges) else _SPACE
            if before <= base and base + nbytes <= behind:
                insort(self._ranges, (base, base + nbytes))
                return base

    def _page(self, addr: int) -> bytearray:
        number = addr >> PAGE_BITS
        page = self._pages.get(number)
        if page is None:
            page = self._pages[number] = bytearray(PAGE_BYTES)
        return page
