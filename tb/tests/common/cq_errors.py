# SPDX-License-Identifier: Apache-2.0
"""Queues that go into their error state."""

from __future__ import annotations

from tb.env.defs import ArmType, CqStatus
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

ARMS = (None, ArmType.ANY, ArmType.SOLICITED, ArmType.ERRORS)


class ErrorTest(DirectedTest):
    """Helpers around a queue that will fail, and a witness on the same EQ."""

    async def witness(self, cq: Cq) -> None:
        """A queue that nothing has happened to: one round of arm, completion, callback."""
        calls, read = len(cq.callbacks), cq.reader.index
        assert await cq.arm(ArmType.ANY) == (0, 0)
        self.send(cq, [read, read + 1])
        await cq.wait_callbacks(calls + 1)
        assert cq.callbacks[-1].status == CqStatus.OK
        results = await cq.wait_results(2)
        assert [r.request_context for r in results] == [read, read + 1]
        assert await cq.update_consumer_index() == (0, 0)
        assert await cq.callback_return() == (0, 0)
        await self.env.drain()
        assert (await cq.query()).status == CqStatus.OK

    async def old_entries(self, cq: Cq, count: int, arm: ArmType | None) -> None:
        """``count`` entries present, all old; armed with ``arm``; no callback running."""
        self.send(cq, range(count))
        await self.env.drain()
        calls = len(cq.callbacks)
        if count:
            assert await cq.arm(ArmType.ANY, index=cq.consumer_index) == (0, 0)
            await cq.wait_callbacks(calls + 1)
            assert await cq.callback_return() == (0, 0)
        if arm is not None:
            assert await cq.arm(arm) == (0, 0)
        await self.env.drain()
        assert (await cq.query()).armed == (arm is not None)
