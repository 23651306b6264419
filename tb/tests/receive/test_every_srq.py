# SPDX-License-Identifier: Apache-2.0
"""Bits of state kept for each shared receive queue: what sets or clears that of one number does so
for this one alone.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, Cmd, Result
from tb.env.harness.harness import Channel
from tb.env.host.srq import Srq
from tb.tests.common.posting import OK
from tb.tests.common.taking import TakingTest

BUILD = ["engine", "engine_small"]

#: Cycles between two messages that take the last buffers of two SRQs.
GAPS = range(12)


@pyuvm.test()
class EverySrqTest(TakingTest):
    """SRQ-01: SRQs come and go in any order: after each step queries, receive posts and QPs that
    would use it find every number as it was before, but for one.
    """

    async def scenario(self) -> None:
        host, count, rng = self.env.host, self.config.num_srq, self.rng("order")
        self.cq = await self.queue(reservation=True)
        srqs = [await host.create_srq(number, size=1) for number in range(count)]
        for srq in srqs:
            await srq.free()
        there: set[Srq] = set()
        await self.probe(srqs, there)
        for srq in rng.sample(srqs, count):
            await srq.create()
            there.add(srq)
            await self.probe(srqs, there)
        for srq in rng.sample(srqs, count):
            await srq.free()
            there.remove(srq)
            await self.probe(srqs, there)
            await srq.create()
            await self.probe(srqs, there | {srq})
            await srq.free()

    async def probe(self, srqs: list[Srq], there: set[Srq]) -> None:
        """Exactly these exist. A buffer stays in those that are posted to."""
        for srq in srqs:
            found = await self.result(Cmd.QUERY_SRQ, srq.number)
            assert found == (Result.OK if srq in there else Result.NO_OBJECT), srq.number
            cause = (await srq.post_recv()).cause
            wanted = {Cause.NONE, Cause.QUEUE_FULL} if srq in there else {Cause.NO_SRQ}
            assert cause in wanted, f"SRQ {srq.number}: {cause}"
            if srq in there:
                qp = await self.env.host.create_qp(cq=self.cq, srq=srq)
                assert (await srq.status()).users == 1
                assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.IN_USE
                await qp.destroy()


@pyuvm.test()
class EveryWatermarkTest(TakingTest):
    """SRQ-09: the event of each SRQ waits for the interrupt port: the query of this one says so,
    its watermark can not be set, and it can not be destroyed; all others can. Then two in a row, at
    every distance.
    """

    async def scenario(self) -> None:
        srqs = []
        qps = []
        for _ in range(self.config.num_srq):
            srq, (qp,) = await self.shared(1)
            srqs.append(srq)
            qps.append(qp)
        for srq in srqs:
            self.harness.hold(Channel.IRQ)
            await srq.set_lw(1)
            assert await self.result(Cmd.SET_SRQ_WATERMARK, srq.number, 1) == Result.BUSY
            await self.waiting(srqs, {srq})
            self.harness.hold(Channel.IRQ, False)
            await srq.wait_events(1)
            await self.rest(16)
            await self.waiting(srqs, set())
            assert await self.result(Cmd.SET_SRQ_WATERMARK, srq.number, 0) == Result.OK
        self.harness.hold(Channel.IRQ)
        for n, srq in enumerate(srqs):
            await srq.set_lw(1)
            await self.waiting(srqs, set(srqs[: n + 1]))
        for _ in srqs:
            self.harness.hold(Channel.IRQ, False)
            await self.harness.cycles(1)
            self.harness.hold(Channel.IRQ)
            await self.rest(16)
            await self.waiting(srqs, {srq for srq in srqs if len(srq.events) == 1})
        self.harness.hold(Channel.IRQ, False)
        for srq in srqs:
            await srq.wait_events(2)
        await self.waiting(srqs, set())
        for gap in GAPS:
            first, second = (n % len(srqs) for n in (gap, gap + 1))
            for n in (first, second):
                await self.supply(srqs[n], 1)
                await srqs[n].set_lw(1)
            await self.rest(16)
            calls = [len(srq.events) for srq in srqs]
            at = self.harness.cycle + 64
            pending = self.ask(qps[first], 1, at=at) + self.ask(qps[second], 1, at=at + 1 + gap)
            for answer in pending:
                assert (await answer).taken
            await self.rest(16)
            calls[first] += 1
            calls[second] += 1
            assert [len(srq.events) for srq in srqs] == calls
            await self.waiting(srqs, set())
            for n in (first, second):
                self.settle(qps[n])
                assert [int(r.status) for r in await qps[n].recv_cq.wait_results(1)] == [OK]
                await qps[n].recv_cq.update_consumer_index()
        for srq, qp in zip(srqs, qps, strict=True):
            await qp.flush()
            await qp.destroy()
            self.harness.hold(Channel.IRQ)
            await srq.set_lw(1)
            assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.BUSY
            self.harness.hold(Channel.IRQ, False)
            await self.rest(16)
            await srq.free()

    async def waiting(self, srqs: list[Srq], wanted: set[Srq]) -> None:
        """Events of exactly these wait."""
        found = {srq for srq in srqs if (await srq.status()).waiting}
        assert found == wanted, f"SRQs {[srq.number for srq in found]}"
