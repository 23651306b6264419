# SPDX-License-Identifier: Apache-2.0
"""Event queues without a spare entry, memory that is slow and fails, rings that change, and lives
of CQs: each call is read once.
"""

from __future__ import annotations

import random

import cocotb
import pyuvm

from tb.env.agents.memory import DECERR, SLVERR
from tb.env.cq import Cq, Eq
from tb.env.defs import ArmType, Cause, CqStatus
from tb.env.records import Trace
from tb.tests.test_event_holes import HoleTest

BUILD = "default"
SEEDS = [1, 2]
ROUNDS = 40


@pyuvm.test()
class EventStormTest(HoleTest):
    """CQ-11, CQ-16, CQ-18, CQ-20: four EQs, each as full of CQs as it may be, whose consumers arm,
    are called, return and, after an error, destroy their CQ and begin anew. Event entries fail up
    to eight times, done all the same or not; rings change meanwhile. A host that goes by the log
    sees each call that the engine made once, and can destroy every CQ.
    """

    async def scenario(self) -> None:
        rng, host, mem = self.rng("storm"), self.env.host, self.env.mem
        eqs = [await host.create_eq(page=0, log2=rng.choice([1, 1, 2])) for _ in range(4)]
        self.ended = False
        self.recovered = 0
        self.calls: list[tuple[int, int]] = []  # number of a CQ, callbacks of one of its lives
        lives = [
            cocotb.start_soon(self.consumer(eq, self.rng(f"consumer {eq.number} {n}")))
            for eq in eqs
            for n in range(1 << eq.log2)
        ]
        reader = cocotb.start_soon(self.read_logs())
        for _ in range(ROUNDS):
            mem.latency(0, rng.choice([0, 50, 600, 3000]))
            for _ in range(rng.randrange(1, 5)):
                mem.fail(
                    rng.choice([SLVERR, DECERR]),
                    eq=rng.choice(eqs).number,
                    skip=rng.randrange(3),
                    count=rng.choice([1, 2, 3, 4, 4, 5, 8]),
                    lands=rng.random() < 0.6,
                )
            await self.harness.cycles(rng.randrange(500, 4000))
            if rng.random() < 0.3:
                await host.resize_eq(rng.choice(eqs), rng.choice([2, 3, 4]))
        mem.clear_faults()
        mem.latency(0)
        self.ended = True
        for life in lives:
            await life
        await self.env.drain(64)
        reader.cancel()
        made = [step.cq for step in self.of(Trace) if step.event]
        seen = sum(count for _, count in self.calls)
        assert self.recovered > 0 and seen == len(made), (self.recovered, seen, len(made))

    async def read_logs(self) -> None:
        """As a driver does that looks into the log every now and then."""
        host = self.env.host
        while True:
            for entry in await host.read_log():
                if entry.cause == Cause.EQ_FAILED:
                    self.recovered += await host.recover(entry)
            await self.harness.cycles(40)

    async def consumer(self, eq: Eq, rng: random.Random) -> None:
        """One CQ after the other."""
        while not self.ended:
            cq = await self.env.host.create_cq(eq=eq, log2=3, reservation=False)
            while not self.ended and await self.turn(cq, rng):
                pass
            while await cq.destroy(wait=False):
                await self.harness.cycles(50)
                await self.returns(cq)
            self.calls.append((cq.number, len(cq.callbacks)))

    async def turn(self, cq: Cq, rng: random.Random) -> bool:
        """Arms, waits for the callback and returns; whether the CQ is still good."""
        before = len(cq.callbacks)
        await cq.arm(ArmType.ANY)
        self.send(cq, [before])
        if rng.random() < 0.3:
            await self.harness.cycles(rng.randrange(200))
            await cq.arm(ArmType.ANY)
        while len(cq.callbacks) == before:
            await self.harness.cycles(200)
            state = await cq.query()
            if state.status != CqStatus.OK and not state.in_callback and not state.due:
                return False
        if rng.random() < 0.3:
            await self.harness.cycles(rng.randrange(3000))
        await self.env.sync()
        self.polled(cq)
        await self.returns(cq)
        if (await cq.query()).status != CqStatus.OK:
            return False
        await cq.update_consumer_index()
        return True

    async def returns(self, cq: Cq) -> None:
        """Returns from all callbacks that were seen."""
        await self.env.sync()
        while cq.returns < len(cq.callbacks):
            assert await cq.callback_return() == (0, 0)
