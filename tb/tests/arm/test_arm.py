# SPDX-License-Identifier: Apache-2.0
"""Arm and callback rules through the pins, one test per rule of the source: CQ-06 to CQ-14.

The doorbell's fields are in host/test_isolation.py; wraps of the index and long times without a
callback in test_wraps.py.
"""

from __future__ import annotations

from itertools import product

import pyuvm

from tb.env.defs import ArmType, CqStatus
from tb.tests.common.steps import (
    ANY,
    ARMS,
    ERROR,
    ERRORS,
    KINDS,
    MERGED,
    SATISFY,
    SOLICITED,
    SOLICITED_RECEIVE,
    UNSOLICITED,
    Consumer,
    StepTest,
)

ICARUS_TESTS = ["ArmOncePerCallTest", "FreshArmTest"]

FAILED = CqStatus.INTERNAL_ERROR


@pyuvm.test()
class ArmOncePerCallTest(StepTest):
    """CQ-06: no callback without an arm, one per arm."""

    async def scenario(self) -> None:
        q = await self.consumer()
        await q.place(UNSOLICITED, SOLICITED_RECEIVE, ERROR)
        await q.poll()
        await q.arm(ANY)
        await q.place(UNSOLICITED, calls=1)
        await q.place(UNSOLICITED, ERROR)
        await q.callback_returns()
        await q.place(SOLICITED_RECEIVE)
        await q.proves_fit()


@pyuvm.test()
class ArmTypeTest(StepTest):
    """CQ-08: each arm type with each class of completion, and with an error of the CQ itself."""

    async def scenario(self) -> None:
        await self.together(
            *(self.completion(arm, kind) for arm in ARMS for kind in KINDS),
            *(self.cq_error(arm) for arm in (*ARMS, None)),
        )

    async def completion(self, arm: ArmType, kind: str) -> None:
        """One completion of an armed, empty queue."""
        q = await self.consumer(f"{arm.name}, {kind}")
        await q.arm(arm)
        await q.place(KINDS[kind], calls=int(kind in SATISFY[arm]))
        await q.proves_fit()

    async def cq_error(self, arm: ArmType | None) -> None:
        """The entry's write fails."""
        q = await self.consumer(f"{arm!r}, CQ error")
        if arm is not None:
            await q.arm(arm)
        await self.fail_write(q)
        await q.place(UNSOLICITED, calls=int(arm is not None), status=FAILED, snap=0)
        if arm is not None:
            await q.callback_returns()


@pyuvm.test()
class MergeTest(StepTest):
    """CQ-12: the nine cells of the table, told apart by what satisfies the result."""

    async def scenario(self) -> None:
        cells = list(MERGED)
        for start in range(0, len(cells), 3):
            # Three cells at a time: the memory keeps eight failures in mind.
            await self.together(*(self.cell(*cell) for cell in cells[start : start + 3]))

    async def cell(self, first: ArmType, second: ArmType) -> None:
        """One cell: a fresh queue for each class of completion."""
        kinds = ("unsolicited", "solicited receive", "error", "")
        await self.together(*(self.one(first, second, kind) for kind in kinds))

    async def one(self, first: ArmType, second: ArmType, kind: str) -> None:
        """Two arms, then a completion; without a kind, an error of the CQ."""
        result = MERGED[first, second]
        q = await self.consumer(f"{first.name}, {second.name}, {kind or 'CQ error'}")
        await q.arm(first)
        await q.arm(second)
        state = await q.cq.query()
        assert (state.armed, state.arm_type) == (True, result), f"{q}: {state}"
        if kind:
            await q.place(KINDS[kind], calls=int(kind in SATISFY[result]))
            await q.place(UNSOLICITED, calls=int(result is ANY and kind not in SATISFY[result]))
        else:
            await self.fail_write(q)
            await q.place(UNSOLICITED, calls=1, status=FAILED, snap=0)
            await q.callback_returns()


