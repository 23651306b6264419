# SPDX-License-Identifier: Apache-2.0
"""Queue pairs side by side: turns with QPs whose requests the engine executes itself (ISO-04),
and failures of two of them that meet in any cycle.
"""

from __future__ import annotations

from itertools import cycle

import pyuvm

from models.post.post import Post
from tb.env.defs import Cmd, Opcode, QpState, Result, TraceOp
from tb.env.harness.records import WorkBeat
from tb.env.host.qp import Qp
from tb.env.host.regions import MemoryWindow, Region
from tb.tests.common.engine import GENERATION, INVALID_TOKEN, EngineTest
from tb.tests.common.posting import FAILED
from tb.tests.common.receiving import LENGTH_ERROR, TOO_LONG, Want

BUILD = ["engine", "engine_small", "engine_deep"]

#: What fails: the report of a receive, that of a request, a request that the engine executes, a
#: message that is too long.
RECEIVE, REPORT, LOCAL, LONG = "receive", "report", "local", "long"


def batch(qp: Qp, window: MemoryWindow, region: Region, depth: int) -> list[Post]:
    """Binds and Invalidates of one window in turns, silent; the last one releases them."""
    key, posts = window.key, []
    for n in range(depth):
        defer = n < depth - 1
        if n % 2:
            posts.append(qp.make(Opcode.INVALIDATE, token=key, silent=True, defer=defer))
        else:
            posts.append(window.make_bind(qp, region, token=key, silent=True, defer=defer))
            key += GENERATION
    return posts


@pyuvm.test()
class LocalTurnsTest(EngineTest):
    """All QPs but one have a batch of Binds and Invalidates; the other one posts a Write: at most
    (NUM_QP + 4) * (BURST + 4) beats taken or idle cycles (posting.md) until its turn, the execution
    of requests aside (windows.md).
    """

    async def scenario(self) -> None:
        config = self.config
        region = await self.memory(4096)
        count = min(config.num_qp, config.num_mw + 1)
        qps = await self.sharing(count, recv_depth=0, log2=9)
        depth = min(config.burst, 1 << config.sq_log2)
        rows = [batch(qp, await self.window(), region, depth) for qp in qps[:-1]]
        await self.rest()
        mark = self.mark
        for qp, row in zip(qps, rows, strict=False):
            await self.accept(qp, row[:-1])
        await self.rest()
        answers = [qp.queue(row[-1]) for qp, row in zip(qps, rows, strict=False)]
        answers.append(qps[-1].queue(self.write_post(qps[-1])))
        for answer in answers:
            assert await answer == (0, 0)
        await self.rest()
        (step,) = self.steps(qps[-1], TraceOp.POST, mark)
        (beat,) = self.beats(qps[-1], mark)
        bound = (config.num_qp + 4) * (config.burst + 4)
        taken = beat.cycle - step.cycle
        beats = [b for b in self.of(WorkBeat, mark) if step.cycle <= b.cycle < beat.cycle]
        assert len(beats) > 4  # other QPs had turns meanwhile
        # A request takes 14 cycles, 6 from its beat to its step and 8 to the next turn: 11 will do.
        idle = taken - 11 * len(beats)
        assert max(idle, len(beats)) <= bound + 8, f"{taken} cycles, {len(beats)} beats"
        self.report(qps[-1])
        await self.rest()


