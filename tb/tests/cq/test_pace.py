# SPDX-License-Identifier: Apache-2.0
"""Pace of the completion core in clock cycles (architecture.md, "The way of a completion"): ways
through an idle engine, entries that are joined, looks of moderation (ISO-04, CQ-21).
"""

from __future__ import annotations

import pyuvm

from tb.env.agents.completion import Cpl
from tb.env.defs import ArmType, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import (
    Completion,
    CreditAnswer,
    CreditRequest,
    DoorbellRequest,
    DoorbellResponse,
    Interrupt,
    MemResponse,
    MemWrite,
    Trace,
)
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest
from tb.tests.common.pacing import LEAD, Pacing

SAMPLES = 12
#: Queues whose callbacks wait for moderation at a time.
LOOKED = 16
INTERVAL = (0xFFFF, 2)  # entries: not in use; units


@pyuvm.test()
class CompletionWayTest(Pacing, DirectedTest):
    """A completion to its entry at the memory port, the response to the event entry, the event's
    response to the interrupt; an arm of a new entry to its event entry; answers. Class: a stage
    more, or a bypass that is never taken.
    """

    async def scenario(self) -> None:
        cqs = [await self.queue(n % 2, reservation=True) for n in range(SAMPLES)]
        for number, cq in enumerate(cqs):
            await self.idle(number)
            await self.credit(cq)
            await self.completion(cq)
            await self.idle(number)
            await self.arm(cq)
        self.demand_ways(credit=7, answer=9, entry=8, event=9, interrupt=5, arm=9)

    async def idle(self, number: int) -> None:
        """Idle, and in another phase of whatever goes round."""
        await self.env.drain(16)
        await self.harness.cycles(number % 7)

    async def credit(self, cq: Cq) -> None:
        for _ in range(2):
            mark = len(self.seen)
            assert await self.env.credits.reserve(cq.number)
            self.note("credit", self.one(CreditRequest, mark), self.one(CreditAnswer, mark))

    async def doorbell(self, cq: Cq, arm: bool) -> DoorbellRequest:
        index = len(cq.callbacks)
        mark = len(self.seen)
        await (cq.arm(ArmType.ANY, index=index) if arm else cq.update_consumer_index(index))
        await self.env.drain(16)
        request = self.one(DoorbellRequest, mark)
        self.note("answer", request, self.one(DoorbellResponse, mark))
        return request

    async def completion(self, cq: Cq) -> None:
        await self.doorbell(cq, arm=True)
        mark = len(self.seen)
        self.send(cq, [1])
        await self.env.drain(16)
        event = self.env.mem.id_of(eq=cq.eq.number)
        self.note("entry", self.one(Completion, mark), self.one(MemWrite, mark, cq.number))
        written = self.one(MemResponse, mark, cq.number)
        self.note("event", written, self.one(MemWrite, mark, event))
        self.note("interrupt", self.one(MemResponse, mark, event), self.one(Interrupt, mark))

    async def arm(self, cq: Cq) -> None:
        await cq.callback_return()
        await self.doorbell(cq, arm=False)
        self.send(cq, [2])
        await self.env.drain(16)
        mark = len(self.seen)
        request = await self.doorbell(cq, arm=True)
        event = self.env.mem.id_of(eq=cq.eq.number)
        self.note("arm", request, self.one(MemWrite, mark, event))


