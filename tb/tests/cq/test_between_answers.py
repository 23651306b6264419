# SPDX-License-Identifier: Apache-2.0
"""What happens to a queue between the answers to entries that were written together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pyuvm

from tb.env.defs import ArmType, CqStatus
from tb.env.harness.records import MemResponse
from tb.env.host.cq import Cq
from tb.tests.common.directed import SLVERR, DirectedTest

#: Cycles until the answers to the entries behind the failed one.
_LATE = 1500


@pyuvm.test()
class BehindFailureTest(DirectedTest):
    """CQ-17, CQ-18: the write of an entry failed, and the entries behind it were under way.
    Whatever the queue's page does before their answers come, they publish nothing and call nobody.
    """

    async def scenario(self) -> None:
        async def nothing(_: Cq) -> None:
            pass

        async def told(cq: Cq) -> None:
            assert await cq.update_consumer_index() == (0, 0)

        async def armed(cq: Cq) -> None:
            assert await cq.arm(ArmType.ANY) == (0, 0)

        async def returned(cq: Cq) -> None:
            assert await cq.callback_return() == (0, 0)

        async def queried(cq: Cq) -> None:
            assert (await cq.query()).status == CqStatus.INTERNAL_ERROR

        async def modified(cq: Cq) -> None:
            await cq.modify(moderation=(2, 5))

        steps: list[Callable[[Cq], Awaitable[None]]] = [
            *(nothing, told, armed, returned, queried, modified)
        ]
        for step in steps:
            await self.between([step])
        for second in (told, returned, modified):
            await self.between([armed, second])

    async def between(self, steps: list[Callable[[Cq], Awaitable[None]]]) -> None:
        mem = self.env.mem
        cq = await self.queue(1, log2=3)
        await cq.arm(ArmType.ANY)
        mem.fail(SLVERR, cq=cq.number, lands=True)
        mem.latency(150)
        self.send(cq, [0])
        await self.harness.cycles(60)
        mem.latency(_LATE)
        # One at a time, so that each has a write of its own.
        for context in (1, 2):
            self.send(cq, [context])
            await self.harness.cycles(40)
        mem.latency(0)
        await cq.wait_callbacks(1)
        for step in steps:
            await step(cq)
        await self.harness.cycles(40)
        assert len([r for r in self.of(MemResponse) if r.axi_id == cq.number]) == 1
        before = await cq.query()
        await self.env.drain()
        assert len([r for r in self.of(MemResponse) if r.axi_id == cq.number]) == 3
        state = await cq.query()
        assert state == before and (state.prod, state.status) == (0, CqStatus.INTERNAL_ERROR), (
            f"{[step.__name__ for step in steps]}: {before}, then {state}"
        )
        assert len(cq.callbacks) == 1
