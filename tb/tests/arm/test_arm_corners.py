# SPDX-License-Identifier: Apache-2.0
"""What no entry stands for satisfies no arm: entries that failed, or that were called for already,
before errors and repeated event writes.
"""

from __future__ import annotations

import pyuvm

from tb.env.agents import Cpl
from tb.env.agents.memory import SLVERR
from tb.env.defs import ArmType, CqStatus
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import DirectedTest

BUILD = "default"


class CornerTest(DirectedTest):
    """Helpers."""

    async def calls(self, cq: Cq, count: int) -> None:
        """So many callbacks there were, and none runs afterwards."""
        await self.env.drain(32)
        assert len(cq.callbacks) == count, f"CQ {cq.number}: {len(cq.callbacks)} callbacks"

    async def arm(self, cq: Cq, index: int, kind: ArmType = ArmType.SOLICITED) -> None:
        """An arm with this consumer index."""
        assert await cq.arm(kind, index=index) == (0, 0)


@pyuvm.test()
class SolicitedGoneTest(CornerTest):
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
class OldStaysOldTest(CornerTest):
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
