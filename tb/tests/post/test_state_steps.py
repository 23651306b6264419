# SPDX-License-Identifier: Apache-2.0
"""Commands that meet connection events and failures of other queue pairs in each cycle: the answer
is that of the command, and failures go first (DF-15, ISO-02).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import CONN, Cmd, QpState, TraceOp
from tb.env.harness.records import ConnReport
from tb.env.host.qp import Qp, QpStatus
from tb.tests.common.posting import OK
from tb.tests.common.taking import TOO_LONG, TakingTest

BUILD = ["engine", "engine_small"]

#: Cycles from setting a trial up to its command.
LEAD = 64
#: Cycles of a command, from its CMD write to the last step that it asks for.
COMMAND = 24


class StepsTest(TakingTest):
    """Helper."""

    async def through(self, qp: Qp) -> None:
        """A request completes."""
        posts = await self.accept(qp, [self.write_post(qp)])
        await self.rest()
        self.report(qp)
        await self.demand_results(qp, posts, OK)


@pyuvm.test()
class QueryBesideEventsTest(StepsTest):
    """A QP is queried beside events that change nothing on another one, in each cycle: the query
    tells of the right QP. Class: the outcome of an event's step is taken for that of the command.
    """

    async def scenario(self) -> None:
        up, idle = await self.qp(), await self.idle_qp()
        mark = self.mark
        for late in range(COMMAND):
            at = self.harness.cycle + LEAD
            self.env.conn.send(idle.number, at_cycle=at + late)
            command = await self.command_at(at, Cmd.QUERY_QP, up.number)
            found = QpStatus.from_outs(command.outs)
            assert found.state == QpState.CONNECTED, f"{late} cycles behind: {found}"
        events = [CONN["qp"].get(event.data) for event in self.of(ConnReport, mark)]
        assert events == [idle.number] * COMMAND
        await self.through(up)


@pyuvm.test()
class ConnectBehindFailureTest(StepsTest):
    """A receive fails around the step of a CONNECT_QP, in each cycle: a failure that is decided
    when that step is due goes first. Class: the command waits only for failures that ask for their
    step already.
    """

    async def scenario(self) -> None:
        failing, other = await self.own(), await self.idle_qp()
        # Where the step of the command is, seen from its CMD write.
        at = self.harness.cycle + LEAD
        mark = self.mark
        await self.command_at(at, Cmd.CONNECT_QP, other.number, failing.number)
        (step,) = self.steps(other, TraceOp.QP_STATE, mark)
        offset = step.cycle - at
        #: Cycles from the step that ends the one connection to the step that makes the other.
        behind = set()
        for late in range(offset - 14, offset + 2):
            await self.env.host.command(Cmd.SET_QP_STATE, other.number, QpState.DISCONNECTED)
            await self.env.host.command(Cmd.SET_QP_STATE, other.number, QpState.IDLE)
            await self.supply(failing, 1)
            await self.rest(16)
            mark, at = self.mark, self.harness.cycle + LEAD
            (answer,) = self.ask(failing, 1 << 20, at=at + late)
            await self.command_at(at, Cmd.CONNECT_QP, other.number, failing.number)
            assert (await answer).code == TOO_LONG
            await self.rest(16)
            (fails,) = self.steps(failing, TraceOp.QP_STATE, mark)
            (connects,) = self.steps(other, TraceOp.QP_STATE, mark)
            behind.add(connects.cycle - fails.cycle)
            self.settle(failing)
            await self.rest(16)
            failing.cq.get_cq_results(4)
            await failing.cq.update_consumer_index()
            await self.reconnect(failing)
        await self.through(other)
        assert {-2, 1} <= behind, f"they did not meet: {behind}"
        assert -1 not in behind, "the command did not wait for a failure that was decided"
