# SPDX-License-Identifier: Apache-2.0
"""SRQ-06, SRQ-07, CQ-08: which completions of receives satisfy which arm, and what a waiter with a
threshold sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import cocotb
import pyuvm

from tb.env.defs import ArmType, RecvFlag
from tb.env.host.qp import Qp
from tb.tests.common.posting import FAILED
from tb.tests.common.taking import LENGTH, LENGTH_ERROR, TOO_LONG, TakingTest, Want, canceled

BUILD = ["engine", "engine_small"]

#: Receive completion flag and whether the Send was solicited: the completion signals.
SIGNALS: Final[Mapping[tuple[RecvFlag, bool], bool]] = {
    (RecvFlag.DEFAULT, True): True,
    (RecvFlag.DEFAULT, False): True,
    (RecvFlag.SOLICITED_WAIT, True): True,
    (RecvFlag.SOLICITED_WAIT, False): False,
    (RecvFlag.UNSIGNALLED, True): True,
    (RecvFlag.UNSIGNALLED, False): True,
    (RecvFlag.EVD_THRESHOLD, True): True,
    (RecvFlag.EVD_THRESHOLD, False): True,
}
ARMS: Final = (None, ArmType.ANY, ArmType.SOLICITED, ArmType.ERRORS)


def satisfies(arm: ArmType | None, flag: RecvFlag, solicited: bool) -> bool:
    """A successful receive calls back."""
    if arm is ArmType.ANY:
        return SIGNALS[flag, solicited]
    return arm is ArmType.SOLICITED and solicited


class SignalTest(TakingTest):
    """One QP for each flag."""

    async def calls(self, qp: Qp, count: int) -> None:
        """So many callbacks came since the last time; the driver returns from them."""
        await self.rest(32)
        seen = len(qp.recv_cq.callbacks) - self.called.get(qp.number, 0)
        assert seen == count, f"QP {qp.number}: {seen} callbacks instead of {count}"
        self.called[qp.number] = len(qp.recv_cq.callbacks)
        if count:
            assert await qp.recv_cq.callback_return() == (0, 0)

    async def prepare(self) -> list[Qp]:
        """A QP for each flag, each with its CQ."""
        self.called: dict[int, int] = {}
        return [
            await self.qp(recv_depth=self.depth, recv_flag=flag)
            for flag in (
                RecvFlag.DEFAULT,
                RecvFlag.SOLICITED_WAIT,
                RecvFlag.UNSIGNALLED,
                RecvFlag.EVD_THRESHOLD,
            )
        ]

    async def disarm(self, qp: Qp) -> None:
        """Nothing is armed: an arm that still stands is satisfied by a signalled message."""
        if not (await qp.recv_cq.query()).armed:
            return
        assert await qp.recv_cq.arm(ArmType.ANY) == (0, 0)
        (cookie,) = await self.supply(qp, 1)
        await self.take(qp, 0, solicited=True)
        self.settle(qp)
        await self.demand(qp, [Want(cookie)])
        await self.calls(qp, 1)


@pyuvm.test()
class OwnMatrixTest(SignalTest):
    """The table of flags and solicited Sends, against each arm; the entry is placed and can be
    polled in every case, and is new for a later arm if it did not call.
    """

    async def scenario(self) -> None:
        for qp in await self.prepare():
            for invalidate in (False, True):
                for solicited in (True, False):
                    for arm in ARMS:
                        await self.one(qp, arm, solicited, invalidate)

    async def one(self, qp: Qp, arm: ArmType | None, solicited: bool, invalidate: bool) -> None:
        flag = RecvFlag(qp.recv_flag)
        (cookie,) = await self.supply(qp, 1)
        if arm is not None:
            assert await qp.recv_cq.arm(arm) == (0, 0)
        token = 0xABCD_0000 + qp.number if invalidate else 0
        await self.take(qp, 9, solicited=solicited, invalidate=invalidate, token=token)
        self.settle(qp)
        await self.rest(32)
        called = satisfies(arm, flag, solicited)
        assert qp.recv_cq.present() == 1
        await self.calls(qp, int(called))
        if not called:
            # It is present and new, signalled or not.
            assert await qp.recv_cq.arm(ArmType.ANY) == (0, 0)
            await self.calls(qp, 1)
        kind = 0x8001 if invalidate else 0x0001
        await self.demand(qp, [Want(cookie, 9, 0, kind, token)])
        await self.disarm(qp)


@pyuvm.test()
class ErrorsSignalTest(SignalTest):
    """Failed receives signal whatever the flag and the Send: reported errors, length errors,
    canceled ones. They satisfy ANY and SOLICITED.
    """

    async def scenario(self) -> None:
        for qp in await self.prepare():
            for arm in (ArmType.ANY, ArmType.SOLICITED, ArmType.ERRORS):
                called = arm is not ArmType.ERRORS
                for solicited in (True, False):
                    await self.failed(qp, arm, solicited, called)
                    await self.overlong(qp, arm, solicited, called)
                await self.flushed(qp, arm, called)

    async def arm(self, qp: Qp, arm: ArmType) -> None:
        assert await qp.recv_cq.arm(arm) == (0, 0)

    async def over(self, qp: Qp, wanted: list[Want], called: bool) -> None:
        await self.calls(qp, int(called))
        await self.demand(qp, wanted)
        await self.reconnect(qp)
        await self.disarm(qp)

    async def failed(self, qp: Qp, arm: ArmType, solicited: bool, called: bool) -> None:
        (cookie,) = await self.supply(qp, 1)
        await self.arm(qp, arm)
        await self.take(qp, 1, solicited=solicited)
        self.settle(qp, FAILED)
        await self.over(qp, [Want(cookie, status=FAILED)], called)

    async def overlong(self, qp: Qp, arm: ArmType, solicited: bool, called: bool) -> None:
        (cookie,) = await self.supply(qp, 1)
        await self.arm(qp, arm)
        await self.answers(self.ask(qp, LENGTH + 1, solicited=solicited), TOO_LONG)
        self.settle(qp)
        await self.over(qp, [Want(cookie, status=LENGTH_ERROR)], called)

    async def flushed(self, qp: Qp, arm: ArmType, called: bool) -> None:
        cookies = await self.supply(qp, 1)
        await self.arm(qp, arm)
        await qp.flush()
        await self.over(qp, canceled(cookies), called)


@pyuvm.test()
class ThresholdTest(SignalTest):
    """dat_evd_wait: a waiter with a threshold wakes when so many are there, and not before; what
    does not signal wakes nobody, but counts when something does.
    """

    async def scenario(self) -> None:
        default, quiet, _, threshold = await self.prepare()
        for qp in (default, threshold):
            for count in (1, 2, self.depth):
                await self.wakes(qp, count)
        await self.sleeps(quiet)
        await self.sleeps_in_pairs(quiet)

    async def wakes(self, qp: Qp, count: int) -> None:
        cookies = await self.supply(qp, count)
        waiter = cocotb.start_soon(qp.recv_cq.evd_wait(count))
        for n in range(count):
            await self.rest(64)
            assert not waiter.done(), f"woke with {n} of {count}"
            await self.take(qp, n)
            self.settle(qp)
        assert await waiter == count
        self.called[qp.number] = len(qp.recv_cq.callbacks)
        await self.demand(qp, [Want(cookie, n) for n, cookie in enumerate(cookies)])

    async def sleeps(self, qp: Qp) -> None:
        cookies = await self.supply(qp, 3)
        waiter = cocotb.start_soon(qp.recv_cq.evd_wait(2))
        for n in range(2):
            await self.rest(64)
            await self.take(qp, n)
            self.settle(qp)
        await self.rest(64)
        assert not waiter.done(), "woke without a signal"
        await self.take(qp, 2, solicited=True)
        self.settle(qp)
        assert await waiter == 3
        self.called[qp.number] = len(qp.recv_cq.callbacks)
        await self.demand(qp, [Want(cookie, n) for n, cookie in enumerate(cookies)])

    async def sleeps_in_pairs(self, qp: Qp) -> None:
        """Entries that signal and entries that do not, in turn and two in one memory write."""
        count = min(self.most, self.depth)
        cookies = await self.supply(qp, count)
        assert await qp.recv_cq.arm(ArmType.SOLICITED) == (0, 0)
        for n in range(count):
            await self.take(qp, n, solicited=bool(n % 2))
        self.settle(qp, *[0] * count)
        await self.calls(qp, 1)
        await self.demand(qp, [Want(cookie, n) for n, cookie in enumerate(cookies)])
