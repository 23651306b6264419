# SPDX-License-Identifier: Apache-2.0
"""Every sink of the full engine stands still for long, one after the other, also with all that is
in front of it full: what does not need it goes on, nothing is lost, nothing comes twice (CQ-16,
ISO-04).
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any

import cocotb
import pyuvm
from cocotb.task import Task

from tb.env.defs import CheckKind, Cmd, Opcode, PageReg, QpState, Reg, Result, TraceOp
from tb.env.harness import records
from tb.env.harness.harness import (
    RECEIVE_STALLABLE,
    STALLABLE,
    TRANSPORT_STALLABLE,
    WINDOW_STALLABLE,
    Channel,
)
from tb.env.host.qp import Qp
from tb.sequences import find
from tb.tests.common.directed import SLVERR, DirectedTest
from tb.tests.common.engine import EngineTest
from tb.tests.common.pairs import PairsTest
from tb.tests.common.posting import TARGET
from tb.tests.common.soaking import LONG_SEED

BUILD = ["engine"]

#: What is not seen while a channel stands still; reads and the control port leave no records.
SEEN: dict[Channel, type] = {
    Channel.AW: records.DoorbellRequest,
    Channel.W: records.DoorbellRequest,
    Channel.B: records.DoorbellResponse,
    Channel.IRQ: records.Interrupt,
    Channel.MEM_AW: records.MemWrite,
    Channel.MEM_W: records.MemWrite,
    Channel.MEM_B: records.MemResponse,
    Channel.WORK: records.WorkBeat,
    Channel.DONE: records.DoneReport,
    Channel.CONN: records.ConnReport,
    Channel.TERM: records.TermRequest,
    Channel.RREQ: records.RecvRequest,
    Channel.SCATTER: records.ScatterAnswer,
    Channel.RDONE: records.RecvDone,
    Channel.CHECK: records.AccessCheck,
    Channel.VERDICT: records.AccessVerdict,
}
#: Cycles after which a held channel stands still.
_SETTLED = 32
#: Channels of the completion core alone.
_NOT_HERE = (Channel.CPL, Channel.RSV, Channel.ANS)

Waits = Mapping[Channel, frozenset[str]]
_MEMORY = frozenset(("entry", "event", "receive"))
#: Operations that end after the stall: they need the channel, directly or, after ``MEM_*``,
#: because everything goes to memory in one stream. All others end while it stands still.
WAITS: Waits = {
    Channel.MEM_AW: _MEMORY,
    Channel.MEM_W: _MEMORY,
    Channel.MEM_B: frozenset(("event",)),
    Channel.IRQ: frozenset(("event",)),
    Channel.B: frozenset(("doorbell", "post", "execute")),
    Channel.R: frozenset(("read",)),
    Channel.CTL_B: frozenset(("query",)),
    Channel.CTL_R: frozenset(("register", "query")),
    Channel.WORK: frozenset(("execute",)),
    Channel.TERM: frozenset(),
    Channel.SCATTER: frozenset(("receive",)),
    Channel.VERDICT: frozenset(("check",)),
}
#: The same with full sinks. Commands of CQs are in one pipeline with the entries, the mailbox has
#: one place.
WAITS_FULL: Waits = {
    Channel.SCATTER: frozenset(),
    Channel.VERDICT: frozenset(),
    Channel.TERM: frozenset(),
    Channel.IRQ: frozenset(),
    Channel.MEM_B: frozenset(),
    Channel.WORK: frozenset(("bind",)),
    Channel.MEM_AW: frozenset(
        (
            *("query CQ", "modify CQ", "resize CQ", "create CQ", "destroy CQ"),
            *("create EQ", "resize EQ", "flush"),
        )
    ),
}
#: Within which an operation ends that does not need a full sink.
_LIMIT = 3000


class Stalling(DirectedTest):
    """A channel that is held stands still, or the stall was none."""

    async def stood_still(self, channel: Channel, mark: int, begin: int) -> None:
        """Nothing of a channel is among the records from ``mark`` on, held since ``begin``."""
        await self.env.sync()
        if kind := SEEN.get(channel):
            went: list[Any] = self.of(kind, mark)
            went = [record for record in went if record.cycle > begin + _SETTLED]
            assert not went, f"{channel.name} does not stand still: {went[:2]}"

    @staticmethod
    def demand_waiting(channel: Channel, waiting: set[str], waits: Waits) -> None:
        """These operations wait, and no other."""
        missing, spare = sorted(waiting - waits[channel]), sorted(waits[channel] - waiting)
        assert not missing, f"{channel.name} stands still: no end of {missing}"
        assert not spare, f"{channel.name} stands still, and {spare} went on"


@pyuvm.test()
class EachSinkStalledTest(PairsTest, Stalling):
    """Each channel that the engine drives is held, and meanwhile every kind of operation is tried:
    those that need it end after the stall, the others within it.
    """

    async def scenario(self) -> None:
        cycles = 10_000 if self.env.seed >= LONG_SEED else 1200
        await self.bring_pairs()
        for channel in WAITS:
            await self.trial(channel, cycles)
        counts = self.checking.facts.counts
        counts["stalled_sinks"], counts["stalled_cycles"] = len(WAITS), cycles

    async def trial(self, channel: Channel, cycles: int) -> None:
        env = self.env
        first, second = self.qps[0], self.qps[2]
        for qp in self.qps.values():
            assert (await qp.post_recv([self.region.segment(0, 64)])).accepted
        called = len(second.cq.callbacks)
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
            "event": second.cq.wait_callbacks(called + 1),
            "receive": self.receive(),
            "check": env.transport.responder.check(0, CheckKind.READ, 0, 0, 1),
            "read": env.doorbells.read(first.page, PageReg.PAGE_STATUS),
            "register": env.control.value(Reg.ID),
            "query": env.host.command(Cmd.QUERY_EQ, 0),
        }
        tasks = {name: cocotb.start_soon(probe) for name, probe in probes.items()}
        await env.harness.until(begin + cycles)
        await self.stood_still(channel, mark, begin)
        self.demand_waiting(channel, {name for name in tasks if not tasks[name].done()}, WAITS)
        env.harness.hold(channel, False)
        for task in tasks.values():
            await task
        await env.drain()
        await self.leave(channel)

    async def execute(self) -> None:
        """A request of another QP is accepted, indicated and reported."""
        qp, transport = self.qps[3], self.env.transport
        taken = transport.taken
        assert await qp.post(qp.make(Opcode.WRITE, length=8, target=TARGET)) == 0
        while transport.taken == taken or transport.outstanding(3):
            await self.env.harness.cycles(20)
            await self.env.sync()

    async def receive(self) -> None:
        """A message takes a buffer, and completes."""
        cq = self.qps[2].recv_cq
        before = cq.reader.index
        answer = await self.env.transport.receiver.request(2, 8)
        assert answer.taken, answer
        while cq.reader.index < before + 2:
            await self.env.harness.cycles(20)
            await self.env.sync()
            cq.get_cq_results()

    async def leave(self, channel: Channel) -> None:
        """Each completion is there once, each callback came once; connections as before."""
        for qp in self.qps.values():
            await self.consumed(qp.cq)
            assert len(qp.cq.callbacks) == qp.cq.returns, f"{channel.name}: {qp.cq.callbacks}"
            state = await qp.cq.query()
            assert state.prod == state.cons == state.alloc, f"{channel.name}: {state}"
            status = await qp.query()
            assert status.tail == status.retired, f"{channel.name}: {status}"
        assert (await self.env.host.command(Cmd.QUERY_EQ, 0)).result == Result.OK
        for qp in self.qps.values():
            await qp.flush()
        await self.env.drain()
        for qp in self.qps.values():
            await self.consumed(qp.cq)
            await qp.reset()
            await qp.connect(qp.number ^ 1)


@pyuvm.test()
class StalledLifeTest(Stalling):
    """Random posts and receives with everything that happens with them, while one channel after
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


