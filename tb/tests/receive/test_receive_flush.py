# SPDX-License-Identifier: Apache-2.0
"""The end of a connection and of a QP with receives (SRQ-13, SRQ-14, SRQ-18, SRQ-19, ISO-04): what
was taken completes as it is reported, what is available in a queue of its own is flushed behind it,
what an SRQ has stays there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pyuvm

from tb.env.defs import Cmd, QpState, Result
from tb.env.harness.harness import Channel
from tb.env.host.qp import Qp
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

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class BehindLengthErrorTest(TakingTest):
    """Requests of the QP right behind a message that is too long, at every distance: each takes a
    buffer or is refused, none behind one that is refused takes; everything completes, once.
    """

    async def scenario(self) -> None:
        _, (user, other) = await self.shared(2)
        own = await self.own()
        for qp in (user, own):
            queue = qp.srq or qp
            taken_behind = set()
            for gap in range(16):
                cookies = await self.supply(queue, 4)
                start = self.harness.cycle + 64
                pending = self.ask(qp, LENGTH + 1, at=start)
                for n in range(3):
                    pending += self.ask(qp, 5, at=start + 1 + gap + n)
                await self.rest()
                codes = [(await answer).code for answer in pending]
                assert codes[0] == TOO_LONG
                limit = min(self.most, 4) - 1
                taken = sum(code == TAKEN for code in codes)
                refused = sum(code == REFUSED for code in codes)
                late = 3 - taken - refused
                wanted = [TOO_LONG, *[TAKEN] * taken, *[NOT_READY] * late, *[REFUSED] * refused]
                assert codes == wanted, codes
                assert taken <= limit and (not late or taken == limit)
                taken_behind.add(taken)
                assert (await qp.query()).state == QpState.ERROR
                self.settle(qp, *[0] * (taken + 1))
                results = [Want(cookies[0], 0, LENGTH_ERROR)]
                results += [Want(cookie, 5) for cookie in cookies[1 : 1 + taken]]
                left = cookies[1 + taken :]
                if qp is own:
                    await self.demand(qp, results + canceled(left))
                else:
                    await self.demand(qp, results)
                    for n, cookie in enumerate(left):
                        await self.take(other, n)
                        self.settle(other)
                        await self.demand(other, [Want(cookie, n)])
                await self.reconnect(qp)
            assert 0 in taken_behind and len(taken_behind) > 1, taken_behind


class EndTest(TakingTest):
    """All ways in which a connection ends."""

    #: Name of the way: state that the QP enters, and that the transport is told.
    ways: ClassVar[dict[str, QpState]] = {
        "graceful": QpState.DISCONNECTED,
        "at once": QpState.DISCONNECTED,
        "event": QpState.DISCONNECTED,
        "flush": QpState.ERROR,
        "failed send": QpState.ERROR,
        "failed receive": QpState.ERROR,
        "destroy": QpState.ERROR,
    }

    async def end(self, qp: Qp, way: str) -> None:
        """Ends the connection."""
        match way:
            case "graceful":
                assert await qp.set_state(QpState.DISCONNECT_PENDING) == Result.OK
                assert await qp.set_state(QpState.DISCONNECTED) == Result.OK
            case "at once":
                assert await qp.set_state(QpState.DISCONNECTED) == Result.OK
            case "event":
                self.env.transport.disconnect(qp.number)
            case "flush":
                await qp.flush()
            case "failed send":
                post = self.write_post(qp)
                await self.accept(qp, [post])
                await self.rest()
                self.report(qp, FAILED)
                await self.demand_results(qp, [post], FAILED)
            case "failed receive":
                self.settle(qp, FAILED)
            case "destroy":
                await self.result(Cmd.DESTROY_QP, qp.number)

    async def pair(self, shared: bool) -> Qp:
        """A connected QP with a send CQ and a receive CQ."""
        send, recv = await self.queue(reservation=True), await self.queue(reservation=True)
        srq = next(iter(self.env.host.srqs.values())) if shared else None
        depth = 0 if shared else self.depth
        qp = await self.env.host.create_qp(cq=send, recv_cq=recv, srq=srq, recv_depth=depth)
        await qp.connect(qp.number ^ 1)
        return qp


@pyuvm.test()
class EndOfConnectionTest(EndTest):
    """SRQ-14, SRQ-19: each way, with no, one, several buffers taken and available; those that are
    in place are reported so and complete so, the others CANCELED, each once; flushed buffers come
    behind all that was taken, in post order; the SRQ keeps its own.
    """

    async def scenario(self) -> None:
        await self.env.host.create_srq()
        for shared in (False, True):
            qp = await self.pair(shared)
            for way in self.ways:
                for taken in sorted({0, 1, min(self.most, self.depth - 1)}):
                    for there in (0, 1, self.depth - taken):
                        if there >= 0 and not (way == "failed receive" and not taken):
                            await self.one(qp, way, taken, there)
            await qp.destroy()

    async def one(self, qp: Qp, way: str, taken: int, there: int) -> None:
        queue = qp.srq or qp
        if qp.srq:
            there = min(there, qp.srq.size - taken)
        cookies = await self.supply(queue, taken + there)
        await self.take(qp, *range(1, taken + 1))
        await self.rest()
        mark = self.mark
        await self.end(qp, way)
        await self.rest()
        dead = way == "destroy"
        empty = not (taken - (way == "failed receive"))
        assert self.terms(mark) == [(qp.number, self.ways[way])]
        first = [Want(cookies[0], status=FAILED)] if way == "failed receive" else []
        await self.demand(qp, [*first, *([] if qp.srq or not empty else canceled(cookies[taken:]))])
        assert await self.code(qp) == REFUSED
        # The first half is in place.
        statuses = [int(n >= taken // 2) for n in range(len(first), taken)]
        wanted: list[Want] = []
        for n, status in enumerate(statuses, len(first)):
            wanted.append(Want(cookies[n], 0 if status else n + 1, status))
            if n == len(cookies[:taken]) - 1 and not qp.srq:
                wanted += canceled(cookies[taken:])
            await self.busy(qp, dead)
            self.settle(qp, status)
            await self.demand(qp, wanted)
            wanted = []
        assert self.terms(mark) == [(qp.number, self.ways[way])]
        await self.again(qp, dead)
        await self.drain_srq(qp, cookies[taken:])

    async def busy(self, qp: Qp, dead: bool) -> None:
        """Receives are not completed."""
        if dead:
            assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.PENDING
        else:
            assert await qp.set_state(QpState.IDLE) == Result.BUSY

    async def again(self, qp: Qp, dead: bool) -> None:
        """The QP is empty and is used again."""
        if dead:
            if (await self.env.host.command(Cmd.QUERY_QP, qp.number)).result == Result.OK:
                assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.OK
            await qp.create()
            await qp.connect(qp.number ^ 1)
        else:
            await self.reconnect(qp)

    async def drain_srq(self, qp: Qp, cookies: Sequence[int]) -> None:
        """What the SRQ kept is there, in order, for the next connection."""
        if qp.srq is None:
            assert await self.code(qp) == NOT_READY
            return
        assert await qp.srq.query() == (len(cookies), len(cookies))
        for n, cookie in enumerate(cookies):
            await self.take(qp, n)
            self.settle(qp)
            await self.demand(qp, [Want(cookie, n)])


@pyuvm.test()
class ReuseTest(TakingTest):
    """New connections and new lives of a QP: tags go on and wrap, nothing of an earlier life comes
    through, slots start over; with and without flushed buffers.
    """

    async def scenario(self) -> None:
        qp = await self.own()
        tag = 0
        for turn in range(24):
            count = turn % self.depth + 1
            taken = min(turn % 3, count, self.most)
            cookies = await self.supply(qp, count)
            lengths = [turn + n for n in range(taken)]
            found = await self.take(qp, *lengths)
            assert [answer.tag for answer in found] == [tag + n & self.mask for n in range(taken)]
            tag += count
            destroys = turn % 4 == 3
            if destroys:
                await self.result(Cmd.DESTROY_QP, qp.number)
            else:
                await qp.flush()
            if taken:
                self.settle(qp, *[0] * taken)
            wanted = [Want(cookie, n) for cookie, n in zip(cookies, lengths, strict=False)]
            await self.demand(qp, wanted + canceled(cookies[taken:]))
            if destroys:
                await self.host_again(qp)
            else:
                await self.reconnect(qp)

    async def host_again(self, qp: Qp) -> None:
        if (await self.env.host.command(Cmd.QUERY_QP, qp.number)).result == Result.OK:
            assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.OK
        await qp.create()
        await qp.connect(1)


@pyuvm.test()
class StalledRequestsTest(TakingTest):
    """ISO-04: a QP's own queue is flushed while m_axis_scatter stands still, and the answers to
    others fill all that is in front of it, so that a request waits for room: with no such answer,
    with few and with more than there is room for.
    """

    async def scenario(self) -> None:
        srq, (busy,) = await self.shared(1)
        for asked in (0, 1, self.most):
            dying = await self.own()
            cookies = await self.supply(dying, self.depth)
            await self.supply(srq, asked)
            await self.rest()
            self.harness.hold(Channel.SCATTER)
            pending = self.ask(busy, *([1] * (asked + 20)))
            await self.harness.cycles(200)
            self.env.transport.disconnect(dying.number)
            flushed = await dying.recv_cq.wait_results(self.depth)
            assert [result.request_context for result in flushed] == cookies
            assert not any(answer.done for answer in pending)
            await dying.recv_cq.update_consumer_index()
            self.harness.hold(Channel.SCATTER, False)
            await self.answers(pending, *([TAKEN] * asked), *([NOT_READY] * 20))
            for _ in range(asked):
                self.settle(busy)
            await busy.recv_cq.wait_results(asked)
            await busy.recv_cq.update_consumer_index()
