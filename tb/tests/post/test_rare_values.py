# SPDX-License-Identifier: Apache-2.0
"""Values that take longer than any test to come about: times of posts, indices of receive queues.
Here a bit of a word turns over in memory with a check bit, which the engine reports; it uses the
word.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import QpState, Result
from tb.tests.common.memory_words import MemoryWords, check_bit
from tb.tests.common.posting import OK
from tb.tests.common.taking import LENGTH, TakingTest, Want, canceled
from tb.tests.common.upsetting import UpsetsTest

BUILD = "engine"

POSTS = -53  # states of QPs, among the memories from the end
TAKEN, TAILS, DONE = -13, -12, -11  # indices of their receive queues, as commands see them


class RareTest(TakingTest, UpsetsTest):
    def number(self, memory: int) -> int:
        """Of a memory that may be counted from the end."""
        return memory if memory > 0 else self.upsets.memories + memory

    async def turn(self, memory: int, bit: int) -> None:
        """A bit of the next word of this memory."""
        number = self.number(memory)
        check = check_bit(MemoryWords(self.config).widths[number], bit)
        assert await self.upsets.inject(number, bit, check) == 0
        await self.harness.cycles(self.upsets.memories + 16)

    async def reported(self, *memories: int) -> None:
        """Lost words of these memories and nothing else are in the log."""
        await self.upsets.collect()
        assert self.upsets.lost.keys() == set(map(self.number, memories)), self.upsets.lost
        assert not self.upsets.corrected


@pyuvm.test()
class OldTimeTest(RareTest):
    """DF-01: posts are held since any time; without a limit of their age they stay, and go as one
    batch with the next that is not deferred.
    """

    async def scenario(self) -> None:
        await self.start()
        other, qp = await self.qp(), await self.qp()
        since = 4 + 2 * self.config.idx_w
        for bit in range(20):
            held = await self.hold(qp, 1, watch=False)
            await self.turn(POSTS, since + bit)
            for _ in range(min(3, qp.depth - 2)):
                held += await self.hold(qp, 1, watch=False)
            await self.rest()
            mark = self.mark
            (beside,) = await self.accept(other, [self.write_post(other)])
            self.report(other)
            await self.demand_results(other, [beside], OK)
            await self.rest(400)
            assert not self.beats(qp, mark), bit
            held += await self.accept(qp, [self.write_post(qp)])
            self.report(qp, *[OK] * len(held))
            await self.demand_results(qp, held, OK)
            self.demand_beats(qp, held, mark)
        await self.reported(POSTS)


@pyuvm.test()
class OldIndexTest(RareTest):
    """SRQ-18: commands see what a QP's queue has got, taken and done by indices with any bits; a
    connection begins anew when they are equal.
    """

    async def scenario(self) -> None:
        await self.start()
        qp = await self.own()
        for bit in range(16):
            await self.turn(TAILS, bit)
            (cookie,) = await self.supply(qp, 1)
            await self.turn(TAKEN, bit)
            await self.take(qp, LENGTH)
            await self.turn(DONE, bit)
            self.settle(qp)
            await self.demand(qp, [Want(cookie, LENGTH)])
            await qp.flush()
            assert await qp.set_state(QpState.IDLE) == Result.OK, bit
            await qp.connect(qp.number ^ 1)
            # As they are without wrong bits.
            cookies = await self.supply(qp, 2)
            await self.take(qp, LENGTH)
            self.settle(qp)
            await self.demand(qp, [Want(cookies[0], LENGTH)])
            await qp.flush()
            await self.demand(qp, canceled(cookies[1:]))
            assert await qp.set_state(QpState.IDLE) == Result.OK
            await qp.connect(qp.number ^ 1)
        await self.reported(TAILS, TAKEN, DONE)
