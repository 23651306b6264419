# SPDX-License-Identifier: Apache-2.0
"""What the tests of wrong bits in memories share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cocotb

from tb.env.base_test import CarillonTest
from tb.env.host.upsets import Upsets
from tb.sequences import find

#: Two bits to invert; the same one twice for one bit.
Bits = tuple[int, int]


class UpsetsTest(CarillonTest):
    """Injections into memory after memory."""

    async def every_memory(self, rounds: int, wait: int) -> None:
        """Inverts bits in memory after memory until each has reported ``rounds`` times, the first
        time bit 0; ``wait``: cycles in which a word may be written and read.
        """
        rng = self.rng("upsets")

        def some_bit() -> Bits:
            bit = rng.randrange(1 << rng.choice((2, 3, 4, 5, 9)))
            return bit, bit

        for number in range(rounds):
            choose = (lambda: (0, 0)) if number == 0 else some_bit
            await self.invert(dict.fromkeys(range(self.upsets.memories), choose), wait)

    async def invert(self, missing: dict[int, Callable[[], Bits]], wait: int) -> None:
        """Inverts the chosen bits in memory after memory, again and again, until each has reported:
        as corrected if both bits are the same one, else as lost. ``wait``: see `every_memory`.
        """
        upsets, cycles = self.upsets, wait
        while missing:
            for memory, choose in list(missing.items()):
                first, second = choose()
                reports = upsets.corrected if first == second else upsets.lost
                before = reports[memory]
                assert await upsets.inject(memory, first, second) == 0
                await self.env.harness.cycles(cycles)
                await upsets.collect()
                if reports[memory] > before:
                    del missing[memory]
            cycles = min(2 * cycles, 16 * wait)

    async def start(self) -> None:
        """``self.upsets``."""
        self.upsets = Upsets(self.env)
        await self.upsets.start()

    async def finish(self) -> None:
        """What the log names is what the counters count."""
        upsets = self.upsets
        await upsets.collect()
        self.logger.info(
            "%d injections: corrected %s, lost %s",
            *(upsets.injected.total(), dict(sorted(upsets.corrected.items())), dict(upsets.lost)),
        )
        corrected, lost = await upsets.counted()
        logged = upsets.corrected.total() + upsets.lost.total()
        assert 0 <= corrected + lost - logged <= await self.env.host.counter("LOG_LOST")
        assert corrected >= upsets.corrected.total() and lost >= upsets.lost.total()
        assert upsets.lost or lost == 0, "single bits were lost"
        counts = self.checking.facts.counts
        counts["memories_upset"] = len(upsets.corrected)
        counts["words_corrected"] = corrected
        counts["words_lost"] = lost


class LifeUpsetsTest(UpsetsTest):
    """Random lives with a wrong bit about every 200 cycles."""

    async def life(self, sequence: str, **options: Any) -> None:
        await self.start()
        self.over = False
        injector = cocotb.start_soon(self.sprinkle())
        run: Any = find(sequence)(self.env, **options)
        await run.run()
        self.over = True
        await injector
        self.env.release_all()
        await self.finish()
        assert len(self.upsets.corrected) > 2

    async def sprinkle(self) -> None:
        rng, upsets = self.rng("upsets"), self.upsets
        while not self.over:
            bit = rng.randrange(1 << rng.choice((0, 3, 4, 5, 9)))
            assert await upsets.inject(rng.randrange(upsets.memories), bit) == 0
            await self.env.harness.cycles(rng.randint(20, 180))
            await upsets.collect()
