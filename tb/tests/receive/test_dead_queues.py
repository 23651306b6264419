# SPDX-License-Identifier: Apache-2.0
"""CQ-17: messages for queue pairs whose receive CQ is in error."""

from __future__ import annotations

import pyuvm

from tb.env.defs import CqStatus
from tb.env.host.qp import Qp
from tb.tests.common.directed import SLVERR
from tb.tests.common.taking import NOT_READY, TAKEN, TakingTest

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class DeadReceiveCqTest(TakingTest):
    """CQ-17: a receive CQ overflows, or one of its entries fails, while messages come for a QP that
    completes in it and has buffers of its own, and for one of another CQ. From then on messages
    for the first, and for the user of an SRQ with that CQ, find the receiver not ready, although
    buffers are there; the other takes.
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
        await self.supply(srq, 4)
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
