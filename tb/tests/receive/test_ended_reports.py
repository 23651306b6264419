# SPDX-License-Identifier: Apache-2.0
"""Failing receive reports: many, one a cycle, of connections that have ended, beside receive posts
and commands of other queue pairs (SRQ-09, ISO-04); and one that ends its connection while
memory takes nothing (ISO-04).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, Cmd, CqeStatus, QpState
from tb.env.harness.harness import Channel
from tb.env.harness.records import DoorbellResponse, RecvDone
from tb.env.host.qp import Qp
from tb.tests.common.report_times import LEAD
from tb.tests.common.taking import TakingTest

BUILD = ["engine", "engine_small", "engine_deep"]

#: Statuses of the reports: those that fail change nothing any more, as the others.
STATUSES = (CqeStatus.SUCCESS, CqeStatus.CANCELED, CqeStatus.TRANSPORT_ERROR)
#: Cycles of a command that holds back receive posts ("some tens of cycles", receive.md).
HELD = 64


class EndedTest(TakingTest):
    async def others(self, spared: int) -> list[Qp]:
        """All QPs but so many: those whose reports come."""
        return [await self.own() for _ in range(self.config.num_qp - spared)]

    async def end(self, qps: list[Qp]) -> None:
        """They take what they can, and their connections end."""
        for qp in qps:
            await self.supply(qp, self.most)
            await self.take(qp, *[1] * self.most)
            self.env.conn.send(qp.number)
        await self.rest()

    async def begin(self, qps: list[Qp]) -> None:
        """Everything has completed; they are connected again."""
        for qp in qps:
            await qp.recv_cq.wait_results(self.most)
            await qp.recv_cq.update_consumer_index()
            await self.reconnect(qp)

    def soon(self) -> int:
        return self.harness.cycle + LEAD

    def storm(self, qps: list[Qp], status: CqeStatus, start: int) -> int:
        """Reports of each QP in turns, one a cycle as long as memory keeps up. Returns how many."""
        for _ in range(self.most):
            for qp in qps:
                self.settle(qp, status, at=start)
        return self.most * len(qps)

    def came(self, start: int, count: int, since: int) -> None:
        """They did, from that cycle on."""
        took = [report.cycle for report in self.of(RecvDone, since)]
        assert took[0] == start and len(took) == count, took
        # Few places for writes make reports wait.
        assert took[-1] - start == count - 1 or self.config.max_writes < count, took


@pyuvm.test()
class ReceivePostBesideReportsTest(EndedTest):
    """SRQ-09: SET_QP_STATE, beside such reports, holds back receive posts for no longer than
    documented.
    """

    async def scenario(self) -> None:
        victim = await self.qp()
        other = await self.own()
        qps = await self.others(2)
        states = (QpState.DISCONNECT_PENDING, QpState.DISCONNECTED, QpState.IDLE)
        for status, state in zip(STATUSES, states, strict=True):
            await self.end(qps)
            mark, start = self.mark, self.soon()
            count = self.storm(qps, status, start)
            command = self.command_at(start - 6, Cmd.SET_QP_STATE, victim.number, state)
            answer = other.queue_recv(other.make_recv(), at=start + 6)
            assert await answer == (0, Cause.NONE)
            done = await command
            assert done.result == 0
            await self.rest()
            self.came(start, count, mark)
            (answered,) = (response.cycle for response in self.of(DoorbellResponse, mark))
            waits = [answered - start - 6, done.cycle - start + 6]
            text = f"receive post and command beside reports {status.name} waited {waits}"
            assert max(waits) <= HELD, text
            await self.begin(qps)


@pyuvm.test()
class EndInStallTest(EndedTest):
    """ISO-04: while memory takes nothing and completions of receives wait, a failing report that is
    accepted ends its connection, although there is no room for its completion.
    """

    async def scenario(self) -> None:
        others = [await self.own() for _ in range(min(4, self.config.num_qp - 1))]
        bad = await self.own()
        # So many reports are accepted; then as many with the failing one as the last.
        accepted = await self.stalled(others, bad, len(others) * self.most)
        # A small engine takes all of them.
        assert self.most == 2 or accepted < len(others) * self.most, accepted
        assert await self.stalled(others, bad, accepted - 1, CqeStatus.TRANSPORT_ERROR) == accepted

    async def stalled(self, others: list[Qp], bad: Qp, count: int, status: int = 0) -> int:
        """``count`` reports of others, and one of ``bad`` if it fails, while memory takes nothing.
        Returns how many were accepted.
        """
        for qp in (*others, bad):
            taken = self.most if qp is not bad else 1
            await self.supply(qp, taken)
            await self.take(qp, *[1] * taken)
        await self.rest()
        self.stall(True)
        await self.harness.cycles(20)
        mark = self.mark
        turns = [qp for _ in range(self.most) for qp in others]
        for qp in turns[:count]:
            self.settle(qp)
        if status:
            self.settle(bad, status)
        await self.harness.cycles(300)
        await self.env.sync()
        accepted = len(self.of(RecvDone, mark))
        state = QpState.ERROR if status else QpState.CONNECTED
        found = (await bad.query()).state
        assert found == state, f"{found.name}, not {state.name}, while memory takes nothing"
        assert self.terms(mark) == ([(bad.number, QpState.ERROR)] if status else [])
        self.stall(False)
        await self.rest()
        assert len(self.terms(mark)) == (1 if status else 0)
        if not status:
            self.settle(bad)
        for qp in turns[count:]:
            self.settle(qp)
        await self.rest()
        for qp in (*others, bad):
            await qp.recv_cq.wait_results(1 if qp is bad else self.most)
            await qp.recv_cq.update_consumer_index()
        return accepted

    def stall(self, on: bool) -> None:
        for channel in (Channel.MEM_AW, Channel.MEM_W):
            self.harness.hold(channel, on)
