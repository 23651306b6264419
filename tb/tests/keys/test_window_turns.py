# SPDX-License-Identifier: Apache-2.0
"""The stated bound of a QP's turn holds beside QPs whose requests the engine executes itself
(ISO-04): at most (NUM_QP + 4) * (BURST + 4) beats taken or idle cycles (posting.md), the execution
of requests aside (windows.md).
"""

from __future__ import annotations

import pyuvm

from models.post.post import Post, Segment
from tb.env.defs import Cmd, Opcode, PostFlag, Result, TraceOp
from tb.env.harness.records import WorkBeat
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.windowing import GENERATION, WindowTest

BUILD = ["engine", "engine_small", "engine_deep"]


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
class LocalTurnsTest(WindowTest):
    """All QPs but one have a batch of Binds and Invalidates; the other one posts a Write."""

    async def scenario(self) -> None:
        config = self.config
        region = await self.memory(4096)
        count = min(config.num_qp, config.num_mw + 1)
        first = await self.guarded(recv_depth=0, log2=9)
        qps = [first]
        while len(qps) < count:
            qps.append(await self.guarded(share=first, recv_depth=0))
        windows = [await self.window() for _ in qps[:-1]]
        depth = min(config.burst, 1 << config.sq_log2)
        rows = []
        for qp, window in zip(qps[:-1], windows, strict=True):
            rows.append(batch(qp, window, region, depth))
        await self.rest()
        mark = self.mark
        for row in rows:
            for post in row[:-1]:
                assert await self.env.host.qps[post.qp].queue(post) == (0, 0)
        await self.rest()
        answers = [self.env.host.qps[row[-1].qp].queue(row[-1]) for row in rows]
        last = self.write_post(qps[-1])
        answers.append(qps[-1].queue(last))
        for answer in answers:
            assert await answer == (0, 0)
        await self.rest()
        (step,) = self.steps(qps[-1], TraceOp.POST, mark)
        (beat,) = self.beats(qps[-1], mark)
        bound = (config.num_qp + 4) * (config.burst + 4)
        taken = beat.cycle - step.cycle
        beats = [b for b in self.of(WorkBeat, mark) if step.cycle <= b.cycle < beat.cycle]
        self.logger.info("%d cycles, %d beats, bound %d", taken, len(beats), bound)
        assert len(beats) > 4  # other QPs had turns meanwhile
        # A request is executed 3 cycles behind its beat, and 8 later the next one has its turn.
        idle = taken - 11 * len(beats)
        assert max(idle, len(beats)) <= bound + 8, f"{taken} cycles, {len(beats)} beats"
        self.report(qps[-1])
        await self.rest()


@pyuvm.test()
class CommandTurnTest(WindowTest):
    """A command beside requests that the engine executes itself and Reads that invalidate, all of
    which ask for their key steps as soon as they can: it waits for one of each (ISO-04).
    """

    async def scenario(self) -> None:
        target = await self.memory(4096)
        reader = await self.guarded(recv_depth=0, log2=9)
        count = min(self.config.num_mw - 2, 1 << self.config.sq_log2, 12)
        reads = [await self.read_of(await self.window(), reader, target) for _ in range(count)]
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
        others = [
            other.cycle
            for op in (TraceOp.INVALIDATE, TraceOp.BIND)
            for other in self.key_steps(op, mark)
        ]
        meanwhile = sum(closed.start <= cycle < step.cycle for cycle in others)
        assert meanwhile <= 4, f"{meanwhile} steps before that of the command"
        assert max(others) > step.cycle, "the others were over"

    async def read_of(self, window: MemoryWindow, qp: Qp, target: Region) -> Post:
        """A Read that invalidates the key of its first segment, which is valid."""
        key = await self.bind(window, qp, target)
        return qp.make(
            Opcode.READ,
            target=target.segment(0, 8),
            segments=[Segment(target.base, 8, key)],
            flags=PostFlag.RDMA_READ_LOCAL_INVALIDATE,
        )
