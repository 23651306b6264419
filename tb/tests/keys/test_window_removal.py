# SPDX-License-Identifier: Apache-2.0
"""Device removal (MW-09): nothing but cleanup succeeds any more, in every state; what is
outstanding completes once; reset alone ends it.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import QSTATE, TRC_POST, Cause, Cmd, Opcode, QpState, Result, TraceOp
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.srq import Srq
from tb.env.host.windows import MemoryWindow
from tb.tests.common.posting import CANCELED
from tb.tests.common.removing import LEAD, REMOVED, RemovalTest
from tb.tests.common.windowing import GRANTED, READ, ZONE

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class RemovedCommandsTest(RemovalTest):
    """Every command on a removed device, with and without its objects; posts of every kind; a
    page that is not the owner's comes first; a doorbell, polls and callbacks as before.
    """

    async def scenario(self) -> None:
        host = self.env.host
        srq = await host.create_srq(size=4, zone=ZONE)
        qp = await self.guarded()
        user = await self.qp(srq=srq, zone=ZONE, share=qp)
        region, window, fast = await self.memory(64), await self.window(), await self.allocated(64)
        await self.bind(window, qp, region)
        await self.fast_register(fast, qp)
        assert await qp.cq.arm() == (0, 0)
        posts = [self.write_post(qp)]
        await self.accept(qp, posts)
        await self.remove_device()
        await self.refuses(qp)
        foreign = qp.page ^ 1
        post = qp.make(Opcode.SEND, length=4)
        assert await qp.post(post, page=foreign) == Cause.NOT_OWNER
        for queue in (qp, srq):
            result = await queue.post_recv([region.segment(0, 8)])
            assert result.cause == REMOVED, result
        # Numbers of no command, the likes of those that are refused now.
        for number in set(range(256)) - {int(command) for command in Cmd}:
            assert await self.result(number, 0) == Result.UNKNOWN
        # Queries.
        assert (await window.query()).valid and (await region.query()).valid
        assert (await qp.query()).state == QpState.ERROR == (await user.query()).state
        assert (await srq.status()) is not None
        await qp.cq.query()
        await host.query_eq(qp.cq.eq)
        # Outstanding: once, when the transport has reported it.
        assert qp.cq.get_cq_results() == []
        self.report(qp, CANCELED)
        await self.demand_results(qp, posts, CANCELED)
        await qp.cq.wait_callbacks(1)
        assert await qp.cq.callback_return() == (0, 0)
        await self.clean(qp, user, srq, region, window, fast)

    async def clean(
        self, qp: Qp, user: Qp, srq: Srq, region: Region, window: MemoryWindow, fast: Region
    ) -> None:
        host = self.env.host
        assert await self.result(Cmd.DEREGISTER_MR, region.number) == Result.BUSY
        assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.IN_USE
        await window.close()
        await region.deregister()
        await fast.deregister()
        assert await self.result(Cmd.SET_QP_STATE, user.number, QpState.IDLE) == Result.OK
        await user.destroy()
        await qp.destroy()
        assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.OK
        await qp.cq.destroy()
        await host.destroy_eq(qp.cq.eq)
        for code in (Cmd.QUERY_QP, Cmd.QUERY_CQ, Cmd.QUERY_EQ, Cmd.QUERY_SRQ, Cmd.QUERY_MR):
            assert await self.result(code, 0) == Result.NO_OBJECT, code.name
        assert await self.result(Cmd.CREATE_MW, 0) == Result.DEVICE_REMOVED


@pyuvm.test()
class RemovedStatesTest(RemovalTest):
    """QPs in every state: CONNECTED and DISCONNECT_PENDING go to ERROR, each with one terminate
    request; the others stay as they are. After a reset everything works again.
    """

    async def scenario(self) -> None:
        first = await self.guarded()
        pending = await self.guarded(share=first)
        await pending.set_state(QpState.DISCONNECT_PENDING)
        over = await self.guarded(share=first)
        await over.set_state(QpState.DISCONNECTED)
        idle = await self.idle_qp(guarded=True, share=first, zone=ZONE, recv_depth=4)
        await self.rest()
        mark = self.mark
        await self.remove_device()
        wanted = [(q.number, int(QpState.ERROR)) for q in (first, pending)]
        assert sorted(self.terms(mark)) == wanted
        for qp, state in (
            (first, QpState.ERROR),
            (pending, QpState.ERROR),
            (over, QpState.DISCONNECTED),
            (idle, QpState.IDLE),
        ):
            await self.demand_state(qp, state)
            post = qp.make(Opcode.SEND, length=4)
            assert await qp.post(post) == REMOVED
        await self.start_over()
        qp = await self.guarded()
        region, window = await self.memory(64), await self.window()
        await self.bind(window, qp, region)
        await self.demand_verdict(qp, GRANTED, READ, window.key, region.base, 8)


@pyuvm.test()
class HeldAtRemovalTest(RemovalTest):
    """DF-04, MW-09: a post that fails DEVICE_REMOVED while the connection of its QP has not ended
    yet releases what the QP holds.
    """

    async def scenario(self) -> None:
        failing = 0
        for offset in range(0, 60, 2):
            failing += await self.trial(offset)
            await self.start_over()
        assert failing

    async def trial(self, offset: int) -> int:
        """A post this many cycles after the command; how many failed in a QP still connected."""
        first = await self.guarded(recv_depth=0)
        others = self.config.num_qp - 1
        # The last one of those whose connections end.
        last = [await self.guarded(share=first, recv_depth=0) for _ in range(others)][-1]
        await self.accept(last, [self.write_post(last, defer=True)])
        await self.rest(32)
        mark, start = self.mark, self.harness.cycle + LEAD
        task = self.command_at(start, Cmd.REMOVE_DEVICE, 0, *[0] * 7)
        answer = last.queue(self.write_post(last, defer=True), at=start + offset)
        assert (await task).result == Result.OK
        await answer
        await self.rest()
        failing = 0
        for step in self.steps(last, TraceOp.POST, mark):
            removed = TRC_POST["cause"].get(step.operand) == REMOVED
            if removed and QSTATE["state"].get(step.old) == QpState.CONNECTED:
                failing += 1
                old, new = (QSTATE["released"].get(state) for state in (step.old, step.new))
                assert old + 1 & self.mask == new, offset
        for _ in self.beats(last, mark):
            self.report(last, CANCELED)
        await self.rest()
        last.cq.get_cq_results()
        return failing


@pyuvm.test()
class ForeignReapTest(RemovalTest):
    """ISO-01, MW-09: reaping is cleanup, and still the owner's alone."""

    async def scenario(self) -> None:
        host = self.env.host
        srq = await host.create_srq(size=4, zone=ZONE)
        srq.auto_reap = False
        qp = await self.guarded(srq=srq)
        target = await self.memory(64)
        posts = [srq.make_recv([target.segment(0, 32)]) for _ in range(3)]
        for answer in srq.queue_recv_many(posts):
            assert (await answer).cause == Cause.NONE
        await self.take(qp, 1, 1)
        self.settle(qp)
        self.settle(qp)
        await self.rest()
        await self.remove_device()
        index = (await srq.status()).completed
        for page in range(1, min(self.config.num_pages, 4)):
            assert await srq.reap(index, page=page) == (2, Cause.NOT_OWNER)
        assert await srq.reap(index) == (0, 0)
