# SPDX-License-Identifier: Apache-2.0
"""Overflow, credits, bad completions (CQ-17, ISO-03)."""

from __future__ import annotations

import pyuvm

from tb.env.agents import Cpl
from tb.env.defs import RSV, ArmType, Cause, CqStatus, Kind
from tb.env.host.cq import Cq, Eq
from tb.env.host.driver import LogEntry
from tb.tests.common.cq_errors import ARMS, ErrorTest


@pyuvm.test()
class OverflowTest(ErrorTest):
    """Without reservation: 0 or 1 entries of the last beat placed, each arm type, each parity;
    what was placed stays, what comes later is dropped and counted (CQ-17).
    """

    async def scenario(self) -> None:
        host = self.env.host
        eq = await host.create_eq(page=2, log2=5)
        witness = await host.create_cq(eq=eq, reservation=False)
        for log2 in (1, 3):
            for arm in ARMS:
                for beat, room in (("one", 0), ("pair", 0), ("pair", 1), ("mixed", 0)):
                    cq = await host.create_cq(eq=eq, log2=log2, reservation=False)
                    await self.overflow(cq, witness, arm, beat, room)
                    assert await cq.destroy() == 0
            await self.witness(witness)

    async def overflow(
        self, cq: Cq, witness: Cq, arm: ArmType | None, beat: str, room: int
    ) -> None:
        """One queue overflows."""
        env, host = self.env, self.env.host
        size = 1 << cq.log2
        await self.old_entries(cq, size - room, arm)
        before = (await host.query_cq(cq)).prod
        calls, others = len(cq.callbacks), witness.reader.index
        lost = {"one": 1, "pair": 2 - room, "mixed": 1}[beat]
        last = Cpl(cq.number, context=900), Cpl(cq.number, context=901)
        events = 0 if arm is None else 1
        moved = {"CPL_PLACED": room, "CPL_DROPPED": lost, "CQE_WRITES": room}
        if beat == "mixed":
            moved["CPL_PLACED"] += 1
            moved["CQE_WRITES"] += 1
        async with self.counted(**moved, EVENTS=events, IRQS=events):
            if beat == "one":
                env.completions.send_beat([None, last[0]])
            elif beat == "pair":
                env.completions.send_pair(*last)
            else:
                env.completions.send_pair(Cpl(witness.number, context=others), last[0])
            await env.drain()
        state = await cq.query()
        assert state.status == CqStatus.BUFFER_OVERFLOW
        assert (state.prod, state.alloc) == (before + room, before + room)
        statuses = [callback.status for callback in cq.callbacks[calls:]]
        assert len(statuses) == events
        if arm != ArmType.ANY or not room:  # else the placed entry may have called back first
            assert statuses == [CqStatus.BUFFER_OVERFLOW] * events
        assert await host.read_log() == [
            LogEntry(Cause.CQ_OVERFLOW, Kind.CQ, cq.number, before + room)
        ]
        # Later ones are dropped, with free room, too; pairs count twice.
        assert self.polled(cq) == [*range(size - room), *[900][:room]]
        assert await cq.update_consumer_index() == (0, 0)
        async with self.counted(CPL_DROPPED=3):
            env.completions.send(cq.number, solicited=True, status=1)
            env.completions.send_pair(*last)
        assert [entry.cause for entry in await host.read_log()] == [Cause.CPL_CQ_ERROR] * 2
        assert self.polled(cq) == []
        assert not await env.credits.reserve(cq.number), "in error: no credits"
        if len(cq.callbacks) > calls:
            assert await cq.callback_return() == (0, 0)
        await env.drain()
        assert len(cq.callbacks) == calls + events, "called back twice"
        if beat == "mixed":
            assert self.polled(witness) == [others]
            assert await witness.update_consumer_index() == (0, 0)


