# SPDX-License-Identifier: Apache-2.0
"""CQ-17: completions in every cycle around the overflow of their CQ."""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from tb.env.agents.completion import Cpl
from tb.env.defs import Cause, CqStatus
from tb.env.host.cq import Cq
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
