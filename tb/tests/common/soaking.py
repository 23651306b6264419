# SPDX-License-Identifier: Apache-2.0
"""What the soak tests share: phases of random traffic, judged to their ends, with a reset between
them.
"""

from __future__ import annotations

import random
from typing import Any

from tb.env.base_test import CarillonTest
from tb.env.defs import Cmd, CqeStatus, Result
from tb.env.harness.harness import Channel
from tb.sequences import find

#: Seeds from here on run as long as chunks of a campaign do, smaller ones as fits a regression. The
#: length depends on nothing else, so that a seed repeats a chunk exactly.
LONG_SEED = 1000

_SLOW = (Channel.MEM_AW, Channel.MEM_W, Channel.MEM_B)


_QUERIES = {
    Cmd.QUERY_CQ: "num_cq",
    Cmd.QUERY_EQ: "num_eq",
    Cmd.QUERY_QP: "num_qp",
    Cmd.QUERY_SRQ: "num_srq",
    Cmd.QUERY_MR: "num_mr",
    Cmd.QUERY_MW: "num_mw",
}
#: Objects of each kind that are looked at.
_LOOKED_AT = 4


def stall_everything(env: Any, rng: random.Random) -> None:
    """Every channel stalls at random, the memory is slow."""
    for agent in env.agents:
        agent.stall(rng.choice((0.0, 0.2, 0.5, 0.9)), env.seed)
    for slow in _SLOW:
        env.harness.stall(slow, rng.choice((0.0, 0.3)))
    env.mem.latency(5, 200, env.seed)


async def demand_fresh(env: Any) -> None:
    """After a reset: no object, no count, no error, no refused write."""
    host = env.host
    counters = await host.counters()
    assert not any(counters.values()), {name: n for name, n in counters.items() if n}
    assert await host.read_log() == []
    for page in range(min(_LOOKED_AT, env.config.num_pages)):
        assert await host.page_status(page) == (0, 0), f"page {page}"
    for code, count in _QUERIES.items():
        # The completion core alone has none of some kinds.
        for number in range(min(_LOOKED_AT, getattr(env.config, count))):
            answer = await host.command(code, number)
            assert answer.result == Result.NO_OBJECT, f"{code.name} {number}: {answer}"


class SoakTest(CarillonTest):
    """Derive and write :meth:`phase`."""

    max_cycles = 5_000_000
    #: Clock cycles of traffic in one phase: of a short run, of a long one.
    cycles = 1500, 8000
    #: Phases: of a short run, of a long one.
    phases = 2, 4
    #: The phase that it is in.
    number = 0

    def phase(self, rng: random.Random) -> tuple[str, dict[str, Any]]:
        """Prepares environment and transport for one phase; returns a sequence and its options."""
        raise NotImplementedError

    @property
    def long(self) -> bool:
        """A chunk of a campaign."""
        return self.env.seed >= LONG_SEED

    async def scenario(self) -> None:
        rng = self.rng("phases")
        for number in range(self.phases[self.long]):
            self.number = number
            if number:
                await self.start_over()
            self.as_new()
            name, options = self.phase(rng)
            options.setdefault("duration", self.cycles[self.long])
            self.logger.info("phase %d: %s %s", number, name, options)
            sequence: Any = find(name)(self.env, **options)
            sequence.rng = random.Random(rng.getrandbits(64))
            await sequence.run()
            self.env.release_all()

    async def start_over(self) -> None:
        """Nothing is left over; then the engine is reset."""
        await self.env.drain(self.drain_quiet)
        if grace := self.checking.grace():
            await self.harness.cycles(grace)
            await self.env.drain(self.drain_quiet)
        self.checking.scoreboard.finish(self.allow)
        await self.env.reset()

    def as_new(self) -> None:
        """Undoes what an earlier phase has set."""
        env, transport = self.env, self.env.transport
        for agent in env.agents:
            agent.stall(0.0)
        env.mem.latency(0)
        env.mem.clear_faults()
        transport.latency = transport.receiver.latency = (1, 200)
        transport.error_rate = transport.receiver.error_rate = 0.0
        transport.error_status = transport.receiver.error_status = CqeStatus.TRANSPORT_ERROR
        transport.after_error = (CqeStatus.CANCELED,)
        transport.inject = transport.receiver.inject = None
        transport.receiver.retry, transport.receiver.tries = (16, 200), None
        transport.receiver.fill = False
        transport.receiver.enabled = set()
        transport.responder.enabled = set()
        if env.config is not None and env.config.num_qp:
            transport.loopback(None)

    def stall(self, rng: random.Random) -> None:
        """Channels stall at random; the memory is slow."""
        for agent in self.env.agents:
            agent.stall(rng.choice((0.0, 0.1, 0.3, 0.6)), rng.getrandbits(31))
        for slow in _SLOW:
            self.harness.stall(slow, rng.choice((0.0, 0.2)))
