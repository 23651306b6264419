# SPDX-License-Identifier: Apache-2.0
"""SRQ-06, SRQ-07, CQ-08: which completions of receives satisfy which arm, and what a waiter with a
threshold sees.
"""

from __future__ import annotations

from itertools import product
from typing import Final

import cocotb
import pyuvm

from tb.env.defs import ArmType, RecvFlag
from tb.env.host.qp import Qp
from tb.tests.common.engine import EngineTest
from tb.tests.common.posting import CANCELED, FAILED
from tb.tests.common.receiving import LENGTH, LENGTH_ERROR, TOO_LONG, Want

BUILD = ["engine", "engine_small"]

ARMS: Final = (None, ArmType.ANY, ArmType.SOLICITED, ArmType.ERRORS)


def satisfies(arm: ArmType | None, flag: RecvFlag, solicited: bool) -> bool:
    """A successful receive calls back. Of the four flags one makes a difference: only solicited
    Sends signal then.
    """
    if arm is ArmType.ANY:
        return solicited or flag is not RecvFlag.SOLICITED_WAIT
    return arm is ArmType.SOLICITED and solicited


class SignalTest(EngineTest):
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
        return [await self.qp(recv_depth=self.depth, recv_flag=flag) for flag in RecvFlag]

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
class SignalMatrixTest(SignalTest):
    """The table of flags and solicited Sends, against each arm; the entry is placed and can be
    polled in every case, and is new for a later arm if it did not call. Failed receives signal
    whatever the flag and the Send: reported errors, length errors, canceled ones; they satisfy ANY
    and SOLICITED.
    """

    async def scenario(self) -> None:
        for qp in await self.prepare():
            for arm, solicited in product(ARMS, (True, False)):
                for invalidate in (False, True):
                    await self.one(qp, arm, solicited, invalidate)
                if arm is not None:
                    for how in ("failed", "too long", "flushed"):
                        await self.failed(qp, arm, solicited, how)

    async def one(self, qp: Qp, arm: ArmType | None, solicited: bool, invalidate: bool) -> None:
        (cookie,) = await self.supply(qp, 1)
        if arm is not None:
            assert await qp.recv_cq.arm(arm) == (0, 0)
        token = 0xABCD_0000 + qp.number if invalidate else 0
        await self.take(qp, 9, solicited=solicited, invalidate=invalidate, token=token)
        self.settle(qp)
        await self.rest(32)
        called = satisfies(arm, RecvFlag(qp.recv_flag), solicited)
        assert qp.recv_cq.present() == 1
        await self.calls(qp, int(called))
        if not called:
            # It is present and new, signalled or not.
            assert await qp.recv_cq.arm(ArmType.ANY) == (0, 0)
            await self.calls(qp, 1)
        kind = 0x8001 if invalidate else 0x0001
        await self.demand(qp, [Want(cookie, 9, 0, kind, token)])
        await self.disarm(qp)

    async def failed(self, qp: Qp, arm: ArmType, solicited: bool, how: str) -> None:
        (cookie,) = await self.supply(qp, 1)
        assert await qp.recv_cq.arm(arm) == (0, 0)
        match how:
            case "failed":
                await self.take(qp, 1, solicited=solicited)
                self.settle(qp, FAILED)
                status: int = FAILED
            case "too long":
                await self.answers(self.ask(qp, LENGTH + 1, solicited=solicited), TOO_LONG)
                self.settle(qp)
                status = LENGTH_ERROR
            case _:
                await qp.flush()
                status = CANCELED
        await self.calls(qp, int(arm is not ArmType.ERRORS))
        await self.demand(qp, [Want(cookie, status=status)])
        await self.reconnect(qp)
        await self.disarm(qp)


@pyuvm.test()
class ThresholdTest(SignalTest):
    """dat_evd_wait: a waiter with a threshold wakes when so many are there, and not before; what
    does not signal wakes nobody, but counts when something does.
    """

    async def scenario(self) -> None:
        default, quiet, _, threshold = await self.prepare()
        for qp in (default, threshold):
            for count in (1, 2, self.depth):
                await self.wakes(qp, count, *[False] * count)
        await self.wakes(quiet, 2, False, False, True)
        await self.sleeps_in_pairs(quiet)

    async def wakes(self, qp: Qp, threshold: int, *solicited: bool) -> None:
        """The last of these messages wakes the waiter, and none before it."""
        cookies = await self.supply(qp, len(solicited))
        waiter = cocotb.start_soon(qp.recv_cq.evd_wait(threshold))
        for n, asks in enumerate(solicited):
            await self.rest(64)
            assert not waiter.done(), f"woke with {n} of {len(solicited)}"
            await self.take(qp, n, solicited=asks)
            self.settle(qp)
        assert await waiter == len(solicited)
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
