# SPDX-License-Identifier: Apache-2.0
"""Two check bits of a word turn over and are reported as lost (ISO-05): pairs in which each bit of
the syndrome counts, and each digit of what tells two wrong bits from one.

Data stay right, so that the scoreboard judges all that the engine does with them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pyuvm

from tb.tests.common.upsetting import Bits
from tb.tests.lib.test_memory_bits import Action, BitsBase

BUILD = ["engine"]

#: Actions until a word that was lost is written again.
REWRITES = 40


class PairsBase(BitsBase):
    """In one memory for each width of a word: others have the same code."""

    part: int
    parts = 3

    def chosen(self) -> Sequence[int]:
        widths = self.words.widths
        every = [n for n, width in enumerate(widths) if widths.index(width) == n]
        return every[self.part :: self.parts]

    async def check_memory(self, memory: int) -> None:
        action = await self.action_of(memory, [(0, 0), (0, 0)])
        for lane in self.words.lanes(memory):
            for bits in self.pairs(memory, lane):
                for _ in range(REWRITES):
                    if await self.loses(memory, bits, action):
                        break
                else:
                    raise AssertionError(f"memory {memory} reports no loss of the bits {bits}")

    def pairs(self, memory: int, lane: int) -> Sequence[Bits]:
        """Neighbours, and the first and the last row with each other one."""
        rows = self.words.check_bits(memory, lane)
        found = {*itertools.pairwise(rows)}
        found |= {(rows[0], row) for row in rows[1:]} | {(row, rows[-1]) for row in rows[:-1]}
        return sorted(found)

    async def loses(self, memory: int, bits: Bits, action: Action) -> bool:
        """Whether a word with these bits turned over is reported, once the words are right."""
        await self.settled(memory, action)
        before = await self.told(memory)
        await self.turn_over(memory, *bits)
        # It may be the next action that reads the word.
        for _ in range(2):
            await action()
        after = await self.told(memory)
        assert after[0] == before[0], f"memory {memory} corrects two wrong bits {bits}"
        return after[1] > before[1]

    async def settled(self, memory: int, action: Action) -> None:
        """No word is wrong any more: an action in which nothing is reported."""
        for _ in range(REWRITES):
            if not await self.reported_by(memory, action):
                return
        raise AssertionError(f"memory {memory} goes on reporting")

    async def reported_by(self, memory: int, action: Action) -> bool:
        before = await self.told(memory)
        await action()
        return await self.told(memory) != before

    async def told(self, memory: int) -> tuple[int, int]:
        """Reports of this memory: corrected, lost."""
        await self.upsets.collect()
        return self.upsets.corrected[memory], self.upsets.lost[memory]


@pyuvm.test()
class FirstPairsTest(PairsBase):
    """A third of the widths."""

    part = 0


@pyuvm.test()
class SecondPairsTest(PairsBase):
    """Another third."""

    part = 1


@pyuvm.test()
class ThirdPairsTest(PairsBase):
    """The rest."""

    part = 2