@pyuvm.test()
class JoinedTest(Pacing, DirectedTest):
    """Neighbours in one line that come one after the other: while the way is blocked the lower one
    is kept back and its neighbour joins it in one beat, and a pair that begins in an upper half
    leaves its second for the next one; on a free way nobody waits for a neighbour.
    """

    async def scenario(self) -> None:
        before, cq, other = [await self.queue(n, log2=4) for n in (0, 0, 0)]
        for channel in (Channel.MEM_AW, Channel.MEM_W):
            for beats, want in (
                ([1, 1], [2]),
                ([2], [2]),
                ([1, 1, 1], [2, 1]),
                # Now from an upper half on.
                ([2, 1], [1, 2]),
                ([1], [1]),
                ([1], [1]),
            ):
                await self.blocked(channel, cq, beats, before, want)
            await self.between(channel, cq, other, before)
        await self.free(cq)

    async def blocked(
        self, channel: Channel, cq: Cq, beats: list[int], before: Cq, want: list[int]
    ) -> None:
        """Beats of so many completions arrive behind an entry that cannot leave."""
        mark = await self.held(channel, before, *([cq] * count for count in beats))
        found = self.shape(cq, mark)
        assert found == want, f"entries of the beats: {found} instead of {want}"
        await self.consumed(before, cq)

    async def between(self, channel: Channel, cq: Cq, other: Cq, before: Cq) -> None:
        mark = await self.held(channel, before, [cq], [other], [cq], [other])
        assert self.shape(cq, mark) == self.shape(other, mark) == [1, 1]
        await self.consumed(before, cq, other)

    async def held(self, channel: Channel, before: Cq, *beats: list[Cq]) -> int:
        """These beats arrive while the channel stands still; returns where their records begin."""
        mark = len(self.seen)
        self.harness.hold(channel)
        await self.harness.cycles(4)
        for beat in ([before], *beats):
            self.env.completions.send_beat([Cpl(cq.number) for cq in beat])
        await self.harness.cycles(32)
        self.harness.hold(channel, False)
        await self.env.drain(32)
        return mark

    async def free(self, cq: Cq) -> None:
        """One by one on a free way: a beat each, each in its time; two that come at once are in one
        beat, if they begin in a lower half.
        """
        mark = len(self.seen)
        self.send(cq, range(6))
        await self.env.drain(32)
        assert self.shape(cq, mark) == [1] * 6
        self.in_a_row(self.of(MemWrite, mark), 6)
        await self.consumed(cq)
        for want in ([2], [1], [1, 1]):
            mark = len(self.seen)
            self.env.completions.send_beat([Cpl(cq.number)] * sum(want))
            await self.env.drain(32)
            assert self.shape(cq, mark) == want
            await self.consumed(cq)

    def shape(self, cq: Cq, since: int) -> list[int]:
        """Entries in each beat of a CQ."""
        return [(w.strb & 1) + (w.strb >> 63) for w in self.of(MemWrite, since, cq)]


@pyuvm.test()
class LooksTest(Pacing, DirectedTest):
    """CQ-21: callbacks whose interval has passed at one time are released in the order of their
    queues' numbers, round and round, each within its time. Class: a look asked for twice, queues
    looked at in another order.
    """

    async def scenario(self) -> None:
        tick = self.config.mod_tick
        cqs = [await self.queue(n % 2, moderation=INTERVAL) for n in range(LOOKED)]
        assert [cq.number for cq in cqs] == list(range(LOOKED))
        # One alone tells when a unit begins, but for the time of its look.
        mark = len(self.seen)
        assert await cqs[0].arm() == (0, 0)
        self.send(cqs[0], [0])
        await self.harness.cycles(5 * tick)
        await self.env.sync()
        (release,) = self.looks(mark)
        assert await cqs[0].callback_return() == (0, 0)
        for cq in cqs:
            cq.get_cq_results(16)
            await self.armed([cq])
        # All become due within one unit.
        mark = len(self.seen)
        start = release.cycle + tick * ((self.harness.cycle + LEAD - release.cycle) // tick + 1)
        for cq in cqs:
            self.env.completions.send(cq.number, at_cycle=start)
        await self.harness.until(start + 10 * tick)
        await self.env.sync()
        order = [look.cq for look in self.looks(mark)]
        first = order[0]
        assert order == [*range(first, LOOKED), *range(first)], f"order of looks: {order}"
        times = [look.cycle for look in self.looks(mark)]
        bound = 2 * self.config.num_cq + 48 * LOOKED
        assert times[-1] - times[0] <= bound, times

    def looks(self, since: int) -> list[Trace]:
        """Releases by a look."""
        return [t for t in self.of(Trace, since) if t.op == TraceOp.MODERATION]
