# SPDX-License-Identifier: Apache-2.0
"""Lives of shared receive queues: destruction, creation again, and an event that waits (SRQ-16,
SRQ-17).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, Cmd, Result, Scatter
from tb.env.harness.harness import Channel
from tb.env.host.srq import SrqStatus
from tb.tests.common.receive_posts import ReceivePostTest

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class SrqLivesTest(ReceivePostTest):
    """A destroyed SRQ gives its buffers back without completions; the next life starts empty,
    disarmed, at the index that its creation answers, whatever was before.
    """

    async def scenario(self) -> None:
        host = self.env.host
        most = 1 << self.config.srq_log2
        srq = await host.create_srq(size=most)
        other = await host.create_srq(size=1)
        start = (await srq.status()).tail
        posted = 0
        for life in range(12):
            status = await srq.status()
            assert status == SrqStatus(
                *(0, 0, start, start, start, 0, False, False, 0),
                *(srq.size, srq.zone, srq.page, srq.vector),
            )
            assert srq.index == start
            left = life % srq.size + 1
            count = life % 3
            qp = await self.idle_qp(srq=srq, log2=3)
            await qp.connect(qp.number ^ 1)
            await self.turn(srq, qp, count)
            await self.fill(srq, left)
            await self.remove(qp)
            await self.accounts(srq, left, left)
            if life % 2:
                await srq.set_lw(1)
            posted = (start + count + left) & self.mask
            assert (await srq.status()).tail == posted
            index = srq.index
            await srq.free()
            for page in (0, 1):
                answer = await srq.queue_recv(srq.make_recv(), page=page)
                assert answer == (2, Cause.NO_SRQ)
                assert await srq.reap(index, page=page) == (2, Cause.NO_SRQ)
            # Smaller, larger, of another zone and page.
            srq.size, srq.zone, srq.page = (most, 1, 2)[life % 3], life, life % 2
            start = await srq.create()
            assert await srq.reap(start + 1 & self.mask) == (2, Cause.BAD_INDEX)
            if index != start:
                assert await srq.reap(index) == (2, Cause.BAD_INDEX)
            if srq.page:
                await srq.free()
                srq.page = 0
                start = await srq.create()
        assert not srq.events
        await self.accounts(other, 0, 0)
        # What was given back is not found by the next user.
        qp = await self.qp(srq=srq, log2=3)
        assert (await self.receiver.request(qp.number, 0)).code == Scatter.NOT_READY
        await self.consume(qp, await self.fill(srq, 1))
        await self.accounts(srq, 0, 0)
        await self.remove(qp)


@pyuvm.test()
class EventWaitsTest(ReceivePostTest):
    """SRQ-16: while an event waits for the interrupt port, arming and destruction answer BUSY,
    everything else goes on; the event comes once.
    """

    async def scenario(self) -> None:
        host = self.env.host
        srq = await host.create_srq(size=4)
        other = await host.create_srq(size=4)
        # Nothing of them waits, whatever does of others.
        others = [await host.create_srq(size=4) for _ in range(min(self.config.num_srq - 2, 2))]
        qp = await self.qp(srq=srq, log2=4)
        await self.fill(srq, 2)
        for at_once in (False, True):
            events = len(srq.events)
            self.harness.stall(Channel.IRQ, hold=True)
            await self.harness.cycles(16)
            # The port takes what it was offering; this one stands in front.
            await other.set_lw(1)
            await self.harness.cycles(8)
            if at_once:
                await srq.set_lw(4)
            else:
                await srq.set_lw(2)
                await self.take(qp)
                self.receiver.report(qp.number)
                await qp.cq.wait_results(1)
                await self.rest(16)
            status = await srq.status()
            assert (status.waiting, status.armed) == (True, False), status
            for quiet in others:
                status = await quiet.status()
                assert (status.waiting, status.armed) == (False, False), status
            for mark in (1, 2, 4):
                assert await self.result(Cmd.SET_SRQ_WATERMARK, srq.number, mark) == Result.BUSY
            assert await self.result(Cmd.SET_SRQ_WATERMARK, srq.number, 5) == Result.BAD_SIZE
            await srq.set_lw(0)
            assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.IN_USE
            assert await self.result(Cmd.RESIZE_SRQ, srq.number, 4) == Result.OK
            posts = await self.fill(srq, 1)
            assert (await srq.status()).waiting
            if at_once:
                await self.take(qp)
                self.receiver.report(qp.number)
                await qp.cq.wait_results(1)
                await self.rest(16)
                await self.remove(qp)
                assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.BUSY
            assert len(srq.events) == events and posts
            self.harness.stall(Channel.IRQ, hold=False)
            await srq.wait_events(events + 1)
            await self.rest()
            assert len(srq.events) == events + 1
            status = await srq.status()
            assert (status.waiting, status.armed) == (False, False), status
        await srq.free()
        assert (await host.command(Cmd.QUERY_SRQ, srq.number)).result == Result.NO_OBJECT


@pyuvm.test()
class OfferedEventTest(ReceivePostTest):
    """SRQ-16: an event whose beat is offered on the port and not taken waits, too: a query shows
    it, arming and destruction answer BUSY; the beat is taken once.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(size=4)
        for look in (True, False):
            self.harness.stall(Channel.IRQ, hold=True)
            await self.harness.cycles(16)
            await srq.set_lw(1)
            await self.harness.cycles(32)
            if look:
                status = await srq.status()
                assert (status.waiting, status.armed) == (True, False), status
                assert await self.result(Cmd.SET_SRQ_WATERMARK, srq.number, 1) == Result.BUSY
            assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.BUSY
            await self.fill(srq, 1)
            assert not srq.events
            self.harness.stall(Channel.IRQ, hold=False)
            await srq.wait_events(1)
            await self.rest()
            assert len(srq.events) == 1
            assert not (await srq.status()).waiting
            await srq.free()
            await srq.create()
