# SPDX-License-Identifier: Apache-2.0
"""Host memory: sparse pages, written by the engine's m_axi writes and read by the driver.

A write is visible to the host as soon as m_axi accepted its address and data, before its response.
"""

from __future__ import annotations

PAGE_BITS = 12
PAGE_BYTES = 1 << PAGE_BITS
_OFFSET = PAGE_BYTES - 1
_LINE = 64
_ALL = (1 << _LINE) - 1


class HostMemory:
    """Byte-addressed memory. Bytes never written read as 0."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        self._next_free = 0x1_0000_0000
        self.writes = 0

    def write_line(self, addr: int, strb: int, line: bytes) -> None:
        """One beat: the bytes of ``line`` (64 bytes) that ``strb`` selects."""
        self.writes += 1
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
        offset = addr & _OFFSET
        if offset + nbytes <= PAGE_BYTES:
            page = self._pages.get(addr >> PAGE_BITS)
            return bytes(page[offset : offset + nbytes]) if page is not None else bytes(nbytes)
        split = PAGE_BYTES - offset
        return self.read(addr, split) + self.read(addr + split, nbytes - split)

    def write(self, addr: int, data: bytes) -> None:
        """What the host itself stores."""
        done = 0
        while done < len(data):
            offset = (addr + done) & _OFFSET
            size = min(PAGE_BYTES - offset, len(data) - done)
            self._page(addr + done)[offset : offset + size] = data[done : done + size]
            done += size

    def allocate(self, nbytes: int, align: int = 0, base: int | None = None) -> int:
        """A zeroed range that nobody used before, aligned to ``align`` (default: its size, at least
        64).
        """
        align = align or max(_LINE, 1 << (nbytes - 1).bit_length())
        if base is None:
            base = -(-self._next_free // align) * align
        self._next_free = max(self._next_free, base + nbytes)
        return base

    def _page(self, addr: int) -> bytearray:
        number = addr >> PAGE_BITS
        page = self._pages.get(number)
        if page is None:
            page = self._pages[number] = bytearray(PAGE_BYTES)
        return page
