# SPDX-License-Identifier: Apache-2.0
"""The control mailbox: every command, every result in its order of precedence, event queues, and
accesses while a command runs (ISO-02, CQ-17 to CQ-21 as far as commands go).
"""

from __future__ import annotations

from itertools import combinations

import cocotb
import pyuvm

from models.host.control import USED_BITS
from tb.env.agents import Cpl
from tb.env.agents.memory import SLVERR as MEM_SLVERR
from tb.env.defs import ArmType, Cause, Cmd, Life, PageReg, Reg, Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import Interrupt
from tb.env.host.cq import Eq
from tb.env.host.driver import CommandError
from tb.tests.common.directed import SLVERR, DirectedTest

Fields = dict[str, int]
MOD_REFUSED = 0xFFFF_FFFF

#: Registers and shifts of the argument fields.
PLACES = {
    "number": (0, 0),
    "base": (1, 0),
    "log2": (3, 0),
    "reserved3": (3, 0),
    "vector": (3, 16),
    "page": (4, 0),
    "eq": (4, 16),
    "reserved4": (4, 0),
    "moderation": (5, 0),
}


def arguments(fields: Fields) -> list[int]:
    """ARG0 to ARG5 with these fields."""
    args = [0] * 6
    for name, value in fields.items():
        register, shift = PLACES[name]
        args[register] |= value << shift & 0xFFFF_FFFF
    args[2] = fields.get("base", 0) >> 32
    return args


