# SPDX-License-Identifier: Apache-2.0
"""A corrected word is right again in memory, its check bits too (ISO-05): it is reported once, and
what reads it later finds nothing wrong. In each memory whose words are read twice before they are
written again; all check bits in one for each width of a word.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from tb.env.defs import CheckKind
from tb.tests.common.windowing import ALL
from tb.tests.lib.test_memory_bits import Action
from tb.tests.lib.test_memory_pairs import REWRITES, PairsBase

BUILD = ["engine"]

#: Looks until nothing is found: other words may wait, and writes may keep one from being healed.
LOOKS = 40
#: Memories (of dispatch, of taking) that are written whenever they are read: a word is healed by
#: chance, or another one that nothing writes any more goes on being reported.
BESIDE_WRITES = (28, 29, 60, 61)
#: A word that is lost is reported on each later look, until it is written.
LASTING = (
    *(0, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 23, 24, 25, 26, 27, 32, 47),
    *(52, 53, 54, 56, 57, 59, 62, 66, 67, 68, 69, 70, 72, 73, 74, 75, 76, 77, 78),
)
#: Of keys and accesses.
KEYS = range(71, 80)


class HealsBase(PairsBase):
    def chosen(self) -> Sequence[int]:
        widths = self.words.widths
        self.healed: set[int] = set()
        order = sorted(set(widths))[self.part :: self.parts]
        return [n for n, width in enumerate(widths) if width in order]

    async def check_memory(self, memory: int) -> None:
        width = self.words.widths[memory]
        if memory in BESIDE_WRITES:
            return
        action = await self.action_of(memory, [(0, 0), (0, 0)])
        look = await self.look_of(memory, action)
        for other in (self.renew, self.replace):
            if not look and memory in KEYS and await self.told_once(memory, 0, other):
                action, look = other, await self.look_of(memory, other)
        if not look:
            assert memory not in LASTING, f"memory {memory} reports a lost word only once"
            return
        if width in self.healed:
            # What reads it may do so by chance.
            if await self.told_once(memory, 0, action):
                await self.heals(memory, 0, look)
            return
        self.healed.add(width)
        for lane in self.words.lanes(memory):
            for bit in (64 * lane, *self.words.check_bits(memory, lane)):
                assert await self.told_once(memory, bit, action), (memory, bit)
                await self.heals(memory, bit, look)

    def looks(self) -> tuple[Action, ...]:
        """What reads without a change, then what reads before it writes."""
        first, second, third = self.sender, self.owner, self.user

        async def check() -> None:
            base = self.near.base
            await self.check(second, CheckKind.READ, self.near.key, base, 1)

        async def page() -> None:
            await self.env.host.page_status(0)

        async def key() -> None:
            await self.near.query()
            await self.kept.query()

        async def queues() -> None:
            for qp in (first, second, third):
                await qp.query()

        async def completions() -> None:
            for qp in (first, second, third):
                await qp.cq.query()
                await qp.recv_cq.query()

        async def receives() -> None:
            await self.srq.query()

        async def time() -> None:
            await self.harness.cycles(200)

        only = (time, check, page, key, queues, completions, receives)
        return (*only, *self.actions)

    async def renew(self) -> None:
        """The region that accesses are checked against: its words are written first."""
        old, self.near = self.near, await self.memory()
        await old.deregister()
        await self.check(self.owner, CheckKind.READ, self.near.key, self.near.base, 1)

    async def replace(self) -> None:
        """The region of buffers."""
        old = self.target
        self.target = await self.env.host.register(1 << 47, base=old.base, zone=5, rights=ALL)
        await old.deregister()
        await self.receive()

    async def look_of(self, memory: int, action: Action) -> Action | None:
        """One that reads again what the action has left in memory: a word that is lost is reported
        once more.
        """
        checks = self.words.check_bits(memory, 0)
        for look in self.looks():
            await self.turn_over(memory, checks[0], checks[1])
            await action()
            twice = await self.reported_by(memory, look)
            await self.settled(memory, action)
            if twice:
                return look
        return None

    async def told_once(self, memory: int, bit: int, action: Action) -> bool:
        """Turns a bit over until it is reported, which happens once."""
        for _ in range(REWRITES):
            before = await self.told(memory)
            await self.turn_over(memory, bit, bit)
            await action()
            if (after := await self.told(memory)) != before:
                assert after == (before[0] + 1, before[1]), (memory, bit, before, after)
                return True
        return False

    async def heals(self, memory: int, bit: int, look: Action) -> None:
        for _ in range(LOOKS):
            if not await self.reported_by(memory, look):
                return
        raise AssertionError(f"memory {memory} goes on reporting its bit {bit}")


@pyuvm.test()
class FirstHealsTest(HealsBase):
    """A third of the widths."""

    part = 0


@pyuvm.test()
class SecondHealsTest(HealsBase):
    """Another third."""

    part = 1


@pyuvm.test()
class ThirdHealsTest(HealsBase):
    """The rest."""

    part = 2
