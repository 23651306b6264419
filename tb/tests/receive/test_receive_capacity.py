# SPDX-License-Identifier: Apache-2.0
"""Receive posts and what they need: slots, entries of the receive CQ; and what they leave alone:
the initiator side (DF-10, CQ-17, SRQ-09, SRQ-15, SRQ-17, SRQ-19).
"""

from __future__ import annotations

from dataclasses import replace

import pyuvm

from models.post.post import Segment
from models.receive.receive_post import RecvPost
from tb.env.defs import Cause, CqeStatus, CqStatus
from tb.env.host.qp import Qp
from tb.tests.common.posting import OK
from tb.tests.common.receive_posts import ReceivePostTest

BUILD = ["engine", "engine_small"]

CANCELED = CqeStatus.CANCELED


@pyuvm.test()
class OwnQueueFullTest(ReceivePostTest):
    """QUEUE_FULL exactly at the depth, at every depth, back to back; a slot is free again when its
    buffer has completed, not when it is taken.
    """

    async def scenario(self) -> None:
        most = 1 << self.config.rq_log2
        for depth in range(most + 1):
            qp = await self.qp(recv_depth=depth, log2=5)
            first = await self.overfill(qp, depth)
            if not depth:
                await self.remove(qp)
                continue
            await self.take(qp)
            assert (await qp.post_recv()).cause == Cause.QUEUE_FULL
            self.receiver.report(qp.number)
            await self.demand_received(qp, first[:1])
            second = await self.overfill(qp, 1)
            rest = [*first[1:], *second]
            await self.consume(qp, rest)
            third = await self.overfill(qp, depth)
            await qp.flush()
            await self.demand_received(qp, third, status=CANCELED)
            await self.reconnect(qp)
            await self.consume(qp, await self.overfill(qp, depth))
            await self.remove(qp)

    async def overfill(self, qp: Qp, room: int) -> list[RecvPost]:
        """More posts than there is room, one per cycle."""
        posts = [qp.make_recv() for _ in range(room + 3)]
        answers = [await answer for answer in qp.queue_recv_many(posts)]
        full = (2, Cause.QUEUE_FULL)
        assert answers == [(0, 0)] * room + [full] * 3, (room, answers)
        return posts[:room]


@pyuvm.test()
class ReceiveCreditsTest(ReceivePostTest):
    """CQ-17: a post on a QP's own queue takes one entry of the receive CQ, refused ones none, posts
    to an SRQ none; NO_CREDIT exactly when there is no entry, whoever took them.
    """

    async def scenario(self) -> None:
        host = self.env.host
        first = await self.qp(log2=2, recv_depth=4)
        second = await self.qp(share=first, recv_depth=4)
        cq = first.cq
        none = (2, Cause.NO_CREDIT)
        # Back to back, two QPs and two kinds of requests on one CQ.
        sends = [self.write_post(first), self.write_post(first)]
        receives = [first.make_recv(), second.make_recv()]
        answers = [
            first.queue(sends[0]),
            first.queue_recv(receives[0]),
            second.queue_recv(replace(receives[1], reserved=1)),
            second.queue_recv(receives[1]),
            first.queue_recv(replace(receives[0], num_segments=4)),
            first.queue(sends[1]),
            second.queue_recv(second.make_recv()),
            first.queue_recv(first.make_recv()),
            second.queue(self.write_post(second)),
        ]
        found = [await answer for answer in answers]
        assert found[:7] == [
            *((0, 0), (0, 0), (2, Cause.RESERVED_BITS), (0, 0)),
            *((2, Cause.TOO_MANY_SEGMENTS), (0, 0), none),
        ]
        assert found[7:] == [none, none]
        assert (await cq.query()).credits == 4
        srq = await host.create_srq(size=4)
        await self.fill(srq, 4)
        # An entry comes back when the consumer says that it has polled it.
        await self.take(second)
        self.receiver.report(second.number)
        result = await cq.wait_results(1)
        assert result[0].request_context == receives[1].context
        assert (await second.post_recv()).cause == Cause.NO_CREDIT
        await cq.update_consumer_index()
        extra = [second.make_recv(), second.make_recv()]
        pair = [await answer for answer in second.queue_recv_many(extra)]
        assert pair == [(0, 0), none]
        await self.take(first)
        self.receiver.report(first.number)
        await self.demand_received(first, receives[:1])
        await self.rest()
        self.report(first, 0, 0)
        await self.demand_results(first, sends, OK)
        await self.consume(second, extra[:1])
        assert (await cq.query()).credits == 0
        await self.remove(first, second)
        await self.two_queues()
        await self.unreserved()

    async def two_queues(self) -> None:
        """Another CQ for sends: each kind takes entries of its own."""
        host = self.env.host
        send_cq = await self.queue(reservation=True, log2=1)
        recv_cq = await self.queue(reservation=True, log2=1)
        qp = await host.create_qp(cq=send_cq, recv_cq=recv_cq, recv_depth=4)
        await qp.connect(qp.number ^ 1)
        posts = await self.fill(qp, 2)
        assert (await qp.post_recv()).cause == Cause.NO_CREDIT
        sends = await self.accept(qp, [self.write_post(qp) for _ in range(2)])
        assert await qp.post(self.write_post(qp)) == Cause.NO_CREDIT
        assert ((await send_cq.query()).credits, (await recv_cq.query()).credits) == (2, 2)
        await self.consume(qp, posts)
        await self.rest()
        self.report(qp, 0, 0)
        await self.demand_results(qp, sends, OK)
        await qp.destroy()
        await send_cq.destroy()
        await recv_cq.destroy()

    async def unreserved(self) -> None:
        """A CQ without reservation refuses nothing."""
        cq = await self.queue(reservation=False, log2=1)
        qp = await self.env.host.create_qp(cq=cq, recv_depth=4)
        await qp.connect(qp.number ^ 1)
        posts = await self.fill(qp, 4)
        assert (await qp.post_recv()).cause == Cause.QUEUE_FULL
        await self.consume(qp, posts)
        await self.remove(qp)


