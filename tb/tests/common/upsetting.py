# SPDX-License-Identifier: Apache-2.0
"""What the tests of wrong bits in memories share."""

from __future__ import annotations

from tb.env.base_test import CarillonTest
from tb.env.host.upsets import Upsets

#: Two bits to invert; the same one twice for one bit.
Bits = tuple[int, int]
#: The copy of the pages' status that PAGE_STATUS reads, and data bits of its words.
READ_RAM, STATUS_BITS = 2, 40


class UpsetsTest(CarillonTest):
    """``self.upsets``, from `start` to `finish`."""

    async def start(self) -> None:
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
