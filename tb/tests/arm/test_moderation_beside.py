# SPDX-License-Identifier: Apache-2.0
"""What comes to a queue while its callback waits does not put it off; the latest setting counts
(CQ-21).
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import ArmType, Cmd
from tb.env.host.cq import Cq
from tb.tests.common.moderating import LOG2, OTHER_ONLY, ModerationBase

BUILD = "default"

#: Units; what comes beside is one unit apart.
_INTERVAL = 12


class _Beside(ModerationBase):
    kinds: tuple[str, ...]

    async def scenario(self) -> None:
        cq = await self.moderated(OTHER_ONLY, _INTERVAL, log2=6)
        for kind in self.kinds:
            calls = len(cq.callbacks)
            await cq.arm(ArmType.ANY)
            self.send(cq, [1])
            for _ in range(3 * _INTERVAL):
                if len(cq.callbacks) > calls:
                    break
                await self.harness.cycles(self.config.mod_tick)
                await self.beside(cq, kind)
            assert len(cq.callbacks) == calls + 1, kind
            self.in_bounds(cq, _INTERVAL)
            await self.consume(cq)

    async def beside(self, cq: Cq, kind: str) -> None:
        """One of what comes meanwhile."""
        raise NotImplementedError


@pyuvm.test()
class DoorbellsTest(_Beside):
    """Arms that merge, consumer indices that do and do not consume, arms that consume."""

    kinds = ("arm", "index", "consume", "consume and arm")

    async def beside(self, cq: Cq, kind: str) -> None:
        if "consume" in kind:
            self.send(cq, [1])
            await self.settle(60)
            self.polled(cq)
        if "arm" in kind:
            await cq.arm(ArmType.ANY)
        else:
            assert await cq.update_consumer_index() == (0, 0)


@pyuvm.test()
class CompletionsTest(_Beside):
    """Completions, alone and two at a time."""

    kinds = ("one", "two")

    async def beside(self, cq: Cq, kind: str) -> None:
        self.send(cq, [1] if kind == "one" else [1, 2])
        await self.settle(30)
        self.polled(cq)


@pyuvm.test()
class PresentTest(ModerationBase):
    """So many are present, and a doorbell takes some away before the engine looks. A larger count
    that is set after that is judged by the largest number that was present, too.
    """

    async def scenario(self) -> None:
        for wait in range(6):
            cq = await self.old_entries(3)
            await cq.arm(ArmType.ANY)
            self.send(cq, [3])
            await self.harness.cycles(14 + wait)
            assert await cq.update_consumer_index(2) == (0, 0)
            await cq.wait_callbacks(2)
            await cq.callback_return()
        for count, calls in ((5, 2), (6, 1)):
            cq = await self.old_entries(4)
            await cq.modify(moderation=(8, OTHER_ONLY))
            await cq.arm(ArmType.ANY)
            self.send(cq, [4])
            await self.settle()
            assert await cq.update_consumer_index(4) == (0, 0)
            await cq.modify(moderation=(count, OTHER_ONLY))
            await self.settle(self.scan())
            assert len(cq.callbacks) == calls, count
            await cq.modify(moderation=(0, 0))
            assert await cq.update_consumer_index(4) == (0, 0)
            await cq.wait_callbacks(2)
            await cq.callback_return()

    async def old_entries(self, number: int) -> Cq:
        """A queue with so many old entries, which waits for four."""
        cq = await self.queue(1, log2=LOG2)
        self.send(cq, range(number))
        await self.env.drain(16)
        await cq.arm(ArmType.ANY)
        await cq.wait_callbacks(1)
        await cq.callback_return()
        await cq.modify(moderation=(4, OTHER_ONLY))
        return cq


@pyuvm.test()
class PresentBeforeTest(ModerationBase):
    """So many were present before the callback became due: by an arm, by a completion."""

    async def scenario(self) -> None:
        for by_arm in (True, False):
            cq = await self.moderated(4, OTHER_ONLY)
            self.send(cq, range(5))
            await self.env.drain(16)
            cq.get_cq_results(4 if by_arm else 5)
            assert await cq.update_consumer_index() == (0, 0)
            assert await cq.arm(ArmType.ANY) == (0, 0)
            if not by_arm:
                self.send(cq, [5])
            await self.settle(self.scan())
            assert (await cq.query()).due and not cq.callbacks
            self.send(cq, range(6, 9))
            await cq.wait_callbacks(1)
            await self.consume(cq)


@pyuvm.test()
class SameSettingTest(ModerationBase):
    """The same setting again and again, as often as the engine looks, at each phase of its walk."""

    max_cycles = 1_000_000

    async def scenario(self) -> None:
        interval, times = 2, 20
        cq = await self.moderated(OTHER_ONLY, interval)
        # Of a walk in which one queue waits, and is looked at once.
        period = 2 * (self.config.num_cq - 1) + 9
        for phase in range(0, period, 3):
            calls = len(cq.callbacks)
            await cq.arm(ArmType.ANY)
            self.send(cq, [1])
            await self.env.drain(16)
            start = (self.harness.cycle // period + 1) * period + phase
            for number in range(times):
                at = start + number * period
                setting = OTHER_ONLY | interval << 16
                await self.env.control.command(Cmd.MODIFY_CQ, cq.number, 0, 0, 0, 0, setting, at=at)
                await self.env.sync()
                if len(cq.callbacks) > calls:
                    break
            await cq.wait_callbacks(calls + 1)
            self.in_bounds(cq, interval)
            await self.consume(cq)
