# SPDX-License-Identifier: Apache-2.0
"""Arms and callbacks of queues with errors: what is not there satisfies no arm, and an error that
meets a running callback or an earlier error is told once (CQ-08 to CQ-11, CQ-17, CQ-18).
"""

from __future__ import annotations

import pyuvm

from tb.env.agents import Cpl
from tb.env.agents.memory import DECERR, SLVERR
from tb.env.defs import ArmType, Cause, CqStatus
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import DirectedTest
from tb.tests.common.steps import ANY, ARMS, SOLICITED, UNSOLICITED, Consumer, StepTest

OVERFLOW = CqStatus.BUFFER_OVERFLOW
FAILED = CqStatus.INTERNAL_ERROR


class CountedCallsTest(DirectedTest):
    """Helpers."""

    async def calls(self, cq: Cq, count: int) -> None:
        """So many callbacks there were, and none runs afterwards."""
        await self.env.drain(32)
        assert len(cq.callbacks) == count, f"CQ {cq.number}: {len(cq.callbacks)} callbacks"

    async def arm(self, cq: Cq, index: int, kind: ArmType = ArmType.SOLICITED) -> None:
        """An arm with this consumer index."""
        assert await cq.arm(kind, index=index) == (0, 0)


@pyuvm.test()
class SolicitedGoneTest(CountedCallsTest):
    """CQ-08, CQ-09, CQ-17: an arm for solicited entries, read by type, when those that were there
    are consumed and behind them are unsolicited ones, or solicited ones that failed, were lost in
    an overflow, or lie behind one that failed: it is not satisfied.
    """

    async def scenario(self) -> None:
        eq = await self.env.host.create_eq(log2=5)
        for case in ("plain", "pair", "failed", "behind", "lost", "lost pair"):
            for before in (1, 2):
                await self.one(eq, case, before)

    async def one(self, eq: Eq, case: str, before: int) -> None:
        """``before`` solicited entries, consumed; then ``case``; then the arm."""
        env = self.env
        log2 = 1 if case.startswith("lost") and before == 2 else 3
        cq = await env.host.create_cq(eq=eq, log2=log2, reservation=False, typed=True)
        self.send(cq, range(before), solicited=True)
        await env.drain(16)
        last = Cpl(cq.number, context=9, solicited=True)
        if case == "plain":
            self.send(cq, [7])
        elif case == "pair":
            self.send_pairs(cq, [7, 8])
        elif case == "failed" or case == "behind":
            env.mem.fail(SLVERR, cq=cq.number, lands=False)
            env.completions.send_beat([last])
            if case == "behind":
                await env.drain(16)
                env.completions.send_pair(last, last)
        else:
            self.send(cq, range((1 << log2) - before))
            await env.drain(16)
            if case == "lost pair":
                env.completions.send_pair(last, last)
            else:
                env.completions.send_beat([last])
        await env.drain(16)
        failed = case not in ("plain", "pair")
        assert ((await cq.query()).status != CqStatus.OK) == failed
        await self.arm(cq, before)
        await self.calls(cq, 0)
        await cq.destroy()


