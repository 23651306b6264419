# SPDX-License-Identifier: Apache-2.0
"""Events whose way out is blocked: every callback that is due comes once, for every queue there is
(CQ-16, CQ-11).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import pyuvm

from tb.env.defs import ArmType
from tb.env.harness.harness import Channel
from tb.tests.common.steps import ANY, SOLICITED, UNSOLICITED, StepTest

EQS = 8


@pyuvm.test()
class EventSinkStallsTest(StepTest):
    """CQ-16: an event is lost, doubled or early because its way out was blocked: every queue there
    is, on full event queues, has a callback due, for each place that can stall, for thousands of
    cycles.
    """

    async def scenario(self) -> None:
        mem, hold, number = self.env.mem, self.harness.hold, self.config.num_cq
        room = (number // EQS - 1).bit_length()
        self.eqs = [await self.env.host.create_eq(log2=room, page=1) for _ in range(EQS)]
        self.all = [await self.consumer(log2=4, eq=self.eqs[n % EQS]) for n in range(number)]

        def hold_eqs(held: bool) -> None:
            for eq in self.eqs:
                (mem.hold_eq if held else mem.release_eq)(eq.number)

        def hold_responses(held: bool) -> None:
            (mem.hold_responses if held else mem.release_responses)()

        channels = (Channel.IRQ, Channel.MEM_AW, Channel.MEM_W, Channel.MEM_B)
        ways: list[Callable[[bool], None]] = [partial(hold, channel) for channel in channels]
        ways += [hold_eqs, hold_responses]
        for block, due_by_arm in product(ways, (False, True)):
            await self.blocked(block, due_by_arm)
        # No event can be written while every queue's acknowledgement comes: all of them wait.
        self.arm(ANY)
        hold_responses(True)
        await self.env.drain()
        self.complete()
        await self.env.drain()
        hold(Channel.MEM_AW)
        hold_responses(False)
        await self.nobody_called()
        hold(Channel.MEM_AW, False)
        await self.called_once()
        for q in self.all[::10]:
            await q.proves_fit()

    async def blocked(self, block: Callable[[bool], None], due_by_arm: bool) -> None:
        """The callback becomes due by a completion after the arm, or by the arm after it."""
        if due_by_arm:
            self.complete()
        else:
            self.arm(ANY)
        await self.env.drain()
        block(True)
        await self.harness.cycles(4)
        if due_by_arm:
            self.arm(SOLICITED)
        else:
            self.complete()
        await self.nobody_called()
        block(False)
        await self.called_once()

    async def called_once(self) -> None:
        """Exactly one callback each, which then returns; everything is polled."""
        await self.env.drain()
        for q in self.all:
            q.demand(1)
            q.cq.post_callback_return()
            q.take()
            q.cq.post_consumer_index(q.index())
            q.running = False
        await self.env.drain()

    def arm(self, arm: ArmType) -> None:
        for q in self.all:
            q.cq.post_arm(arm, index=q.index())

    def complete(self) -> None:
        for q in self.all:
            q.send(UNSOLICITED)

    async def nobody_called(self) -> None:
        await self.harness.cycles(2_000)
        await self.env.sync()
        for q in self.all:
            q.demand(0)
