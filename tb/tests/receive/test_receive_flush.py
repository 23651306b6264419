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
from tb.env.host.qp import Qp
from tb.tests.common.posting import FAILED
from tb.tests.common.taking import (
    NOT_READY,
    REFUSED,
    TakingTest,
    Want,
    canceled,
)

BUILD = ["engine", "engine_small"]


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
