# SPDX-License-Identifier: Apache-2.0
"""Keys of every generation up to the last one, behind which an object gets none (MW-11).

A million lives of one object take too long. Here a free number grows old at once: a bit of its
generation turns over in memory with a check bit, which the engine reports; it uses the word.
"""

from __future__ import annotations

import pyuvm

from tb.env.agents.control import CommandError
from tb.env.defs import KEY, CqeStatus, Result
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.tests.common.memory_words import MemoryWords, check_bit
from tb.tests.common.taking import Want
from tb.tests.common.upsetting import UpsetsTest
from tb.tests.common.windowing import ALL, GRANTED, READ, WindowTest

BUILD = "engine"

WORDS = -8  # the table of keys among the memories, from the end
LAST = (1 << 20) - 1


@pyuvm.test()
class LastKeyTest(WindowTest, UpsetsTest):
    """A window and a region give keys with every bit of the generation, the last ones included, and
    the region's are good for Binds and buffers; then Bind, FastRegister and the commands that
    create fail with NO_KEYS.
    """

    async def scenario(self) -> None:
        await self.start()
        qp = await self.guarded()
        base = await self.memory(256)
        window, region = await self.window(), await self.allocated(256)
        other = await self.window()
        while window.key >> 12 < LAST - 2:
            await self.grow_old(window)
            await self.bind(window, qp, base)
            assert await self.check(qp, READ, window.key, base.base, 256) == GRANTED
            await self.invalidate(qp, window.key)
        while region.key >> 12 < LAST - 2:
            await self.grow_old(region)
            await self.fast_register(region, qp, ALL)
            assert await self.check(qp, READ, region.key, region.base, 256) == GRANTED
            await self.use(region, qp, other)
            await self.invalidate(qp, region.key)
        while window.key >> 12 < LAST:
            await self.bind(window, qp, base)
            await self.invalidate(qp, window.key)
        await self.execute(qp, window.make_bind(qp, base), CqeStatus.NO_KEYS)
        await self.revive(qp)
        while region.key >> 12 < LAST:
            await self.fast_register(region, qp, ALL)
            await self.invalidate(qp, region.key)
        await self.execute(qp, region.make_fast_register(qp), CqeStatus.NO_KEYS)
        await self.revive(qp)
        await window.close()
        await region.deregister()
        for creates in (window.create, region.allocate, region.register):
            try:
                await creates()
            except CommandError as error:
                assert error.command.result == Result.NO_KEYS, error
            else:
                raise AssertionError(f"{creates.__qualname__}: a key behind the last one")
        await self.upsets.collect()
        assert self.upsets.lost.keys() == {self.upsets.memories + WORDS}, self.upsets.lost
        assert not self.upsets.corrected and not self.upsets.others

    async def use(self, region: Region, qp: Qp, window: MemoryWindow) -> None:
        """The key of a valid region serves a Bind, and each segment of a buffer."""
        await self.bind(window, qp, region)
        await self.invalidate(qp, window.key)
        result = await qp.post_recv([region.segment(64 * n, 64) for n in range(3)], cookie=1)
        assert result.accepted, result
        await self.take(qp, 192)
        self.settle(qp)
        await self.demand(qp, [Want(1, 192)])

    async def grow_old(self, keyed: MemoryWindow | Region) -> None:
        """Ends the object and makes it anew; the highest bit of the generation that is 0 has become
        1 meanwhile, unless that would be all.
        """
        generation = KEY["generation"].get(keyed.key)
        bit = max(bit for bit in range(20) if not generation >> bit & 1)
        if generation | 1 << bit < LAST - 3:
            check = check_bit(MemoryWords(self.config).widths[WORDS], bit)
            assert await self.upsets.inject(self.upsets.memories + WORDS, bit, check) == 0
            await self.harness.cycles(self.upsets.memories + 16)
            generation |= 1 << bit
        if isinstance(keyed, MemoryWindow):
            await keyed.close()
        else:
            await keyed.deregister()
        await self.env.sync()
        board = self.checking.board
        assert isinstance(board, Scoreboard)
        table = board.engine_checks.kc.table
        if isinstance(keyed, MemoryWindow):
            table.window_serials[keyed.number] = generation
            key = await keyed.create()
        else:
            table.serials[keyed.number] = generation
            key = await keyed.allocate()
        assert key >> 12 == generation + 1
