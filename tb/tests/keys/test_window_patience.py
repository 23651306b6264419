# SPDX-License-Identifier: Apache-2.0
"""A local request and a command beside messages that invalidate in every cycle (ISO-04)."""

from __future__ import annotations

import pyuvm

from tb.env.defs import TRC_INVALIDATE, Cause, Cmd, Opcode, Result, TraceOp
from tb.env.host.qp import Qp
from tb.tests.common.taking import TAKEN
from tb.tests.common.windowing import ZONE, WindowTest

BUILD = "engine"

LEAD = 200


@pyuvm.test()
class RequestBesideMessagesTest(WindowTest):
    """A message that invalidates in every cycle, for many cycles: a local request and a command
    are executed among them (ISO-04).
    """

    users = 14
    each = 4

    async def scenario(self) -> None:
        recv_cq = await self.queue(reservation=True, log2=7)
        srq = await self.env.host.create_srq(size=64, zone=ZONE)
        first = await self.guarded(srq=srq, recv_cq=recv_cq)
        more = range(self.users - 1)
        qps = [first, *[await self.guarded(srq=srq, recv_cq=recv_cq, share=first) for _ in more]]
        asker, target = await self.guarded(share=first, recv_depth=0), await self.memory(256)
        own, idle = await self.window(), await self.window()
        await self.bind(own, asker, target)
        keys: list[tuple[Qp, int]] = []
        for qp in qps:
            windows = [await self.window() for _ in range(self.each)]
            posts = [window.make_bind(qp, target) for window in windows]
            await self.accept(qp, posts)
            await self.demand_results(qp, posts, *[0] * self.each)
            keys += [(qp, (await window.refresh()).key) for window in windows]
        buffers = [srq.make_recv([target.segment(0, 8)]) for _ in keys]
        for answer in srq.queue_recv_many(buffers):
            assert (await answer).cause == Cause.NONE
        mark, at = self.mark, self.harness.cycle + LEAD
        request = asker.make(Opcode.INVALIDATE, token=own.key)
        accepted = asker.queue(request, at=at)
        closed = self.command_at(at, Cmd.CLOSE_MW, idle.number)
        await self.answers([self.send_invalidate(q, k, at=at) for q, k in keys], TAKEN)
        assert (await accepted)[1] == 0
        assert (await closed).result == Result.OK
        await self.rest()
        steps = self.key_steps(TraceOp.INVALIDATE, mark)
        peers = [step.cycle for step in steps if TRC_INVALIDATE["peer"].get(step.operand)]
        (local,) = [step.cycle for step in steps if not step.operand >> TRC_INVALIDATE["peer"].lsb]
        assert len(peers) == len(keys)
        assert peers[0] < local < peers[-1], f"the request waited: {local}, {peers}"
        (close,) = self.key_steps(TraceOp.KEY_COMMAND, mark)
        assert peers[0] < close.cycle < peers[-1], f"the command waited: {close.cycle}, {peers}"
        await self.demand_results(asker, [request], 0)
        for qp in qps:
            self.settle(qp, *[0] * self.each)
        assert len(await recv_cq.wait_results(len(keys))) == len(keys)
