# SPDX-License-Identifier: Apache-2.0
"""Failed writes of completion and event entries, stray responses (CQ-18, ISO-03)."""

from __future__ import annotations

from itertools import product

import pyuvm

from tb.env.agents.memory import DECERR, EXOKAY, OKAY, SLVERR
from tb.env.defs import CB_RETURN, EQE, ArmType, Cause, CqStatus, Kind, PageReg, Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import MemResponse, MemWrite
from tb.env.host.cq import Cq, Eq
from tb.tests.common.cq_errors import ARMS, ErrorTest


@pyuvm.test()
class CqeWriteErrorTest(ErrorTest):
    """Each response but OKAY on the first, a second and a pair's beat; each arm type; the data in
    memory or not: the queue stops there, calls back once, and disturbs no other (CQ-18).
    """

    async def scenario(self) -> None:
        host = self.env.host
        eq = await host.create_eq(page=4, log2=4)
        witness = await host.create_cq(eq=eq, reservation=False)
        cases = product(ARMS, (EXOKAY, SLVERR, DECERR), ("first", "second", "pair"))
        for number, (arm, resp, beat) in enumerate(cases):
            cq = await host.create_cq(eq=eq, reservation=False)
            await self.fails(cq, arm, resp, beat, lands=number % 2 == 0)
            assert await cq.destroy() == Result.OK
            if number % 4 == 0:
                await self.witness(witness)

    async def fails(self, cq: Cq, arm: ArmType | None, resp: int, beat: str, lands: bool) -> None:
        """One queue's beat fails; entries behind it are answered OKAY and never published."""
        env, host = self.env, self.env.host
        good, width = {"first": (0, 1), "second": (1, 1), "pair": (2, 2)}[beat]
        behind = 3
        await self.old_entries(cq, 2, None)
        assert self.polled(cq) == [0, 1]
        await cq.update_consumer_index()
        if arm is not None:
            await cq.arm(arm)
        calls = len(cq.callbacks)
        env.mem.fail(resp, cq=cq.number, skip=int(good > 0), lands=lands)
        env.mem.latency(20)
        events = int(arm is not None)
        before = await host.counters()
        if beat == "pair":
            self.send_pairs(cq, [10, 11, 12, 13])
        else:
            self.send(cq, range(10, 10 + good + width))
        self.send(cq, range(10 + good + width, 10 + good + width + behind))
        await env.drain()
        env.mem.latency(0)
        after = await host.counters()
        for name, step in {
            "CPL_PLACED": good + width + behind,
            "WRITE_ERRORS": 1,
            "EVENTS": events,
            "IRQS": events,
            "STRAY_B": 0,
        }.items():
            assert after[name] - before[name] == step, name
        state = await cq.query()
        assert state.status == CqStatus.INTERNAL_ERROR
        assert (state.prod, state.alloc) == (2 + good, 2 + good + width + behind)
        statuses = [callback.status for callback in cq.callbacks[calls:]]
        first = CqStatus.OK if arm == ArmType.ANY and good else CqStatus.INTERNAL_ERROR
        assert statuses == [first] * events
        (entry,) = await host.read_log()
        told = (entry.cause, entry.kind, entry.object)
        assert told == (Cause.CQE_WRITE_ERROR, Kind.CQ, cq.number)
        readable = good + (width + behind if lands else 0)
        assert self.polled(cq) == list(range(10, 10 + readable))
        assert await cq.update_consumer_index(2 + good) == (0, 0)
        if events:
            assert await cq.callback_return() == (0, 0)
        async with self.counted(CPL_DROPPED=2), self.no_effect():
            self.send(cq, [99, 98], solicited=True)
        assert [e.cause for e in await host.read_log()] == [Cause.CPL_CQ_ERROR] * 2