@pyuvm.test()
class ArmOverNewTest(StepTest):
    """CQ-09: an arm over a new completion. The literal reading is satisfied at once whatever the
    type; the typed reading only by a new completion of the armed class.
    """

    async def scenario(self) -> None:
        cells = product(ARMS, KINDS, (False, True))
        await self.together(*(self.over_new(*cell) for cell in cells))

    async def over_new(self, arm: ArmType, kind: str, typed: bool) -> None:
        """One new completion; the typed arm stays set and is satisfied later."""
        q = await self.consumer(f"{arm.name}, {kind}, typed {typed}", typed=typed)
        await q.place(KINDS[kind])
        satisfied = not typed or kind in SATISFY[arm]
        await q.arm(arm, calls=int(satisfied))
        if not satisfied:
            await q.place(SOLICITED_RECEIVE, calls=int(arm is SOLICITED))
        await q.proves_fit()


@pyuvm.test()
class ArmOverOldTest(StepTest):
    """CQ-10: an arm over old completions calls only with the re-arm bit; a later new one calls in
    either case.
    """

    async def scenario(self) -> None:
        cells = product(ARMS, (False, True), (1, 2, 8))
        await self.together(*(self.over_old(*cell) for cell in cells), self.bits_change())

    async def over_old(self, arm: ArmType, rearm: bool, old: int) -> None:
        """``old`` completions were there at the last callback."""
        q = await self.consumer(f"{arm.name}, re-arm {rearm}, {old} old", rearm_old=rearm)
        await q.place(*[SOLICITED_RECEIVE] * old)
        await q.arm(ANY, calls=1)
        await q.callback_returns()
        await q.arm(arm, calls=int(rearm))
        if rearm:
            # Nothing was removed: again and again.
            await q.callback_returns()
            await q.arm(arm, calls=1)
            # Due while the callback runs.
            await q.arm(arm)
            await q.callback_returns(calls=1)
        else:
            await q.poll(old - 1)
            await q.place(SOLICITED_RECEIVE, calls=int(arm is not ERRORS))
        await q.proves_fit()

    async def bits_change(self) -> None:
        """MODIFY_CQ sets both bits for the arms that follow."""
        q = await self.consumer("modified")
        await q.place(UNSOLICITED)
        await q.cq.modify(typed=True)
        await q.arm(SOLICITED)
        await q.cq.modify()
        await q.arm(SOLICITED, calls=1)
        await q.callback_returns()
        await q.arm(ANY)
        await q.cq.modify(rearm_old=True)
        await q.settle()
        await q.arm(ERRORS, calls=1)
        await q.proves_fit()


@pyuvm.test()
class ArmEmptyTest(StepTest):
    """CQ-10a: an arm of an empty queue waits, also if completions came and went after the last
    callback.
    """

    async def scenario(self) -> None:
        await self.together(*(self.empty(*cell) for cell in product(ARMS, (False, True))))

    async def empty(self, arm: ArmType, rearm: bool) -> None:
        """At creation, after a poll without callback, after a callback and a poll."""
        q = await self.consumer(f"{arm.name}, re-arm {rearm}", rearm_old=rearm)
        await q.arm(arm)
        await q.arm(ANY)
        await q.place(SOLICITED_RECEIVE, calls=1)
        await q.poll()
        await q.place(ERROR, SOLICITED_RECEIVE)
        await q.poll()
        await q.callback_returns()
        await q.arm(arm)
        await q.place(*[UNSOLICITED] * 3, calls=int(arm is ANY), snap=q.placed + 1)
        if q.running:
            await q.callback_returns()
        # Polled by the same doorbell that arms.
        q.take()
        await q.arm(arm)
        await q.proves_fit()


