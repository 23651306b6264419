# SPDX-License-Identifier: Apache-2.0
"""Taking and completing: message order, receive CQs, credits, buffers in flight, rates and states
(SRQ-02, SRQ-04 to SRQ-06, SRQ-09, SRQ-10, SRQ-13, SRQ-18, CQ-17).
"""

from __future__ import annotations

import pyuvm

from tb.env.agents.base import Pending
from tb.env.agents.receive import Answer
from tb.env.defs import Cause, Cmd, CqStatus, QpState, Result
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.tests.common.taking import NOT_READY, REFUSED, TAKEN, TakingTest, Want, canceled

BUILD = ["engine", "engine_small"]

#: An answer comes at most so many cycles after its request.
BOUND = 7


@pyuvm.test()
class OrderTest(TakingTest):
    """SRQ-10: several messages of each QP in flight, reported in any order across QPs: each QP's
    complete in message order; buffers of the SRQ are taken in post order.
    """

    async def scenario(self) -> None:
        self.order = self.rng("order")
        srq, users = await self.shared(2)
        qps = [*users, await self.own(), await self.own()]
        for _ in range(12):
            await self.round(srq, qps)

    async def round(self, srq: ReceiveQueue, qps: list[Qp]) -> None:
        rng = self.order
        each = self.most
        pool = iter(await self.supply(srq, 2 * each if each * 2 <= 4 else 4))
        own = {qp: iter(await self.supply(qp, min(each, self.depth))) for qp in qps[2:]}
        turns = [qp for qp in qps[:2] for _ in range(min(each, 2))]
        turns += [qp for qp in qps[2:] for _ in range(min(each, self.depth))]
        rng.shuffle(turns)
        wanted: dict[Qp, list[Want]] = {qp: [] for qp in qps}
        pending: list[Pending[Answer]] = []
        for n, qp in enumerate(turns):
            wanted[qp].append(Want(next(own.get(qp, pool)), n))
            pending += self.ask(qp, n)
        await self.answers(pending, TAKEN)
        rng.shuffle(turns)
        for qp in turns:
            self.settle(qp)
        for qp in qps:
            await self.demand(qp, wanted[qp])


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
class CqErrorTest(TakingTest):
    """A receive CQ in error: neither an SRQ's user nor a QP with its own queue takes anything,
    others do; what was taken is dropped when it completes, and is over.
    """

    async def scenario(self) -> None:
        srq, (broken, sound) = await self.shared(2, size=4)
        own = await self.env.host.create_qp(cq=broken.cq, recv_depth=2)
        await own.connect(1)
        cookies = await self.supply(srq, 3)
        await self.supply(own, 2)
        await self.take(own, 2)
        await self.take(broken, 1)
        self.env.mem.fail(cq=broken.cq.number)
        self.settle(broken)
        await self.rest()
        assert (await broken.cq.query()).status == CqStatus.INTERNAL_ERROR
        assert await self.code(broken) == NOT_READY
        region = await self.region()
        posted = await own.post_recv([region.segment(0, 8)])
        assert posted.cause in (Cause.CQ_ERROR, Cause.QUEUE_FULL), posted
        assert await self.code(own) == NOT_READY
        self.settle(own)
        await self.take(sound, 3)
        self.settle(sound)
        await self.demand(sound, [Want(cookies[1], 3)])
        await self.env.host.read_log()
        for qp in (broken, own):
            assert await qp.destroy() == Result.OK
        await self.rest()
        await self.env.host.read_log()
        await self.take(sound, 4)
        self.settle(sound)
        await self.demand(sound, [Want(cookies[2], 4)])


@pyuvm.test()
class InFlightTest(TakingTest):
    """Exactly 2^RX_LOG2 buffers of a QP are in flight, however many are there; a report makes room;
    the limit is that of each QP.
    """

    async def scenario(self) -> None:
        srq, users = await self.shared(2)
        for qp in (*users, users[0]):
            other = users[1] if qp is users[0] else users[0]
            size = min(self.most + 2, srq.size)
            cookies = await self.supply(srq, size)
            codes = [TAKEN] * self.most + [NOT_READY] * 2
            lengths = range(self.most + 2)
            await self.answers(self.ask(qp, *lengths), *codes)
            if size > self.most:
                await self.take(other, 9)
            wanted = [Want(cookie, n) for n, cookie in enumerate(cookies[: self.most])]
            extra = cookies[self.most + 1 :] if size > self.most else []
            if extra:
                self.settle(qp)
                await self.rest(16)
                await self.answers(self.ask(qp, 7, 8), TAKEN, NOT_READY)
                wanted.append(Want(extra[0], 7))
            self.settle(qp, *[0] * (len(wanted) - bool(extra)))
            await self.demand(qp, wanted)
            if size > self.most:
                self.settle(other)
                await self.demand(other, [Want(cookies[self.most], 9)])
            assert await srq.query() == (0, 0)