@pyuvm.test()
class EqeWriteErrorTest(ErrorTest):
    """1 to 3 failed writes of an event entry: the same slot again, with the status; 4: given up,
    the callback no longer in progress; the EQ's other queues keep working (CQ-18).
    """

    async def scenario(self) -> None:
        host = self.env.host
        eq = await host.create_eq(page=4, log2=2, vector=9)
        witness = await host.create_cq(eq=eq, reservation=False)
        cases = product((1, 2, 3, 4), (EXOKAY, SLVERR, DECERR), (True, False))
        for failures, resp, lands in cases:
            cq = await host.create_cq(eq=eq, reservation=False)
            await self.fails(cq, witness, failures, resp, lands)
            assert await cq.destroy() == Result.OK
            await self.witness(witness)
        assert (await host.query_eq(eq)).attached == 1

    def event_writes(self, eq: Eq, since: int) -> list[tuple[int, dict[str, int]]]:
        """Address and fields of the event entries written."""
        found = []
        for write in self.of(MemWrite, since):
            if write.axi_id == self.env.mem.id_of(eq=eq.number):
                low = (write.strb & -write.strb).bit_length() - 1
                word = write.data >> 8 * low & (1 << EQE.width) - 1
                found.append((write.addr + low, EQE.unpack(word)))
        return found

    async def fails(self, cq: Cq, witness: Cq, failures: int, resp: int, lands: bool) -> None:
        """One event entry fails ``failures`` times; a witness's event is right behind it."""
        env, host, eq = self.env, self.env.host, cq.eq
        slot = (await host.query_eq(eq)).producer
        others = len(witness.callbacks)
        await cq.arm(ArmType.ANY)
        await witness.arm(ArmType.ANY)
        env.mem.hold_eq(eq.number)
        env.mem.fail(resp, eq=eq.number, count=1, lands=lands)
        # The same slot fails again; slots are found by their addresses.
        line = eq.base + (slot & 3) * 16 & ~63
        self.send(cq, [1])
        await self.harness.cycles(60)
        start = len(self.seen)
        self.send(witness, [witness.reader.index])
        await self.harness.cycles(60)
        before = await host.counters()
        if failures > 1:
            env.mem.fail(
                resp, eq=eq.number, addr=line, mask=(1 << 64) - 64, count=failures - 1, lands=lands
            )
            await self.harness.cycles(4)
        env.mem.release_eq(eq.number)
        await env.drain()
        written = [w for w in self.event_writes(eq, start) if w[1]["cq"] == cq.number]
        repeats = min(failures, 3)
        assert len(written) == repeats, f"{len(written)} repetitions, not {repeats}"
        assert written == written[:1] * repeats
        assert written[0][1]["status"] == CqStatus.INTERNAL_ERROR
        assert written[0][0] == eq.base + (slot & 3) * 16
        assert written[0][1]["snap"] == 1
        after = await host.counters()
        assert after["WRITE_ERRORS"] - before["WRITE_ERRORS"] == failures
        assert after["EVENTS"] - before["EVENTS"] == repeats
        state = await cq.query()
        assert (state.status, state.armed) == (CqStatus.INTERNAL_ERROR, False)
        entries = await host.read_log()
        log = [(e.cause, e.kind, e.object) for e in entries]
        retried = (Cause.EQE_WRITE_ERROR, Kind.CQ, cq.number)
        if failures < 4:
            assert log == [retried] * failures
            assert state.in_callback
            ((_, _, status, snap),) = cq.callbacks
            # The first attempt, if it landed, may have been read already.
            assert snap == 1 and (status == CqStatus.INTERNAL_ERROR or lands)
            assert await cq.callback_return() == (0, 0)
        else:
            assert log == [retried] * 3 + [(Cause.EQ_FAILED, Kind.CQ, cq.number)]
            assert state.in_callback and not state.event_under_way
            # If no attempt landed, the slot was never written: the host passes over it.
            assert len(witness.callbacks) == others + lands
            assert eq.reader.index == (slot + 2 if lands else slot)
            assert await host.recover(entries[-1]) is not lands
            ((_, _, status, snap),) = cq.callbacks
            assert snap == 1 and (status == CqStatus.INTERNAL_ERROR or lands)
            assert await cq.callback_return() == (0, 0)
            word = CB_RETURN.pack(cq=cq.number)
            await self.refused(Cause.NO_CALLBACK, cq.page, PageReg.CB_RETURN, word)
        await witness.wait_callbacks(others + 1)
        assert witness.callbacks[-1].status == CqStatus.OK
        assert len(self.polled(witness)) == 1
        assert await witness.update_consumer_index() == (0, 0)
        assert await witness.callback_return() == (0, 0)


