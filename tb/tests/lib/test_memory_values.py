# SPDX-License-Identifier: Apache-2.0
"""Data bits turn over and are corrected whether they are 0 or 1 (ISO-05): each one several times,
under values that differ. In one memory for each width of a lane that few memories have: the others
are met in many memories.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from tb.tests.common.memory_words import LANE
from tb.tests.lib.test_memory_bits import BitsBase

BUILD = ["engine"]

#: Lanes of a width that few memories have, at most.
FEW = 3
#: Times that a bit turns over: it has both values with a chance of 7 in 8.
PASSES = 4


class ValuesBase(BitsBase):
    part: int
    parts = 2

    def chosen(self) -> Sequence[int]:
        words = self.words
        lanes: dict[int, list[tuple[int, int]]] = {}
        for memory in range(len(words.widths)):
            for lane in words.lanes(memory):
                lanes.setdefault(words.data_bits(memory, lane), []).append((memory, lane))
        self.rare = [found[0] for found in lanes.values() if len(found) <= FEW]
        return sorted({memory for memory, _ in self.rare})[self.part :: self.parts]

    async def check_memory(self, memory: int) -> None:
        bits = [
            (bit, bit)
            for owner, lane in self.rare
            if owner == memory
            for bit in range(LANE * lane, LANE * lane + self.words.data_bits(memory, lane))
        ]
        action = await self.action_of(memory, bits[:1])
        for _ in range(PASSES):
            await self.turn_all(memory, bits, action)
        assert not self.upsets.lost, self.upsets.lost


@pyuvm.test()
class FirstValuesTest(ValuesBase):
    """Half of these memories."""

    part = 0


@pyuvm.test()
class SecondValuesTest(ValuesBase):
    """The others."""

    part = 1
