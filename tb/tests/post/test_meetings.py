# SPDX-License-Identifier: Apache-2.0
"""Meetings that random traffic rarely has: failures of a report and of a local request in one
cycle, a request that changes keys behind messages that invalidate in every cycle, control steps in
the cycle of a look for old requests.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import QpState, TraceOp
from tb.tests.common.posting import FAILED
from tb.tests.common.windowing import GENERATION, INVALID_TOKEN, WindowTest

BUILD = "engine"

LEAD = 64  # cycles from setting a trial up to its centre


@pyuvm.test()
class TwoFailuresTest(WindowTest):
    """DF-15: a local request of one QP fails in the cycles around the report of a failed
    request of another; both connections end, each once, and both requests complete.
    """

    async def scenario(self) -> None:
        one, other = await self.guarded(), await self.guarded()
        for shift in range(-12, 13):
            sent = (await self.accept(other, [self.write_post(other)]))[0]
            await self.rest(32)
            mark, centre = self.mark, self.harness.cycle + LEAD
            post = self.local_post(one)
            answer = one.queue(post, at=centre)
            self.report(other, FAILED, at=centre + 8 + shift)
            assert (await answer) == (0, 0)
            await self.demand_results(one, [post], INVALID_TOKEN)
            await self.demand_results(other, [sent], FAILED)
            error = int(QpState.ERROR)
            terms = sorted(self.terms(mark))
            assert terms == [(one.number, error), (other.number, error)], (shift, terms)
            for qp in (one, other):
                await self.demand_state(qp, QpState.ERROR)
                await self.revive(qp)


@pyuvm.test()
class PatienceTest(WindowTest):
    """ISO-04, DF-12: a Bind comes to its turn within 32 cycles and some, while messages that
    invalidate windows are taken in every cycle.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(size=64, zone=5)
        users = [await self.guarded(srq=srq) for _ in range(6)]
        binder = await self.guarded()
        region = await self.memory(4096)
        each = min(self.most, 8)
        count = len(users) * each
        windows = [await self.window() for _ in range(count)]
        for number, window in enumerate(windows):
            await self.bind(window, users[number // each], region, 0, 64)
        last = await self.window()
        buffers = await self.memory(64)
        for _ in range(count):
            assert (await srq.post_recv([buffers.segment(0, 1)])).accepted
        mark, start = self.mark, self.harness.cycle + LEAD
        post = last.make_bind(binder, region, 0, 64)
        answer = binder.queue(post, at=start)
        asked = [
            self.send_invalidate(users[n // each], window.key, at=start + n)
            for n, window in enumerate(windows)
        ]
        assert (await answer) == (0, 0)
        for one in asked:
            assert (await one).taken
        await self.demand_results(binder, [post], 0)
        (step,) = self.key_steps(TraceOp.BIND, mark)
        assert step.cycle < start + count, "the Bind waited for the last message"
        for window in windows:
            status = await window.refresh()
            assert not status.valid
        status = await last.refresh()
        assert status.valid and status.key & GENERATION - 1 == last.key & GENERATION - 1
        for user in users:
            self.settle(user, *[0] * each)


@pyuvm.test()
class AgeMeetsStepsTest(WindowTest):
    """DF-01: the look for old requests comes to its turn among posts in every cycle, also when a
    control step takes the very cycle it waited for: what is held is released at its age.
    """

    async def scenario(self) -> None:
        rng = self.rng("steps")
        holder, poster = await self.qp(age=12), await self.qp()
        idle = await self.idle_qp()
        await self.rest(32)
        mark, start = self.mark, self.harness.cycle + LEAD
        held = self.write_post(holder, defer=True)
        first = holder.queue(held, at=start - 8)
        answers = [
            poster.queue(self.write_post(poster, silent=True), at=start + n) for n in range(3000)
        ]
        for step in sorted(rng.sample(range(100, 2900), 300)):
            self.env.conn.send(idle.number, at_cycle=start + step)
        assert (await first) == (0, 0)
        assert not self.beats(holder, mark)
        accepted = sum([(await answer) == (0, 0) for answer in answers])
        self.report(poster, *[0] * accepted)
        await self.harness.until(start + 14 * self.config.mod_tick)
        (beat,) = self.beats(holder, mark)
        assert beat.cycle >= start + 11 * self.config.mod_tick, beat
        self.report(holder)
        await self.demand_results(holder, [held], 0)
