# SPDX-License-Identifier: Apache-2.0
"""The end of a connection and of a QP with receives (SRQ-13, SRQ-14, SRQ-18, SRQ-19, ISO-04): what
was taken completes as it is reported, what is available in a queue of its own is flushed behind it,
what an SRQ has stays there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, product
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


@pyuvm.test()
class EndOfConnectionTest(TakingTest):
    """SRQ-14, SRQ-19: each way, with no, one, several buffers taken and available; those that are
    in place are reported so and complete so, the others CANCELED, each once; flushed buffers come
    behind all that was taken, in post order; the SRQ keeps its own. A report with any status but 0
    ends a connection, CANCELED (1) among them.
    """

    #: Of the reports that end a connection, in turns.
    failures = cycle((1, 2, 3, 4, 8, 16, 32, 64, 128, 255))

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
                self.status = next(self.failures)
                self.settle(qp, self.status)
            case "destroy":
                await self.result(Cmd.DESTROY_QP, qp.number)

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq()
        for options in ({"recv_depth": self.depth}, {"srq": srq}):
            qp = await self.qp(recv_cq=await self.queue(reservation=True), **options)
            for way, taken in product(self.ways, sorted({0, 1, min(self.most, self.depth - 1)})):
                for there in (0, 1, self.depth - taken):
                    if taken or way != "failed receive":
                        await self.one(qp, way, taken, there)
            await qp.destroy()

    async def one(self, qp: Qp, way: str, taken: int, there: int) -> None:
        queue = qp.srq or qp
        cookies = await self.supply(queue, taken + there)
        await self.take(qp, *range(1, taken + 1))
        await self.rest()
        mark = self.mark
        await self.end(qp, way)
        await self.rest()
        dead = way == "destroy"
        empty = not (taken - (way == "failed receive"))
        assert self.terms(mark) == [(qp.number, self.ways[way])]
        first = [Want(cookies[0], status=self.status)] if way == "failed receive" else []
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
        await self.serve(qp, cookies)