@pyuvm.test()
class ResultsTest(DirectedTest):
    """Each result of each command alone and each pair in its order; nothing refused has an
    effect.
    """

    allow = ("no_doorbells",)

    async def scenario(self) -> None:
        host, c = self.env.host, self.config
        full = await host.create_eq(0, page=1, log2=1)
        free = await host.create_eq(1, page=1, log2=4)
        await self.queues(2, full)
        ready = await host.create_cq(eq=free, log2=4, moderation=(8, 0xFFFF), reservation=False)
        self.send(ready, range(7))
        await ready.wait_results(7)
        missing = c.num_cq - 1
        ring: Fields = {"base": 0x10_0000, "log2": 4}
        sizes: dict[Result, Fields] = {
            Result.RESERVED: {"reserved3": 1 << 7},
            Result.BAD_SIZE: {"log2": c.max_log2 + 1},
            Result.BAD_ALIGN: {"base": 0x10_0000 + 64},
        }
        create_cq = {"number": 9, **ring, "page": 1, "eq": free.number, "moderation": 0}
        table: dict[Cmd, tuple[Fields, dict[Result, Fields]]] = {
            Cmd.CREATE_CQ: (
                create_cq,
                {
                    **sizes,
                    Result.BAD_OBJECT: {"number": c.num_cq},
                    Result.EXISTS: {"number": ready.number},
                    Result.BAD_PAGE: {"page": c.num_pages},
                    Result.NO_EQ: {"eq": 7},
                    Result.EQ_FULL: {"eq": full.number},
                    Result.BAD_MODERATION: {"moderation": MOD_REFUSED},
                },
            ),
            Cmd.CREATE_EQ: (
                {"number": 5, "base": 0x10_0000, "log2": 4, "page": 1},
                {
                    **sizes,
                    Result.BAD_OBJECT: {"number": c.num_eq},
                    Result.EXISTS: {"number": full.number},
                    Result.BAD_ALIGN: {"base": 0x10_0020},
                    Result.BAD_PAGE: {"page": c.num_pages},
                },
            ),
            Cmd.RESIZE_EQ: (
                {"number": full.number, **ring},
                {
                    **sizes,
                    Result.BAD_OBJECT: {"number": 1 << 16 | full.number},
                    Result.NO_OBJECT: {"number": 7},
                },
            ),
            Cmd.MODIFY_EQ: (
                {"number": full.number, "vector": 3},
                {
                    Result.RESERVED: {"reserved3": 1},
                    Result.BAD_OBJECT: {"number": c.num_eq},
                    Result.NO_OBJECT: {"number": 7},
                },
            ),
            Cmd.QUERY_EQ: (
                {"number": 0},
                {Result.BAD_OBJECT: {"number": c.num_eq}, Result.NO_OBJECT: {"number": 7}},
            ),
            Cmd.DESTROY_EQ: (
                {"number": full.number},
                {
                    Result.BAD_OBJECT: {"number": 1 << 31},
                    Result.NO_OBJECT: {"number": 7},
                    Result.IN_USE: {},
                },
            ),
            Cmd.MODIFY_CQ: (
                {"number": ready.number, "moderation": 0},
                {
                    Result.RESERVED: {"reserved3": 1 << 8},
                    Result.BAD_OBJECT: {"number": c.num_cq},
                    Result.NO_OBJECT: {"number": missing},
                    Result.BAD_MODERATION: {"moderation": MOD_REFUSED},
                },
            ),
            Cmd.RESIZE_CQ: (
                {"number": ready.number, **ring},
                {
                    **sizes,
                    Result.BAD_OBJECT: {"number": c.num_cq},
                    Result.NO_OBJECT: {"number": missing},
                    Result.BAD_MODERATION: {"log2": 2},
                },
            ),
            Cmd.QUERY_CQ: (
                {"number": ready.number},
                {Result.BAD_OBJECT: {"number": 1 << 16}, Result.NO_OBJECT: {"number": missing}},
            ),
            Cmd.DESTROY_CQ: (
                {"number": ready.number},
                {Result.BAD_OBJECT: {"number": c.num_cq}, Result.NO_OBJECT: {"number": missing}},
            ),
        }
        async with self.no_effect():
            for code, (base, faults) in table.items():
                for result, fault in faults.items():
                    got = await self.result(code, *arguments(base | fault))
                    assert got == result, f"{code.name}: {got.name}, expected {result.name}"
                for first, second in combinations(sorted(faults), 2):
                    if faults[first].keys() & faults[second].keys():
                        continue
                    got = await self.result(code, *arguments(base | faults[first] | faults[second]))
                    assert got == first, f"{code.name}: {got.name}, not {first.name}/{second.name}"
            # Log2 0, the EQ of another page, wide EQ numbers.
            for code in (Cmd.CREATE_CQ, Cmd.RESIZE_CQ, Cmd.CREATE_EQ, Cmd.RESIZE_EQ):
                for log2 in (0, c.max_log2 + 1, 31):
                    args = arguments(table[code][0] | {"log2": log2})
                    assert await self.result(code, *args) == Result.BAD_SIZE
            assert await self.result(Cmd.CREATE_CQ, *arguments(create_cq | {"page": 2})) == (
                Result.BAD_PAGE
            )
            for eq in (c.num_eq, 0x100 | free.number, 0xFFFF):
                assert await self.result(Cmd.CREATE_CQ, *arguments(create_cq | {"eq": eq})) == (
                    Result.NO_EQ
                )
        await self.reserved_bits(table)
        # What was refused for one fault is accepted without it.
        assert await self.result(Cmd.CREATE_EQ, *arguments(table[Cmd.CREATE_EQ][0])) == Result.OK
        assert await self.result(Cmd.CREATE_CQ, *arguments(create_cq)) == Result.OK
        assert await self.result(Cmd.DESTROY_CQ, 9) == Result.OK
        await self.last_ones()

    async def reserved_bits(self, table: dict[Cmd, tuple[Fields, dict[Result, Fields]]]) -> None:
        """Reserved bits one by one; registers that a command does not use are ignored."""
        async with self.no_effect():
            for code, used in USED_BITS.items():
                args = arguments(table[Cmd(code)][0])
                for register, mask in used.items():
                    for bit in (b for b in range(32) if not mask >> b & 1):
                        word = [*args]
                        word[register] |= 1 << bit
                        assert await self.result(Cmd(code), *word) == Result.RESERVED, (code, bit)
            for query in (Cmd.QUERY_CQ, Cmd.QUERY_EQ):
                assert await self.result(query, 0, *[0xFFFF_FFFF] * 7) == Result.OK

    async def last_ones(self) -> None:
        """EQ_FULL of a resize, CQ_ERROR before TOO_SMALL, results of a dying queue."""
        host, env = self.env.host, self.env
        bigger = await host.create_eq(page=3, log2=3)
        cqs = await self.queues(5, bigger)
        base = env.memory.allocate(1 << 12)
        async with self.no_effect():
            args = arguments({"number": bigger.number, "base": base, "log2": 2})
            assert await self.result(Cmd.RESIZE_EQ, *args) == Result.EQ_FULL
        failing, dying = cqs[:2]
        self.send(failing, range(5))
        await env.drain()
        async with self.no_effect():
            args = arguments({"number": failing.number, "base": base, "log2": 2})
            assert await self.result(Cmd.RESIZE_CQ, *args) == Result.TOO_SMALL
        env.mem.fail(MEM_SLVERR, cq=failing.number)
        self.send(failing, [5])
        await env.drain()
        async with self.no_effect():
            for log2 in (2, 4):
                args = arguments({"number": failing.number, "base": base, "log2": log2})
                assert await self.result(Cmd.RESIZE_CQ, *args) == Result.CQ_ERROR
            args[1] += 64
            assert await self.result(Cmd.RESIZE_CQ, *args) == Result.BAD_ALIGN
        env.mem.hold_cq(dying.number)
        self.send(dying, [1])
        await self.harness.cycles(40)
        assert await dying.destroy(wait=False) == Result.PENDING
        args = arguments({"number": dying.number, "base": base, "log2": 4})
        assert await self.result(Cmd.RESIZE_CQ, *args) == Result.NO_OBJECT
        assert await self.result(Cmd.MODIFY_CQ, dying.number, 0, 0, 0, 0, 0) == Result.NO_OBJECT
        args = arguments({"number": dying.number, "base": base, "log2": 4, "eq": bigger.number})
        args[4] |= 3
        assert await self.result(Cmd.CREATE_CQ, *args) == Result.EXISTS
        assert (await dying.query()).life == Life.DESTROYING
        assert await self.result(Cmd.DESTROY_EQ, bigger.number) == Result.IN_USE
        env.mem.release_cq(dying.number)
        await dying.destroy()
        assert (await host.query_eq(bigger)).attached == 4


