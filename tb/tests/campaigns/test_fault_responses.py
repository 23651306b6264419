# SPDX-License-Identifier: Apache-2.0
"""Faulty host memory under the full engine: error responses to each write in turn, responses that
come ten thousand cycles late (CQ-18, CQ-16, CQ-01).
"""

from __future__ import annotations

import random

import pyuvm

from tb.env.agents.memory import DECERR, SLVERR
from tb.env.defs import Cause, CqStatus, Kind
from tb.env.harness.records import MemResponse
from tb.sequences import find
from tb.tests.common.directed import DirectedTest
from tb.tests.common.pairs import PairsTest
from tb.tests.common.soaking import LONG_SEED

BUILD = ["engine"]

#: Cycles, from one to the largest delay of the campaign.
DELAYS = (1, 10, 100, 1000, 10_000)


#: Cycles in which the traffic of pairs ends.
_TRAFFIC = 1500


@pyuvm.test()
class ErrorAtEachWriteTest(PairsTest):
    """SLVERR and DECERR to each write of a scenario in turn, entries and event entries: its CQs
    fail and are reported, and every other one completes everything.
    """

    async def scenario(self) -> None:
        await self.bring_pairs()
        hit = {"entry": 0, "event": 0}
        step = 1 if self.env.seed >= LONG_SEED else 3
        for resp in (SLVERR, DECERR):
            skip = (self.env.seed + resp) % step
            while (kind := await self.trial(resp, skip)) is not None:
                hit[kind] += 1
                skip += step
        counts = self.checking.facts.counts
        counts["entry_writes_failed"], counts["event_writes_failed"] = hit.values()
        assert hit["entry"] >= 4 and hit["event"] >= 1, hit

    async def trial(self, resp: int, skip: int) -> str | None:
        """The write after ``skip`` others fails; None: there were not so many."""
        env = self.env
        mark = len(self.seen)
        rule = env.mem.fail(resp, skip=skip, lands=skip % 2 == 0)
        wanted = await self.traffic()
        await self.harness.cycles(_TRAFFIC)
        await env.sync()
        env.mem.clear_fault(rule)
        bad = [r for r in self.of(MemResponse, mark) if r.resp]
        failed: list[int] = []
        kind: str | None = None
        if bad:
            (answer,) = bad
            assert answer.resp == resp
            log = await env.host.read_log()
            event = answer.axi_id >= self.config.num_cq
            cause = Cause.EQE_WRITE_ERROR if event else Cause.CQE_WRITE_ERROR
            failed = [e.object for e in log if (e.cause, e.kind) == (cause, Kind.CQ)]
            assert failed and log[0].cause == cause, log
            assert event or failed == [answer.axi_id], log
            kind = "event" if event else "entry"
            for number in failed:
                status = (await self.qps[number].cq.query()).status
                assert status == CqStatus.INTERNAL_ERROR, f"CQ {number}: {status}"
                # Its receiver is not ready any more: the peer's message would come again and again.
                await self.qps[number].flush()
        await env.drain()
        for number, entries in wanted.items():
            if number not in failed:
                # Its peer's message, the last one, is in error if it was not taken in time.
                peer = number ^ 1 in failed
                await self.unharmed(number, entries, failed=int(peer))
        for number in failed:
            await self.remake(number)
        return kind


@pyuvm.test()
class LateResponsesTest(PairsTest):
    """All responses of the memory, those of one CQ, those of the EQ come 1 to 10,000 cycles late:
    nothing is lost; the other CQs do not wait for one CQ.
    """

    async def scenario(self) -> None:
        await self.bring_pairs()
        mem = self.env.mem
        for delay in DELAYS:
            mem.latency(delay)
            wanted = await self.traffic()
            await self.env.drain()
            for number, entries in wanted.items():
                await self.unharmed(number, entries)
        mem.latency(0)
        for victim in range(4):
            mem.hold_cq(victim)
            wanted = await self.traffic()
            begin = self.harness.cycle
            await self.harness.cycles(600)
            await self.env.sync()
            cq = self.qps[victim].cq
            assert (await cq.query()).status == CqStatus.OK and not cq.callbacks
            for number in wanted.keys() - {victim}:
                await self.unharmed(number, wanted[number])
            await self.harness.until(begin + DELAYS[-1])
            mem.release_cq(victim)
            await self.env.drain()
            await self.unharmed(victim, wanted[victim])
        mem.hold_eq(self.eq.number)
        wanted = await self.traffic()
        await self.harness.cycles(DELAYS[-1])
        await self.env.sync()
        for qp in self.qps.values():
            state = await qp.cq.query()
            present = state.prod - state.cons
            assert present == wanted[qp.number], f"entries wait for events: {state}"
        mem.release_eq(self.eq.number)
        await self.env.drain()
        for number, entries in wanted.items():
            await self.unharmed(number, entries)


@pyuvm.test()
class LateTrafficTest(DirectedTest):
    """Random posts and receives; memory answers after up to 10,000 cycles, out of order across
    queues, the transport reports as late.
    """

    drain_quiet = DELAYS[-1] + 200

    async def scenario(self) -> None:
        env, rng = self.env, self.rng("late")
        # Nothing may happen for as long as one answer takes, and still all is not at rest.
        drain = env.drain
        env.drain = lambda quiet=0: drain(max(quiet, self.drain_quiet))  # type: ignore[method-assign]
        env.mem.latency(0, DELAYS[-1], env.seed)
        env.transport.latency = env.transport.receiver.latency = (1, DELAYS[-1])
        sequence = find("receive_traffic")(
            env, duration=15_000, chunk=512, rate=0.1, recv_rate=0.1, message_rate=0.05
        )
        sequence.rng = random.Random(rng.getrandbits(64))
        await sequence.run()
        env.release_all()
