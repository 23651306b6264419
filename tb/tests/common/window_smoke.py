# SPDX-License-Identifier: Apache-2.0
"""The pair of queue pairs, regions and windows that short tests of windows use."""

from __future__ import annotations

from tb.env.defs import CqeType
from tb.env.host.qp import Qp, connect_pair
from tb.tests.common.windowing import ZONE, WindowTest


class SmokeBase(WindowTest):
    manual = False
    reporting = True

    async def pair(self, nd1: bool = False) -> list[Qp]:
        """Two QPs connected with each other, whose transport moves bytes."""
        qps = [await self.idle_qp(zone=ZONE, guarded=True, recv_depth=2, nd1=nd1) for _ in range(2)]
        await connect_pair(*qps)
        self.env.transport.responder.enable()
        self.receiver.enable()
        self.receiver.fill = True
        return qps

    async def one(self, qp: Qp, status: int = 0) -> CqeType:
        """The next result."""
        (result,) = await qp.cq.wait_results(1)
        await qp.cq.update_consumer_index()
        assert result.status == status, result
        return CqeType(result.type)
