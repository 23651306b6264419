# SPDX-License-Identifier: Apache-2.0
"""States of queue pairs: what sets or clears a bit of one number does so for this one alone, and in
the cycle in which another one changes, too; commands that meet connection events and failures of
other queue pairs in each cycle (DF-15, ISO-02). Every command in every state is the subject of
test_tour_deferral.DeferralChainsTour.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pyuvm

from tb.env.defs import CONN, Cause, Cmd, QpState, Reg, Result, TraceOp
from tb.env.harness.records import ConnReport
from tb.env.host.qp import Qp, QpStatus
from tb.tests.common.engine import EngineTest
from tb.tests.common.posting import CANCELED, FAILED, OK
from tb.tests.common.receiving import TOO_LONG, Want, canceled

BUILD = ["engine", "engine_small"]

#: Cycles from setting a trial up to its command.
LEAD = 64
#: Cycles after the CMD write of CONNECT_QP around which its step and what meets it are.
MEETING = range(12, 24)
#: Cycles of a command, from its CMD write to the last step that it asks for.
COMMAND = 24


def turns(qps: list[Qp]) -> Iterator[tuple[Qp, Qp | None, int]]:
    """Each QP in turn, the one before it, and where the two meet: everywhere, and all as often."""
    yield qps[0], None, 0
    for n in range(len(qps) * -(-len(MEETING) // len(qps))):
        yield qps[(n + 1) % len(qps)], qps[n % len(qps)], MEETING[n % len(MEETING)]


class EveryQpTest(EngineTest):
    """Helpers for as many QPs as there are."""

    async def all_qps(self, **options: int) -> list[Qp]:
        """Every number, connected."""
        count = min(self.config.num_qp, self.config.num_cq)
        return [await self.qp(log2=4, **options) for _ in range(count)]

    async def make_idle(self, old: Qp | None) -> int:
        """The QP that is to connect anew; returns the cycle of that command."""
        if old is not None:
            assert await old.set_state(QpState.IDLE) == Result.OK
        return self.harness.cycle + LEAD

    async def connect_at(self, at: int, old: Qp | None) -> None:
        if old is not None:
            command = await self.command_at(at, Cmd.CONNECT_QP, old.number, old.number ^ 1)
            assert command.result == Result.OK
        await self.rest(32)


@pyuvm.test()
class EveryFailureTest(EveryQpTest):
    """DF-11, DF-15: a request of each QP in turn fails, and what it holds is never indicated,
    around the step in which the one that failed before connects anew: that one and all others go
    on, and nothing of this one succeeds.
    """

    async def scenario(self) -> None:
        qps = await self.all_qps()
        for new, old, late in turns(qps):
            await self.fail(new, old, late)
            await self.all_through([qp for qp in qps if qp is not new])

    async def all_through(self, qps: list[Qp]) -> None:
        """A Write of each QP is indicated and completes; all of them are under way at once."""
        posts = [self.write_post(qp) for qp in qps]
        for answer in [qp.queue(post) for qp, post in zip(qps, posts, strict=True)]:
            assert await answer == (0, Cause.NONE)
        await self.rest(16)
        for qp in qps:
            self.report(qp)
        await self.rest(16)
        for qp, post in zip(qps, posts, strict=True):
            found = [(r.request_context, int(r.status)) for r in qp.cq.get_cq_results_ex()]
            assert found == [(post.context, int(OK))], f"QP {qp.number}: {found}"
            qp.cq.post_consumer_index()

    async def fail(self, new: Qp, old: Qp | None, late: int) -> None:
        """Two requests in flight and one held: the first fails, the others follow."""
        posts = [self.write_post(new), self.write_post(new), self.write_post(new, defer=True)]
        await self.accept(new, posts)
        await self.rest(32)
        mark, at = self.mark, await self.make_idle(old)
        self.report(new, FAILED, at=at + late)
        await self.connect_at(at, old)
        assert self.terms(mark) == [(new.number, QpState.ERROR)]
        assert await new.post(self.write_post(new)) == Cause.NOT_CONNECTED
        self.report(new, OK)
        await self.demand_results(new, posts, FAILED, CANCELED, CANCELED)
        assert self.beats(new, mark) == [], "indicated after the failure"


@pyuvm.test()
class EveryFlushTest(EveryQpTest):
    """SRQ-19: each QP in turn ends with a message in flight and buffers after it: these wait for
    the report, whatever was flushed before, and are flushed then, while the one that was flushed
    before connects anew. All others keep their buffers.
    """

    async def scenario(self) -> None:
        qps = await self.all_qps(recv_depth=self.depth)
        kept = {qp: await self.supply(qp, self.depth) for qp in qps}
        took = set()
        for qp, old, late in turns(qps):
            took.add(await self.end(qp, kept[qp], old, late))
            if old is not None:
                kept[old] = await self.supply(old, self.depth)
        assert len(took) == 1, f"cycles from one flushed buffer to the next: {took}"
        await self.reconnect(qp)
        kept[qp] = await self.supply(qp, self.depth)
        for qp in qps:
            await self.take(qp, 5)
            self.settle(qp)
            await self.demand(qp, [Want(kept[qp][0], 5)])

    async def end(self, qp: Qp, cookies: list[int], old: Qp | None, late: int) -> int:
        """One connection; returns how long the flush took."""
        await self.take(qp, 3)
        await qp.flush()
        await self.nothing(qp)
        mark, at = self.mark, await self.make_idle(old)
        self.settle(qp, 0, at=at + late)
        await self.connect_at(at, old)
        await self.demand(qp, [Want(cookies[0], 3), *canceled(cookies[1:])])
        done = [step.cycle for step in self.steps(qp, TraceOp.RECEIVE, mark)]
        assert len(done) == len(cookies)
        return max(b - a for a, b in pairwise(done))


@pyuvm.test()
class QueryDuringEventsTest(EngineTest):
    """A QP is queried during events that change nothing on another one, in each cycle: the query
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
            assert found.state == QpState.CONNECTED, f"{late} cycles late: {found}"
        events = [CONN["qp"].get(event.data) for event in self.of(ConnReport, mark)]
        assert events == [idle.number] * COMMAND
        await self.through(up)


