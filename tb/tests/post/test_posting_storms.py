# SPDX-License-Identifier: Apache-2.0
"""Storms: what one QP, the transport or a standing port does holds up nobody else (ISO-03, ISO-04),
and nothing is stranded after it (DF-03, DF-11, DF-12).
"""

from __future__ import annotations

import cocotb
import pyuvm

from tb.env.defs import (
    POST,
    TRC_INVALIDATE,
    Cause,
    Cmd,
    CqeStatus,
    Opcode,
    QpState,
    Result,
    TraceOp,
)
from tb.env.harness.harness import Channel
from tb.env.harness.records import DoorbellResponse
from tb.env.host.qp import Qp
from tb.tests.common.engine import ZONE, EngineTest
from tb.tests.common.posting import OK
from tb.tests.common.receiving import TAKEN

# Small queues hold too few completions to stall those that come after them.
BUILD = "engine"

LEAD = 200  # cycles from setting a trial up to its first report
#: Cycles in which a post is answered on an engine that does little else.
SOON = 16
#: Completions that wait in front of memory, at most.
_ROOM = 24


class FailingTest(EngineTest):
    async def posts_during(self, victim: Qp, times: range, what: str) -> None:
        """Posts of ``victim`` at these times are answered soon."""
        mark = self.mark
        posts = [self.write_post(victim) for _ in times]
        answers = [victim.queue(post, at=at) for post, at in zip(posts, times, strict=True)]
        for answer in answers:
            assert await answer == (0, Cause.NONE)
        await self.rest()
        answered = [response.cycle for response in self.of(DoorbellResponse, mark)]
        waits = [b - a for a, b in zip(times, answered, strict=True)]
        assert max(waits) <= SOON, f"posts during {what} waited {waits}"
        await self.done(victim, posts)

    async def read_results(self, qps: list[Qp]) -> None:
        """What has completed for them."""
        for qp in qps:
            qp.cq.get_cq_results_ex()
            await qp.cq.update_consumer_index()


@pyuvm.test()
class StandingReportsTest(FailingTest):
    """Each receive has two entries, and completions of another QP take turns with them: a report
    stands for three cycles. One that fails ends its connection by one step.
    """

    async def scenario(self) -> None:
        victim, sender = await self.qp(), await self.qp()
        qps = [await self.own(nd1=True) for _ in range(self.config.num_qp - 2)]
        for status in (CqeStatus.SUCCESS, CqeStatus.TRANSPORT_ERROR):
            for qp in qps:
                await self.supply(qp, 1)
                await self.take(qp, 1)
            count = min(30, 1 << self.config.sq_log2)
            await self.accept(sender, [self.write_post(sender) for _ in range(count)])
            await self.rest()
            start = self.harness.cycle + LEAD
            for qp in qps:
                self.settle(qp, status, at=start)
            self.report(sender, *[0] * count, at=start - 2)
            times = range(start + 8, start + 3 * len(qps), 16)
            await self.posts_during(victim, times, f"receive reports {status.name}")
            await sender.cq.wait_results(count)
            await self.read_results([sender, *qps])


@pyuvm.test()
class EndedRequestsTest(FailingTest):
    """Reports about requests of connections that have ended change nothing any more."""

    async def scenario(self) -> None:
        victim = await self.qp()
        qps = [await self.qp() for _ in range(self.config.num_qp - 1)]
        for status in (CqeStatus.SUCCESS, CqeStatus.TRANSPORT_ERROR):
            for qp in qps:
                await self.accept(qp, [self.write_post(qp)])
                self.env.conn.send(qp.number)
            await self.rest()
            start = self.harness.cycle + LEAD
            for qp in qps:
                self.report(qp, status, at=start)
            await self.posts_during(victim, range(start + 3, start + 4), f"reports {status.name}")
            await self.read_results(qps)
            for qp in qps:
                await self.reconnect(qp)


@pyuvm.test()
class TermsKeptTest(EngineTest):
    """Connections end and begin again while the term sink stands still, until CONNECT_QP waits:
    every terminate request is sent, in order.
    """

    allow = ("no_posts", "no_receives", "no_completions", "no_doorbells")

    async def scenario(self) -> None:
        _, *others = qps = [await self.qp() for _ in range(self.config.num_qp)]
        ended: list[tuple[int, int]] = []
        self.env.term.hold()

        async def again() -> None:
            for some in (qps, others[1:], qps):
                for qp in some:
                    await qp.flush()
                    ended.append((qp.number, int(QpState.ERROR)))
                for qp in some:
                    await qp.reset()
                    await qp.connect(1)

        task = cocotb.start_soon(again())
        await self.harness.cycles(20_000)
        assert not task.done() and not self.terms()
        self.env.term.hold(False)
        await task
        await self.rest()
        assert self.terms() == ended