@pyuvm.test()
class RateTest(TakingTest):
    """One request per cycle, over all QPs in turns and on one QP back to back; each answer comes
    within the bound, one per cycle.
    """

    async def scenario(self) -> None:
        count = min(4, self.config.num_qp)
        srq, (first, second) = await self.shared(2)
        own = [await self.own(depth=4) for _ in range(count - 2)]
        each = min(self.most, 2)
        for turn in range(6):
            pool = await self.supply(srq, 2 * each)
            mine = {qp: await self.supply(qp, each) for qp in own}
            qps = [first, second, *own]
            order = qps * each if turn % 2 else [qp for qp in qps for _ in range(each)]
            await self.rest()
            mark = self.mark
            start = self.harness.cycle + 64
            pending: list[Pending[Answer]] = []
            for n, qp in enumerate(order):
                pending += self.ask(qp, n, at=start)
            await self.answers(pending, TAKEN)
            await self.rest()
            asked, answered = self.asked_at(mark), self.answered_at(mark)
            assert asked == list(range(asked[0], asked[0] + len(order))), asked
            late = [b - a for a, b in zip(asked, answered, strict=True)]
            assert max(late) <= BOUND, late
            taken = iter(pool)
            wanted: dict[Qp, list[Want]] = {qp: [] for qp in qps}
            for n, qp in enumerate(order):
                cookie = mine[qp].pop(0) if qp in mine else next(taken)
                wanted[qp].append(Want(cookie, n))
            for qp in order:
                self.settle(qp)
            for qp in qps:
                await self.demand(qp, wanted[qp])


@pyuvm.test()
class StatesTest(TakingTest):
    """SRQ-13: only CONNECTED and DISCONNECT_PENDING take; a refused request takes nothing and is
    logged only if the QP does not exist.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq()
        for shared in (False, True):
            depth = 0 if shared else self.depth
            qp = await self.idle_qp(srq=srq if shared else None, recv_depth=depth)
            cookies = await self.supply(srq if shared else qp, 2)
            await self.refused_request(qp)
            await qp.connect(7)
            await self.take(qp, 1)
            assert await qp.set_state(QpState.DISCONNECT_PENDING) == Result.OK
            await self.take(qp, 2)
            self.settle(qp)
            assert await qp.set_state(QpState.DISCONNECTED) == Result.OK
            await self.refused_request(qp)
            self.settle(qp)
            await self.demand(qp, [Want(cookies[0], 1), Want(cookies[1], 2)])
            await self.refused_request(qp)
            await self.reconnect(qp)
            cookies = await self.supply(srq if shared else qp, 2)
            await self.take(qp, 3)
            await qp.flush()
            await self.refused_request(qp)
            assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.PENDING
            await self.refused_request(qp, logged=None)
            self.settle(qp, 1)
            await self.rest()
            assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.OK
            await self.refused_request(qp, logged=True)
            await self.demand(qp, canceled(cookies[: 1 if shared else 2]))
            del self.env.host.qps[qp.number]
        assert await srq.query() == (1, 1)

    async def refused_request(self, qp: Qp, logged: bool | None = False) -> None:
        """``logged``: in the error log; None: that is not demanded."""
        mark = self.mark
        async with self.counted(RECV_REFUSED=1):
            answer = await self.receiver.request(qp.number, 1)
        assert (answer.code, answer.tag, answer.srq) == (REFUSED, 0, False)
        assert self.of_lane(0x50, qp.number, mark) == []
        wanted = [self.log_of(Cause.RREQ_BAD, qp.number)] if logged else []
        found = await self.env.host.read_log()
        assert logged is None or found == wanted
