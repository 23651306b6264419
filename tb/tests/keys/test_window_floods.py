# SPDX-License-Identifier: Apache-2.0
"""Failures of two queue pairs that meet in any cycle."""

from __future__ import annotations

import pyuvm

from tb.env.defs import Opcode, QpState
from tb.env.host.qp import Qp
from tb.tests.common.posting import FAILED
from tb.tests.common.taking import Want
from tb.tests.common.windowing import INVALID_TOKEN, WindowTest

BUILD = ["engine", "engine_small", "engine_deep"]
LEAD = 300


@pyuvm.test()
class FailsMeetTest(WindowTest):
    """A local request that fails in the cycles in which reports of other QPs fail, too: none
    of them is forgotten.
    """

    async def scenario(self) -> None:
        first = await self.guarded(recv_depth=0)
        qps = [first]
        while len(qps) < min(self.config.num_qp, 12):
            qps.append(await self.guarded(share=first, recv_depth=0))
        for delay in range(0, 40, 2 if len(qps) < 6 else 8):
            for qp in qps:
                await self.revive(qp)
            remote = [self.write_post(qp) for qp in qps[1:]]
            for qp, post in zip(qps[1:], remote, strict=True):
                await self.accept(qp, [post])
            await self.rest()
            mark, at = self.mark, self.harness.cycle + LEAD
            answer = first.queue(first.make(Opcode.INVALIDATE, token=0), at=at)
            for n, qp in enumerate(qps[1:]):
                self.report(qp, FAILED, at=at + delay if not n else None)
            assert await answer == (0, 0)
            await self.rest()
            for qp in qps:
                await self.demand_state(qp, QpState.ERROR)
            terms = sorted(number for number, _ in self.terms(mark))
            assert terms == sorted(qp.number for qp in qps), (delay, terms)
            assert len(first.cq.get_cq_results_ex()) == len(qps)
            await first.cq.update_consumer_index()


@pyuvm.test()
class ReceiveFailsTooTest(WindowTest):
    """A receive that fails in each cycle around the failing report of another QP's request, or the
    failing local request of a third: the connections end, each once. Class: of two failures in one
    cycle one is lost.
    """

    async def scenario(self) -> None:
        receiver = await self.guarded()
        sender = await self.guarded(recv_depth=0)
        self.buffer = await self.memory(64)
        for local in (False, True):
            for offset in range(24) if local else range(-8, 9):
                await self.one(receiver, sender, offset, local)

    async def one(self, receiver: Qp, sender: Qp, offset: int, local: bool) -> None:
        recv = receiver.make_recv([self.buffer.segment(0, 8)])
        assert await receiver.queue_recv(recv) == (0, 0)
        await self.take(receiver, 1)
        post = sender.make(Opcode.INVALIDATE, token=0) if local else self.write_post(sender)
        if not local:
            await self.accept(sender, [post])
        await self.rest()
        mark, at = self.mark, self.harness.cycle + LEAD
        self.settle(receiver, FAILED, at=at + offset)
        if local:
            assert await sender.queue(post, at=at) == (0, 0)
        else:
            self.report(sender, FAILED, at=at)
        await self.demand(receiver, [Want(recv.context, status=FAILED)])
        await self.demand_results(sender, [post], INVALID_TOKEN if local else FAILED)
        ends = sorted((qp.number, QpState.ERROR) for qp in (receiver, sender))
        assert sorted(self.terms(mark)) == ends, f"offset {offset}: {self.terms(mark)}"
        for qp in (receiver, sender):
            await self.demand_state(qp, QpState.ERROR)
            await self.revive(qp)