@pyuvm.test()
class CreditsTest(ErrorTest):
    """With reservation: all or nothing, up to the ring's size, given back by consumption and by
    silent completions; completions without a credit are refused; malformed requests (CQ-17).
    """

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        reserve = env.credits.reserve
        eq = await host.create_eq(page=2)
        cq = await host.create_cq(eq=eq, log2=2)
        other = await host.create_cq(eq=eq, log2=1)
        assert [await reserve(cq.number, n) for n in (1, 2, 2, 1, 1)] == [
            *(True, True, False, True, False)
        ]
        assert await reserve(other.number, 2)
        assert (await cq.query()).credits == 4
        env.completions.send_pair(Cpl(cq.number, silent=True), Cpl(cq.number, context=1))
        env.completions.send_pair(Cpl(cq.number, context=2), Cpl(cq.number, silent=True))
        await env.drain()
        state = await cq.query()
        assert (state.credits, state.alloc) == (0, 2)
        assert [await reserve(cq.number, n) for n in (2, 1)] == [True, False]
        assert self.polled(cq) == [1, 2]
        assert not await reserve(cq.number, 1), "polled, not told"
        await cq.update_consumer_index(1)
        assert [await reserve(cq.number, n) for n in (2, 1, 1)] == [False, True, False]
        for _ in range(3):
            env.completions.send(cq.number, silent=True)
        await env.drain()
        # No credit: placed and silent ones alike; one credit for a pair.
        async with self.no_effect(), self.counted(CPL_REFUSED=4):
            env.completions.send(cq.number)
            env.completions.send(cq.number, silent=True)
            env.completions.send_pair(Cpl(cq.number), Cpl(cq.number, silent=True))
        log = await host.read_log()
        assert {(e.cause, e.object) for e in log} == {(Cause.CPL_NO_CREDIT, cq.number)}
        assert await reserve(cq.number, 1)
        async with self.counted(CPL_PLACED=1, CPL_REFUSED=1, CQE_WRITES=1):
            env.completions.send_pair(Cpl(cq.number, context=3), Cpl(cq.number, context=4))
        assert self.polled(cq) == [3]
        await host.read_log()
        assert (await cq.query()).status == CqStatus.OK
        await self.malformed(cq, other)
        await self.unreserved(eq)

    async def malformed(self, cq: Cq, other: Cq) -> None:
        """Not granted, and no credit moves."""
        number = cq.number
        await cq.update_consumer_index()
        raw = [RSV.pack(cq=number, credits=n) for n in (0, 3)]
        raw += [RSV.pack(cq=number, credits=1) | 1 << bit for bit in range(18, 32)]
        far = [n for n in (1 << bit for bit in range(16)) if n >= self.config.num_cq]
        raw += [RSV.pack(cq=n, credits=1) for n in (40, *far, *(n | number for n in far))]
        async with self.no_effect(), self.counted():
            for word in raw:
                assert not await self.env.credits.post_raw(word), hex(word)
        assert (await other.query()).credits == 2

    async def unreserved(self, eq: Eq) -> None:
        """Granted for ever, holds nothing; not when in error."""
        cq = await self.env.host.create_cq(eq=eq, log2=1, reservation=False)
        for count in (1, 2) * 5:
            assert await self.env.credits.reserve(cq.number, count)
        assert not await self.env.credits.reserve(cq.number, 3)
        assert (await cq.query()).credits == 0
        self.env.completions.send(cq.number, silent=True)
        self.send(cq, [1, 2])
        await self.env.drain()
        assert self.polled(cq) == [1, 2]
        self.env.mem.fail(cq=cq.number)
        await cq.update_consumer_index()
        self.send(cq, [3])
        await self.env.drain()
        assert not await self.env.credits.reserve(cq.number)
        await self.env.host.read_log()


@pyuvm.test()
class BadCompletionTest(ErrorTest):
    """Completions for numbers out of range, missing and destroyed queues, alone and next to good
    ones: refused, counted, logged; the good ones are placed (ISO-03).
    """

    allow = ("no_doorbells",)

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        good, gone = await self.queue(1, log2=6), await self.queue(1)
        await gone.destroy()
        top = self.config.num_cq
        far = [n for n in (1 << bit for bit in range(16)) if n >= top]
        bad = [(n | good.number, Cause.CPL_BAD_CQ) for n in far]
        bad += [(top, Cause.CPL_BAD_CQ), (0xFFFF, Cause.CPL_BAD_CQ), (gone.number, Cause.CPL_NO_CQ)]
        bad += [(top - 1, Cause.CPL_NO_CQ)]
        placed = 0
        for number, cause in bad:
            async with self.no_effect(), self.counted(CPL_REFUSED=5):
                env.completions.send(number)
                env.completions.send_beat([None, Cpl(number)])
                env.completions.send(number, silent=True)
                env.completions.send_pair(Cpl(number), Cpl(number))
            log = await host.read_log()
            assert [entry.cause for entry in log] == [cause] * 4
            kind = Kind.PORT if cause == Cause.CPL_BAD_CQ else Kind.CQ
            assert {entry.kind for entry in log} == {kind}
            if kind == Kind.CQ:
                assert {entry.object for entry in log} == {number}
            async with self.counted(CPL_REFUSED=2, CPL_PLACED=2, CQE_WRITES=2):
                env.completions.send_pair(Cpl(number), Cpl(good.number, context=placed))
                env.completions.send_pair(Cpl(good.number, context=placed + 1), Cpl(number))
            placed += 2
            assert [entry.cause for entry in await host.read_log()] == [cause] * 2
        async with self.no_effect(), self.counted():
            for _ in range(5):
                env.completions.send_raw((1 << 512) - 1, 0, 0, 3)
        assert self.polled(good) == list(range(placed))
