# SPDX-License-Identifier: Apache-2.0
"""Long runs and storms: what one QP, the transport or a standing port does holds up nobody else
(ISO-03, ISO-04), and nothing is stranded behind it (DF-03, DF-11, DF-12).
"""

from __future__ import annotations

from typing import Any, TypeVar

import cocotb
import pyuvm

from tb.env.base_test import CarillonTest
from tb.env.defs import TERM, Cause, Cmd, Result
from tb.env.harness.records import Record, TermRequest
from tb.env.host.qp import Qp

BUILD = "engine"
R = TypeVar("R")


class StormTest(CarillonTest):
    """Keeps the records; makes connected QPs, each with its CQ."""

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self.seen: list[Record] = []
        self.env.add_subscriber(self.seen.extend, "records of the test")

    def got(self, kind: type[R]) -> list[R]:
        """Records of one kind."""
        return [record for record in self.seen if isinstance(record, kind)]

    async def make_qps(self, count: int, **options: Any) -> list[Qp]:
        """``count`` connected QPs."""
        host = self.env.host
        eq = await host.create_eq(log2=4)
        qps = []
        for _ in range(count):
            cq = await host.create_cq(eq=eq, log2=5)
            qps.append(await host.create_qp(cq=cq, **options))
        for place, qp in enumerate(qps):
            await qp.connect(place ^ 1)
        return qps


@pyuvm.test()
class RefusedConnectKeepsPeerTest(StormTest):
    """CONNECT_QP of a connected QP is refused (BAD_STATE): its peer must stay."""

    async def scenario(self) -> None:
        (a, b) = await self.make_qps(2)
        r = await self.env.host.command(Cmd.CONNECT_QP, a.number, 0x777)
        assert r.result == Result.BAD_STATE, r
        assert await a.send(length=4) == Cause.NONE
        await a.cq.wait_results(1)
        st = await a.query()
        assert st.peer == b.number, hex(st.peer)


@pyuvm.test()
class TermsKeptTest(StormTest):
    """Connections end and begin again while the term sink stands still, until CONNECT_QP waits:
    every terminate request is sent, in order.
    """

    allow = ("no_posts", "no_receives", "no_completions", "no_doorbells")

    async def scenario(self) -> None:
        first, *others = await self.make_qps(self.config.num_qp)
        qps = [first, *others]
        ended: list[int] = []
        self.env.term.hold()

        async def again() -> None:
            for some in (qps, others[1:], qps):
                for qp in some:
                    await qp.flush()
                    ended.append(qp.number)
                for qp in some:
                    await qp.reset()
                    await qp.connect(1)

        task = cocotb.start_soon(again())
        await self.harness.cycles(20_000)
        assert not task.done() and not self.got(TermRequest)
        self.env.term.hold(False)
        await task
        await self.harness.cycles(100)
        await self.env.sync()
        assert [TERM["qp"].get(request.data) for request in self.got(TermRequest)] == ended
