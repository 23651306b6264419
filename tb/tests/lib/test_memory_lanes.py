# SPDX-License-Identifier: Apache-2.0
"""Wrong bits in every lane of 64 bits of every memory: one is corrected, two are reported as lost.

Two check bits turn over where a word is to be lost: its data stay right, so that the scoreboard
judges all that the engine does with them.
"""

from __future__ import annotations

from itertools import zip_longest

import cocotb
import pyuvm

from tb.tests.common.memory_words import LANE, MemoryWords
from tb.tests.common.upsetting import Bits
from tb.tests.lib.test_memory_upsets import TourTest

BUILD = ["engine"]


class LaneBase(TourTest):
    @property
    def words(self) -> MemoryWords:
        return MemoryWords(self.config)

    async def under_traffic(
        self, orders: list[list[tuple[int, Bits]]], corrects: bool = True
    ) -> None:
        """Inverts what each order says, one after the other, while the traffic runs; ``corrects``:
        there are words to correct.
        """
        await self.start()
        assert self.upsets.memories == len(self.words.widths)
        injector = cocotb.start_soon(self.orders(orders))
        while not injector.done():
            await self.tour()
            assert corrects or not self.upsets.corrected, f"corrected: {self.upsets.corrected}"
        injector.result()
        await self.finish()

    async def orders(self, orders: list[list[tuple[int, Bits]]]) -> None:
        for order in orders:
            await self.invert(
                {memory: lambda bits=bits: bits for memory, bits in order},  # type: ignore[misc]
                100,
            )


@pyuvm.test()
class EveryLaneTest(LaneBase):
    """ISO-05: a data bit, a check bit and two check bits of each lane behind the first one."""

    async def scenario(self) -> None:
        rng, words = self.rng("lanes"), self.words
        work: list[list[tuple[int, Bits]]] = []
        for memory in range(len(words.widths)):
            own: list[Bits] = []
            for lane in words.lanes(memory)[1:]:
                checks = words.check_bits(memory, lane)
                bit = LANE * lane + rng.randrange(words.data_bits(memory, lane))
                own += [(bit, bit), (checks[0], checks[-1])]
                # The widest words: each row of the code by itself.
                rows = list(checks[1:-1]) if len(words.lanes(memory)) > 8 else [rng.choice(checks)]
                own += [(row, row) for row in rows]
            work.append([(memory, bits) for bits in own])
        # Memories take turns: what one has not read yet is not taken for the next injection's.
        rounds = zip_longest(*work)
        await self.under_traffic([[item for item in one if item] for one in rounds])


@pyuvm.test()
class EveryLossTest(LaneBase):
    """ISO-05: two wrong bits in the first lane of each memory; each report names its memory."""

    async def scenario(self) -> None:
        rng, words = self.rng("losses"), self.words
        order: list[tuple[int, Bits]] = []
        for memory in range(len(words.widths)):
            first, second = rng.sample(list(words.check_bits(memory, 0)), 2)
            order.append((memory, (first, second)))
        await self.under_traffic([order], corrects=False)
        assert self.upsets.lost.keys() == set(range(len(self.words.widths)))
