# SPDX-License-Identifier: Apache-2.0
"""ISO-03: reports of buffers that come before the engine has said that they are taken."""

from __future__ import annotations

import pyuvm

from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.tests.common.taking import TAKEN, TakingTest, Want, canceled

BUILD = ["engine", "engine_small", "engine_deep"]

LEAD = 150  # cycles from setting a trial up to its centre


class MeetingTest(TakingTest):
    def soon(self) -> int:
        """The centre of a trial."""
        return self.harness.cycle + LEAD

    async def both(self) -> list[tuple[ReceiveQueue, Qp]]:
        """An SRQ with its user, a QP with a queue of its own."""
        srq, (user,) = await self.shared(1, size=4)
        own = await self.own(depth=4)
        return [(srq, user), (own, own)]


@pyuvm.test()
class EarlyReportTest(MeetingTest):
    """ISO-03: a report that comes before the answer that it is for, or for a buffer that is flushed
    at that time: it is refused, or it is the right one; the buffer completes once, as it is.
    """

    async def scenario(self) -> None:
        for queue, qp in await self.both():
            for offset in range(-2, 10):
                (cookie,) = await self.supply(queue, 1)
                await self.rest()
                before = await self.env.host.counter("RECV_DONE")
                at = self.soon()
                pending = self.ask(qp, 11, at=at)
                tag = self.next_tag[qp.number]
                self.env.rdone.send(qp.number, tag, at_cycle=at + offset)
                await self.answers(pending, TAKEN)
                await self.rest()
                if await self.env.host.counter("RECV_DONE") == before:
                    self.settle(qp)
                else:
                    self.tags[qp.number].clear()
                await self.demand(qp, [Want(cookie, 11)])
            await self.env.host.read_log()
        await self.flushed(qp)

    async def flushed(self, qp: Qp) -> None:
        for offset in range(-4, 24):
            for status in (0, 1):
                cookies = await self.supply(qp, 2)
                await self.rest()
                before = await self.env.host.counter("RECV_DONE")
                at = self.soon()
                self.env.conn.send(qp.number, at_cycle=at)
                tag = self.next_tag[qp.number]
                self.env.rdone.send(qp.number, tag, status, at_cycle=at + offset)
                await self.demand(qp, canceled(cookies))
                assert await self.env.host.counter("RECV_DONE") == before
                await self.reconnect(qp)
        await self.env.host.read_log()
