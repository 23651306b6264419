# SPDX-License-Identifier: Apache-2.0
"""Receive posts: what each is answered, on a QP's own queue and on an SRQ (SRQ-12, SRQ-19).
Segments and regions are in test_receive_segments.py.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, QpState, Result, Scatter
from tb.env.host.qp import Qp
from tb.env.host.srq import Srq
from tb.tests.common.receive_posts import ReceivePostTest

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class StatesTest(ReceivePostTest):
    """SRQ-19, SRQ-12: a post to a QP in each of its states; a post to an SRQ in each of its own."""

    #: State of the QP: the answer of its own queue, and that of a QP that uses an SRQ.
    TABLE = (
        (QpState.IDLE, Cause.NONE, Cause.BAD_STATE),
        (QpState.CONNECTED, Cause.NONE, Cause.BAD_STATE),
        (QpState.DISCONNECT_PENDING, Cause.NONE, Cause.BAD_STATE),
        (QpState.DISCONNECTED, Cause.BAD_STATE, Cause.BAD_STATE),
        (QpState.ERROR, Cause.BAD_STATE, Cause.BAD_STATE),
        (QpState.DESTROYING, Cause.NO_QP, Cause.NO_QP),
        (QpState.FREE, Cause.NO_QP, Cause.NO_QP),
    )

    async def scenario(self) -> None:
        host = self.env.host
        srq = await host.create_srq(size=2)
        for state, own, shared in self.TABLE:
            for cause, options in ((own, {"recv_depth": 2}), (shared, {"srq": srq})):
                qp = await self.idle_qp(log2=3, **options)
                await self.to_state(qp, state)
                post = qp.make_recv()
                answer = await qp.queue_recv(post)
                assert answer == (2 if cause else 0, cause), f"{state.name}: {answer}"
                # An SRQ takes posts whatever becomes of the QPs that use it.
                if options.get("srq"):
                    assert (await srq.post_recv()).accepted
                    await self.empty(srq)
                await self.leave(qp, state)
        await self.of_srq()

    async def to_state(self, qp: Qp, state: QpState) -> None:
        """A fresh QP; DESTROYING leaves a request outstanding."""
        if state == QpState.IDLE:
            return
        if state == QpState.FREE:
            await qp.destroy()
            return
        await qp.connect(qp.number ^ 1)
        if state == QpState.ERROR:
            await qp.flush()
        elif state == QpState.DESTROYING:
            await self.accept(qp, [self.write_post(qp)])
            await self.rest(16)
            assert await qp.destroy(wait=False) == Result.PENDING
        elif state != QpState.CONNECTED:
            assert await qp.set_state(state) == Result.OK
        if state != QpState.DESTROYING:
            assert (await qp.query()).state == state

    async def leave(self, qp: Qp, state: QpState) -> None:
        if state == QpState.DESTROYING:
            self.report(qp)
            await self.rest(16)
        if state != QpState.FREE:
            await qp.destroy()
        await self.rest(16)
        qp.cq.get_cq_results()
        await qp.cq.destroy()

    async def empty(self, srq: Srq) -> None:
        """Takes the buffer that is there by a QP of its own."""
        qp = await self.qp(srq=srq, log2=2, context=77)
        await self.take(qp)
        self.receiver.report(qp.number)
        await qp.cq.wait_results(1)
        await self.rest(16)
        await self.remove(qp)

    async def of_srq(self) -> None:
        """Empty, full, armed, with an event behind it, used by nobody, by disconnected QPs."""
        srq = await self.env.host.create_srq(size=2)
        assert (await srq.post_recv()).accepted
        await srq.set_lw(1)
        assert (await srq.post_recv()).accepted
        assert (await srq.post_recv()).cause == Cause.QUEUE_FULL
        qps = [await self.qp(srq=srq, log2=2) for _ in range(2)]
        for qp in qps:
            await self.take(qp)
        await srq.wait_events(1)
        assert (await srq.post_recv()).cause == Cause.QUEUE_FULL
        await qps[0].flush()
        for qp in qps:
            self.receiver.report(qp.number)
            await qp.cq.wait_results(1)
        await self.rest(16)
        await qps[1].disconnect()
        assert (await srq.post_recv()).accepted
        await self.accounts(srq, 1, 1)
        await srq.set_lw(2)
        await srq.wait_events(2)
        assert (await srq.post_recv()).accepted
        await self.accounts(srq, 2, 2)
        # Nobody is there who takes; then the first is connected again.
        for qp in qps:
            answer = await self.receiver.request(qp.number, 0)
            assert answer.code == Scatter.REFUSED
        await self.reconnect(qps[0])
        await self.take(qps[0])
        await self.take(qps[0])
        self.receiver.report(qps[0].number)
        self.receiver.report(qps[0].number)
        await qps[0].cq.wait_results(2)
        await self.accounts(srq, 0, 0)
        await self.remove(*qps)
