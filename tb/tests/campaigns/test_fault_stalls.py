# SPDX-License-Identifier: Apache-2.0
"""Every sink of the full engine stands still for long, one after the other: what does not need it
goes on, nothing is lost, nothing comes twice (CQ-16, ISO-04).
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import cocotb
import pyuvm

from tb.env.defs import CheckKind, Cmd, Opcode, PageReg, Reg, Result
from tb.env.harness.harness import (
    RECEIVE_STALLABLE,
    STALLABLE,
    TRANSPORT_STALLABLE,
    WINDOW_STALLABLE,
    Channel,
)
from tb.sequences import find
from tb.tests.common.pairs import PairsTest
from tb.tests.common.posting import TARGET
from tb.tests.common.soaking import LONG_SEED
from tb.tests.common.stalling import Stalling

BUILD = ["engine"]

ALL = frozenset(
    (
        "doorbell",
        "post",
        "execute",
        "entry",
        "event",
        "receive",
        "check",
        "read",
        "register",
        "query",
    )
)
_MEMORY = frozenset(("entry", "event", "receive"))
#: What must go on while a channel stands still. The rest needs it, directly or, behind ``MEM_*``,
#: because everything goes to memory in one stream.
GOES_ON: dict[Channel, frozenset[str]] = {
    Channel.MEM_AW: ALL - _MEMORY,
    Channel.MEM_W: ALL - _MEMORY,
    Channel.MEM_B: ALL - {"event"},
    Channel.IRQ: ALL - {"event"},
    Channel.B: ALL - {"doorbell", "post", "execute"},
    Channel.R: ALL - {"read"},
    Channel.CTL_B: ALL - {"query"},
    Channel.CTL_R: ALL - {"register", "query"},
    Channel.WORK: ALL - {"execute"},
    Channel.TERM: ALL,
    Channel.SCATTER: ALL - {"receive"},
    Channel.VERDICT: ALL - {"check"},
}
#: Channels of the completion core alone.
_NOT_HERE = (Channel.CPL, Channel.RSV, Channel.ANS)
#: What cannot be done without the channel: if it is, the channel did not stand still.
NEEDS: dict[Channel, str] = {
    Channel.MEM_AW: "entry",
    Channel.MEM_W: "entry",
    Channel.MEM_B: "event",
    Channel.IRQ: "event",
    Channel.B: "doorbell",
    Channel.R: "read",
    Channel.CTL_B: "query",
    Channel.CTL_R: "register",
    Channel.WORK: "execute",
    Channel.SCATTER: "receive",
    Channel.VERDICT: "check",
}


@pyuvm.test()
class EachSinkStalledTest(PairsTest, Stalling):
    """Each channel that the engine drives is held, and meanwhile every kind of operation is tried:
    those that need it end behind the stall, the others within it.
    """

    async def scenario(self) -> None:
        cycles = 10_000 if self.env.seed >= LONG_SEED else 1200
        await self.bring_pairs()
        for channel in GOES_ON:
            await self.trial(channel, cycles)
        counts = self.checking.facts.counts
        counts["stalled_sinks"], counts["stalled_cycles"] = len(GOES_ON), cycles

    async def trial(self, channel: Channel, cycles: int) -> None:
        env = self.env
        first, second = self.qps[0], self.qps[2]
        for qp in self.qps.values():
            assert (await qp.post_recv([self.region.segment(0, 64)])).accepted
        second.cq.callbacks.clear()
        assert await second.cq.arm() == (0, 0)
        # Under way before the stall: one request that is not reported yet.
        env.transport.hold(second.number)
        assert await second.post(second.make(Opcode.WRITE, length=8, target=TARGET)) == 0
        await env.drain()
        env.harness.hold(channel)
        await env.harness.cycles(8)
        begin, mark = env.harness.cycle, len(self.seen)
        if channel == Channel.TERM:
            await self.qps[1].flush()
            await self.qps[1].query()
        env.transport.release(second.number)
        probes: dict[str, Coroutine[Any, Any, Any]] = {
            "doorbell": first.cq.update_consumer_index(),
            "post": first.post(first.make(Opcode.SEND, length=8, flags=0)),
            "execute": self.execute(),
            "entry": second.cq.wait_results(1),
            "event": second.cq.wait_callbacks(1),
            "receive": self.receive(),
            "check": env.transport.responder.check(0, CheckKind.READ, 0, 0, 1),
            "read": env.doorbells.read(first.page, PageReg.PAGE_STATUS),
            "register": env.control.value(Reg.ID),
            "query": env.host.command(Cmd.QUERY_EQ, 0),
        }
        assert probes.keys() == ALL
        tasks = {name: cocotb.start_soon(probe) for name, probe in probes.items()}
        await env.harness.until(begin + cycles)
        await self.stood_still(channel, mark, begin)
        ended = {name for name, task in tasks.items() if task.done()}
        self.logger.info("%s held: ended meanwhile: %s", channel.name, sorted(ended))
        missing = GOES_ON[channel] - ended
        assert not missing, f"{channel.name} stands still: no end of {sorted(missing)}"
        needing = NEEDS.get(channel)
        assert needing not in ended, f"{channel.name} stands still, and {needing} went on"
        env.harness.hold(channel, False)
        for task in tasks.values():
            await task
        await env.drain()
        await self.leave(channel)

    async def execute(self) -> None:
        """A request of another QP is accepted, indicated and reported."""
        qp = self.qps[3]
        taken = self.env.transport.taken
        assert await qp.post(qp.make(Opcode.WRITE, length=8, target=TARGET)) == 0
        while self.env.transport.taken == taken or self.env.transport.outstanding(3):
            await self.env.harness.cycles(20)
            await self.env.sync()

    async def receive(self) -> None:
        """A message takes a buffer, and completes."""
        before = self.qps[2].recv_cq.reader.index
        answer = await self.env.transport.receiver.request(2, 8)
        assert answer.taken, answer
        while self.qps[2].recv_cq.reader.index < before + 2:
            await self.env.harness.cycles(20)
            await self.env.sync()
            self.qps[2].recv_cq.get_cq_results()

    async def leave(self, channel: Channel) -> None:
        """Each completion is there once, each callback came once; connections as before."""
        for qp in self.qps.values():
            qp.cq.get_cq_results()
            assert await qp.cq.update_consumer_index() == (0, 0)
            while len(qp.cq.callbacks):
                assert await qp.cq.callback_return() == (0, 0)
                qp.cq.callbacks.pop()
            state = await qp.cq.query()
            assert state.prod == state.cons == state.alloc, f"{channel.name}: {state}"
            status = await qp.query()
            assert status.tail == status.retired, f"{channel.name}: {status}"
        assert (await self.env.host.command(Cmd.QUERY_EQ, 0)).result == Result.OK
        for qp in self.qps.values():
            await qp.flush()
        await self.env.drain()
        for qp in self.qps.values():
            qp.cq.get_cq_results()
            assert await qp.cq.update_consumer_index() == (0, 0)
            await qp.reset()
            await qp.connect(qp.number ^ 1)


@pyuvm.test()
class StalledLifeTest(Stalling):
    """Random posts and receives with everything that happens beside them, while one channel after
    the other stands still for long, the sources of the harness, too.
    """

    async def scenario(self) -> None:
        env, long = self.env, self.env.seed >= LONG_SEED
        cycles = 10_000 if long else 300
        channels = [channel for channel in STALLABLE if channel not in _NOT_HERE]
        channels += [*TRANSPORT_STALLABLE, *RECEIVE_STALLABLE, *WINDOW_STALLABLE]
        self.rng("order").shuffle(channels)
        sequence: Any = find("receive_life")(
            env, duration=len(channels) * (cycles + 200), chunk=128, actions=0.005, stalls=0.0
        )
        traffic = cocotb.start_soon(sequence.run())
        await self.harness.cycles(1500)
        for channel in channels:
            self.harness.hold(channel)
            begin, mark = self.harness.cycle, len(self.seen)
            await self.harness.cycles(cycles)
            await self.stood_still(channel, mark, begin)
            assert not traffic.done(), f"{channel.name} is held, and nothing goes on"
            self.harness.hold(channel, False)
            await self.harness.cycles(60)
        await traffic
        env.release_all()
        counts = self.checking.facts.counts
        counts["stalled_sinks"], counts["stalled_cycles"] = len(channels), cycles
