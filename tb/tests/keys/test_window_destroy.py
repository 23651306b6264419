# SPDX-License-Identifier: Apache-2.0
"""A queue pair is destroyed while a request that makes something valid on it is under way: at no
offset is anything valid on a queue pair that does not exist.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cmd, Result
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.windowing import READ, WindowTest

BUILD = ["engine", "engine_small"]
LEAD = 240


class DestroyedTest(WindowTest):
    #: Other QPs fail in consecutive cycles, which holds up steps of commands.
    flood = False

    async def scenario(self) -> None:
        self.target = await self.memory(256)
        window, region = await self.window(), await self.allocated(256)
        self.ends: set[tuple[Result, bool]] = set()
        others = []
        if self.flood:
            first = await self.guarded(recv_depth=0)
            others = [first]
            while len(others) < self.config.num_qp - 1:
                others.append(await self.guarded(share=first, recv_depth=0))
        keyeds: tuple[MemoryWindow | Region, ...] = (window, region)
        for keyed in keyeds[: 1 if self.flood else 2]:
            for offset in range(-14, 26):
                for delay in range(0, 28, 3) if self.flood else (0,):
                    self.logger.info("offset %d, delay %d", offset, delay)
                    await self.trial(keyed, offset, others, delay)
        self.logger.info("%s", self.ends)
        # Both orders were seen.
        assert (Result.OK, False) in self.ends or (Result.PENDING, False) in self.ends, self.ends

    async def trial(
        self, keyed: MemoryWindow | Region, offset: int, others: list[Qp], delay: int
    ) -> None:
        qp = await self.guarded(recv_depth=0, number=self.config.num_qp - 1)
        await self.rest(16)
        start = self.harness.cycle + LEAD
        if isinstance(keyed, MemoryWindow):
            post = keyed.make_bind(qp, self.target, silent=self.flood)
        else:
            post = keyed.make_fast_register(qp, silent=self.flood)
        task = self.command_at(start, Cmd.DESTROY_QP, qp.number)
        answer = qp.queue(post, at=start + offset)
        for n, other in enumerate(others):
            self.post_check(other, READ, 0, 0, 1, at=start + delay if not n else None)
        result = Result((await task).result)
        await answer
        await self.rest(32)
        status = await keyed.refresh()
        self.ends.add((result, status.valid))
        exists = await self.result(Cmd.QUERY_QP, qp.number) == Result.OK
        where = f"offset {offset}, delay {delay}: {result.name}, {status}"
        assert exists or not status.valid, f"valid on a queue pair that does not exist: {where}"
        if result == Result.OK:
            assert not exists, where
        if status.valid:
            assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.IN_USE, where
            await self.end(keyed)
        found = qp.cq.get_cq_results_ex()
        await qp.cq.update_consumer_index()
        assert len(found) <= 1, where
        if await self.result(Cmd.QUERY_QP, qp.number) == Result.OK:
            await qp.destroy()
        else:
            self.env.host.qps.pop(qp.number, None)
        await qp.cq.destroy()
        for other in others:
            await self.revive(other)

    async def end(self, keyed: MemoryWindow | Region) -> None:
        if isinstance(keyed, MemoryWindow):
            await keyed.close()
            await keyed.create()
        else:
            await keyed.deregister()
            await keyed.allocate()


@pyuvm.test()
class DestroyedMeanwhileTest(DestroyedTest):
    """Bind and FastRegister around DESTROY_QP."""


@pyuvm.test()
class DestroyedInFloodTest(DestroyedTest):
    """Silent ones, while the steps of DESTROY_QP have to wait for failing ones of all other QPs."""

    flood = True
