# SPDX-License-Identifier: Apache-2.0
"""Consumer indices that race the write of the entry they are about (CQ-22)."""

from __future__ import annotations

import pyuvm

from tb.env.agents.doorbell import WriteResult
from tb.env.defs import Cause
from tb.tests.common.directed import SLVERR, DirectedTest

BUILD = ["default", "small"]

_ACCEPTED = WriteResult(0, Cause.NONE)
_REFUSED = WriteResult(SLVERR, Cause.BAD_INDEX)


@pyuvm.test()
class BehindAcceptedTest(DirectedTest):
    """One index behind what is written so far, at each cycle around the write, close behind a
    doorbell that is accepted: refused before, accepted after, and which is right is judged at its
    turn.
    """

    async def scenario(self) -> None:
        cq = await self.queue(0, log2=3)
        mask = (1 << self.config.idx_w) - 1
        answers = []
        for late in range(64):
            start = self.harness.cycle + 64
            self.env.completions.send(cq.number, context=late, at_cycle=start)
            index = cq.consumer_index
            front = cq.post_consumer_index(index, at=start + late)
            answer = cq.post_consumer_index((index + 1) & mask, at=start + late)
            assert await front == _ACCEPTED
            answers.append(await answer)
            await self.env.drain(16)
            assert self.polled(cq) == [late]
            assert await cq.update_consumer_index() == _ACCEPTED
        turn = answers.index(_ACCEPTED)
        assert turn > 0 and answers == [_REFUSED] * turn + [_ACCEPTED] * (64 - turn), answers
