# SPDX-License-Identifier: Apache-2.0
"""Beats of completions of all kinds around the overflow of their CQ (CQ-17)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pyuvm

from tb.env.agents.completion import Cpl
from tb.env.defs import ArmType, Cause, CqStatus, Kind
from tb.env.host.cq import Cq
from tb.env.host.driver import LogEntry
from tb.tests.common.directed import DirectedTest

BUILD = ["default", "small"]

ARMS = (None, *ArmType)
#: Lanes of a beat: a completion of the CQ, a silent one, one of another CQ, nothing.
LANES = "cs-w"
BEATS = 6
#: Beats alone, and the room for them.
ALONE = (("-c", 0), ("cc", 0), ("cc", 1), ("wc", 0))


@pyuvm.test()
class OverflowTrainTest(DirectedTest):
    """CQ-17: beats of all kinds, alone and back to back, for a CQ without reservation with some
    room: as many are placed as there is room for, and stay; the first one too many is the overflow,
    once, and whatever comes after it, in its beat and in the next cycle, too, finds the CQ in
    error, whatever room there is later. Silent ones need no room. A beat leaves one entry in the
    log, however many of its completions are dropped. The arm, of any type, has one callback.
    """

    async def scenario(self) -> None:
        rng = self.rng("trains")
        self.eq = await self.env.host.create_eq(page=0, log2=2)
        for log2 in (1, 2):
            for room, number in product(range((1 << log2) + 1), range(12)):
                beats = [rng.choice(LANES[:3]) + rng.choice(LANES) for _ in range(BEATS)]
                await self.train(log2, room, ["c-", *beats, "cc"], ARMS[number % len(ARMS)])
        for log2, (beat, room), arm in product((1, 3), ALONE, ARMS):
            await self.train(log2, room, [beat], arm)

    async def train(self, log2: int, room: int, beats: Sequence[str], arm: ArmType | None) -> None:
        """The beats, and what must come of them."""
        env, host = self.env, self.env.host
        (cq,) = await self.queues(1, self.eq, log2=log2)
        (other,) = await self.queues(1, self.eq, log2=3)
        await self.old_entries(cq, (old := (1 << log2) - room), arm)
        before, calls = await host.counters(), len(cq.callbacks)
        log: list[Cause] = []
        placed = dropped = there = sent = 0
        for beat in beats:
            late, failed = Cause.CQ_OVERFLOW in log, False
            lanes: list[Cpl | None] = []
            for lane in beat:
                if lane in "cs":
                    fits = not (late or failed) and (lane == "s" or placed < room)
                    placed += fits and lane == "c"
                    dropped += not fits
                    failed = failed or not fits
                    lanes.append(Cpl(cq.number, old + sent, silent=lane == "s"))
                    sent += lane == "c"
                else:
                    lanes.append(Cpl(other.number) if lane == "w" else None)
                    there += lane == "w"
            if failed:
                log.append(Cause.CPL_CQ_ERROR if late else Cause.CQ_OVERFLOW)
            env.completions.send_beat(lanes)
        await env.drain(32)
        name = f"{beats}, room for {room}, armed {arm!r}"
        entries = await host.read_log()
        assert [entry.cause for entry in entries] == log, f"{name}: {entries}"
        if log:
            assert entries[0] == LogEntry(log[0], Kind.CQ, cq.number, old + placed)
        by_entry = arm is ArmType.ANY and placed > 0
        events = int(by_entry or (arm is not None and bool(log)))
        after = await host.counters()
        moved = {c: after[c] - before[c] for c in ("CPL_PLACED", "CPL_DROPPED", "EVENTS", "IRQS")}
        assert [*moved.values()] == [placed + there, dropped, events, events], f"{name}: {moved}"
        state = await cq.query()
        status = CqStatus.BUFFER_OVERFLOW if log else CqStatus.OK
        assert (state.status, state.prod, state.alloc) == (status, old + placed, old + placed), name
        if not by_entry:
            statuses = [callback.status for callback in cq.callbacks[calls:]]
            assert statuses == [status] * events, f"{name}: {statuses}"
        assert await self.consumed(cq) == [*range(old + placed)], name
        if log:
            # There is room now.
            async with self.counted(CPL_DROPPED=3):
                env.completions.send(cq.number, solicited=True, status=1)
                env.completions.send_pair(Cpl(cq.number), Cpl(cq.number))
            assert [entry.cause for entry in await host.read_log()] == [Cause.CPL_CQ_ERROR] * 2
            assert not await env.credits.reserve(cq.number), "in error: no credits"
        assert len(cq.callbacks) == calls + events, f"{name}: called back twice"
        assert await self.consumed(other) == [0] * there
        for queue in (cq, other):
            await queue.destroy()

    async def old_entries(self, cq: Cq, count: int, arm: ArmType | None) -> None:
        """So many entries that were called for; armed with ``arm``."""
        self.send(cq, range(count))
        await self.env.drain(32)
        if count:
            assert await cq.arm(index=0) == (0, 0)
            await cq.wait_callbacks(1)
            assert await cq.callback_return() == (0, 0)
        if arm is not None:
            await self.armed([cq], arm)
        await self.env.drain(32)
