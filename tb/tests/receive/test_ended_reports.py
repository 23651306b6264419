# SPDX-License-Identifier: Apache-2.0
"""Failing receive reports: many, one a cycle, of connections that have ended, during receive posts
and commands of other queue pairs (SRQ-09, ISO-04); and one that ends its connection while
memory takes nothing (ISO-04).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, Cmd, CqeStatus, QpState
from tb.env.harness.harness import Channel
from tb.env.harness.records import DoorbellResponse, RecvDone
from tb.env.host.qp import Qp
from tb.tests.common.engine import EngineTest

BUILD = ["engine", "engine_small", "engine_deep"]

LEAD = 200  # cycles from setting a trial up to its first report
#: Statuses of the reports: those that fail change nothing any more, as the others.
STATUSES = (CqeStatus.SUCCESS, CqeStatus.CANCELED, CqeStatus.TRANSPORT_ERROR)
#: Cycles of a command that holds back receive posts ("some tens of cycles", receive.md).
HELD = 64


@pyuvm.test()
class ReceivePostDuringReportsTest(EngineTest):
    """SRQ-09: SET_QP_STATE, during such reports, holds back receive posts for no longer than
    documented.
    """

    async def scenario(self) -> None:
        victim, other = await self.qp(), await self.own()
        qps = [await self.own() for _ in range(self.config.num_qp - 2)]
        count = len(qps) * self.most
        states = (QpState.DISCONNECT_PENDING, QpState.DISCONNECTED, QpState.IDLE)
        for status, state in zip(STATUSES, states, strict=True):
            for qp in qps:
                await self.supply(qp, self.most)
                await self.take(qp, *[1] * self.most)
                self.env.conn.send(qp.number)
            await self.rest()
            mark, start = self.mark, self.harness.cycle + LEAD
            # One a cycle as long as memory keeps up.
            for qp in qps * self.most:
                self.settle(qp, status, at=start)
            command = self.command_at(start - 6, Cmd.SET_QP_STATE, victim.number, state)
            answer = other.queue_recv(other.make_recv(), at=start + 6)
            assert await answer == (0, Cause.NONE)
            done = await command
            assert done.result == 0
            await self.rest()
            took = [report.cycle for report in self.of(RecvDone, mark)]
            assert took[0] == start and len(took) == count, took
            # Few places for writes make reports wait.
            assert took[-1] - start == count - 1 or self.config.max_writes < count, took
            (answered,) = (response.cycle for response in self.of(DoorbellResponse, mark))
            waits = [answered - start - 6, done.cycle - start + 6]
            text = f"receive post and command during reports {status.name} waited {waits}"
            assert max(waits) <= HELD, text
            for qp in qps:
                await qp.recv_cq.wait_results(self.most)
                await qp.recv_cq.update_consumer_index()
                await self.reconnect(qp)


@pyuvm.test()
class EndInStallTest(EngineTest):
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
        taken = dict.fromkeys(others, self.most) | {bad: 1}
        for qp, buffers in taken.items():
            await self.supply(qp, buffers)
            await self.take(qp, *[1] * buffers)
        await self.rest()
        for channel in (Channel.MEM_AW, Channel.MEM_W):
            self.harness.hold(channel)
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
        for channel in (Channel.MEM_AW, Channel.MEM_W):
            self.harness.hold(channel, False)
        await self.rest()
        assert len(self.terms(mark)) == (1 if status else 0)
        if not status:
            self.settle(bad)
        for qp in turns[count:]:
            self.settle(qp)
        await self.rest()
        for qp, buffers in taken.items():
            await qp.recv_cq.wait_results(buffers)
            await qp.recv_cq.update_consumer_index()
        return accepted
