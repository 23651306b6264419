# SPDX-License-Identifier: Apache-2.0
"""Arms and callbacks of queues with errors: what is not there satisfies no arm, and an error that
meets a running callback or an earlier error is told once (CQ-08 to CQ-11, CQ-17, CQ-18).
"""

from __future__ import annotations

from itertools import product

import pyuvm

from tb.env.agents.memory import DECERR, SLVERR
from tb.env.defs import ArmType, CqStatus
from tb.tests.common.steps import ANY, ARMS, SOLICITED, SOLICITED_RECEIVE, UNSOLICITED, StepTest

OVERFLOW = CqStatus.BUFFER_OVERFLOW
FAILED = CqStatus.INTERNAL_ERROR


@pyuvm.test()
class SolicitedGoneTest(StepTest):
    """CQ-08, CQ-09, CQ-17: an arm for solicited entries, read by type, when those that were there
    are consumed and after them are unsolicited ones, or solicited ones that failed, were lost in
    an overflow, or lie after one that failed: it is not satisfied.
    """

    async def scenario(self) -> None:
        for before in (1, 2):
            for beats in ([1], [2]):
                await self.one(before, "published", beats)
                await self.one(before, "lost", beats)
            for beats in ([1], [1, 2]):
                await self.one(before, "failed", beats)

    async def one(self, before: int, end: str, beats: list[int]) -> None:
        """``before`` solicited entries, consumed; after them beats of so many; then the arm."""
        log2 = 1 if end == "lost" and before == 2 else 3
        q = await self.consumer(f"{before}, {beats} {end}", log2=log2, typed=True)
        await q.place(*[SOLICITED_RECEIVE] * before)
        if end == "failed":
            await self.fail_write(q)
        elif end == "lost":
            await q.place(*[UNSOLICITED] * ((1 << log2) - before))
        status, kind = CqStatus.OK, UNSOLICITED
        if end != "published":
            status, kind = OVERFLOW if end == "lost" else FAILED, SOLICITED_RECEIVE
        for count in beats:
            await q.place(*[kind] * count, pairs=True)
        assert (await q.cq.query()).status == status
        q.take(before)
        await q.arm(SOLICITED)
        if end == "published":
            await q.place(SOLICITED_RECEIVE, calls=1)
            await q.callback_returns()
        await q.cq.destroy()


@pyuvm.test()
class OldStaysOldTest(StepTest):
    """CQ-10, CQ-17: entries that were called for and are still present, then an overflow, a failed
    write, or an event write that succeeds when it is repeated: an arm afterwards is judged as
    before.
    """

    async def scenario(self) -> None:
        ends = ("nothing", "overflow", "failed write", "repeated event")
        for end, arm, typed in product(ends, ARMS, (False, True)):
            await self.one(end, arm, typed)

    async def one(self, end: str, arm: ArmType, typed: bool) -> None:
        """Two old entries, the event, the arm."""
        q = await self.consumer(f"{end}, {arm.name}, typed {typed}", log2=1, typed=typed)
        if end == "failed write":
            await q.cq.resize(2)
        await q.arm(ANY)
        status = CqStatus.OK
        if end == "repeated event":
            self.env.mem.fail(SLVERR, eq=q.cq.eq.number)
            status = FAILED
        await q.place(SOLICITED_RECEIVE, SOLICITED_RECEIVE, pairs=True, calls=1, status=status)
        await q.callback_returns()
        if end == "failed write":
            await self.fail_write(q)
            await q.place(SOLICITED_RECEIVE)
        elif end == "overflow":
            await q.overflow(SOLICITED_RECEIVE)
        assert ((await q.cq.query()).status != CqStatus.OK) == (end != "nothing")
        await q.arm(arm)
        await q.cq.destroy()


@pyuvm.test()
class FailureAfterOverflowTest(StepTest):
    """CQ-17, CQ-18: entries were under way at the overflow, and the write of one of them fails: the
    first status stays, each error of an armed queue calls back, nothing after the hole is
    published.
    """

    async def scenario(self) -> None:
        for number, (arm, good) in enumerate(product((None, *ARMS), (0, 1, 3))):
            await self.fails(arm, good, DECERR if number % 2 else SLVERR)

    async def fails(self, arm: ArmType | None, good: int, resp: int) -> None:
        """``good`` entries are acknowledged before the failure."""
        mem = self.env.mem
        q = await self.consumer(f"armed {arm!r}, {good} good", log2=2)
        number = q.cq.number
        mem.hold_cq(number)
        mem.fail(resp, cq=number, skip=good, lands=True)
        for _ in range(4):
            # One at a time, so that each has a write of its own.
            await q.place(UNSOLICITED)
        if arm is not None:
            await q.arm(arm)
        await q.overflow(calls=int(arm is not None), snap=0)
        if arm is not None:
            # A fresh arm in the callback: its reason comes after the overflow.
            await q.arm(arm)
        mem.release_cq(number)
        await q.settle()
        state = await q.cq.query()
        assert (state.status, state.prod) == (OVERFLOW, good), f"{q}: {state}"
        if arm is not None:
            await q.callback_returns(calls=1, status=OVERFLOW, snap=good)
            await q.callback_returns()
        # What was published stays; the entries after it were written and may be passed (CQ-22).
        q.take(good)
        assert await q.cq.update_consumer_index(good) == (0, 0)
        await q.settle()
        await self.env.host.read_log()
