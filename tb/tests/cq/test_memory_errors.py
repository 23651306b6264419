# SPDX-License-Identifier: Apache-2.0
"""Failed writes of completion and event entries, stray responses (CQ-18, ISO-03)."""

from __future__ import annotations

from itertools import product

import pyuvm

from tb.env.agents.memory import DECERR, EXOKAY, OKAY, SLVERR
from tb.env.defs import CB_RETURN, ArmType, Cause, CqStatus, Kind, PageReg
from tb.env.harness.harness import Channel
from tb.env.harness.records import MemResponse, MemWrite
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import DirectedTest
from tb.tests.common.steps import ANY, ARMS, SOLICITED_RECEIVE, UNSOLICITED, StepTest

FAILED = CqStatus.INTERNAL_ERROR


@pyuvm.test()
class CqeWriteErrorTest(StepTest):
    """Each response but OKAY on the first, a second and a pair's beat; each arm type; the data in
    memory or not: the queue stops there, calls back once, and disturbs no other (CQ-18).
    """

    async def scenario(self) -> None:
        witness = await self.consumer("witness", log2=4)
        # Of the failing beat: acknowledged entries in front of it, and its own.
        beats = ((0, 1), (1, 1), (2, 2))
        cases = product((None, *ARMS), (EXOKAY, SLVERR, DECERR), beats)
        for number, (arm, resp, beat) in enumerate(cases):
            await self.fails(arm, resp, *beat, lands=number % 2 == 0)
            if number % 4 == 0:
                await witness.proves_fit()

    async def fails(
        self, arm: ArmType | None, resp: int, good: int, width: int, lands: bool
    ) -> None:
        """One queue's beat fails; entries behind it are answered OKAY and never published."""
        env = self.env
        q = await self.consumer(f"armed {arm!r}, {resp}, {width} behind {good}", log2=4)
        await q.place(UNSOLICITED, UNSOLICITED)
        await q.arm(calls=1)
        await q.consumes()
        if arm is not None:
            await q.arm(arm)
        env.mem.fail(resp, cq=q.cq.number, skip=int(good > 0), lands=lands)
        env.mem.latency(20)
        behind = 3
        q.send(*[UNSOLICITED] * (good + width), pairs=width == 2)
        q.send(*[UNSOLICITED] * behind)
        first = arm is ANY and good
        status, snap = (CqStatus.OK, 2 + width) if first else (FAILED, 2 + good)
        await q.settle(int(arm is not None), status=status, snap=snap)
        env.mem.latency(0)
        state = await q.cq.query()
        assert (state.status, state.prod) == (FAILED, 2 + good)
        (entry,) = await env.host.read_log()
        assert (entry.cause, entry.object) == (Cause.CQE_WRITE_ERROR, q.cq.number)
        q.take(good + (width + behind if lands else 0))
        assert self.polled(q.cq) == []
        assert await q.cq.update_consumer_index(2 + good) == (0, 0)
        if q.running:
            await q.callback_returns()
        async with self.no_effect(states=False):
            q.send(SOLICITED_RECEIVE, SOLICITED_RECEIVE)
        assert [e.cause for e in await env.host.read_log()] == [Cause.CPL_CQ_ERROR] * 2
        await q.cq.destroy()


@pyuvm.test()
class EqeWriteErrorTest(StepTest):
    """1 to 3 failed writes of an event entry, of any CQ of any EQ: the same slot again, with the
    status; 4: given up, the callback no longer in progress, and the log names CQ and entry; the
    EQ's other queues keep working (CQ-18).
    """

    async def scenario(self) -> None:
        self.numbers = self.rng("numbers")
        number = self.numbers.randrange(self.config.num_eq)
        eq = await self.env.host.create_eq(number, page=4, log2=2, vector=9)
        self.witness = await self.consumer("witness", log2=4, eq=eq)
        for failures, resp, lands in product((1, 2, 3, 4), (EXOKAY, SLVERR, DECERR), (True, False)):
            await self.fails(eq, failures, resp, lands)
            await self.witness.proves_fit()
        assert (await self.env.host.query_eq(eq)).attached == 1

    async def fails(self, eq: Eq, failures: int, resp: int, lands: bool) -> None:
        """One event entry fails ``failures`` times; a witness's event is right after it."""
        env, host, witness = self.env, self.env.host, self.witness
        name = f"{failures} failures, {resp}, lands {lands}"
        number = self.numbers.randrange(1, self.config.num_cq)
        q = await self.consumer(name, log2=4, eq=eq, number=number)
        cq = q.cq
        slot = (await host.query_eq(eq)).producer
        await q.arm()
        await witness.arm()
        env.mem.hold_eq(eq.number)
        env.mem.fail(resp, eq=eq.number, count=1, lands=lands)
        # The same slot fails again; slots are found by their addresses.
        line = eq.base + (slot & 3) * 16 & ~63
        q.send(UNSOLICITED)
        await self.harness.cycles(60)
        start = len(self.seen)
        witness.send(UNSOLICITED)
        await self.harness.cycles(60)
        if failures > 1:
            again = {"addr": line, "mask": (1 << 64) - 64, "count": failures - 1}
            env.mem.fail(resp, eq=eq.number, lands=lands, **again)
            await self.harness.cycles(4)
        env.mem.release_eq(eq.number)
        await env.drain()
        written = [e["cq"] for w in self.of(MemWrite, start, eq) for e in self.entries_of(w)]
        found, repeats = written.count(cq.number), min(failures, 3)
        assert found == repeats, f"{found} repetitions, not {repeats}"
        state = await cq.query()
        assert (state.status, state.armed, state.in_callback) == (FAILED, False, True)
        entries = await host.read_log()
        causes = [Cause.EQE_WRITE_ERROR] * repeats + [Cause.EQ_FAILED] * (failures == 4)
        assert [(e.cause, e.object) for e in entries] == [(cause, cq.number) for cause in causes]
        if failures == 4:
            assert entries[-1].detail == slot, f"entry {slot}: {entries[-1]}"
            assert not state.event_under_way
            # If no attempt landed, the slot was never written: the host passes over it.
            assert len(witness.cq.callbacks) == witness.expected + lands
            assert eq.reader.index == (slot + 2 if lands else slot)
            assert await host.recover(entries[-1]) is not lands
        # The first attempt, if it landed, may have been read already.
        (callback,) = cq.callbacks
        assert callback.snap == 1 and (callback.status == FAILED or lands)
        q.demand(1, CqStatus(callback.status))
        await q.callback_returns()
        if failures == 4:
            word = CB_RETURN.pack(cq=cq.number)
            await self.refused(Cause.NO_CALLBACK, cq.page, PageReg.CB_RETURN, word)
        await witness.settle(1)
        await witness.consumes()
        await cq.destroy()


