# SPDX-License-Identifier: Apache-2.0
"""A reset in the cycles of a write that fails."""

from __future__ import annotations

import pyuvm

from tb.env.base_test import CarillonTest
from tb.tests.common.soaking import demand_fresh

BUILD = ["default"]


@pyuvm.test()
class ErrorInResetTest(CarillonTest):
    """A reset of one cycle comes in each cycle of a write that fails: nothing of it is counted or
    logged after the reset.
    """

    allow = ("no_traffic", "no_doorbells", "no_completions")
    #: From a completion to what its failed write leaves.
    cycles = 48

    async def scenario(self) -> None:
        env = self.env
        host, mem = env.host, env.mem
        for after in range(self.cycles):
            eq = await host.create_eq(page=0, log2=2)
            cq = await host.create_cq(eq=eq, log2=2, reservation=False)
            mem.fail(cq=cq.number)
            await env.sync()
            env.completions.send(cq.number)
            await env.harness.cycles(1 + after)
            await env.reset(1)
            counted = {name: count for name, count in (await host.counters()).items() if count}
            assert not counted, f"counted after {after} cycles: {counted}"
            assert await host.read_log() == []
        await demand_fresh(env)
