# SPDX-License-Identifier: Apache-2.0
"""What is asked while the memories are being cleared waits, and is answered as by an engine that
has no objects.
"""

from __future__ import annotations

import cocotb
import pyuvm

from tb.env.base_test import CarillonTest
from tb.env.defs import CheckKind, Scatter, Verdict

BUILD = ["default", "engine"]
ROUNDS = 3


@pyuvm.test()
class AskedInWalkTest(CarillonTest):
    """Reservations, messages and accesses offered in the first cycles behind a reset."""

    allow = ("no_traffic", "no_doorbells", "no_completions")
    max_cycles = 20_000

    async def scenario(self) -> None:
        env, transport = self.env, self.env.transport
        for number in range(ROUNDS):
            first = cocotb.start_soon(env.reset(1 + number))
            await env.harness.cycles(6)
            assert not env.control.idle, "the walk is over"
            credits, messages, checks = [], [], []
            if not self.config.num_qp:
                credits = [env.credits.post(cq) for cq in range(3)]
            if self.config.num_srq:
                messages = [transport.receiver.post_request(qp, 8) for qp in range(3)]
            if self.config.num_mw:
                responder = transport.responder
                checks = [responder.post_check(qp, CheckKind.READ, 0, 0, 8) for qp in range(3)]
            await first
            assert [await answer for answer in credits] == [False] * len(credits)
            for message in messages:
                assert (await message).code == Scatter.REFUSED
            for check in checks:
                assert (await check).code == Verdict.REFUSED
