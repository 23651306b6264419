# SPDX-License-Identifier: Apache-2.0
"""What is asked while the memories are being cleared waits, and is answered as by an engine that
has no objects.
"""

from __future__ import annotations

import cocotb
import pyuvm

from tb.env.base_test import CarillonTest
from tb.env.defs import CQ_DB, CheckKind, Cmd, PageReg, Reg, Result, Scatter, Verdict
from tb.tests.common.soaking import demand_fresh

BUILD = ["default", "engine"]
ROUNDS = 3
#: MEM_INJECT: inverts bit 0 of the first counter.
COUNTERS = 0xFF
SHOWN = [
    *(Reg.CMD_STATUS, Reg.LOG0, Reg.LOG1),
    *(Reg(Reg.ARG0 + 4 * n) for n in range(8)),
    *(Reg(Reg.OUT0 + 4 * n) for n in range(8)),
]


@pyuvm.test()
class AskedInWalkTest(CarillonTest):
    """Reservations, messages and accesses offered in the first cycles after a reset."""

    allow = ("no_traffic", "no_doorbells", "no_completions")
    max_cycles = 20_000

    async def scenario(self) -> None:
        env, transport = self.env, self.env.transport
        for number in range(ROUNDS):
            first = cocotb.start_soon(env.reset(1 + number))
            await env.harness.cycles(6)
            assert not env.control.idle, "the walk is over"
            if not self.config.num_qp:
                credits = [env.credits.post(cq) for cq in range(3)]
                await first
                assert [await answer for answer in credits] == [False] * 3
                continue
            receiver, responder = transport.receiver, transport.responder
            messages = [receiver.post_request(qp, 8) for qp in range(3)]
            checks = [responder.post_check(qp, CheckKind.READ, 0, 0, 8) for qp in range(3)]
            await first
            assert [(await message).code for message in messages] == [Scatter.REFUSED] * 3
            assert [(await check).code for check in checks] == [Verdict.REFUSED] * 3


@pyuvm.test()
class AccessInResetTest(CarillonTest):
    """A reset of one cycle comes in each cycle of a command, of an injection, of a write to the
    log, of an argument: after it the control port shows nothing of them, and none is executed.
    """

    allow = ("no_traffic", "no_doorbells", "no_completions")
    #: From before the write is offered until it has been executed.
    cycles = 14

    async def scenario(self) -> None:
        env = self.env
        control = env.control
        for register, value in (
            (Reg.CMD, Cmd.QUERY_CQ),
            (Reg.MEM_INJECT, COUNTERS),
            *((Reg.MEM_INJECT, memory) for memory in range(4)),
            (Reg.LOG_POP, 1),
            (Reg.ARG0 + 4, 0xFFFF_FFFF),
        ):
            for after in range(self.cycles):
                await self.soil(after % 2 == 0)
                await env.sync()
                control.post_write(register, value)
                await env.harness.cycles(1 + after)
                await env.reset(1)
                read = {reg.name: await control.value(reg) for reg in SHOWN}
                shown = {name: data for name, data in read.items() if data}
                assert not shown, f"{Reg(register).name}, {after} cycles: {shown}"
            await demand_fresh(env)

    async def soil(self, refused: bool) -> None:
        """Leaves something in the registers; in the latest command's result, or in its outputs."""
        host = self.env.host
        eq = await host.create_eq(page=0, log2=2)
        cq = await host.create_cq(eq=eq, log2=2)
        await host.write(0, PageReg.CQ_DB, CQ_DB.pack(cons=5, cq=cq.number))
        command = await host.command(Cmd.QUERY_CQ, cq.number + refused)
        assert command.result == (Result.NO_OBJECT if refused else Result.OK)
        assert any(command.outs) != refused
        assert await self.env.control.value(Reg.LOG0)
        # No word was written with a wrong bit.
        assert not await host.counter("MEM_CORRECTED"), "an injection outlived the reset"
