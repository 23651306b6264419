# SPDX-License-Identifier: Apache-2.0
"""Event queues without a spare entry, memory that is slow and fails, rings that change, and lives
of CQs: each call is read once.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence

import cocotb
import pyuvm

from tb.env.agents.control import CommandError
from tb.env.agents.memory import DECERR, SLVERR
from tb.env.defs import ArmType, Cause, CqStatus, Kind
from tb.env.harness.records import Trace
from tb.env.host.cq import Cq, Eq
from tb.env.host.driver import LogEntry
from tb.tests.common.event_holes import HoleTest

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
        self.ended = self.over = False
        self.recovered = 0
        self.called = 0  # callbacks of CQs that were destroyed
        lives = [
            cocotb.start_soon(self.consumer(eq, self.rng(f"consumer {eq.number} {n}")))
            for eq in eqs
            for n in range(1 << eq.log2)
        ]
        self.told: deque[LogEntry] = deque()
        drivers = [cocotb.start_soon(self.read_logs()), cocotb.start_soon(self.recovers(eqs))]
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
        self.over = True
        for driver in drivers:
            await driver
        await self.env.drain(64)
        made = sum(step.event for step in self.of(Trace))
        assert self.called == made, f"{self.called} callbacks seen, {made} called"
        assert self.recovered > 0

    async def read_logs(self) -> None:
        """As a driver does that looks into the log every now and then."""
        while not self.over:
            for entry in await self.env.host.read_log():
                if entry.cause == Cause.EQ_FAILED:
                    self.told.append(entry)
            await self.harness.cycles(40)

    async def recovers(self, eqs: Sequence[Eq]) -> None:
        """What the log has told (the mailbox may be busy for long, and the log fill up meanwhile);
        when it has lost something, what QUERY_CQ and QUERY_EQ tell twice.
        """
        host = self.env.host
        found: dict[int, tuple[int, int] | None] = {}
        while not self.over:
            while self.told:
                self.recovered += await host.recover(self.told.popleft())
            for eq in eqs if await host.counter("LOG_LOST") else ():
                before, found[eq.number] = found.get(eq.number), None
                try:
                    found[eq.number] = await eq.given_up_untold()
                except CommandError:
                    continue  # a CQ was created or destroyed meanwhile
                if before and found[eq.number] == before:
                    await host.recover(LogEntry(Cause.EQ_FAILED, Kind.CQ, *before))
            await self.harness.cycles(20)

    async def consumer(self, eq: Eq, rng: random.Random) -> None:
        """One CQ after the other."""
        while not self.ended:
            cq = await self.env.host.create_cq(eq=eq, log2=3, reservation=False)
            while not self.ended and await self.turn(cq, rng):
                pass
            while await cq.destroy(wait=False):
                await self.harness.cycles(50)
                await self.returns(cq)
            self.called += len(cq.callbacks)

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
