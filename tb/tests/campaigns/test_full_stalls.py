# SPDX-License-Identifier: Apache-2.0
"""A sink of the engine stands still, what is in front of it is full, and more waits for it:
whatever else queue pairs, queues, regions and windows do goes on (ISO-04, CQ-16).
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import cocotb
import pyuvm
from cocotb.task import Task

from tb.env.defs import CheckKind, QpState, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import Trace
from tb.env.host.qp import Qp
from tb.tests.common.stalling import Stalling
from tb.tests.common.windowing import WindowTest

BUILD = ["engine"]

#: Within which an operation ends that does not need the sink.
_LIMIT = 3000
_SLVERR = 2
_CQ_COMMANDS = frozenset(
    ("query CQ", "modify CQ", "resize CQ", "create EQ", "resize EQ", "create CQ", "destroy CQ")
)
#: What waits until the sink goes on. Commands of CQs are in one pipeline with the entries, the
#: mailbox has one place.
WAITS: dict[Channel, frozenset[str]] = {
    Channel.SCATTER: frozenset(),
    Channel.VERDICT: frozenset(),
    Channel.TERM: frozenset(),
    Channel.IRQ: frozenset(),
    Channel.MEM_B: frozenset(),
    Channel.WORK: frozenset(("bind",)),
    Channel.MEM_AW: _CQ_COMMANDS | {"flush"},
}


@pyuvm.test()
class FullStallTest(WindowTest, Stalling):
    """Each sink in turn, in a life of its own; behind the stall everything ends."""

    reporting = True
    manual = False
    max_cycles = 1_000_000

    async def scenario(self) -> None:
        for sink, waits in WAITS.items():
            await self.trial(sink, waits)
            await self.env.reset()
            self._region = None
            for counts in (self.reports, self.tags, self.early, self.next_tag):
                counts.clear()

    async def trial(self, sink: Channel, waits: frozenset[str]) -> None:
        await self.prepare()
        self.harness.hold(sink)
        await self.harness.cycles(8)
        await self.fill(sink)
        await self.harness.cycles(300)
        self.since, begin = len(self.seen), self.harness.cycle
        tasks: dict[str, Task[Any]] = {}
        hanging: set[str] = set()
        for name, operation in self.operations().items():
            tasks[name] = task = cocotb.start_soon(operation)
            start = self.harness.cycle
            while not task.done() and self.harness.cycle < start + _LIMIT:
                await self.harness.cycles(20)
            if not task.done():
                hanging.add(name)
        await self.stood_still(sink, self.since, begin)
        missing, spare = sorted(hanging - waits), sorted(waits - hanging)
        assert not missing, f"{sink.name} stands still: no end of {missing}"
        assert not spare, f"{sink.name} stands still, and {spare} went on"
        self.harness.hold(sink, False)
        for task in tasks.values():
            await task
        await self.rest(64)

    async def prepare(self) -> None:
        host = self.env.host
        self.busy = await self.guarded(srq=await host.create_srq(size=32, zone=5))
        self.buffers = await self.memory()
        assert self.busy.srq is not None
        await self.supply_all(self.busy.srq, 30)
        self.dying = await self.guarded(recv_depth=8)
        await self.supply_all(self.dying, 6)
        self.binder, self.held, self.aging, self.gone = [await self.guarded() for _ in range(4)]
        self.old_region, self.window_1, self.window_2 = (
            await self.memory(),
            await self.window(),
            await self.window(),
        )
        self.srq = await host.create_srq(size=8, zone=5)
        self.idle = await self.idle_qp()
        self.eq = await host.create_eq(page=0, log2=3)
        self.cq = await host.create_cq(eq=self.eq, log2=3, reservation=False)
        await self.rest(64)

    async def supply_all(self, queue: Any, count: int) -> None:
        posts = [queue.make_recv([self.buffers.segment(0, 64)]) for _ in range(count)]
        for answer in queue.queue_recv_many(posts):
            assert (await answer)[0] == 0

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
            steps = [step.cq for step in self.of(Trace, self.since) if step.op == op]
            found = len(steps) if qp is None else steps.count(qp.number)

    async def ends(self) -> None:
        self.env.transport.disconnect(self.dying.number)
        await self.until_step(TraceOp.QP_STATE, self.dying)

    async def binds(self) -> None:
        await self.accept(
            self.binder, [self.window_1.make_bind(self.binder, self.buffers, 0, 64, CheckKind.READ)]
        )
        await self.until_step(TraceOp.BIND)

    async def refused_post(self, qp: Qp) -> None:
        """Releases what the QP holds."""
        reserved = self.write_post(qp).encode() | 1 << 60
        assert (await qp.queue(reserved))[0] == _SLVERR