@pyuvm.test()
class EventQueueTest(DirectedTest):
    """EQ: create, modify, resize with callbacks running, query, destroy; EQ full; many wraps."""

    async def scenario(self) -> None:
        host = self.env.host
        eq = await host.create_eq(3, page=5, log2=2, vector=1000)
        cqs = await self.queues(4, eq)
        state = await host.query_eq(eq)
        assert state.exists and (state.log2, state.vector, state.page) == (2, 1000, 5)
        assert (state.producer, state.attached) == (0, 4)
        try:
            await host.create_cq(eq=eq)
            raise AssertionError("a fifth CQ on an EQ of four entries")
        except CommandError as error:
            assert error.command.result == Result.EQ_FULL
        for step in range(20):  # the ring wraps; its phase bits change
            await self.call_all(eq, step)
        assert (await host.query_eq(eq)).producer == 80

        await host.modify_eq(eq, 2000)
        start = len(self.seen)
        await self.call_all(eq, 20)
        assert {r.vector for r in self.of(Interrupt, start)} == {2000}
        for log2 in (6, 3, 2, 5):
            producer = (await host.query_eq(eq)).producer
            for cq in cqs[:2]:  # two callbacks are running during the resize
                await cq.arm(ArmType.ANY)
                self.send(cq, [1])
            await self.running(eq, 2)
            assert await host.resize_eq(eq, log2) == producer + 2
            for cq in cqs[2:]:
                await cq.arm(ArmType.ANY)
                self.send(cq, [1])
            await self.running(eq, 4)
            assert (await host.query_eq(eq)).log2 == log2
            await self.finish(eq)
            for step in range(3):
                await self.call_all(eq, 30 + step)
        for cq in cqs:
            assert await self.result(Cmd.DESTROY_EQ, eq.number) == Result.IN_USE
            assert await cq.destroy() == Result.OK
        await host.destroy_eq(eq)
        assert await self.result(Cmd.QUERY_EQ, eq.number) == Result.NO_OBJECT
        again = await host.create_eq(3, page=6, log2=1)
        assert (await host.query_eq(again)).producer == 0
        cq = await self.queue(6)
        await cq.arm(ArmType.ANY)
        self.send(cq, [1])
        await cq.wait_callbacks(1)
        assert await cq.callback_return() == (0, 0)

    async def running(self, eq: Eq, count: int) -> None:
        """Waits until ``count`` CQs of the EQ run a callback, all of which were seen."""
        await self.env.drain()
        cqs = [cq for cq in self.env.host.cqs.values() if cq.eq is eq]
        states = [await cq.query() for cq in cqs]
        assert sum(state.in_callback for state in states) == count

    async def finish(self, eq: Eq) -> None:
        """All callbacks of the EQ return, all entries are consumed."""
        for cq in list(self.env.host.cqs.values()):
            if cq.eq is eq:
                cq.get_cq_results()
                assert await cq.callback_return() == (0, 0)
                assert await cq.update_consumer_index() == (0, 0)

    async def call_all(self, eq: Eq, step: int) -> None:
        """One callback of each CQ of the EQ."""
        cqs = [cq for cq in self.env.host.cqs.values() if cq.eq is eq]
        counts = [len(cq.callbacks) for cq in cqs]
        for cq in cqs:
            await cq.arm(ArmType.ANY)
            self.send(cq, [step])
        for cq, count in zip(cqs, counts, strict=True):
            await cq.wait_callbacks(count + 1)
        await self.finish(eq)


