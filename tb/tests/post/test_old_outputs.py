# SPDX-License-Identifier: Apache-2.0
"""Outputs of commands of an earlier life."""

from __future__ import annotations

import pyuvm

from tb.env.base_test import CarillonTest
from tb.env.defs import Cmd, Reg

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class OldOutputsTest(CarillonTest):
    """ISO-02: what a command of the life before a reset answered is not read behind it, not even in
    the cycles in which the first command of its kind starts.
    """

    allow = ("no_traffic", "no_doorbells", "no_completions")

    async def scenario(self) -> None:
        env = self.env
        host = env.host
        looked = 0
        for after in range(6):
            for output in range(8):
                eq = await host.create_eq(page=0, log2=2)
                cq = await host.create_cq(eq=eq, log2=2)
                qp = await host.create_qp(cq=cq, context=(1 << 64) - 1)
                outs = (await host.command(Cmd.QUERY_QP, qp.number)).outs
                looked += bool(outs[output])
                await env.sync()
                await env.reset(1)
                await env.sync()
                at = env.harness.cycle + 30
                write = env.control.post_write(Reg.CMD, Cmd.QUERY_QP, at=at)
                read = env.control.post_read(Reg.OUT0 + 4 * output, at=at + after)
                await write
                found = (await read).data
                assert not found, f"OUT{output}, {after} cycles: {found:#x}"
                await env.harness.cycles(200)
        assert looked >= 12
