# SPDX-License-Identifier: Apache-2.0
"""Callbacks get their share of the write port and of the event queue (ISO-04, CQ-16)."""

from __future__ import annotations

from itertools import pairwise

import pyuvm

from tb.env.defs import EQE, ArmType
from tb.env.harness.harness import Channel
from tb.env.harness.records import Completion, DoorbellRequest, MemWrite
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import DirectedTest

#: From an arm that is satisfied at once to its event entry, whatever completions do.
BOUND = 24


class FairnessTest(DirectedTest):
    """Helper for event entries."""

    def events(self, eq: Eq, since: int) -> list[tuple[int, int]]:
        """Cycle and CQ number of each event entry of an EQ, in order."""
        return [
            (write.cycle, EQE["cq"].get(write.data >> 8 * _lane(write.strb)))
            for write in self.of(MemWrite, since)
            if write.axi_id == self.env.mem.id_of(eq=eq.number)
        ]

    async def armable(self, eq: Eq, count: int) -> list[Cq]:
        """Queues with a new entry: an arm for ANY calls back at once."""
        found = await self.queues(count, eq)
        for cq in found:
            self.send(cq, [0])
        await self.env.drain()
        return found

    async def finish(self, cqs: list[Cq]) -> None:
        """Each queue got exactly one callback."""
        await self.env.drain(64)
        for cq in cqs:
            assert len(cq.callbacks) == 1, f"CQ {cq.number}: {cq.callbacks}"
            assert await cq.callback_return() == (0, 0)


def _lane(strb: int) -> int:
    """First byte that is written, within the line."""
    return (strb & -strb).bit_length() - 1


@pyuvm.test()
class EventInStreamTest(FairnessTest):
    """ISO-04, CQ-16: while completions of others use every cycle and memory is ready, the event
    entry of an arm comes within the bound.
    """

    async def scenario(self) -> None:
        eq = await self.env.host.create_eq(log2=6)
        others = await self.queues(8, eq, log2=6)
        armed = await self.armable(eq, 8)
        since = len(self.seen)
        start = self.harness.cycle + 200
        for number in range(400):
            cq = others[number % len(others)]
            self.env.completions.send(cq.number, context=number, at_cycle=start)
        answers = [
            cq.post_arm(ArmType.ANY, at=start + 60 + 30 * turn) for turn, cq in enumerate(armed)
        ]
        for answer in answers:
            assert await answer == (0, 0)
        await self.env.drain(64)
        stream = [record.cycle for record in self.of(Completion, since)]
        arms = [record.cycle for record in self.of(DoorbellRequest, since)]
        events = self.events(eq, since)
        assert len(stream) == 400 and stream[-1] - stream[0] < 430, "not a stream"
        assert [number for _, number in events] == [cq.number for cq in armed]
        for arm, (cycle, number) in zip(arms, events, strict=True):
            assert stream[0] < arm and arm + BOUND < stream[-1], "not within the stream"
            late = cycle - arm
            assert late <= BOUND, f"CQ {number}: event entry {late} cycles after its arm"
        await self.finish(armed)


@pyuvm.test()
class CallbackStormTest(FairnessTest):
    """ISO-04, CQ-16: callbacks of publications fill the event queue behind a stalled memory; those
    of arms that come after them take turns with them.
    """

    async def scenario(self) -> None:
        eq = await self.env.host.create_eq(log2=6)
        armed = await self.armable(eq, 4)
        storm = await self.queues(40, eq)
        for cq in storm:
            assert await cq.arm(ArmType.ANY) == (0, 0)
        self.env.mem.hold_responses()
        for cq in storm:
            self.send(cq, [1])
        await self.harness.cycles(200)
        self.harness.hold(Channel.MEM_AW)
        await self.harness.cycles(8)
        since = len(self.seen)
        self.env.mem.release_responses()
        await self.harness.cycles(100)
        for cq in armed:
            assert await cq.arm(ArmType.ANY) == (0, 0)
        await self.harness.cycles(40)
        assert not self.events(eq, since), "memory was to be stalled"
        self.harness.hold(Channel.MEM_AW, False)
        await self.env.drain(64)
        order = [number for _, number in self.events(eq, since)]
        assert len(order) == len(storm) + len(armed)
        for turn, cq in enumerate(armed):
            place = order.index(cq.number)
            assert place <= 2 * turn + 3, f"CQ {cq.number}: event entry is number {place}: {order}"
        await self.finish(storm + armed)


@pyuvm.test()
class WriteTurnsTest(FairnessTest):
    """ISO-04: event entries and completions that wait behind a stalled memory leave in turns, as
    long as there are some of both.
    """

    async def scenario(self) -> None:
        eq = await self.env.host.create_eq(log2=6)
        storm = await self.queues(20, eq)
        others = await self.queues(20, eq)
        for cq in storm:
            assert await cq.arm(ArmType.ANY) == (0, 0)
        self.env.mem.hold_responses()
        for cq in storm:
            self.send(cq, [1])
        await self.harness.cycles(200)
        self.harness.hold(Channel.MEM_AW)
        await self.harness.cycles(8)
        since = len(self.seen)
        for cq in others:
            self.send(cq, [1])
        await self.harness.cycles(20)
        self.env.mem.release_responses()
        await self.harness.cycles(200)
        self.harness.hold(Channel.MEM_AW, False)
        await self.env.drain(64)
        events = self.env.mem.id_of(eq=eq.number)
        kinds = [write.axi_id == events for write in self.of(MemWrite, since)]
        assert kinds.count(True) == len(storm) and kinds.count(False) == len(others)
        # The one on offer when both came, and the last one of a kind, are not in turn.
        turns = kinds[1 : 2 * len(storm) - 1]
        assert all(a != b for a, b in pairwise(turns)), f"events: {kinds}"
        await self.finish(storm)
