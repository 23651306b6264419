# SPDX-License-Identifier: Apache-2.0
"""Events whose way out is blocked: every callback that is due comes once, for every queue there is
(CQ-16, CQ-11).
"""

from __future__ import annotations

from collections.abc import Callable

import pyuvm

from tb.env.harness.harness import Channel
from tb.tests.common.steps import ANY, SOLICITED, UNSOLICITED, Consumer, StepTest


@pyuvm.test()
class EventSinkStallsTest(StepTest):
    """CQ-16: an event is lost, doubled or early because its way out was blocked: every queue there
    is, on full event queues, has a callback due, for each place that can stall, for thousands of
    cycles.
    """

    async def scenario(self) -> None:
        assert self.env.config is not None
        eqs = [await self.env.host.create_eq(log2=3, page=1) for _ in range(8)]
        queues = [
            await self.consumer(log2=4, eq=eqs[number % 8])
            for number in range(self.env.config.num_cq)
        ]
        hold, mem = self.harness.hold, self.env.mem

        def hold_eqs() -> None:
            for eq in eqs:
                mem.hold_eq(eq.number)

        def release_eqs() -> None:
            for eq in eqs:
                mem.release_eq(eq.number)

        ways: list[tuple[Callable[[], None], Callable[[], None]]] = [
            (lambda: hold(Channel.IRQ), lambda: hold(Channel.IRQ, False)),
            (lambda: hold(Channel.MEM_AW), lambda: hold(Channel.MEM_AW, False)),
            (lambda: hold(Channel.MEM_W), lambda: hold(Channel.MEM_W, False)),
            (lambda: hold(Channel.MEM_B), lambda: hold(Channel.MEM_B, False)),
            (hold_eqs, release_eqs),
            (mem.hold_responses, mem.release_responses),
        ]
        for block, release in ways:
            for due_by_arm in (False, True):
                await self.blocked(queues, block, release, due_by_arm)
        await self.all_at_once(queues)
        for q in queues[::10]:
            await q.proves_fit()

    async def blocked(
        self,
        queues: list[Consumer],
        block: Callable[[], None],
        release: Callable[[], None],
        due_by_arm: bool,
    ) -> None:
        """The callback becomes due by a completion after the arm, or by the arm after it."""
        for q in queues:
            if due_by_arm:
                q.send(UNSOLICITED)
            else:
                q.cq.post_arm(ANY, index=q.index())
        await self.env.drain()
        block()
        await self.harness.cycles(4)
        for q in queues:
            if due_by_arm:
                q.cq.post_arm(SOLICITED, index=q.index())
            else:
                q.send(UNSOLICITED)
        await self.harness.cycles(2_000)
        await self.env.sync()
        for q in queues:
            q.demand(0)
        release()
        await self.called_once(queues)

    async def all_at_once(self, queues: list[Consumer]) -> None:
        """No event can be written while every queue's acknowledgement comes: all of them wait."""
        for q in queues:
            q.cq.post_arm(ANY, index=q.index())
        self.env.mem.hold_responses()
        await self.env.drain()
        for q in queues:
            q.send(UNSOLICITED)
        await self.env.drain()
        self.harness.hold(Channel.MEM_AW)
        self.env.mem.release_responses()
        await self.harness.cycles(2_000)
        await self.env.sync()
        for q in queues:
            q.demand(0)
        self.harness.hold(Channel.MEM_AW, False)
        await self.called_once(queues)

    async def called_once(self, queues: list[Consumer]) -> None:
        """Exactly one callback each, which then returns; everything is polled."""
        await self.env.drain()
        for q in queues:
            q.demand(1)
            q.cq.post_callback_return()
            q.take()
            q.cq.post_consumer_index(q.index())
            q.running = False
        await self.env.drain()


@pyuvm.test()
class StalledTwiceTest(StepTest):
    """CQ-16, CQ-11: while the event's answer is held back, the host has already returned and armed
    again, and a second callback is due: two in all, for every queue there is.
    """

    async def scenario(self) -> None:
        assert self.env.config is not None
        queues = [await self.consumer(log2=4) for _ in range(self.env.config.num_cq)]
        eq = queues[0].cq.eq.number
        self.env.mem.hold_eq(eq)
        for q in queues:
            q.cq.post_arm(ANY, index=0)
        await self.env.drain()
        for q in queues:
            q.send(UNSOLICITED)
        await self.env.drain()
        answers = []
        for q in queues:
            answers += [q.cq.post_callback_return(), q.cq.post_arm(ANY, index=0)]
            q.send(UNSOLICITED)
        await self.env.drain()
        assert all(answer.result == (0, 0) for answer in answers)
        for q in queues:
            q.demand(0)
        self.env.mem.release_eq(eq)
        await self.env.drain()
        for q in queues:
            assert [callback.snap for callback in q.cq.callbacks] == [1, 2], str(q)
            q.expected, q.running = 2, True
        for q in queues[::10]:
            await q.proves_fit()