@pyuvm.test()
class CommandTurnTest(EngineTest):
    """A command with requests that the engine executes itself and Reads that invalidate, all of
    which ask for their key steps as soon as they can: it waits for one of each (ISO-04).
    """

    async def scenario(self) -> None:
        target = await self.memory(4096)
        reader = await self.guarded(recv_depth=0, log2=9)
        count = min(self.config.num_mw - 2, 1 << self.config.sq_log2, 12)
        reads = []
        for _ in range(count):
            key = await self.bind(await self.window(), reader, target)
            reads.append(self.read_of(reader, target, key))
        await self.accept(reader, reads)
        worker = await self.guarded(share=reader, recv_depth=0)
        window, idle = await self.window(), await self.window()
        depth = min(self.config.burst, 1 << self.config.sq_log2) & ~1
        requests = batch(worker, window, target, depth)
        for post in requests[:-1]:
            assert await worker.queue(post) == (0, 0)
        await self.rest()
        mark, at = self.mark, self.harness.cycle + 100
        for n in range(count):
            self.report(reader, 0, at=at + n)
        last = worker.queue(requests[-1], at=at)
        closed = await self.command_at(at + 4, Cmd.CLOSE_MW, idle.number)
        assert closed.result == Result.OK and await last == (0, 0)
        await self.rest()
        (step,) = self.key_steps(TraceOp.KEY_COMMAND, mark)
        others = self.key_steps(TraceOp.INVALIDATE, mark) + self.key_steps(TraceOp.BIND, mark)
        meanwhile = sum(closed.start <= other.cycle < step.cycle for other in others)
        assert meanwhile <= 4, f"{meanwhile} steps before that of the command"
        assert max(other.cycle for other in others) > step.cycle, "the others were over"


@pyuvm.test()
class FailuresMeetTest(EngineTest):
    """DF-15, SRQ-18, SRQ-19: something of one QP fails in each cycle around a failure of another
    one: both connections end, each once, and all completes. A receive fails with any status that is
    no success. Class: of two failures in one cycle one is lost.
    """

    #: Of reports of receives, in turns.
    statuses = cycle((1, 2, 3, 4, 8, 16, 32, 64, 128, 255))

    async def scenario(self) -> None:
        qps = await self.guarded(), await self.guarded()
        self.buffer = await self.memory(64)
        for kinds, offsets in (
            ((RECEIVE, REPORT), range(-8, 9)),
            ((RECEIVE, LOCAL), range(24)),
            ((REPORT, LOCAL), range(24)),
            ((RECEIVE, LONG), range(-2, 12)),
        ):
            for offset in offsets:
                await self.meet(qps, kinds, offset)

    async def meet(self, qps: tuple[Qp, Qp], kinds: tuple[str, str], offset: int) -> None:
        posts, cookies = [self.write_post(qp) for qp in qps], {}
        status = next(self.statuses)
        for n, (qp, kind) in enumerate(zip(qps, kinds, strict=True)):
            if kind in (RECEIVE, LONG):
                (cookies[kind],) = await self.post_buffers(qp, self.buffer)
            if kind == RECEIVE:
                await self.take(qp, 1)
            elif kind == REPORT:
                await self.accept(qp, [posts[n]])
            elif kind == LOCAL:
                posts[n] = qp.make(Opcode.INVALIDATE, token=0)
        await self.rest()
        mark, start = self.mark, self.harness.cycle + 300
        for qp, kind, post, at in zip(qps, kinds, posts, (start + offset, start), strict=True):
            if kind == RECEIVE:
                self.settle(qp, status, at=at)
            elif kind == LONG:
                pending = self.ask(qp, 65, at=at)
            elif kind == REPORT:
                self.report(qp, FAILED, at=at)
            else:
                assert await qp.queue(post, at=at) == (0, 0)
        for qp, kind, post in zip(qps, kinds, posts, strict=True):
            if kind == RECEIVE:
                await self.demand(qp, [Want(cookies[kind], status=status)])
            elif kind == LONG:
                await self.answers(pending, TOO_LONG)
                self.settle(qp)
                await self.demand(qp, [Want(cookies[kind], status=LENGTH_ERROR)])
            else:
                await self.demand_results(qp, [post], INVALID_TOKEN if kind == LOCAL else FAILED)
        for qp in qps:
            await self.demand_state(qp, QpState.ERROR)
        ends = sorted((qp.number, QpState.ERROR) for qp in qps)
        assert sorted(self.terms(mark)) == ends, f"{kinds}, {offset}: {self.terms(mark)}"
        for qp in qps:
            await self.revive(qp)
