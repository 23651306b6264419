# SPDX-License-Identifier: Apache-2.0
"""Bits of state kept for each queue pair: what sets or clears that of one number does so for this
one alone, and in the cycle in which another one changes, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pyuvm

from tb.env.defs import Cause, Cmd, QpState, Result, TraceOp
from tb.env.host.qp import Qp
from tb.tests.common.posting import CANCELED, FAILED, OK
from tb.tests.common.taking import NOT_READY, REFUSED, TakingTest, Want, canceled

BUILD = ["engine", "engine_small"]

#: Cycles from setting a trial up to its command.
LEAD = 64
#: Cycles behind the CMD write of CONNECT_QP around which its step and what meets it are.
MEETING = range(12, 24)
UP = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)


class EveryQpTest(TakingTest):
    """Helpers for as many QPs as there are."""

    async def all_qps(self, **options: int) -> list[Qp]:
        """Every number, connected."""
        count = min(self.config.num_qp, self.config.num_cq)
        return [await self.qp(log2=4, **options) for _ in range(count)]

    async def through(self, qps: Iterable[Qp]) -> None:
        """A Write of each QP is indicated and completes; all of them are under way at once."""
        posts = {qp: self.write_post(qp) for qp in qps}
        answers = [qp.queue_many([post])[0] for qp, post in posts.items()]
        for answer in answers:
            assert await answer == (0, Cause.NONE)
        await self.rest(16)
        for qp in posts:
            self.report(qp)
        await self.rest(16)
        for qp, post in posts.items():
            found = [(r.request_context, int(r.status)) for r in qp.cq.get_cq_results_ex()]
            assert found == [(post.context, int(OK))], f"QP {qp.number}: {found}"
            qp.cq.post_consumer_index()


@pyuvm.test()
class EveryStateTest(EveryQpTest):
    """DF-15, SRQ-18: each QP in turn goes through all states, while all others do not exist, and
    while all others are connected: a message and a receive post for each number, after each step,
    are answered as the state of that number asks for.
    """

    async def scenario(self) -> None:
        self.qps = await self.all_qps()
        self.state = dict.fromkeys(self.qps, QpState.CONNECTED)
        await self.probe()
        for others in (QpState.CONNECTED, QpState.FREE):
            for qp in self.qps:
                if others == QpState.FREE and self.state[qp] != QpState.FREE:
                    for one in self.qps:
                        await one.destroy()
                        self.state[one] = QpState.FREE
                    await self.probe()
                await self.lives(qp)
                if others == QpState.CONNECTED:
                    await self.create(qp)
                    await self.step(qp, QpState.CONNECTED)

    async def create(self, qp: Qp) -> None:
        """From FREE to IDLE."""
        await qp.create()
        self.env.host.qps[qp.number] = qp
        self.state[qp] = QpState.IDLE
        await self.probe()

    async def lives(self, qp: Qp) -> None:
        """All steps, to FREE, with a request in flight."""
        if self.state[qp] == QpState.FREE:
            await self.create(qp)
            await self.step(qp, QpState.CONNECTED)
        for end in (QpState.DISCONNECT_PENDING, QpState.DISCONNECTED, QpState.ERROR):
            await self.step(qp, end)
            if end != QpState.DISCONNECT_PENDING:
                await self.step(qp, QpState.IDLE)
                await self.step(qp, QpState.CONNECTED)
        post = self.write_post(qp)
        await self.accept(qp, [post])
        await self.rest(16)
        assert await qp.destroy(wait=False) == Result.PENDING
        self.state[qp] = QpState.DESTROYING
        await self.probe()
        self.report(qp)
        await self.rest(32)
        (result,) = qp.cq.get_cq_results_ex()
        assert (result.request_context, result.status) == (post.context, OK)
        assert await qp.cq.update_consumer_index() == (0, 0)
        await qp.destroy()
        self.state[qp] = QpState.FREE
        await self.probe()

    async def step(self, qp: Qp, state: QpState) -> None:
        """One step of a QP."""
        if state == QpState.CONNECTED:
            await qp.connect(qp.number ^ 1)
        elif state == QpState.ERROR:
            await qp.flush()
        else:
            assert await qp.set_state(state) == Result.OK
        self.state[qp] = state
        await self.probe()

    async def probe(self) -> None:
        """Every number answers by its state."""
        asked = [self.ask(qp, 1)[0] for qp in self.qps]
        posted = [qp.queue_recv(qp.make_recv()) for qp in self.qps]
        await self.rest(16)
        for qp, answer, post in zip(self.qps, asked, posted, strict=True):
            state = self.state[qp]
            live = state not in (QpState.FREE, QpState.DESTROYING)
            takes = state in UP or state == QpState.IDLE
            code, cause = (await answer).code, (await post)[1]
            assert code == (NOT_READY if state in UP else REFUSED), f"QP {qp.number}: {code}"
            wanted = Cause.QUEUE_FULL if takes else Cause.BAD_STATE if live else Cause.NO_QP
            assert cause == wanted, f"QP {qp.number} in {state.name}: {cause}"


@pyuvm.test()
class EveryFailureTest(EveryQpTest):
    """DF-11, DF-15: a request of each QP in turn fails, and what it holds is never indicated,
    around the step in which the one that failed before connects anew: that one and all others go
    on, and nothing of this one succeeds.
    """

    async def scenario(self) -> None:
        qps = await self.all_qps()
        trial = 0
        await self.fails(qps[0], None, 0)
        while trial < len(MEETING) or trial % len(qps):
            old, new = qps[trial % len(qps)], qps[(trial + 1) % len(qps)]
            await self.fails(new, old, MEETING[trial % len(MEETING)])
            await self.through(qp for qp in qps if qp is not new)
            trial += 1

    async def fails(self, new: Qp, old: Qp | None, late: int) -> None:
        """Two requests in flight and one held: the first fails, the others follow."""
        posts = [self.write_post(new), self.write_post(new), self.write_post(new, defer=True)]
        await self.accept(new, posts)
        await self.rest(32)
        mark = self.mark
        at = self.harness.cycle + LEAD
        if old is not None:
            assert await old.set_state(QpState.IDLE) == Result.OK
            at = self.harness.cycle + LEAD
            self.report(new, FAILED, at=at + late)
            command = await self.command_at(at, Cmd.CONNECT_QP, old.number, old.number ^ 1)
            assert command.result == Result.OK
        else:
            self.report(new, FAILED)
        await self.rest(32)
        assert self.terms(mark) == [(new.number, QpState.ERROR)]
        assert await new.post(self.write_post(new)) == Cause.NOT_CONNECTED
        self.report(new, OK)
        await self.demand_results(new, posts, FAILED, CANCELED, CANCELED)
        assert self.beats(new, mark) == [], "indicated after the failure"


@pyuvm.test()
class EveryFlushTest(EveryQpTest):
    """SRQ-19: each QP in turn ends with a message in flight and buffers behind it: these wait for
    the report, whatever was flushed before, and are flushed then, while the one that was flushed
    before connects anew. All others keep their buffers.
    """

    async def scenario(self) -> None:
        qps = await self.all_qps(recv_depth=self.depth)
        kept = {qp: await self.supply(qp, self.depth) for qp in qps}
        took, trial = [], 0
        old: Qp | None = None
        while trial < len(MEETING) or trial % len(qps):
            qp = qps[trial % len(qps)]
            late = MEETING[trial % len(MEETING)]
            took.append(await self.ends(qp, kept[qp], old, late))
            if old is not None:
                kept[old] = await self.supply(old, self.depth)
            old = qp
            trial += 1
        assert old is not None
        assert len(set(took)) == 1, f"cycles from one flushed buffer to the next: {took}"
        await self.reconnect(old)
        kept[old] = await self.supply(old, self.depth)
        for qp in qps:
            await self.take(qp, 5)
            self.settle(qp)
            await self.demand(qp, [Want(kept[qp][0], 5)])

    async def ends(self, qp: Qp, cookies: list[int], old: Qp | None, late: int) -> int:
        """One connection; returns how long the flush took."""
        await self.take(qp, 3)
        await qp.flush()
        await self.nothing(qp)
        if old is not None:
            assert await old.set_state(QpState.IDLE) == Result.OK
        at = self.harness.cycle + LEAD
        mark = self.mark
        self.settle(qp, 0, at=at + late)
        if old is not None:
            command = await self.command_at(at, Cmd.CONNECT_QP, old.number, old.number ^ 1)
            assert command.result == Result.OK
        await self.rest(32)
        await self.demand(qp, [Want(cookies[0], 3), *canceled(cookies[1:])])
        done = [step.cycle for step in self.of_lane(TraceOp.RECEIVE, qp.number, mark)]
        assert len(done) == len(cookies)
        return max(b - a for a, b in pairwise(done))