@pyuvm.test()
class BusyMailboxTest(DirectedTest):
    """While a command runs, writes of CMD and ARGs are SLVERR without effect; reads, LOG_POP and
    doorbells work; the command ends as if nothing had been.
    """

    async def scenario(self) -> None:
        env, control = self.env, self.env.control
        cq = await self.queue(1)
        other = env.memory.allocate(512)
        self.harness.hold(Channel.MEM_AW)
        for context in range(3):  # the way to memory is blocked, a creation waits for it
            env.completions.send_beat([Cpl(cq.number, context=context)])
        task = cocotb.start_soon(env.host.create_cq(5, eq=cq.eq, base=other, reservation=False))
        await self.harness.cycles(300)
        assert not task.done()
        before = await env.host.counter("CTRL_REFUSED")
        for number in range(8):
            assert await control.write(Reg.ARG0 + 4 * number, 0xFFFF_FFFF) == SLVERR
        for code in (Cmd.DESTROY_CQ, Cmd.QUERY_CQ, 0xFF):
            assert await control.write(Reg.CMD, code) == SLVERR
        assert await env.host.counter("CTRL_REFUSED") == before + 11
        assert await control.value(Reg.ARG0) == 5
        assert await control.value(Reg.CMD_STATUS) & 3 == 1
        assert await control.write(Reg.LOG_POP, 1) == 0
        assert await cq.arm(ArmType.ANY) == (0, 0), "doorbells of the others are served"
        assert await env.doorbells.write(1, PageReg.CQ_DB, 5 << 32) == (SLVERR, Cause.NO_CQ)
        assert not task.done()
        self.harness.hold(Channel.MEM_AW, False)
        new = await task
        assert (await new.query()).log2 == 4
        await cq.wait_callbacks(1)
        assert self.polled(cq) == [0, 1, 2]
        assert await cq.callback_return() == (0, 0)
        self.send(new, [7])
        assert [r.request_context for r in await new.wait_results(1)] == [7]
        await env.host.read_log()
