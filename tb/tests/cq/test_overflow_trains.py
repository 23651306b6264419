# SPDX-License-Identifier: Apache-2.0
"""CQ-17: completions in every cycle around the overflow of their CQ."""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from tb.env.agents.completion import Cpl
from tb.env.defs import Cause, CqStatus
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import DirectedTest

BUILD = ["default", "small"]

#: Lanes of a beat: a completion of the CQ, a silent one, one of another CQ, nothing.
LANES = "cs-w"
BEATS = 6


@pyuvm.test()
class OverflowTrainTest(DirectedTest):
    """CQ-17: beats of all kinds back to back, for a CQ without reservation with some room: as many
    are placed as there is room for, the first one too many is the overflow, once, and whatever
    comes behind it, in its beat and in the next cycle, too, finds the CQ in error. Silent ones need
    no room. A beat leaves one entry in the log, however many of its completions are dropped.
    """

    async def scenario(self) -> None:
        rng = self.rng("trains")
        eq = await self.env.host.create_eq(page=0, log2=2)
        for log2 in (1, 2):
            for room in range((1 << log2) + 1):
                for _ in range(12):
                    beats = [rng.choice(LANES[:3]) + rng.choice(LANES) for _ in range(BEATS)]
                    cq, other = await self.queues(2, eq, log2=log2)
                    await self.train(cq, other, room, ["c-", *beats, "cc"])

    async def train(self, cq: Cq, other: Cq, room: int, beats: Sequence[str]) -> None:
        """The beats, and what must come of them."""
        for _ in range((1 << cq.log2) - room):
            self.send(cq, [0])
        await self.env.drain(32)
        before = await self.env.host.counters()
        log: list[Cause] = []
        placed = dropped = there = 0
        lanes = {"c": Cpl(cq.number), "s": Cpl(cq.number, silent=True), "-": None}
        for beat in beats:
            both: list[Cpl | None] = []
            late = Cause.CQ_OVERFLOW in log
            failed = False
            for lane in beat:
                if lane == "w" and there < 1 << other.log2:
                    there += 1
                    both.append(Cpl(other.number))
                    continue
                both.append(lanes.get(lane))
                if lane not in "cs":
                    continue
                fits = not (late or failed) and (lane == "s" or placed < room)
                placed += fits and lane == "c"
                dropped += not fits
                failed = failed or not fits
            if failed:
                log.append(Cause.CPL_CQ_ERROR if late else Cause.CQ_OVERFLOW)
            self.env.completions.send_beat(both)
        await self.env.drain(32)
        name = f"{beats}, room for {room}"
        found = [entry.cause for entry in await self.env.host.read_log()]
        assert found == log, f"{name}: {found}"
        after = await self.env.host.counters()
        moved = [after[c] - before[c] for c in ("CPL_PLACED", "CPL_DROPPED")]
        assert moved == [placed + there, dropped], f"{name}: {moved}"
        assert (await cq.query()).status == (CqStatus.BUFFER_OVERFLOW if log else CqStatus.OK)
        for queue in (cq, other):
            self.polled(queue)
            await queue.update_consumer_index()
            await queue.destroy()


@pyuvm.test()
class LateBoundTest(DirectedTest):
    """CQ-17: a pair of completions of which only the first one fits, behind lives of many lengths:
    the second one is the overflow, or lacks its credit.
    """

    #: Bits of a length of life.
    LENGTHS = 11

    async def scenario(self) -> None:
        rng = self.rng("lives")
        eq = await self.env.host.create_eq(page=0, log2=2)
        for bit in range(min(self.LENGTHS, self.config.idx_w - 1)):
            low = rng.randrange(1 << bit)
            for lower in {low, low ^ (1 << bit) - 1}:
                for reservation in (False, True):
                    await self.bound(eq, 1 << bit | lower, reservation)

    async def bound(self, eq: Eq, life: int, reservation: bool) -> None:
        """A CQ with as many completions as ``life`` and a ring that is full but for one."""
        env, host = self.env, self.env.host
        cq = await host.create_cq(eq=eq, log2=min(5, self.config.max_log2), reservation=reservation)
        size = 1 << cq.log2
        done = 0
        while done < life + size - 1:
            part = min(size, life - done) if done < life else size - 1
            if reservation:
                for count in [2] * (part // 2) + [1] * (part % 2):
                    env.credits.post(cq.number, count)
                await env.drain(16)
            for first in range(0, part, 2):
                env.completions.send_beat([Cpl(cq.number) for _ in range(min(2, part - first))])
            await cq.wait_results(part)
            done += part
            if done <= life:
                await cq.update_consumer_index()
        if reservation:
            assert await env.credits.reserve(cq.number)
        before = await host.counters()
        env.completions.send_pair(Cpl(cq.number), Cpl(cq.number))
        await env.drain(32)
        lost, cause = (
            ("CPL_REFUSED", Cause.CPL_NO_CREDIT)
            if reservation
            else ("CPL_DROPPED", Cause.CQ_OVERFLOW)
        )
        after = await host.counters()
        assert [after[c] - before[c] for c in ("CPL_PLACED", lost)] == [1, 1], (life, reservation)
        assert [entry.cause for entry in await host.read_log()] == [cause]
        self.polled(cq)
        await cq.update_consumer_index()
        await cq.destroy()
