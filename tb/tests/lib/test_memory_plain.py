# SPDX-License-Identifier: Apache-2.0
"""An engine whose memories have no code (``ECC`` = 0): it says so, and inverts nothing."""

from __future__ import annotations

import pyuvm

from tb.env.defs import CAP7, Cause, Reg
from tb.tests.common.directed import SLVERR
from tb.tests.common.upsetting import UpsetsTest

BUILD = ["engine_small"]


@pyuvm.test()
class NoCodeTest(UpsetsTest):
    """Every injection into a memory is refused, and nothing is reported."""

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        await self.start()
        cap7 = CAP7.unpack(await self.env.control.value(Reg.CAP7))
        assert cap7["ecc"] == 0 == self.upsets.memories and cap7["memories"] > 60, cap7
        for memory in (*range(cap7["memories"] + 2), 0xFE):
            for bits in (0, 1 << 8 | 3 << 18):
                assert await self.env.control.write(Reg.MEM_INJECT, memory | bits) == SLVERR
        for page in range(2):
            assert await self.env.doorbells.write(page, 0xF00, 0) == (SLVERR, Cause.BAD_OFFSET)
            assert await self.env.host.page_status(page) == (Cause.BAD_OFFSET, 1)
        assert await self.upsets.counted() == (0, 0)
        assert await self.env.host.counter("CTRL_REFUSED") == 2 * (cap7["memories"] + 3)
