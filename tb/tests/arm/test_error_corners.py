# SPDX-License-Identifier: Apache-2.0
"""Errors that meet a running callback, an earlier error, a given-up event entry (CQ-17, CQ-18)."""

from __future__ import annotations

import pyuvm

from tb.env.agents.memory import DECERR, SLVERR
from tb.env.defs import CB_RETURN, ArmType, Cause, CqStatus, Kind, PageReg
from tb.env.host.cq import Eq
from tb.env.host.driver import LogEntry
from tb.tests.common.steps import ANY, ARMS, ERRORS, SOLICITED, UNSOLICITED, Consumer, StepTest

OVERFLOW = CqStatus.BUFFER_OVERFLOW
FAILED = CqStatus.INTERNAL_ERROR


class CornerTest(StepTest):
    """Helper for a full ring."""

    async def overflow(self, q: Consumer, calls: int = 0, snap: int | None = None) -> None:
        """One completion more than the ring holds."""
        q.send(UNSOLICITED)
        q.placed -= 1
        await q.settle(calls, status=OVERFLOW, snap=snap)
        assert (await q.cq.query()).status == OVERFLOW


@pyuvm.test()
class OverflowInCallbackTest(CornerTest):
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
class FailureAfterOverflowTest(CornerTest):
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


@pyuvm.test()
class CallbackAfterGiveUpTest(CornerTest):
    """CQ-11, CQ-18: all four writes of an event entry fail, and it is given up. Its callback is in
    progress until the host, told by the log, returns from it; one that waited for it is called in
    that step, another one by the next arm that finds something new. The ring wraps.
    """

    async def scenario(self) -> None:
        eq = await self.env.host.create_eq(page=1, log2=1, vector=33)
        for resp in (SLVERR, DECERR, SLVERR):
            await self.waiting(eq, resp)
            await self.later(eq, resp)

    async def given_up(self, eq: Eq, resp: int, arm: ArmType | None, entries: int) -> Consumer:
        """While the event entry's answer is on its way: an arm, more entries. Told by the log."""
        mem = self.env.mem
        q = await self.consumer(f"{arm!r}, {entries} entries", eq=eq)
        await q.arm(ANY)
        mem.hold_eq(eq.number)
        mem.fail(resp, eq=eq.number, count=4)
        await q.place(UNSOLICITED)
        if arm is not None:
            await q.arm(arm)
        await q.place(*[UNSOLICITED] * entries)
        number = eq.reader.index
        mem.release_eq(eq.number)
        await q.settle()
        log = await self.env.host.read_log()
        retried = LogEntry(Cause.EQE_WRITE_ERROR, Kind.CQ, q.cq.number, log[0].detail)
        # The log names the entry that the host has to pass over.
        failed = LogEntry(Cause.EQ_FAILED, Kind.CQ, q.cq.number, number)
        assert log == [*[retried] * 3, failed], f"{q}: {log}"
        q.demand(0)
        state = await q.cq.query()
        assert state.in_callback and not state.event_under_way, f"{q}: {state}"
        assert await self.env.host.recover(failed)
        q.demand(1, FAILED)
        return q

    async def waiting(self, eq: Eq, resp: int) -> None:
        """The failure itself is what an arm for errors has waited for."""
        q = await self.given_up(eq, resp, ERRORS, 0)
        await q.callback_returns(calls=1, status=FAILED)
        await self.closes(q)

    async def later(self, eq: Eq, resp: int) -> None:
        """An entry came while the callback was in progress: new for the next arm (CQ-09)."""
        q = await self.given_up(eq, resp, None, 2)
        assert not (await q.cq.query()).due
        await q.callback_returns()
        word = CB_RETURN.pack(cq=q.cq.number)
        answer = await self.env.host.write(q.cq.page, PageReg.CB_RETURN, word)
        assert answer == (2, Cause.NO_CALLBACK), f"{q}: {answer}"
        assert [entry.cause for entry in await self.env.host.read_log()] == [Cause.NO_CALLBACK]
        await q.arm(ANY, calls=1, status=FAILED)
        await self.closes(q)

    async def closes(self, q: Consumer) -> None:
        """The new callback is like any other; the queue still has its error."""
        state = await q.cq.query()
        assert (state.status, state.in_callback, state.armed) == (FAILED, True, False)
        await q.callback_returns()
        await q.poll()
        assert await q.cq.destroy() == 0
