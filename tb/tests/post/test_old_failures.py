# SPDX-License-Identifier: Apache-2.0
"""Queue pairs whose tags come round to one whose report failed, in a connection before."""

from __future__ import annotations

import pyuvm

from tb.env.defs import Opcode, QpState
from tb.env.host.qp import Qp, connect_pair
from tb.tests.common.long_lives import LongLifeTest

BUILD = "engine_small"

_FAILING = 0xDEAD_BEEF  # low half of the contexts of requests that fail
_STATUS = 0x7F  # what is reported of these


@pyuvm.test()
class OldFailureTest(LongLifeTest):
    """DF-15: on every QP one request fails; then each tag is used once more, in the connection
    behind it: nothing fails, whatever was reported about the tag before.
    """

    async def scenario(self) -> None:
        env = self.env
        eq = await env.host.create_eq(log2=2)
        qps = []
        for _ in range(self.config.num_qp):
            cq = await env.host.create_cq(eq=eq, log2=3)
            qps.append(await env.host.create_qp(cq=cq))
        for first, second in zip(qps[::2], qps[1::2], strict=True):
            await connect_pair(first, second)
        env.transport.loopback(latency=1, mask=0xFFFFFFFF, match=_FAILING, status=_STATUS)
        for at, qp in enumerate(qps):
            await self.writes(qp, _FAILING, 1)
            await qp.flush()
            assert (await qp.query()).state == QpState.ERROR
            await qp.reset()
            await qp.connect(qps[at ^ 1])
        room = 1 << self.config.sq_log2
        for _ in range(0, self.mask + 1, room):
            for at, qp in enumerate(qps):
                await self.writes(qp, at, room)

    async def writes(self, qp: Qp, low: int, count: int) -> None:
        """So many Writes with this low half of their contexts, of which the last one signals
        success, too.
        """
        contexts = [self.contexts.getrandbits(32) << 32 | low for _ in range(count)]
        answers = [
            qp.queue(qp.make(Opcode.WRITE, context=c, silent=c != contexts[-1]).encode())
            for c in contexts
        ]
        (result,) = await qp.cq.wait_results(1)
        status = _STATUS if low == _FAILING else 0
        assert (result.request_context, result.status) == (contexts[-1], status), result
        self.accepted(answers)
        assert await qp.cq.update_consumer_index() == (0, 0)

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self.contexts = self.rng("contexts")
