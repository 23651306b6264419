# SPDX-License-Identifier: Apache-2.0
"""SRQ-16: the low watermark of a shared receive queue: one event for each time it is set, when
fewer buffers than that are available.
"""

from __future__ import annotations

from collections import Counter

import pyuvm

from tb.env.defs import ArmType, Cmd, Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import Interrupt
from tb.env.host.qp import Qp
from tb.env.host.srq import Srq
from tb.tests.common.taking import NOT_READY, TakingTest

BUILD = ["engine", "engine_small"]


class WatermarkTest(TakingTest):
    async def prepare(self, **options: int) -> tuple[Srq, Qp]:
        """An SRQ of four buffers, and a QP that uses it."""
        srq, (qp,) = await self.shared(1, size=4, **options)
        return srq, qp

    async def use(self, qp: Qp, count: int = 1) -> None:
        """Buffers are taken, complete and are polled, one by one."""
        for _ in range(count):
            await self.take(qp, 1)
            self.settle(qp)
            await self.rest(16)
            assert len(qp.recv_cq.get_cq_results_ex()) == 1
            await qp.recv_cq.update_consumer_index()
            await self.rest(16)

    async def demand_events(self, srq: Srq, count: int, armed: bool) -> None:
        """So many events since the last time."""
        await self.rest(32)
        assert len(srq.events) == count, f"{len(srq.events)} events, not {count}"
        srq.events.clear()
        status = await srq.status()
        assert (status.armed, status.waiting) == (armed, False), status


@pyuvm.test()
class OnTakeTest(WatermarkTest):
    """Each T with each number available: nothing while T are left, one event with the take that
    leaves fewer, none after it until T is set again.
    """

    async def scenario(self) -> None:
        srq, qp = await self.prepare()
        for mark in range(1, 5):
            for there in range(mark, 5):
                await self.supply(srq, there)
                await srq.set_lw(mark)
                await self.demand_events(srq, 0, True)
                await self.use(qp, there - mark)
                await self.demand_events(srq, 0, True)
                await self.use(qp)
                await self.demand_events(srq, 1, False)
                await self.use(qp, mark - 1)
                assert await self.code(qp) == NOT_READY
                await self.demand_events(srq, 0, False)
                # Above it and below it again: it is disarmed.
                await self.supply(srq, 4)
                await self.use(qp, 4)
                await self.demand_events(srq, 0, False)
                assert (await srq.status()).watermark == mark


@pyuvm.test()
class AtOnceTest(WatermarkTest):
    """Set when fewer are available already: at once, and disarmed; as often as it is set. Buffers
    that are taken and not reaped are not available.
    """

    async def scenario(self) -> None:
        srq, qp = await self.prepare()
        for there in range(4):
            for mark in range(there + 1, 5):
                await self.supply(srq, there)
                for _ in range(2):
                    await srq.set_lw(mark)
                    await self.demand_events(srq, 1, False)
                await self.supply(srq, 4 - there)
                await self.demand_events(srq, 0, False)
                await self.use(qp, 4)
                await self.demand_events(srq, 0, False)
        await self.supply(srq, 4)
        await self.take(qp, 1)
        await srq.set_lw(4)
        await self.demand_events(srq, 1, False)
        await srq.set_lw(3)
        await self.demand_events(srq, 0, True)
        self.settle(qp)


@pyuvm.test()
class ResizeTest(WatermarkTest):
    """A resize goes not below the watermark, armed or not; it makes no event and keeps the arming;
    the new size is the limit of the next T.
    """

    async def scenario(self) -> None:
        srq, qp = await self.prepare()
        await self.supply(srq, 3)
        await srq.set_lw(3)
        for size in (1, 2):
            assert await self.result(Cmd.RESIZE_SRQ, srq.number, size) == Result.TOO_SMALL
        await srq.resize(3)
        await self.demand_events(srq, 0, True)
        assert await self.result(Cmd.SET_SRQ_WATERMARK, srq.number, 4) == Result.BAD_SIZE
        await self.use(qp)
        await self.demand_events(srq, 1, False)
        assert await self.result(Cmd.RESIZE_SRQ, srq.number, 2) == Result.TOO_SMALL
        await srq.set_lw(1)
        await self.demand_events(srq, 0, True)
        await srq.resize(2)
        await self.use(qp)
        await self.demand_events(srq, 0, True)
        await srq.resize(4)
        await self.use(qp)
        await self.demand_events(srq, 1, False)
        await srq.resize(1)
        await self.supply(srq, 1)
        await self.demand_events(srq, 0, False)


@pyuvm.test()
class TurnsWithEqsTest(WatermarkTest):
    """ISO-04: interrupts of SRQs and of EQs that wait together are sent in turns, whichever of the
    two stands on the port meanwhile.
    """

    async def scenario(self) -> None:
        host = self.env.host
        srqs = [await host.create_srq() for _ in range(min(self.config.num_srq, 3))]
        qps = [await self.qp(page=page) for page in range(2)]
        of_srqs = {srq.vector for srq in srqs}
        for eq_stands in (False, True):
            for qp in qps:
                await self.accept(qp, [self.write_post(qp)])
                assert await qp.cq.arm(ArmType.ANY) == (0, 0)
            await self.rest()
            mark = self.mark
            self.harness.stall(Channel.IRQ, hold=True)
            eqs, others = list(qps), list(srqs)
            if eq_stands:
                self.report(eqs.pop())
            else:
                await others.pop().set_lw(1)
            await self.harness.cycles(100)
            for qp in eqs:
                self.report(qp)
            for srq in others:
                await srq.set_lw(1)
            await self.harness.cycles(100)
            self.harness.stall(Channel.IRQ, hold=False)
            await self.rest()
            sent = [record.vector in of_srqs for record in self.of(Interrupt, mark)]
            left = Counter({True: len(srqs), False: len(qps)})
            for number, srq_sent in enumerate(sent):
                left[srq_sent] -= 1
                if number + 1 < len(sent) and left[not srq_sent]:
                    assert sent[number + 1] != srq_sent, f"the other kind waited: {sent}"
            assert not any(left.values()), f"interrupts of SRQs: {sent}"
            for srq in srqs:
                await self.demand_events(srq, 1, False)
            for qp in qps:
                await qp.cq.wait_results(1)
                await qp.cq.update_consumer_index()
                assert await qp.cq.callback_return() == (0, 0)
