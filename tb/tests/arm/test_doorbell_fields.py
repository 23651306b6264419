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
from tb.tests.common.steps import ANY, ARMS, UNSOLICITED, Consumer, StepTest


@pyuvm.test()
class ArmFieldTest(StepTest):
    """CQ-22, ISO-02: the arm field has four bits and three codes; every other value, and reserved
    bits around it, are refused with everything that the write carries.
    """

    async def scenario(self) -> None:
        q = await self.consumer()
        await q.place(UNSOLICITED)
        q.take()
        for code in range(3, 16):
            await q.refused(Cause.BAD_ARM_TYPE, arm_type=code, arm=1)
        for code in range(1, 16):
            await q.refused(Cause.RESERVED_BITS, arm_type=code)
        bits = (*range(52, 63), *range(self.config.idx_w, 32))
        for bit in bits:
            await q.refused(Cause.RESERVED_BITS, index=1 | 1 << bit, arm_type=ANY, arm=1)
        counters = await self.env.host.counters()
        assert (counters["CAUSE6"], counters["CAUSE5"]) == (13, 15 + len(bits))
        await q.arm(ANY)
        await q.place(UNSOLICITED, calls=1)


@pyuvm.test()
class IndexRangeTest(StepTest):
    """CQ-22: consumer indices at both ends of the legal range and one beyond, with and without an
    arm; an entry counts as written once memory took its address and its data.
    """

    async def scenario(self) -> None:
        q = await self.consumer()
        await q.refused(Cause.BAD_INDEX, index=self.index_mask, arm=1)
        await q.refused(Cause.BAD_INDEX, index=1, arm=1, arm_type=ANY)
        await q.place(*[UNSOLICITED] * 5)
        await q.poll(2)
        for index in (1, 6, 2 + (self.index_mask + 1) // 2, self.index_mask):
            for arm in ARMS:
                await q.refused(Cause.BAD_INDEX, index=index, arm_type=arm, arm=1)
            await q.refused(Cause.BAD_INDEX, index=index)

        # Written, not acknowledged: legal.
        self.env.mem.hold_cq(q.cq.number)
        await self.harness.cycles(4)
        await q.place(UNSOLICITED, UNSOLICITED)
        assert (await q.cq.query()).prod == 5
        await q.refused(Cause.BAD_INDEX, index=8, arm=1, arm_type=ANY)
        await q.poll()
        assert (await q.cq.query()).cons == 7
        await q.refused(Cause.BAD_INDEX, index=6, arm=1, arm_type=ANY)
        await q.arm(ANY)
        self.env.mem.release_cq(q.cq.number)
        await q.settle()

        # Neither the address nor the data alone make it written.
        for channel in (Channel.MEM_AW, Channel.MEM_W):
            self.harness.hold(channel)
            q.send(UNSOLICITED)
            await q.refused(Cause.BAD_INDEX, index=q.placed, arm=1, arm_type=ANY)
            self.harness.hold(channel, False)
            await q.settle(calls=1)
            await q.callback_returns()
            await q.poll()
            await q.arm(ANY)
        await q.refused(Cause.BAD_INDEX, index=q.placed + 1, arm=1)
        await q.place(UNSOLICITED, calls=1)


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