@pyuvm.test()
class FullStallTest(EngineTest, Stalling):
    """Each sink in turn, in a life of its own: what is in front of it is full, and more waits for
    it. Whatever else queue pairs, queues, regions and windows do goes on; after the stall
    everything ends.
    """

    reporting = True
    manual = False
    max_cycles = 1_000_000

    async def scenario(self) -> None:
        for sink in WAITS_FULL:
            await self.trial(sink)
            await self.start_over()

    async def trial(self, sink: Channel) -> None:
        await self.prepare()
        self.harness.hold(sink)
        await self.harness.cycles(8)
        await self.fill(sink)
        await self.harness.cycles(300)
        self.since, begin = len(self.seen), self.harness.cycle
        tasks: dict[str, Task[Any]] = {}
        late = set()  # judged at once: a later operation may set free what waits
        for name, operation in self.operations().items():
            tasks[name] = task = cocotb.start_soon(operation)
            if not await self.happens(task.done, _LIMIT, 20):
                late.add(name)
        await self.stood_still(sink, self.since, begin)
        self.demand_waiting(sink, late, WAITS_FULL)
        self.harness.hold(sink, False)
        for task in tasks.values():
            await task
        await self.rest(64)

    async def prepare(self) -> None:
        host = self.env.host
        busy_srq = await host.create_srq(size=32, zone=5)
        self.busy = await self.guarded(srq=busy_srq)
        self.buffers = await self.memory()
        await self.post_buffers(busy_srq, self.buffers, 30)
        self.dying = await self.guarded(recv_depth=8)
        await self.post_buffers(self.dying, self.buffers, 6)
        self.binder, self.held, self.aging, self.gone = [await self.guarded() for _ in range(4)]
        self.old_region = await self.memory()
        self.window_1, self.window_2 = [await self.window() for _ in range(2)]
        self.srq = await host.create_srq(size=8, zone=5)
        self.idle = await self.idle_qp()
        self.eq = await host.create_eq(page=0, log2=3)
        self.cq = await host.create_cq(eq=self.eq, log2=3, reservation=False)
        await self.rest(64)

    async def fill(self, sink: Channel) -> None:
        """More than there is room for in front of the sink."""
        if sink is Channel.SCATTER:
            self.ask(self.busy, *([1] * 40))
        elif sink is Channel.VERDICT:
            for _ in range(40):
                self.post_check(self.busy, CheckKind.READ, 0xFFFF_F000, 0, 1)
        elif sink is Channel.TERM:
            # CONNECT_QP waits when as many wait as there are QPs.
            for _ in range(self.config.num_qp - 3):
                await self.busy.flush()
                await self.busy.reset()
                await self.busy.connect(0)
        else:
            self.busy.queue_many([self.write_post(self.busy) for _ in range(20)])

    def operations(self) -> dict[str, Coroutine[Any, Any, Any]]:
        host, buffer = self.env.host, self.buffers.segment(0, 8)
        return {
            "end of connection": self.ends(),
            "flush": self.until_step(TraceOp.RECEIVE, self.dying, 6),
            "bind": self.binds(),
            "hold": self.hold(self.held, 1, watch=False),
            "refused post": self.refused_post(self.held),
            "receive": self.binder.post_recv([buffer]),
            "shared receive": self.srq.post_recv([buffer]),
            "watermark": self.srq.set_lw(1),
            "query SRQ": self.srq.query(),
            "resize SRQ": self.srq.resize(6),
            "age limit": self.aging.modify(age=1),
            "hold for a time": self.hold(self.aging, 1, watch=False),
            "age": self.until_step(TraceOp.AGE, self.aging),
            "register": self.memory(),
            "deregister": self.old_region.deregister(),
            "create window": self.window(),
            "close window": self.window_2.close(),
            "flush QP": self.gone.flush(),
            "query QP": self.gone.query(),
            "idle": self.gone.set_state(QpState.IDLE),
            "connect": self.gone.connect(1),
            "destroy QP": self.idle.destroy(),
            "query CQ": self.cq.query(),
            "modify CQ": self.cq.modify(moderation=(2, 2)),
            "resize CQ": self.cq.resize(4),
            "create EQ": host.create_eq(page=0, log2=2),
            "resize EQ": host.resize_eq(self.eq, 4),
            "create CQ": host.create_cq(eq=self.eq, log2=3, reservation=False),
            "destroy CQ": self.cq.destroy(),
        }

    async def until_step(self, op: TraceOp, qp: Qp | None = None, count: int = 1) -> None:
        """So many steps (of the QP) since the stall."""
        found = 0
        while found < count:
            await self.harness.cycles(20)
            await self.env.sync()
            steps = [step.cq for step in self.of(records.Trace, self.since) if step.op == op]
            found = len(steps) if qp is None else steps.count(qp.number)

    async def ends(self) -> None:
        self.env.transport.disconnect(self.dying.number)
        await self.until_step(TraceOp.QP_STATE, self.dying)

    async def binds(self) -> None:
        bind = self.window_1.make_bind(self.binder, self.buffers, 0, 64, CheckKind.READ)
        await self.accept(self.binder, [bind])
        await self.until_step(TraceOp.BIND)

    async def refused_post(self, qp: Qp) -> None:
        """Releases what the QP holds."""
        reserved = self.write_post(qp).encode() | 1 << 60
        assert (await qp.queue(reserved))[0] == SLVERR