@pyuvm.test()
class ConnectAfterFailureTest(EngineTest):
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
        later = set()
        for late in range(offset - 20, offset - 4):
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
            later.add(connects.cycle - fails.cycle)
            self.settle(failing)
            await self.rest(16)
            failing.cq.get_cq_results(4)
            await failing.cq.update_consumer_index()
            await self.reconnect(failing)
        await self.through(other)
        assert {-2, 2} <= later, f"they did not meet: {later}"
        assert -1 not in later, "the command did not wait for a failure that was decided"


@pyuvm.test()
class OldOutputsTest(EngineTest):
    """ISO-02: what a command of the life before a reset answered is not read after it, not even in
    the cycles in which the first command of its kind starts.
    """

    allow = ("no_traffic", "no_doorbells", "no_completions")

    async def scenario(self) -> None:
        env = self.env
        host = env.host
        looked = 0
        for after in range(6):
            for output in range(8):
                qp = await self.idle_qp(context=(1 << 64) - 1)
                outs = (await host.command(Cmd.QUERY_QP, qp.number)).outs
                looked += bool(outs[output])
                await env.sync()
                await env.reset(1)
                await env.sync()
                at = env.harness.cycle + 30
                write = env.control.post_write(Reg.CMD, Cmd.QUERY_QP, at=at)
                read = env.control.post_read(Reg.OUT0 + 4 * output, at=at + after)
                await write
                found = (await read).data
                assert not found, f"OUT{output}, {after} cycles: {found:#x}"
                await env.harness.cycles(200)
        assert looked >= 12