@pyuvm.test()
class RetireStallTest(EngineTest):
    """Memory takes no entry, and after each number of completions of others a QP begins to retire
    what was reported; the rest of its requests is reported, or a local one is executed, while it
    stands still, each in a cycle of its own, and is the last that happens to the QP.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        others = [await self.qp() for _ in range(3)]
        still = 0
        for local in (False, True):
            for before in range(min(_ROOM, 3 * qp.depth) + 1):
                still += await self.trial(qp, others, before, local)
        assert still > 4 or 3 * qp.depth < _ROOM, still

    async def trial(self, qp: Qp, others: list[Qp], before: int, local: bool) -> bool:
        """Whether the QP stood still with a part of what had been reported first."""
        shares = [before // 3 + (n < before % 3) for n in range(3)]
        made = [
            (other, await self.accept(other, [self.write_post(other) for _ in range(share)]))
            for other, share in zip(others, shares, strict=True)
        ]
        first = 2 + before % 2 if qp.depth > 3 else 2
        late = 0 if local else qp.depth - first
        posts = await self.accept(qp, [self.write_post(qp) for _ in range(first + late)])
        await self.rest()
        self.harness.hold(Channel.MEM_AW)
        mark = self.mark
        for other, wanted in made:
            for _ in wanted:
                self.report(other)
        await self.harness.cycles(60)
        self.report(qp, *[0] * first)
        await self.harness.cycles(40)
        part = len(self.steps(qp, TraceOp.RETIRE, mark))
        for _ in range(late):
            self.report(qp)
            await self.harness.cycles(20)
        if local:
            posts += await self.accept(qp, [self.local_post(qp)])
            await self.harness.cycles(40)
        still = part < first and part == len(self.steps(qp, TraceOp.RETIRE, mark))
        self.harness.hold(Channel.MEM_AW, False)
        await self.demand_results(qp, posts, OK)
        for other, wanted in made:
            await self.demand_results(other, wanted, OK)
        return still


@pyuvm.test()
class DispatchStallTest(EngineTest):
    """The transport takes no work, and after each number of requests of others a QP begins to
    indicate its first ones; the rest is posted, or what was held is released, one in a cycle of
    its own, while indication stands still, and is the last that happens to the QP.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        others = [await self.qp() for _ in range(2)]
        still = 0
        for held in (False, True):
            for before in range(7):
                still += await self.trial(qp, others[before % 2], before, held)
        assert still > 4, still

    async def trial(self, qp: Qp, other: Qp, before: int, held: bool) -> bool:
        """Whether nothing of the QP was indicated before the transport went on."""
        await self.rest()
        self.harness.hold(Channel.WORK)
        mark = self.mark
        ahead = min(before, other.depth)
        made = await self.accept(other, [self.write_post(other) for _ in range(ahead)])
        await self.harness.cycles(20)
        posts = await self.hold(qp, 1, watch=False)
        posts += await self.accept(qp, [self.write_post(qp)])
        while len(posts) < min(qp.depth, 6):
            await self.harness.cycles(20)
            if held and len(posts) + 2 <= qp.depth:
                posts += await self.hold(qp, 1, watch=False)
                await self.harness.cycles(20)
            posts += await self.accept(qp, [self.write_post(qp)])
        await self.harness.cycles(20)
        still = not self.beats(qp, mark)
        self.harness.hold(Channel.WORK, False)
        await self.rest()
        indicated = [POST["context"].get(beat.data) for beat in self.beats(qp, mark)]
        assert indicated == [post.context for post in posts], indicated
        await self.done(qp, posts)
        await self.done(other, made)
        return still


@pyuvm.test()
class RequestDuringMessagesTest(EngineTest):
    """A message that invalidates in every cycle, for many cycles: a local request and a command
    are executed among them (ISO-04).
    """

    users = 14
    each = 4

    async def scenario(self) -> None:
        recv_cq = await self.queue(reservation=True, log2=7)
        srq = await self.env.host.create_srq(size=64, zone=ZONE)
        qps = await self.sharing(self.users, srq=srq, recv_cq=recv_cq)
        asker, target = await self.guarded(share=qps[0], recv_depth=0), await self.memory(256)
        own, idle = await self.window(), await self.window()
        await self.bind(own, asker, target)
        keys: list[tuple[Qp, int]] = []
        for qp in qps:
            windows = [await self.window() for _ in range(self.each)]
            posts = [window.make_bind(qp, target) for window in windows]
            await self.accept(qp, posts)
            await self.demand_results(qp, posts, *[0] * self.each)
            keys += [(qp, (await window.refresh()).key) for window in windows]
        await self.post_buffers(srq, target, len(keys))
        mark, at = self.mark, self.harness.cycle + 200
        request = asker.make(Opcode.INVALIDATE, token=own.key)
        accepted = asker.queue(request, at=at)
        closed = self.command_at(at, Cmd.CLOSE_MW, idle.number)
        await self.answers([self.send_invalidate(q, k, at=at) for q, k in keys], TAKEN)
        assert (await accepted)[1] == 0
        assert (await closed).result == Result.OK
        await self.rest()
        steps = self.key_steps(TraceOp.INVALIDATE, mark)
        peers = [step.cycle for step in steps if TRC_INVALIDATE["peer"].get(step.operand)]
        (local,) = [step.cycle for step in steps if not step.operand >> TRC_INVALIDATE["peer"].lsb]
        assert len(peers) == len(keys)
        assert peers[0] < local < peers[-1], f"the request waited: {local}, {peers}"
        (close,) = self.key_steps(TraceOp.KEY_COMMAND, mark)
        assert peers[0] < close.cycle < peers[-1], f"the command waited: {close.cycle}, {peers}"
        await self.demand_results(asker, [request], 0)
        for qp in qps:
            self.settle(qp, *[0] * self.each)
        assert len(await recv_cq.wait_results(len(keys))) == len(keys)
