# SPDX-License-Identifier: Apache-2.0
"""Two things meet on a receive queue or on a QP that receives, at every offset: posts, takes,
reaps, watermarks, reports, ends of connections, destruction. Each outcome that the order allows is
demanded to the end: every buffer completes once, nothing is stranded.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyuvm

from tb.env.defs import Cmd, CqeStatus, QpState, Result
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.tests.common.posting import FAILED
from tb.tests.common.taking import (
    LENGTH,
    LENGTH_ERROR,
    NOT_READY,
    REFUSED,
    TAKEN,
    TOO_LONG,
    TakingTest,
    Want,
    canceled,
)

BUILD = ["engine", "engine_small", "engine_deep"]

OFFSETS = range(-9, 10)
#: From a command that is offered to what it does: within these cycles.
COMMAND = range(-4, 40)
#: Cycles by which the step of a command comes later than that of an event.
COMMAND_LAG = 12
LEAD = 150  # cycles from setting a trial up to its centre


class MeetingTest(TakingTest):
    def soon(self) -> int:
        """The centre of a trial."""
        return self.harness.cycle + LEAD

    async def both(self) -> list[tuple[ReceiveQueue, Qp]]:
        """An SRQ with its user, a QP with a queue of its own."""
        srq, (user,) = await self.shared(1, size=4)
        own = await self.own(depth=4)
        return [(srq, user), (own, own)]

    async def use(self, qp: Qp, cookies: Sequence[int]) -> None:
        """These buffers are there, in this order, and no others."""
        for n, cookie in enumerate(cookies):
            await self.take(qp, n)
            self.settle(qp)
            await self.demand(qp, [Want(cookie, n)])
        assert await self.code(qp) == NOT_READY


def changes_once(found: Sequence[object]) -> None:
    """Both outcomes occur, one before the other."""
    edges = [a != b for a, b in pairwise(found)]
    assert sum(edges) == 1, found


@pyuvm.test()
class WatermarkMeetsTest(MeetingTest):
    """The watermark is set while a buffer is posted or taken: one event, once, or still armed."""

    async def scenario(self) -> None:
        srq, (qp,) = await self.shared(1, size=4)
        region = await self.region()
        armed = []
        for offset in COMMAND:
            cookies = await self.supply(srq, 1)
            at = self.soon()
            task = self.command_at(at, Cmd.SET_SRQ_WATERMARK, srq.number, 2)
            post = srq.make_recv([region.segment(0, LENGTH)])
            answer = srq.queue_recv(post, at=at + offset)
            assert (await task).result == Result.OK
            assert await answer == (0, 0)
            await self.rest()
            armed.append((await srq.status()).armed)
            assert len(srq.events) == int(not armed[-1])
            await self.use(qp, [*cookies, post.context])
            assert len(srq.events) == 1
            srq.events.clear()
        changes_once(armed)
        for offset in COMMAND:
            for there in (2, 3):
                cookies = await self.supply(srq, there)
                at = self.soon()
                task = self.command_at(at, Cmd.SET_SRQ_WATERMARK, srq.number, 2)
                pending = self.ask(qp, 5, at=at + offset)
                assert (await task).result == Result.OK
                await self.answers(pending, TAKEN)
                self.settle(qp)
                await self.demand(qp, [Want(cookies[0], 5)])
                status = await srq.status()
                assert (status.armed, len(srq.events)) == (there == 3, int(there == 2))
                await self.use(qp, cookies[1:])
                assert len(srq.events) == 1
                srq.events.clear()


class EndMeetingTest(MeetingTest):
    """Something meets the end of a connection."""

    def end_at(self, qp: Qp, at: int, way: int) -> None:
        """Ends it by an event, by commands; these are offered so much earlier that their steps come
        in the same cycle.
        """
        if way == 0:
            self.env.conn.send(qp.number, at_cycle=at)
        elif way == 1:
            self.command_at(at - COMMAND_LAG, Cmd.FLUSH_QP, qp.number)
        else:
            self.command_at(at - COMMAND_LAG, Cmd.SET_QP_STATE, qp.number, QpState.DISCONNECTED)

    async def over(self, qp: Qp, wanted: Sequence[Want], left: Sequence[int], mark: int) -> None:
        """The connection has ended, the transport was told once; the rest is flushed or stays."""
        shared = qp.srq is not None
        await self.demand(qp, [*wanted, *([] if shared else canceled(left))])
        assert len(self.terms(mark)) == 1
        await self.reconnect(qp)
        await self.use(qp, left if shared else [])


@pyuvm.test()
class TakeMeetsEndTest(EndMeetingTest):
    """Messages in a row around the end of a connection: up to one of them each takes, then each is
    refused; with and without one in flight before.
    """

    async def scenario(self) -> None:
        for _, qp in await self.both():
            queue = qp.srq or qp
            for way in range(3):
                taken = set()
                # Requests wait while the engine carries out SET_QP_STATE.
                for offset in OFFSETS if way < 2 else range(30):
                    before = offset % 2
                    cookies = await self.supply(queue, 4)
                    await self.take(qp, *[9] * before)
                    await self.rest()
                    mark, at = self.mark, self.soon()
                    self.end_at(qp, at + offset, way)
                    pending = self.ask(qp, 1, 2, 3, 4, at=at)
                    await self.rest()
                    codes = [answer.code for answer in [await p for p in pending]]
                    count = codes.count(TAKEN)
                    assert codes[:count] == [TAKEN] * count
                    refused = codes.count(REFUSED)
                    assert (
                        codes[count:] == [NOT_READY] * (4 - count - refused) + [REFUSED] * refused
                    )
                    assert count + before <= min(self.most, 4)
                    taken.add(count)
                    statuses = [n % 2 for n in range(count + before)]
                    if statuses:
                        self.settle(qp, *statuses)
                    lengths = [*[9] * before, 1, 2, 3, 4]
                    wanted = [
                        Want(cookies[n], 0 if status else lengths[n], status)
                        for n, status in enumerate(statuses)
                    ]
                    await self.over(qp, wanted, cookies[len(wanted) :], mark)
                assert len(taken) > 1, taken


@pyuvm.test()
class ReportMeetsEndTest(EndMeetingTest):
    """A report around the end of a connection completes its buffer as it says; a failing one makes
    no second end; flushed buffers come behind it.
    """

    async def scenario(self) -> None:
        for queue, qp in await self.both():
            for way in range(3):
                for status in (0, FAILED):
                    for offset in OFFSETS:
                        cookies = await self.supply(queue, 4)
                        count = 1 + offset % 2
                        await self.take(qp, *[7] * count)
                        await self.rest()
                        mark, at = self.mark, self.soon()
                        self.end_at(qp, at, way)
                        self.settle(qp, *[status] * count, at=at + offset)
                        length = 0 if status else 7
                        wanted = [Want(cookie, length, status) for cookie in cookies[:count]]
                        await self.rest()
                        await self.over(qp, wanted, cookies[count:], mark)


@pyuvm.test()
class DestroyMeetsTest(EndMeetingTest):
    """DESTROY_QP around the last report, around the end of the connection, around a message, with
    buffers left: it answers OK when all is over, not before, and everything completes once.
    """

    async def scenario(self) -> None:
        for queue, qp in await self.both():
            for left in (0, 2):
                results = set()
                for offset in COMMAND:
                    for kind in range(3):
                        results.add(await self.one(queue, qp, left, offset, kind))
                assert Result.PENDING in results and results <= {Result.OK, Result.PENDING}

    async def one(self, queue: ReceiveQueue, qp: Qp, left: int, offset: int, kind: int) -> Result:
        cookies = await self.supply(queue, 1 + left)
        wanted: list[Want] = []
        if kind == 0:
            await self.take(qp, 6)
        await self.rest()
        at = self.soon()
        task = self.command_at(at, Cmd.DESTROY_QP, qp.number)
        if kind == 0:
            self.settle(qp, at=at + offset)
            wanted = [Want(cookies[0], 6)]
        elif kind == 1:
            self.env.conn.send(qp.number, at_cycle=at + offset)
        else:
            pending = self.ask(qp, 6, at=at + offset)
            if (await pending[0]).code == TAKEN:
                await self.rest(16)
                self.settle(qp, CqeStatus.CANCELED)
                wanted = canceled(cookies[:1])
        result = Result((await task).result)
        rest = cookies[len(wanted) :]
        shared = qp.srq is not None
        await self.demand(qp, [*wanted, *([] if shared else canceled(rest))])
        if result == Result.PENDING:
            assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.OK
        assert await self.result(Cmd.QUERY_QP, qp.number) == Result.NO_OBJECT
        await self.env.host.read_log()
        await qp.create()
        await qp.connect(qp.number ^ 1)
        await self.use(qp, rest if shared else [])
        return result


@pyuvm.test()
class TwoFailuresTest(EndMeetingTest):
    """A message that is too long meets a failing report of a request, or of an earlier receive, or
    the end of the connection: one end, and each completes as it must.
    """

    async def scenario(self) -> None:
        for queue, qp in await self.both():
            for offset in OFFSETS:
                for kind in range(4):
                    await self.one(queue, qp, offset, kind)

    async def one(self, queue: ReceiveQueue, qp: Qp, offset: int, kind: int) -> None:
        cookies = await self.supply(queue, 3)
        posts = []
        wanted = []
        if kind == 0:
            posts = await self.accept(qp, [self.write_post(qp)])
        if kind == 1:
            await self.take(qp, 9)
        await self.rest()
        mark, at = self.mark, self.soon()
        if kind == 0:
            self.report(qp, FAILED, at=at + offset)
        elif kind == 1:
            self.settle(qp, FAILED, at=at + offset)
            wanted = [Want(cookies[0], 0, FAILED)]
        else:
            self.end_at(qp, at + offset, kind - 2)
        pending = self.ask(qp, LENGTH + 1, at=at)
        code = (await pending[0]).code
        assert code in (TOO_LONG, REFUSED), code
        await self.rest()
        if posts:
            found = await qp.cq.wait_results(1)
            assert (found[0].request_context, found[0].status) == (posts[0].context, FAILED)
            await qp.cq.update_consumer_index()
            if code == REFUSED and qp is queue:
                more = await qp.cq.wait_results(3)
                assert [r.request_context for r in more] == cookies
                assert {r.status for r in more} == {CqeStatus.CANCELED}
                await qp.cq.update_consumer_index()
                await self.over(qp, [], [], mark)
                return
        if code == TOO_LONG:
            wanted.append(Want(cookies[len(wanted)], 0, LENGTH_ERROR))
            self.settle(qp)
        await self.over(qp, wanted, cookies[len(wanted) :], mark)
