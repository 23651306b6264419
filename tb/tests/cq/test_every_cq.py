# SPDX-License-Identifier: Apache-2.0
"""The error state kept for each completion queue: what sets or clears that of one
number does so for this one alone, and in the cycle in which another one changes, too.
"""

from __future__ import annotations

import pyuvm

from tb.env.agents.memory import SLVERR
from tb.env.defs import ArmType, CqStatus, TraceOp
from tb.env.harness.records import Trace
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

BUILD = "default"

#: Cycles from the first register write of CREATE_CQ to about its step.
CREATION = 100


class EveryCqTest(DirectedTest):
    """Queues that have no room left, of all numbers."""

    async def start(self) -> None:
        """``self.cqs``."""
        self.eq = await self.env.host.create_eq(log2=min(6, self.config.max_log2))
        self.cqs = [await self.full() for _ in range(self.config.num_cq)]

    async def full(self, number: int | None = None) -> Cq:
        """A new queue, armed and called once, that has no room left."""
        cq = await self.env.host.create_cq(number, eq=self.eq, log2=1, reservation=False)
        await self.fill(cq)
        return cq

    async def fill(self, cq: Cq) -> None:
        """A callback, and two entries, which are polled and not told."""
        assert await cq.arm(ArmType.ANY) == (0, 0)
        self.send_pairs(cq, [5, cq.number])
        await cq.wait_callbacks(1)
        assert cq.callbacks[-1].status == CqStatus.OK
        assert await cq.callback_return() == (0, 0)
        await cq.wait_results(2)

    async def overflow(self, cq: Cq) -> None:
        """One completion too many."""
        self.send(cq, [9])
        await self.env.drain(16)
        assert (await cq.query()).status == CqStatus.BUFFER_OVERFLOW

    async def probe(self, *failed: int) -> None:
        """All but these are granted a credit."""
        answers = [self.env.credits.post(cq.number) for cq in self.cqs]
        await answers[-1]
        found = [n for n, answer in enumerate(answers) if not answer.result]
        assert found == sorted(failed), f"refused: CQs {found}"


@pyuvm.test()
class EveryErrorTest(EveryCqTest):
    """CQ-17, ISO-03: each CQ in turn is in error, by an overflow or a failed write: it is granted
    no credit, every other one is. It is destroyed, and created anew in the cycle in which the next
    one overflows, or next to it: it works again, the next one does not.
    """

    async def scenario(self) -> None:
        env = self.env
        await self.start()
        self.late = CREATION
        #: Cycles from the creation of one to the error of the next.
        behind = set()
        await self.probe()
        await self.overflow(self.cqs[0])
        for n, cq in enumerate(self.cqs):
            await self.probe(cq.number)
            behind.add(await self.over(n, (n + 1) % len(self.cqs), n % 3 - 1))
        last = self.cqs[0]
        await self.probe(last.number)
        assert {-1, 0, 1} <= behind, f"they did not meet: {behind}"
        await last.destroy()
        self.cqs[0] = await self.full(0)
        for n, cq in enumerate(self.cqs):
            assert await cq.update_consumer_index() == (0, 0)
            env.mem.fail(SLVERR, cq=cq.number, lands=False)
            self.send(cq, [n])
            await env.drain(16)
            assert (await cq.query()).status == CqStatus.INTERNAL_ERROR
            await self.probe(cq.number)
            await cq.destroy()
            self.cqs[n] = await self.full(n)
        await self.probe()

    async def over(self, old: int, new: int, wanted: int) -> int:
        """``old`` is made anew about ``wanted`` cycles before ``new`` fails; returns the distance
        that there was.
        """
        await self.cqs[old].destroy()
        await self.env.drain(16)
        mark, create = len(self.seen), self.env.host.create_cq
        self.env.completions.send(new, at_cycle=self.harness.cycle + self.late + wanted)
        self.cqs[old] = await create(old, eq=self.eq, log2=1, reservation=False)
        await self.env.drain(16)
        at = {t.op: t.cycle for t in self.of(Trace, mark)}
        distance = at[TraceOp.CQ_ERROR] - at[TraceOp.CREATE]
        self.late += wanted - distance
        await self.fill(self.cqs[old])
        return distance