@pyuvm.test()
class OldStaysOldTest(CountedCallsTest):
    """CQ-10, CQ-17: entries that were called for and are still present, then an overflow, a failed
    write, or an event write that succeeds when it is repeated: an arm afterwards is judged as
    before.
    """

    async def scenario(self) -> None:
        eq = await self.env.host.create_eq(log2=5)
        for case in ("none", "overflow", "failed", "repeated"):
            for kind in (ArmType.ANY, ArmType.SOLICITED, ArmType.ERRORS):
                for typed in (False, True):
                    await self.one(eq, case, kind, typed)

    async def one(self, eq: Eq, case: str, kind: ArmType, typed: bool) -> None:
        """Two old entries, the event, the arm."""
        env = self.env
        cq = await env.host.create_cq(eq=eq, log2=1, reservation=False, typed=typed)
        if case == "failed":
            await env.host.resize_cq(cq, 2)
        assert await cq.arm(ArmType.ANY) == (0, 0)
        if case == "repeated":
            env.mem.fail(SLVERR, eq=eq.number, lands=False)
        env.completions.send_pair(
            Cpl(cq.number, context=1, solicited=True), Cpl(cq.number, context=2, solicited=True)
        )
        await cq.wait_callbacks(1)
        assert await cq.callback_return() == (0, 0)
        await env.drain(16)
        if case == "failed":
            env.mem.fail(SLVERR, cq=cq.number, lands=False)
        if case in ("overflow", "failed"):
            self.send(cq, [3], solicited=True)
            await env.drain(16)
        assert ((await cq.query()).status != CqStatus.OK) == (case != "none")
        await self.arm(cq, 0, kind)
        await self.calls(cq, 1)
        await cq.destroy()


class FullRingTest(StepTest):
    """Helper for a full ring."""

    async def overflow(self, q: Consumer, calls: int = 0, snap: int | None = None) -> None:
        """One completion more than the ring holds."""
        q.send(UNSOLICITED)
        q.placed -= 1
        await q.settle(calls, status=OVERFLOW, snap=snap)
        assert (await q.cq.query()).status == OVERFLOW


@pyuvm.test()
class OverflowInCallbackTest(FullRingTest):
    """CQ-17, CQ-11: an overflow while a callback runs, armed or not in that callback, waits for its
    return and is then told once; so is one that meets a callback already due.
    """

    async def scenario(self) -> None:
        await self.together(*(self.meets(arm) for arm in (None, *ARMS)))

    async def meets(self, arm: ArmType | None) -> None:
        """The arm of the callback is satisfied by an entry before (ANY) or by the overflow."""
        q = await self.consumer(f"armed {arm!r}", log2=2)
        await q.arm(ANY)
        await q.place(UNSOLICITED, calls=1)
        if arm is not None:
            await q.arm(arm)
        await q.place(*[UNSOLICITED] * 3)
        state = await q.cq.query()
        assert (state.in_callback, state.due) == (True, arm is ANY)
        await self.overflow(q)
        state = await q.cq.query()
        assert (state.in_callback, state.due) == (True, arm is not None)
        # The ring is intact, and draining it takes nothing back (CQ-11).
        await q.poll()
        await q.callback_returns(calls=int(arm is not None), status=OVERFLOW)
        if arm is not None:
            await q.callback_returns()
        # An empty queue in error does not call by itself (CQ-10a).
        await q.arm(SOLICITED)


@pyuvm.test()
class FailureAfterOverflowTest(FullRingTest):
    """CQ-17, CQ-18: entries were under way at the overflow, and the write of one of them fails: the
    first status stays, each error of an armed queue calls back, nothing behind the hole is
    published.
    """

    async def scenario(self) -> None:
        cases = [(arm, good) for arm in (None, *ARMS) for good in (0, 1, 3)]
        for number, (arm, good) in enumerate(cases):
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
        armed = arm is not None
        if arm is not None:
            await q.arm(arm)
        await self.overflow(q, calls=int(armed), snap=0)
        if arm is not None:
            # A fresh arm in the callback: its reason comes behind the overflow.
            await q.arm(arm)
        mem.release_cq(number)
        await q.settle()
        state = await q.cq.query()
        assert (state.status, state.prod, state.due) == (OVERFLOW, good, armed), f"{q}: {state}"
        if armed:
            await q.callback_returns(calls=1, status=OVERFLOW, snap=good)
            await q.callback_returns()
        log = [entry for entry in await self.env.host.read_log() if entry.object == number]
        assert [entry.cause for entry in log] == [Cause.CQ_OVERFLOW, Cause.CQE_WRITE_ERROR]
        # What was published stays; the entries behind it were written and may be passed (CQ-22).
        q.take(good)
        assert await q.cq.update_consumer_index(good) == (0, 0)
        await q.settle()