@pyuvm.test()
class StrayResponseTest(DirectedTest):
    """Responses for nothing outstanding, of every kind of ID and with every code, idle, in traffic,
    and together with an entry of the EQ of their lower bits: counted, logged, no effect (ISO-03).
    """

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        cq = await self.queue(1, log2=6)
        await self.armed([cq], ArmType.ERRORS)
        eqs = (cq.eq.number, self.config.num_eq - 1, self.config.num_cq - 1)  # the last may be none
        ids = [cq.number, self.config.num_cq - 1, *(env.mem.id_of(eq=eq) for eq in eqs)]
        for axi_id, resp in product(ids, (OKAY, EXOKAY, SLVERR, DECERR)):
            async with self.no_effect(states=False):
                env.mem.stray(axi_id, resp)
            (entry,) = await host.read_log()
            assert (entry.cause, entry.kind) == (Cause.STRAY_B, Kind.PORT)
        start = self.harness.cycle + 10
        for n in range(60):
            env.completions.send(cq.number, context=n, at_cycle=start + 3 * n)
        for _ in range(20):
            env.mem.stray(self.config.num_cq - 1, SLVERR)
            await self.harness.cycles(7)
        assert [r.request_context for r in await cq.wait_results(60)] == list(range(60))
        state = await cq.query()
        assert (state.prod, state.status, state.armed) == (60, CqStatus.OK, True)
        assert not cq.callbacks
        env.mem.hold_eq(cq.eq.number)
        await self.armed([cq])
        self.send(cq, [60])
        await self.harness.cycles(200)
        env.mem.stray(env.mem.id_of(eq=self.config.num_eq + cq.eq.number))
        await self.harness.cycles(50)
        env.mem.release_eq(cq.eq.number)
        await cq.wait_callbacks(1)
        assert {e.cause for e in await host.read_log()} == {Cause.STRAY_B}


@pyuvm.test()
class StrayAfterLastTest(DirectedTest):
    """ISO-03: stray responses in the very next cycles after the last answer to their ID, of a CQ
    and of an EQ: nothing is outstanding any more then, and nothing comes of them.
    """

    async def scenario(self) -> None:
        for writes, strays in product((1, 2, 3), (1, 2)):
            cq = await self.queue(1, log2=4)
            await self.armed([cq], ArmType.SOLICITED)
            self.harness.hold(Channel.MEM_B)
            # Each alone in its beat.
            for n in range(writes):
                self.send(cq, [n])
                await self.harness.cycles(8)
            await self.answered_with(cq, writes, strays)
            assert (await cq.query()).prod == writes
            self.harness.hold(Channel.MEM_B)
            await self.armed([cq])
            await self.answered_with(cq.eq, 1, strays)
            assert len(cq.callbacks) == 1
            log = await self.env.host.read_log()
            assert [e.cause for e in log] == [Cause.STRAY_B] * 2 * strays
            assert len(await self.consumed(cq)) == writes
            assert (await cq.query()).status == CqStatus.OK
            await cq.destroy()

    async def answered_with(self, queue: Cq | Eq, writes: int, strays: int) -> None:
        """Responses are let go: so many answers and strays, one in each cycle."""
        await self.harness.cycles(60)
        mark = len(self.seen)
        for _ in range(strays):
            self.env.mem.stray(self.id_of(queue))
        await self.harness.cycles(20)
        self.harness.hold(Channel.MEM_B, False)
        await self.harness.cycles(60)
        await self.env.sync()
        cycles = [response.cycle for response in self.of(MemResponse, mark, queue)]
        assert cycles == list(range(cycles[0], cycles[0] + writes + strays)), cycles
