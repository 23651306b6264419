# SPDX-License-Identifier: Apache-2.0
"""QP commands: reserved argument bits (ISO-02)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cmd, QpState, Result
from tb.tests.common.posting import OK, PostingTest

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class ReservedArgumentsTest(PostingTest):
    """Each reserved bit of CONNECT_QP and SET_QP_STATE alone is refused and changes nothing."""

    async def scenario(self) -> None:
        qp = await self.idle_qp()
        for bit in range(24, 32):
            refused = await self.result(Cmd.CONNECT_QP, qp.number, 1 << bit)
            assert refused == Result.RESERVED
        assert (await qp.query()).state == QpState.IDLE
        await qp.connect(qp.number ^ 1)
        for bit in range(4, 32):
            target = QpState.DISCONNECTED | 1 << bit
            assert await self.result(Cmd.SET_QP_STATE, qp.number, target) == Result.RESERVED
        assert (await qp.query()).state == QpState.CONNECTED
        post = self.write_post(qp)
        await self.accept(qp, [post])
        await self.rest()
        self.report(qp)
        await self.demand_results(qp, [post], OK)