@pyuvm.test()
class StrayResponseTest(ErrorTest):
    """Responses for nothing outstanding, of every kind of ID and with every code, idle, in traffic,
    and beside an entry of the EQ of their lower bits: counted, logged, no effect (ISO-03).
    """

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        cq = await self.queue(1, log2=6)
        await cq.arm(ArmType.ERRORS)
        eqs = (cq.eq.number, self.config.num_eq - 1, self.config.num_cq - 1)  # the last may be none
        ids = [cq.number, self.config.num_cq - 1, *(env.mem.id_of(eq=eq) for eq in eqs)]
        for axi_id, resp in product(ids, (OKAY, EXOKAY, SLVERR, DECERR)):
            async with self.no_effect(states=False):
                env.mem.stray(axi_id, resp)
            (entry,) = await host.read_log()
            assert (entry.cause, entry.kind) == (Cause.STRAY_B, Kind.PORT)
        assert await host.counter("STRAY_B") == 4 * len(ids)
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
        await cq.arm(ArmType.ANY)
        env.completions.send(cq.number, context=60)
        await self.harness.cycles(200)
        env.mem.stray(env.mem.id_of(eq=self.config.num_eq + cq.eq.number))
        await self.harness.cycles(50)
        assert await host.counter("STRAY_B") == 4 * len(ids) + 21
        env.mem.release_eq(cq.eq.number)
        await cq.wait_callbacks(1)
        assert {e.cause for e in await host.read_log()} == {Cause.STRAY_B}


@pyuvm.test()
class StrayBehindLastTest(ErrorTest):
    """ISO-03: stray responses in the very next cycles behind the last answer to their ID, of a CQ
    and of an EQ: nothing is outstanding any more then, and nothing comes of them.
    """

    async def scenario(self) -> None:
        env, mem = self.env, self.env.mem
        for writes, strays in product((1, 2, 3), (1, 2)):
            cq = await self.queue(1, log2=4)
            before = await env.host.counter("STRAY_B")
            await cq.arm(ArmType.SOLICITED)
            self.harness.hold(Channel.MEM_B)
            # Each alone in its beat.
            for n in range(writes):
                self.send(cq, [n])
                await self.harness.cycles(8)
            await self.harness.cycles(60)
            await self.answered_with(mem.id_of(cq=cq.number), writes, strays)
            assert (await cq.query()).prod == writes
            self.harness.hold(Channel.MEM_B)
            assert await cq.arm(ArmType.ANY) == (0, 0)
            await self.harness.cycles(60)
            await self.answered_with(mem.id_of(eq=cq.eq.number), 1, strays)
            assert len(cq.callbacks) == 1 and len(self.polled(cq)) == writes
            assert await env.host.counter("STRAY_B") == before + 2 * strays
            log = await env.host.read_log()
            assert [e.cause for e in log] == [Cause.STRAY_B] * 2 * strays
            assert await cq.callback_return() == (0, 0)
            await cq.update_consumer_index()
            assert (await cq.query()).status == CqStatus.OK
            await cq.destroy()

    async def answered_with(self, axi_id: int, writes: int, strays: int) -> None:
        """Responses are let go: so many answers and strays, one in each cycle."""
        mark = len(self.seen)
        for _ in range(strays):
            self.env.mem.stray(axi_id)
        await self.harness.cycles(20)
        self.harness.hold(Channel.MEM_B, False)
        await self.harness.cycles(60)
        await self.env.sync()
        cycles = [r.cycle for r in self.of(MemResponse, mark) if r.axi_id == axi_id]
        assert cycles == list(range(cycles[0], cycles[0] + writes + strays)), cycles
