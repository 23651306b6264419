# SPDX-License-Identifier: Apache-2.0
"""Wrong bits in every memory of the full engine (ISO-05): each is there with its number, each lane
of its words is corrected, reported once and right again, or reported as lost; what waits in a
memory is forgotten at a reset; reports meet others on the maintenance bus.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from tb.tests.common.memory_uses import MemoryUser
from tb.tests.common.memory_words import LANE
from tb.tests.common.upsetting import Bits

BUILD = ["engine_deep"]

#: Injections between two looks at the log, which has room for their reports.
GROUP = 8
#: Times that a bit turns over until it is reported: an action may leave a word unread.
TRIES = 12
#: No word has this bit.
NO_BIT = 1023
#: Data bits of a lane that turn over.
DATA = 2
#: Written by MODIFY_CQ only, read whenever the engine looks at a callback that waits.
SETTINGS = 4
#: Count and interval, in units, that no queue of the test reaches.
LATER = (8, 0xFFFF)
#: Memories after it on the bus whose action uses one word, each time.
PASSED = (24, 30, 42, 51, 60)
ROUNDS = 40


async def check_memories(test: MemoryUser, memories: Sequence[int]) -> None:
    """The scenario of a test: bits of these memories turn over."""
    await test.start()
    check = MemoryCheck(test)
    for memory in memories:
        await check.check(memory)
    await test.finish()


class MemoryCheck:
    """Bits of a memory turn over. Words are lost by check bits: their data stay right, so that the
    scoreboard judges all that the engine does with them.
    """

    def __init__(self, test: MemoryUser) -> None:
        self.test, self.words, self.upsets, self.values = test, test.words, test.upsets, test.values
        words = self.words
        places = [(n, lane) for n in range(len(words.widths)) for lane in words.lanes(n)]
        wide = [place for place in places if words.data_bits(*place) == LANE]
        # Lanes of full width have one code: together they turn over each of its columns.
        self.columns = {place: DATA * n for n, place in enumerate(wide)}

    async def check(self, memory: int) -> None:
        bits = self.single_bits(memory)
        groups = [bits[at : at + GROUP] for at in range(0, len(bits), GROUP)]
        for _ in range(TRIES):
            missing = [own for own in groups if (await self.told(memory, *own))[0] < len(own)]
            groups = [[bit] for own in missing for bit in own]
        assert not groups, f"memory {memory} has not reported its bits {groups}"
        assert await self.heals(memory), f"memory {memory} goes on reporting"
        corrected = self.upsets.corrected[memory]
        for lane in self.words.lanes(memory):
            assert await self.loses(memory, lane), f"memory {memory} reports no loss in lane {lane}"
        assert self.upsets.lost[memory], f"no loss in the log names memory {memory}"
        assert self.upsets.corrected[memory] == corrected, f"memory {memory} corrects two bits"

    def single_bits(self, memory: int) -> list[Bits]:
        """Some data bits and all check bits of each lane."""
        found: list[int] = []
        for lane in self.words.lanes(memory):
            width = self.words.data_bits(memory, lane)
            if (column := self.columns.get((memory, lane))) is None:
                data = self.values.sample(range(width), min(width, DATA))
            else:
                data = [(column + n) % LANE for n in range(DATA)]
            found += [LANE * lane + bit for bit in data]
            found += self.words.check_bits(memory, lane)
        return [(bit, bit) for bit in found]

    async def heals(self, memory: int) -> bool:
        """Whether what was corrected is right again: in the end no look finds anything."""
        upsets = self.upsets
        for _ in range(TRIES):
            before = upsets.corrected[memory]
            await self.test.read_words()
            await upsets.collect()
            if upsets.corrected[memory] == before:
                return True
        return False

    async def loses(self, memory: int, lane: int) -> bool:
        """Whether a word is lost in which two check bits of a lane turn over."""
        first, second = self.values.sample(self.words.check_bits(memory, lane), 2)
        for _ in range(TRIES):
            # Words that were lost before are reported until they are written.
            _, others = await self.told(memory, (NO_BIT, NO_BIT))
            if (await self.told(memory, (first, second)))[1] > others:
                return True
            # At any other place of the ring: a lost word may be read ahead of the post after it.
            for _ in range(self.values.randrange(1, 9)):
                await self.test.use_of(memory)()
        return False

    async def told(self, memory: int, *bits: Bits) -> tuple[int, int]:
        """Reports of a memory, corrected (in the log) and lost (in the counter: the log may be
        full), while its words are used and these bits turn over, each in another word.
        """
        upsets, use = self.upsets, self.test.use_of(memory)
        before = upsets.corrected[memory], (await upsets.counted())[1]
        for first, second in bits:
            await self.test.turn_over(memory, first, second)
            await use()
        # It may be the next action that reads a word.
        await use()
        await upsets.collect()
        return upsets.corrected[memory] - before[0], (await upsets.counted())[1] - before[1]


@pyuvm.test()
class CoreUpsetsTest(MemoryUser):
    """Mailbox, pages, arm state, completion queues, credits."""

    async def scenario(self) -> None:
        await check_memories(self, range(23))


@pyuvm.test()
class PostUpsetsTest(MemoryUser):
    """Posts, their indication, reports and completion, control of queue pairs."""

    async def scenario(self) -> None:
        await check_memories(self, range(23, 48))


@pyuvm.test()
class ReceiveUpsetsTest(MemoryUser):
    """Receive posts, messages, reports and completion, control of receives."""

    async def scenario(self) -> None:
        await check_memories(self, range(48, 68))


@pyuvm.test()
class KeyUpsetsTest(MemoryUser):
    """Zones, keys of regions and windows, scatter and gather lists, checks."""

    async def scenario(self) -> None:
        await check_memories(self, range(68, 77))


@pyuvm.test()
class InjectionAtResetTest(MemoryUser):
    """A reset of one cycle forgets an injection that waits for a word to be written, in each
    memory.
    """

    async def scenario(self) -> None:
        await self.start()
        for memory in range(self.upsets.memories):
            await self.turn_over(memory, 0, 0)
            await self.env.reset(1)
            await self.make_objects()
            await self.use_of(memory)()
            await self.upsets.collect()
            assert await self.upsets.counted() == (0, 0), f"memory {memory}"


@pyuvm.test()
class MeetingReportsTest(MemoryUser):
    """Reports meet those that pass on the bus: they wait, none gets lost, and one of a lost word
    still says so. Callbacks wait for moderation, and the engine looks at words with two wrong bits
    for that, again and again.
    """

    async def scenario(self) -> None:
        await self.start()
        first, second = self.words.check_bits(SETTINGS, 0)[:2]
        for qp in (self.sender, self.owner, self.user):
            await qp.cq.modify(moderation=LATER)
            await qp.cq.arm()
            await self.turn_over(SETTINGS, first, second)
            await qp.cq.modify(moderation=LATER)
        for use in (self.post, self.receive, self.share):
            await use()
        for memory in PASSED:
            single = await self.corrected(memory, 0, 0)
            assert single == ROUNDS, f"memory {memory}: {single} reports of {ROUNDS} wrong bits"
            losses = await self.corrected(memory, *self.words.check_bits(memory, 0)[:2])
            assert losses == 0, f"memory {memory}: {losses} losses reported as corrected"
            # The word is right again.
            await self.use_of(memory)()
        for qp in (self.sender, self.owner, self.user):
            await qp.cq.modify(moderation=LATER)
        await self.finish()

    async def corrected(self, memory: int, first: int, second: int) -> int:
        """Reports of corrected words in these rounds, during which others pass."""
        before = await self.upsets.counted()
        for _ in range(ROUNDS):
            await self.turn_over(memory, first, second)
            await self.use_of(memory)()
        await self.harness.cycles(self.upsets.memories + 16)
        after = await self.upsets.counted()
        assert after[1] - before[1] > ROUNDS, "too few reports pass"
        return after[0] - before[0]
