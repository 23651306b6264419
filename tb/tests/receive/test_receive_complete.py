# SPDX-License-Identifier: Apache-2.0
"""What a message needs beside a buffer: an entry of the receive CQ, which is not in error, and room
among those in flight (CQ-17, SRQ-10).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, CqStatus
from tb.env.host.qp import Qp
from tb.tests.common.directed import SLVERR
from tb.tests.common.posting import OK
from tb.tests.common.taking import NOT_READY, REFUSED, TAKEN, TakingTest, Want

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class CreditTest(TakingTest):
    """CQ-17: a take reserves an entry of the receive CQ; without one nothing is taken, another QP
    takes the buffer, and the message is served when the consumer has polled.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(size=4)
        poor = await self.qp(srq=srq, log2=1)
        rich = await self.qp(srq=srq)
        for _ in range(4):
            cookies = await self.supply(srq, 4)
            # In flight or completed and not polled: an entry is an entry.
            await self.answers(self.ask(poor, 1, 2, 3, 4), TAKEN, TAKEN, NOT_READY, NOT_READY)
            self.settle(poor)
            await self.rest()
            assert await self.code(poor) == NOT_READY
            assert await srq.query() == (2, 4)
            self.settle(poor)
            await self.rest()
            async with self.counted(NOT_READY=1, TAKEN=1, DB_OK=0):
                assert await self.code(poor) == NOT_READY
                await self.take(rich, 5)
            self.settle(rich)
            await self.demand(rich, [Want(cookies[2], 5)])
            await self.demand(poor, [Want(cookies[0], 1), Want(cookies[1], 2)])
            await self.take(poor, 6)
            self.settle(poor)
            await self.demand(poor, [Want(cookies[3], 6)])
        assert (await poor.recv_cq.query()).credits == 0


@pyuvm.test()
class InFlightTest(TakingTest):
    """Exactly 2^RX_LOG2 buffers of a QP are in flight, however many are there; a report makes room;
    the limit is that of each QP. A message that is held up by it, or finds no buffer or no
    connection, takes no entry of the receive CQ (CQ-17). Class: a credit leaks with each message
    that takes nothing.
    """

    async def scenario(self) -> None:
        srq, users = await self.shared(2)
        for qp, other in (users, users[::-1], users):
            idle = await self.idle_qp(share=qp, srq=srq)
            cookies = await self.supply(srq, self.most + 2)
            codes = [TAKEN] * self.most + [NOT_READY] * 2
            await self.answers(self.ask(qp, *range(self.most + 2)), *codes)
            assert (await qp.recv_cq.query()).credits == self.most
            await self.take(other, 9)
            self.settle(qp)
            await self.rest(16)
            await self.answers(self.ask(qp, 7, 8), TAKEN, NOT_READY)
            self.settle(qp, *[0] * self.most)
            wanted = [Want(cookie, n) for n, cookie in enumerate(cookies[: self.most])]
            await self.demand(qp, [*wanted, Want(cookies[-1], 7)])
            self.settle(other)
            await self.demand(other, [Want(cookies[self.most], 9)])
            assert await srq.query() == (0, 0)
            await self.answers(self.ask(qp, *[1] * 8), NOT_READY)
            await self.answers(self.ask(idle, *[1] * 8), REFUSED)
            assert (await qp.recv_cq.query()).credits == 0
            await idle.destroy()


@pyuvm.test()
class DeadReceiveCqTest(TakingTest):
    """CQ-17: a receive CQ overflows, or one of its entries fails, while messages come for a QP that
    completes in it and has buffers of its own, and for one of another CQ. From then on messages
    for the first, and for the user of an SRQ with that CQ, find the receiver not ready, although
    although buffers are there; the other takes. A post on an own queue is refused then, one on the
    SRQ is not, nor a send on another CQ.
    """

    async def scenario(self) -> None:
        messages = min(self.most, self.depth, 8)  # the first lead has them all before the error
        for overflow in (True, False):
            taken = [await self.trial(overflow, lead, messages) for lead in range(-16, 48, 4)]
            # The requests came behind the error, before it, and around it.
            assert taken[-1] == 0 and taken[0] == messages, taken
            assert messages == 2 or set(taken) - {0, messages}, taken

    async def trial(self, overflow: bool, lead: int, messages: int) -> int:
        """``lead``: cycles from the report whose completion fails to the first of so many requests
        of each QP, one a cycle. Returns how many buffers were taken of the CQ in error.
        """
        dead = await self.queue(0, reservation=False, log2=1)
        qp = await self.own(messages, recv_cq=dead)
        srq = await self.env.host.create_srq(size=4)
        user = await self.qp(srq=srq, recv_cq=dead)
        await self.supply(srq, 4 if overflow else 3)
        other = await self.own(messages)
        for _ in range(2 if overflow else 0):
            await self.take(user, 1)
            self.settle(user)
        await self.take(user, 1)
        if not overflow:
            self.env.mem.fail(SLVERR, cq=dead.number, count=1)
        await self.rest()
        at = self.harness.cycle + 100
        self.settle(user, at=at)
        pending = {
            to: [self.ask(to, 1, at=at + lead + 2 * i + to.number % 2)[0] for i in range(messages)]
            for to in (qp, other)
        }
        await self.rest()
        status = CqStatus.BUFFER_OVERFLOW if overflow else CqStatus.INTERNAL_ERROR
        assert (await dead.query()).status == status
        await self.answers(pending[other], TAKEN)
        codes = [(await answer).code for answer in pending[qp]]
        taken = codes.count(TAKEN)
        assert codes == [TAKEN] * taken + [NOT_READY] * (messages - taken), codes
        for to in (qp, user):
            assert await self.code(to) == NOT_READY, f"QP {to.number} takes for a CQ in error"
        full = messages == self.depth
        cause = (await qp.post_recv()).cause
        assert cause == (Cause.QUEUE_FULL if full else Cause.CQ_ERROR)
        assert overflow or (await srq.post_recv()).accepted
        sends = await self.accept(qp, [self.write_post(qp)])
        await self.rest()
        self.report(qp)
        await self.demand_results(qp, sends, OK)
        await self.ends(qp, user, other)
        await dead.destroy()
        await srq.free()
        return taken

    async def ends(self, *qps: Qp) -> None:
        """Reports what was taken; all ends, with its send CQs."""
        for qp in qps:
            while self.tags[qp.number]:
                self.settle(qp)
            await self.rest()
            await qp.disconnect()
            await self.rest()
            qp.recv_cq.get_cq_results_ex()
            await self.remove(qp)
