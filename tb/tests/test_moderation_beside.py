# SPDX-License-Identifier: Apache-2.0
"""What comes to a queue while its callback waits for its interval does not put it off (CQ-21)."""

from __future__ import annotations

import pyuvm

from tb.env.cq import Cq
from tb.env.defs import ArmType
from tb.tests.test_moderation import OTHER_ONLY, ModerationBase

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
