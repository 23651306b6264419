# SPDX-License-Identifier: Apache-2.0
"""Wrong bits in every lane of 64 bits of every memory: one is corrected, two are reported as lost.

Two check bits turn over where a word is to be lost: its data stay right, so that the scoreboard
judges all that the engine does with them.
"""

from __future__ import annotations

from itertools import zip_longest

import cocotb
import pyuvm

from tb.tests.test_memory_upsets import TourTest
from tb.tests.upsetting import Bits

BUILD = ["engine"]

#: Data bits of the words of each memory, in the order of the bus, as in build `engine`.
WIDTHS = (
    *(60, 40, 40),  # mailbox, pages
    *(56, 56, 16, 68, 10, 50),  # arm state
    *(114, 16, 16, 16),  # contexts of CQs
    *(16, 16, 16, 16, 18),  # credits, both ports
    *(16, 16, 16, 16, 18),
    *(66, 56, 16),  # posts
    *(16, 16, 514, 1, 32, 16, 24, 1),  # dispatch
    *(16, 16, 16),  # done
    *(16, 16, 32, 16, 148, 9, 71, 32, 16, 24),  # retirement
    *(248, 16, 13, 6),  # control of QPs
    *(36, 48, 16, 16),  # receive posts
    *(11, 16, 33, 16, 16, 448, 448),  # taking
    *(16, 16, 200, 72, 16),  # receive done
    *(16, 16, 16, 1),  # control of receives
    *(16, 181, 181, 64, 181, 181, 181),  # keys
    *(181, 17),  # checks
)
LANE = 64


def lanes(memory: int) -> range:
    return range(-(-WIDTHS[memory] // LANE))


def data_bits(memory: int, lane: int) -> int:
    """Data bits of a lane."""
    return min(WIDTHS[memory] - LANE * lane, LANE)


def check_bits(memory: int, lane: int) -> range:
    """Numbers of a lane's check bits in the stored word: a Hamming code and the parity."""
    rows = next(rows for rows in range(2, 8) if data_bits(memory, lane) < (1 << rows) - rows)
    first = WIDTHS[memory] + 8 * lane
    return range(first, first + rows + 1)


class LaneBase(TourTest):
    async def under_traffic(
        self, orders: list[list[tuple[int, Bits]]], corrects: bool = True
    ) -> None:
        """Inverts what each order says, one after the other, while the traffic runs; ``corrects``:
        there are words to correct.
        """
        await self.start()
        assert self.upsets.memories == len(WIDTHS)
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
        rng = self.rng("lanes")
        work: list[list[tuple[int, Bits]]] = []
        for memory in range(len(WIDTHS)):
            own: list[Bits] = []
            for lane in lanes(memory)[1:]:
                checks = check_bits(memory, lane)
                bit = LANE * lane + rng.randrange(data_bits(memory, lane))
                own += [(bit, bit), (checks[0], checks[-1])]
                # The widest words: each row of the code by itself.
                rows = list(checks[1:-1]) if len(lanes(memory)) > 8 else [rng.choice(checks)]
                own += [(row, row) for row in rows]
            work.append([(memory, bits) for bits in own])
        # Memories take turns: what one has not read yet is not taken for the next injection's.
        rounds = zip_longest(*work)
        await self.under_traffic([[item for item in one if item] for one in rounds])


@pyuvm.test()
class EveryLossTest(LaneBase):
    """ISO-05: two wrong bits in the first lane of each memory; each report names its memory."""

    async def scenario(self) -> None:
        rng = self.rng("losses")
        order: list[tuple[int, Bits]] = []
        for memory in range(len(WIDTHS)):
            first, second = rng.sample(list(check_bits(memory, 0)), 2)
            order.append((memory, (first, second)))
        await self.under_traffic([order], corrects=False)
        assert self.upsets.lost.keys() == set(range(len(WIDTHS)))
