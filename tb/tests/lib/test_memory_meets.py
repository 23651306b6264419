# SPDX-License-Identifier: Apache-2.0
"""Reports of wrong words meet those that pass on the maintenance bus (ISO-05): they wait, none gets
lost, and one of a lost word still says so.

Callbacks wait for moderation all the time, and the engine looks at them again and again; in a
memory of the arm state, the words that it reads for that have two wrong check bits. So reports pass
every few cycles all memories behind that one, whose words are upset meanwhile.
"""

from __future__ import annotations

import pyuvm

from tb.tests.lib.test_memory_bits import Action, BitsBase

BUILD = ["engine"]

#: Written by MODIFY_CQ only, read by each look.
SETTINGS = 4
#: Memories behind it, by the action that writes a word and reads it again: once, each time.
POSTED = (9, 11, 24, 26, 28, 30, 35, 38, 41, 45)
SHARED = (12, 54, 61)
RECEIVED = (58, 63)
ROUNDS = 80
#: Count and interval, in units, that no queue of the test reaches.
LATER = (8, 0xFFFF)


@pyuvm.test()
class MeetingReportsTest(BitsBase):
    """One wrong bit is reported as corrected, once; two are not reported as corrected."""

    memories = sorted(POSTED + SHARED + RECEIVED)

    async def scenario(self) -> None:
        self.passing = False
        await super().scenario()

    async def check_memory(self, memory: int) -> None:
        if not self.passing:
            self.passing = True
            await self.let_reports_pass()
        action = self.post if memory in POSTED else self.share if memory in SHARED else self.receive
        data = 0
        first, second = self.words.check_bits(memory, 0)[:2]
        reports = await self.corrected(memory, data, data, action)
        assert reports == ROUNDS, f"memory {memory}: {reports} reports of {ROUNDS} wrong bits"
        reports = await self.corrected(memory, first, second, action)
        assert reports == 0, f"memory {memory}: {reports} losses reported as corrected"
        # The word is right again.
        await action()

    async def let_reports_pass(self) -> None:
        first, second = self.words.check_bits(SETTINGS, 0)[:2]
        for qp in (self.sender, self.owner, self.user):
            await qp.cq.modify(moderation=LATER)
            await qp.cq.arm()
            await self.exchange(qp)
            await self.turn_over(SETTINGS, first, second)
            await qp.cq.modify(moderation=LATER)

    async def corrected(self, memory: int, first: int, second: int, action: Action) -> int:
        """Reports of corrected words in these rounds, during which others pass."""
        before = await self.totals()
        for _ in range(ROUNDS):
            await self.turn_over(memory, first, second)
            await action()
        after = await self.totals()
        assert after[1] - before[1] > ROUNDS, "too few reports pass"
        return after[0] - before[0]

    async def totals(self) -> tuple[int, int]:
        """The counters, when all reports have come through."""
        await self.upsets.collect()
        return await self.upsets.counted()
