# SPDX-License-Identifier: Apache-2.0
"""Where rings may lie: each size, and each bit of the base alone."""

from __future__ import annotations

import pyuvm

from models.layouts import CQE_BYTES, EQE_BYTES
from tb.env.defs import Cmd, Result
from tb.tests.common.directed import DirectedTest

BUILD = ["default", "engine"]


@pyuvm.test()
class RingPlacesTest(DirectedTest):
    """ISO-02: a ring of either kind lies at any multiple of its size, and of 64 bytes; with one
    more bit of the base set, of those below that, the command is refused.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        host, number = self.env.host, 1
        eq = await host.create_eq(0, log2=2)
        for create, destroy, nbytes, owner in (
            (Cmd.CREATE_EQ, Cmd.DESTROY_EQ, EQE_BYTES, 0),
            (Cmd.CREATE_CQ, Cmd.DESTROY_CQ, CQE_BYTES, eq.number << 16),
        ):
            for log2 in range(1, self.config.max_log2 + 1):
                size = nbytes << log2
                for bit in range(6, size.bit_length() + 2):
                    base = (
                        self.rng(f"{create} {log2} {bit}").getrandbits(60) & -max(size, 64)
                        | 1 << bit
                    )
                    args = (number, base & 0xFFFF_FFFF, base >> 32, log2, owner)
                    result = (await host.command(create, *args)).result
                    wanted = Result.BAD_ALIGN if 1 << bit < size else Result.OK
                    assert result == wanted, (
                        f"{create.name}, {size} bytes at {base:#x}: {result:#x}"
                    )
                    if result == Result.OK:
                        assert (await host.command(destroy, number)).result == Result.OK
