# SPDX-License-Identifier: Apache-2.0
"""Bad accesses to the control port (ISO-02)."""

from __future__ import annotations

import cocotb
import pyuvm

from tb.env.agents import Cpl
from tb.env.defs import ArmType, Cause, Cmd, PageReg, Reg
from tb.env.harness.harness import Channel
from tb.tests.common.directed import SLVERR, DirectedTest

WRITABLE = {*range(Reg.ARG0, Reg.ARG7 + 4, 4), Reg.CMD, Reg.LOG_POP, Reg.MEM_INJECT}
READABLE = {int(reg) for reg in Reg} - {Reg.CMD, Reg.LOG_POP, Reg.MEM_INJECT}


@pyuvm.test()
class ControlPortTest(DirectedTest):
    """AXI4-Lite: unknown and unaligned offsets, wrong direction, partial strobes, reserved bits:
    SLVERR, counted, no effect.
    """

    async def scenario(self) -> None:
        host, control = self.env.host, self.env.control
        cq = await self.queue(1)
        self.send(cq, range(3))
        await cq.wait_results(3)
        await host.write(1, 0, 0)
        marks = [0x1000_0000 + n for n in range(8)]
        for number, value in enumerate(marks):
            assert await control.write(Reg.ARG0 + 4 * number, value) == 0
        status = await control.value(Reg.CMD_STATUS)
        counters = await host.counters()
        refused = 0
        async with self.no_effect(states=False):
            for offset in range(0, 4096, 4):
                if offset not in WRITABLE:
                    assert await control.write(offset, 0x10) == SLVERR, hex(offset)
                    refused += 1
            for offset in range(4096):
                if offset not in READABLE:
                    assert await control.read(offset) == (SLVERR, 0), hex(offset)
                    refused += 1
            for offset in range(Reg.ARG0, 0x6C):
                if offset % 4:
                    assert await control.write(offset, Cmd.DESTROY_CQ) == SLVERR, hex(offset)
                    refused += 1
            for strb in range(15):
                for offset in (Reg.ARG0, Reg.ARG7, Reg.CMD, Reg.LOG_POP, Reg.MEM_INJECT):
                    assert await control.write(offset, 1, strb) == SLVERR, (offset, strb)
                    refused += 1
            for bit in range(8, 32):
                assert await control.write(Reg.CMD, Cmd.DESTROY_CQ | 1 << bit) == SLVERR
                refused += 1
            for bit in range(1, 32):
                assert await control.write(Reg.LOG_POP, 1 | 1 << bit) == SLVERR
                refused += 1
        for number, value in enumerate(marks):
            assert await control.value(Reg.ARG0 + 4 * number) == value
        assert await control.value(Reg.CMD_STATUS) == status, "a refused write ran a command"
        counters["CTRL_REFUSED"] += refused
        assert await host.counters() == counters
        assert [entry.cause for entry in await host.read_log()] == [Cause.BAD_OFFSET]
        assert await control.write(Reg.LOG_POP, 1) == 0, "an empty log can be popped"
        assert await host.read_log() == []
        assert (await cq.query()).prod == 3


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
