# SPDX-License-Identifier: Apache-2.0
"""Settings of queues, bit by bit: moderation, and where rings may lie."""

from __future__ import annotations

import pyuvm

from models.layouts import CQE_BYTES, EQE_BYTES
from tb.env.defs import Cmd, Result
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

BUILD = ["default", "engine"]

M16 = 0xFFFF
M32 = 0xFFFF_FFFF
ONES = [1 << bit for bit in range(16)]


def refused(word: int, entries: int) -> bool:
    """Count and interval both say "the other one only" (interfaces.md, Moderation)."""
    count, interval = word & M16, word >> 16
    return interval == M16 and count > 1 and (count == M16 or count > entries)


@pyuvm.test()
class ModerationBitsTest(DirectedTest):
    """CQ-21: each bit of count and interval alone, each one missing, and all of them: what a
    command sets, a query tells, on several numbers, the last one included, and nothing of it
    reaches another queue.
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
        cqs: dict[Cq, int] = {}
        for number in (0, config.num_cq - 1, 0x2AAA % config.num_cq):
            word = M32 ^ 1 << 16 ^ number
            cq = await host.create_cq(
                number, eq=eq, log2=config.max_log2, moderation=(word & M16, word >> 16)
            )
            cqs[cq] = word
        for cq in cqs:
            await self.demand(cqs)
            for word in rng.sample(words, len(words)):
                answer = await host.command(Cmd.MODIFY_CQ, cq.number, 0, 0, 0, 0, word)
                bad = refused(word, 1 << cq.log2)
                wanted = Result.BAD_MODERATION if bad else Result.OK
                assert answer.result == wanted, f"{word:#010x}: {Result(answer.result).name}"
                if not bad:
                    cqs[cq] = word
                await self.demand({cq: cqs[cq]})
        await self.demand(cqs)

    async def demand(self, cqs: dict[Cq, int]) -> None:
        """OUT5 of these queues."""
        for cq, word in cqs.items():
            found = (await self.env.host.command(Cmd.QUERY_CQ, cq.number)).outs[5]
            assert found == word, f"CQ {cq.number}: moderation {found:#010x}, not {word:#010x}"


@pyuvm.test()
class RingPlacesTest(DirectedTest):
    """ISO-02: a ring of either kind and of each size lies at any multiple of its size, and of 64
    bytes; with one more bit of the base set, of those below that, the command is refused.
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
                    upper = self.rng(f"{create} {log2} {bit}").getrandbits(60)
                    base = upper & -max(size, 64) | 1 << bit
                    args = (number, base & 0xFFFF_FFFF, base >> 32, log2, owner)
                    result = (await host.command(create, *args)).result
                    wanted = Result.BAD_ALIGN if 1 << bit < size else Result.OK
                    what = f"{create.name}, {size} bytes at {base:#x}"
                    assert result == wanted, f"{what}: {result:#x}"
                    if result == Result.OK:
                        assert (await host.command(destroy, number)).result == Result.OK
