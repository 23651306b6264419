# SPDX-License-Identifier: Apache-2.0
"""The fields of an arm doorbell: arm type and reserved bits, both ends of the legal range of the
consumer index. What is refused changes nothing.
"""

from __future__ import annotations

import pyuvm

from tb.env.agents.completion import Cpl
from tb.env.defs import Cause
from tb.env.harness.harness import Channel
from tb.env.harness.records import MemWrite, Record
from tb.tests.common.steps import ANY, UNSOLICITED, Consumer, StepTest


@pyuvm.test()
class WrittenBeatsTest(StepTest):
    """CQ-22: behind each beat to memory, of one entry or two, in either half of a line, of rings
    that begin at an even or an odd index: an index that covers one entry more is refused.
    """

    #: Entries that come at once.
    MOST = 5

    def connect_checkers(self) -> None:
        super().connect_checkers()
        #: Beats of entries: their halves.
        self.beats: list[int] = []
        self.env.add_subscriber(self._beats, "beats of the test", lambda: len(self.beats))

    def _beats(self, records: list[Record]) -> None:
        lower = (1 << 32) - 1
        for record in records:
            if type(record) is MemWrite:
                self.beats.append(bool(record.strb & lower) | bool(record.strb >> 32) << 1)

    async def scenario(self) -> None:
        seen = set()
        both = (False, True)
        for odd in both:
            q = await self.consumer()
            if odd:
                await q.place(UNSOLICITED)
                await q.poll()
                assert await q.cq.resize(3) == q.index()
            for count in range(1, self.MOST + 1):
                # From either half on: an odd number between.
                for _ in range(2):
                    for pairs in both:
                        seen |= {(odd, *step) for step in await self.train(q, count, pairs)}
                    await q.place(UNSOLICITED)
                    await q.poll()
        wanted = {(odd, later, halves) for odd in both for later in both for halves in (1, 2, 3)}
        assert seen >= wanted, f"not seen: {wanted - seen}"
        await q.arm(ANY)
        await q.place(UNSOLICITED, calls=1)

    async def train(self, q: Consumer, count: int, pairs: bool) -> set[tuple[bool, int]]:
        """Entries that leave beat by beat. Returns of each beat whether one came before it, and
        which halves it had.
        """
        self.harness.hold(Channel.MEM_AW)
        await self.harness.cycles(4)
        cpls = [Cpl(q.cq.number, context=q.placed + n) for n in range(count)]
        width = 2 if pairs else 1
        for at in range(0, count, width):
            self.env.completions.send_beat(cpls[at : at + width])
        start = written = q.placed
        q.placed += count
        await q.settle()
        found = set()
        while written < q.placed:
            await q.refused(Cause.BAD_INDEX, index=q.index(written + 1), arm_type=ANY, arm=1)
            before = len(self.beats)
            self.harness.hold(Channel.MEM_AW, False)
            await self.harness.cycles(1)
            self.harness.hold(Channel.MEM_AW)
            await q.settle()
            for halves in self.beats[before:]:
                found.add((written > start, halves))
                written += halves.bit_count()
        self.harness.hold(Channel.MEM_AW, False)
        await q.poll()
        return found
