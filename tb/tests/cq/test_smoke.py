# SPDX-License-Identifier: Apache-2.0
"""Smoke test: one queue of each kind, one completion, one callback, everything read back."""

from __future__ import annotations

import pyuvm

from tb.env.base_test import CarillonTest
from tb.env.defs import ArmType, CqeType, CqStatus, Life

ICARUS_TESTS = ["SmokeTest"]


@pyuvm.test()
class SmokeTest(CarillonTest):
    """Create, arm, complete, call back, poll, return, destroy."""

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        eq = await host.create_eq(log2=4, page=1, vector=7)
        cq = await host.create_cq(eq=eq, log2=4)
        assert (await cq.query()).life == Life.READY

        assert await cq.arm(ArmType.ANY) == (0, 0)
        assert await env.credits.reserve(cq.number, 1)
        kind = {"type": CqeType.RECEIVE_AND_INVALIDATE, "token": 0xCAFE, "bytes": 100}
        env.completions.send(cq.number, context=0x1234_5678_9ABC, qp_context=77, **kind)
        (callback,) = await cq.wait_callbacks(1)
        assert (callback.cq, callback.status, callback.snap) == (cq.number, CqStatus.OK, 1)

        (result,) = cq.get_cq_results_ex()
        assert result.request_context == 0x1234_5678_9ABC
        assert (result.qp_context, result.nbytes) == (77, 100)
        assert (result.type, result.token, result.status) == (0x8001, 0xCAFE, 0)
        assert await cq.update_consumer_index() == (0, 0)
        assert await cq.callback_return() == (0, 0)

        state = await cq.query()
        assert (state.prod, state.cons, state.alloc, state.credits) == (1, 1, 1, 0)
        assert not state.armed and not state.in_callback and not state.due
        counters = await host.counters()
        assert counters["CPL_PLACED"] == counters["EVENTS"] == counters["IRQS"] == 1
        assert counters["DB_OK"] == 3
        assert await host.read_log() == []
        await cq.destroy()
        await host.destroy_eq(eq)