@pyuvm.test()
class ReceiveCqErrorTest(ReceivePostTest):
    """CQ-17: a receive CQ in error refuses posts on own queues, not those on an SRQ, and not sends
    to another CQ; what was posted is flushed with its QP.
    """

    async def scenario(self) -> None:
        host = self.env.host
        srq = await host.create_srq(size=2)
        send_cq = await self.queue(reservation=True, log2=3)
        recv_cq = await self.queue(reservation=True, log2=3)
        own = await host.create_qp(cq=send_cq, recv_cq=recv_cq, recv_depth=4)
        user = await host.create_qp(cq=send_cq, recv_cq=recv_cq, srq=srq)
        for qp in (own, user):
            await qp.connect(qp.number ^ 1)
        await self.fill(own, 2)
        await self.take(own)
        self.env.mem.fail(cq=recv_cq.number)
        await self.harness.cycles(4)
        self.receiver.report(own.number)
        await self.rest()
        assert (await recv_cq.query()).status == CqStatus.INTERNAL_ERROR
        for _ in range(2):
            assert (await own.post_recv()).cause == Cause.CQ_ERROR
        await self.fill(srq, 2)
        sends = await self.accept(own, [self.write_post(own)])
        await self.rest()
        self.report(own)
        await self.demand_results(own, sends, OK)
        await own.destroy()
        await user.destroy()
        await recv_cq.destroy()
        recv_cq = await self.queue(reservation=True, log2=3)
        own.recv_cq = recv_cq
        await own.create()
        await own.connect(1)
        await self.consume(own, await self.fill(own, 1))


@pyuvm.test()
class InitiatorTest(ReceivePostTest):
    """DF-10: receive posts that fail, by each cause, and those that are accepted leave what the QP
    holds; what it holds leaves receives alone.
    """

    async def scenario(self) -> None:
        host = self.env.host
        region = await host.register(16, zone=1)
        srq = await host.create_srq(size=1)
        qp = await self.qp(log2=3, recv_depth=2, watermark=0, age=0)
        other = await self.qp(page=1, log2=2, srq=await host.create_srq(size=1, page=1))
        held = await self.hold(qp, 3)
        sent = await self.hold(other, 2)
        mark = self.mark
        good = qp.make_recv([Segment()])
        bad = {
            Cause.BURST: (good, {"length": 3}),
            Cause.BAD_SIZE: (good, {"size": 5}),
            Cause.BAD_PAGE: (good, {"page": self.config.num_pages}),
            Cause.BAD_QP: (replace(good, number=self.config.num_qp), {}),
            Cause.NO_QP: (replace(good, number=self.config.num_qp - 1), {}),
            Cause.NOT_OWNER: (good, {"page": 1}),
            Cause.RESERVED_BITS: (replace(good, reserved=1), {}),
            Cause.TOO_MANY_SEGMENTS: (replace(good, num_segments=4), {}),
            Cause.BAD_REGION: (qp.make_recv([Segment(0, 1, 0)]), {}),
            Cause.BAD_ZONE: (qp.make_recv([region.segment()]), {}),
        }
        for cause, (post, options) in bad.items():
            assert await qp.queue_recv(post, **options) == (2, cause)
        assert (await other.post_recv()).cause == Cause.BAD_STATE
        receives = await self.fill(qp, 2)
        assert (await qp.post_recv()).cause == Cause.QUEUE_FULL
        await self.fill(srq, 1)
        assert (await srq.post_recv()).cause == Cause.QUEUE_FULL
        assert await srq.queue_recv(replace(good, number=qp.number), page=1) == (
            2,
            Cause.NOT_OWNER,
        )
        # Messages are taken and complete beside what is held.
        await self.consume(qp, receives)
        assert self.beats(qp, mark) == [] == self.beats(other, mark)
        for one, posts in ((qp, held), (other, sent)):
            status = await one.query()
            assert (status.tail - status.released) & self.mask == len(posts), status
        # Three entries of the CQ are left; then neither side gets one, and nothing is released.
        receives = await self.fill(qp, 2)
        share = await self.qp(share=qp, recv_depth=4)
        mine = await self.fill(share, 3)
        assert (await share.post_recv()).cause == Cause.NO_CREDIT
        await self.rest()
        assert self.beats(qp, mark) == []
        await self.consume(share, mine)
        await self.consume(qp, receives)
        # A failing post to the send portal does release it, a good one of the other QP, too.
        assert await qp.post(replace(self.write_post(qp), opcode=0)) == Cause.BAD_OPCODE
        await self.rest()
        self.demand_beats(qp, held, mark)
        sent += await self.accept(other, [self.write_post(other)])
        await self.rest()
        self.demand_beats(other, sent, mark)
        for one, posts in ((qp, held), (other, sent)):
            self.report(one, *[0] * len(posts))
            await self.demand_results(one, posts, OK)
