# SPDX-License-Identifier: Apache-2.0
"""The stated bound of a QP's turn holds beside QPs whose requests the engine executes itself
(ISO-04): at most NUM_QP * (BURST + 4) beats taken or idle cycles (posting.md).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Opcode, TraceOp
from tb.env.records import WorkBeat
from tb.tests.windowing import GENERATION, WindowTest

BUILD = ["engine", "engine_small", "engine_deep"]


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
            key, row = window.key, []
            for n in range(depth):
                defer = n < depth - 1
                if n % 2:
                    row.append(qp.make(Opcode.INVALIDATE, token=key, silent=True, defer=defer))
                else:
                    row.append(window.make_bind(qp, region, token=key, silent=True, defer=defer))
                    key += GENERATION
            rows.append(row)
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
        bound = config.num_qp * (config.burst + 4)
        taken = beat.cycle - step.cycle
        beats = [b for b in self.of(WorkBeat, mark) if step.cycle <= b.cycle < beat.cycle]
        self.logger.info("%d cycles, %d beats, bound %d", taken, len(beats), bound)
        assert taken <= bound + 8, f"{taken} cycles ({len(beats)} beats), bound {bound}"
        self.report(qps[-1])
        await self.rest()
