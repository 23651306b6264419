# SPDX-License-Identifier: Apache-2.0
"""Arms and bursts of completions: each completion counts, whatever its place (CQ-08, CQ-12)."""

from __future__ import annotations

import pyuvm

from tb.env.agents import Cpl
from tb.tests.common.steps import ANY, SOLICITED, SOLICITED_RECEIVE, UNSOLICITED, StepTest


@pyuvm.test()
class OnlyFirstOfBurstTest(StepTest):
    """CQ-08, CQ-12: only the first completion of a burst is compared with the arm."""

    async def scenario(self) -> None:
        await self.together(
            *(self.burst(before, paired) for before in range(6) for paired in (False, True)),
            self.call_per_arm(),
        )

    async def burst(self, before: int, paired: bool) -> None:
        """The solicited one is the first to the sixth of a burst, in beats of one or two."""
        q = await self.consumer(f"{before} before it, paired {paired}")
        await q.arm(SOLICITED)
        kinds = [UNSOLICITED] * 6
        kinds[before] = SOLICITED_RECEIVE
        if paired:
            for i in range(0, 6, 2):
                first, second = (
                    Cpl(q.cq.number, context=i + lane, **kinds[i + lane]) for lane in (0, 1)
                )
                self.env.completions.send_pair(first, second)
            q.placed = 6
        else:
            q.send(*kinds)
        await self.env.drain()
        (callback,) = q.cq.callbacks
        assert before < callback.snap <= 6, f"{q}: {callback} does not cover the solicited one"
        q.demand(1, snap=callback.snap)
        await q.proves_fit()

    async def call_per_arm(self) -> None:
        """After the burst's first callback the rest of it is news for the next arm."""
        q = await self.consumer("call per arm")
        await q.arm(ANY)
        q.send(*[UNSOLICITED] * 6)
        await self.env.drain()
        q.demand(1, snap=q.cq.callbacks[0].snap)
        assert q.cq.callbacks[0].snap < 6
        await q.arm(ANY)
        await q.callback_returns(calls=1)
        await q.proves_fit()