@pyuvm.test()
class DeferredCallTest(StepTest):
    """CQ-11, CQ-11a: callbacks never overlap; the due one is called after the running one returns,
    once, whatever happens meanwhile.
    """

    async def scenario(self) -> None:
        await self.together(self.deferred(), self.drained(), self.merging(), self.cq_error())

    async def running(self, name: str) -> Consumer:
        """A queue with a callback in progress and nothing present."""
        q = await self.consumer(name)
        await q.arm(ANY)
        await q.place(UNSOLICITED, calls=1)
        await q.poll()
        return q

    async def deferred(self) -> None:
        """Due by a completion, called at the return."""
        q = await self.running("deferred")
        await q.arm(SOLICITED)
        await q.place(UNSOLICITED)
        await q.place(SOLICITED_RECEIVE)
        state = await q.cq.query()
        assert state.due and state.in_callback and state.armed
        await q.callback_returns(calls=1)
        await q.arm(ANY)
        await q.callback_returns()
        await q.proves_fit()

    async def drained(self) -> None:
        """The consumer polls everything meanwhile: called all the same, and only once."""
        q = await self.running("drained")
        await q.arm(ANY)
        await q.place(UNSOLICITED, UNSOLICITED)
        await q.poll()
        await q.callback_returns(calls=1)
        await q.callback_returns()
        await q.proves_fit()

    async def merging(self) -> None:
        """The arm is still set while the call waits; snap is taken when it is made."""
        q = await self.running("merging")
        await q.arm(SOLICITED)
        await q.place(SOLICITED_RECEIVE)
        await q.arm(ERRORS)
        state = await q.cq.query()
        assert (state.armed, state.arm_type, state.due) == (True, SOLICITED, True)
        await q.arm(ANY)
        assert (await q.cq.query()).arm_type == ANY
        await q.place(UNSOLICITED, UNSOLICITED)
        await q.callback_returns(calls=1)  # snap covers all three
        await q.callback_returns()
        await q.arm(ANY)  # all three are old now
        await q.place(UNSOLICITED, calls=1)
        await q.proves_fit()

    async def cq_error(self) -> None:
        """Due by an error of the queue."""
        q = await self.running("CQ error")
        await q.arm(ERRORS)
        await self.fail_write(q)
        await q.place(UNSOLICITED)
        await q.callback_returns(calls=1, status=FAILED, snap=1)
        await q.callback_returns()


@pyuvm.test()
class SatisfiedArmTest(StepTest):
    """CQ-13: after an arm is satisfied the next one starts from nothing."""

    async def scenario(self) -> None:
        await self.together(*(self.after(*cell) for cell in product(ARMS, (SOLICITED, ERRORS))))

    async def after(self, first: ArmType, second: ArmType) -> None:
        """First arm satisfied (ERRORS: by CQ-09), second one on the empty queue."""
        q = await self.consumer(f"{first.name}, then {second.name}")
        if first is ERRORS:
            await q.place(UNSOLICITED)
            await q.arm(first, calls=1)
        else:
            await q.arm(first)
            await q.place(SOLICITED_RECEIVE, calls=1)
        await q.callback_returns()
        await q.poll()
        assert not (await q.cq.query()).armed
        await q.arm(second)
        assert (await q.cq.query()).arm_type == second
        await q.place(UNSOLICITED)
        await q.place(SOLICITED_RECEIVE, calls=int(second is SOLICITED))
        await q.proves_fit()


@pyuvm.test()
class MergingArmLooksTest(StepTest):
    """CQ-14: an arm that merges evaluates CQ-09, too."""

    async def scenario(self) -> None:
        cells = product((SOLICITED, ERRORS), ARMS, (False, True))
        await self.together(*(self.second_arm(*cell) for cell in cells))

    async def second_arm(self, first: ArmType, second: ArmType, typed: bool) -> None:
        """An unsolicited success between the two arms."""
        q = await self.consumer(f"{first.name}, {second.name}, typed {typed}", typed=typed)
        await q.arm(first)
        await q.place(UNSOLICITED)
        await q.arm(second, calls=int(not typed or second is ANY))
        if typed and second is not ANY:
            merged = MERGED[first, second]
            await q.place(SOLICITED_RECEIVE, calls=int(merged is SOLICITED))
        await q.proves_fit()


@pyuvm.test()
class FreshArmTest(StepTest):
    """CQ-07: an arm issued inside the callback is a fresh one: neither lost nor cleared by the
    return. Before the answer to its event entry: ArmLiteralTour.
    """

    async def scenario(self) -> None:
        """For each type: arm, return, then the completion."""
        q = await self.consumer()
        await q.arm(ANY)
        await q.place(UNSOLICITED, calls=1)
        for arm in ARMS:
            await q.poll()
            await q.arm(arm)
            await q.callback_returns()
            await q.place(SOLICITED_RECEIVE, calls=int(arm is not ERRORS))
            if arm is ERRORS:
                await q.arm(ANY, calls=1)
        await q.proves_fit()
