# SPDX-License-Identifier: Apache-2.0
"""Settings and counts of completion and event queues: what a command sets, a query tells bit for
bit, on several numbers, the last one included, and nothing of it reaches another queue.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cmd, Result
from tb.env.host.cq import Cq, Eq
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
    """CQ-21: each bit of count and interval alone, each one missing, and all of them."""

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
class EventQueueBitsTest(DirectedTest):
    """CQ-16: vector, page, size and number of CQs of an event queue: each bit of the vector alone
    and missing, each size, as many CQs as there are, up and down again.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        host, config, rng = self.env.host, self.config, self.rng("order")
        last = config.num_pages - 1
        numbers = (0, config.num_eq - 1, 0x2AAA % config.num_eq)
        pages = [1 << n & last for n in range(last.bit_length())]
        pages += [last, 0] + [last ^ page for page in pages]
        eqs = [await host.create_eq(n, page=last ^ n & last, vector=~n & M16) for n in numbers]
        for eq in eqs:
            for vector in rng.sample([*ONES, *(M16 ^ bit for bit in ONES)], 2 * len(ONES)):
                await host.modify_eq(eq, vector)
                await self.demand(eq)
            for log2 in rng.sample(range(1, config.max_log2 + 1), config.max_log2):
                await host.resize_eq(eq, log2)
                eq.log2 = log2
                await self.demand(eq)
            for other in eqs:
                await self.demand(other)
        for page in pages:
            await host.destroy_eq(eqs[0])
            eqs[0] = await host.create_eq(eqs[0].number, page=page)
            await self.demand(eqs[0])
        await self.attached(*eqs[:2])

    async def demand(self, eq: Eq, attached: int = 0) -> None:
        """All that a query tells of a queue that has called nobody."""
        outs = (await self.env.host.command(Cmd.QUERY_EQ, eq.number)).outs
        wanted = (1 | eq.log2 << 8 | eq.vector << 16, 0, attached, eq.page, 0, 0, 0, 0)
        assert outs == wanted, f"EQ {eq.number}: {outs}, not {wanted}"

    async def attached(self, eq: Eq, other: Eq) -> None:
        """One more CQ each time, then one less."""
        host, config = self.env.host, self.config
        await host.destroy_eq(eq)
        log2 = min(config.max_log2, (config.num_cq - 1).bit_length())
        eq = await host.create_eq(eq.number, page=other.page, log2=log2)
        cqs: list[Cq] = []
        while len(cqs) < min(1 << log2, config.num_cq - 1):
            cqs.append(await host.create_cq(eq=eq, log2=1))
            await self.demand(eq, len(cqs))
        await host.create_cq(config.num_cq - 1, eq=other, log2=1)
        while cqs:
            await self.demand(eq, len(cqs))
            await cqs.pop().destroy()
        await self.demand(eq)
        await self.demand(other, 1)
