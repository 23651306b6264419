# SPDX-License-Identifier: Apache-2.0
"""Settings of queues, bit by bit: moderation, and where rings may lie."""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from models.layouts import CQE_BYTES, EQE_BYTES
from tb.env.defs import Cmd, Result
from tb.tests.common.directed import DirectedTest

BUILD = ["default", "engine"]

M16 = 0xFFFF
M32 = 0xFFFF_FFFF
ONES = [1 << bit for bit in range(16)]


@pyuvm.test()
class ModerationBitsTest(DirectedTest):
    """CQ-21: each bit of count and interval alone, each one missing, and all of them: what a
    command sets, or refuses, a query tells, on several numbers, the last one included, and nothing
    of it reaches another queue, as the scoreboard judges.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        host, config, rng = self.env.host, self.config, self.rng("order")
        eq = await host.create_eq(config.num_eq - 1)
        words = [1 << bit for bit in range(32)]
        # All bits but one, the interval never "count only".
        words += [M32 ^ bit ^ 1 << 16 + n for n, bit in enumerate(ONES)]
        words += [M32 ^ bit << 16 for bit in ONES]
        words += [M32 ^ bit for bit in ONES[:2]] + [M16 << 16 | 2, 0, M32]
        numbers = (0, config.num_cq - 1, 0x2AAA % config.num_cq)
        for number in numbers:
            word = M32 ^ 1 << 16 ^ number
            moderation = (word & M16, word >> 16)
            await host.create_cq(number, eq=eq, log2=config.max_log2, moderation=moderation)
        results = set()
        for number in numbers:
            await self.told(numbers)
            for word in rng.sample(words, len(words)):
                results.add(await self.result(Cmd.MODIFY_CQ, number, 0, 0, 0, 0, word))
                await self.told([number])
        await self.told(numbers)
        assert results == {Result.OK, Result.BAD_MODERATION}, results

    async def told(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            assert await self.result(Cmd.QUERY_CQ, number) == Result.OK


@pyuvm.test()
class RingPlacesTest(DirectedTest):
    """ISO-02: a ring of either kind and of each size lies at any multiple of its size, and of 64
    bytes; with one more bit of the base set, of those below that, the command is refused, as the
    scoreboard judges.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        number = 1
        eq = await self.env.host.create_eq(0, log2=2)
        for create, destroy, nbytes, owner in (
            (Cmd.CREATE_EQ, Cmd.DESTROY_EQ, EQE_BYTES, 0),
            (Cmd.CREATE_CQ, Cmd.DESTROY_CQ, CQE_BYTES, eq.number << 16),
        ):
            results = set()
            for log2 in range(1, self.config.max_log2 + 1):
                size = nbytes << log2
                for bit in range(6, size.bit_length() + 2):
                    upper = self.rng(f"{create} {log2} {bit}").getrandbits(60)
                    base = upper & -max(size, 64) | 1 << bit
                    args = (number, base & M32, base >> 32, log2, owner)
                    results.add(result := await self.result(create, *args))
                    if result == Result.OK:
                        assert await self.result(destroy, number) == Result.OK
            assert results == {Result.OK, Result.BAD_ALIGN}, results
