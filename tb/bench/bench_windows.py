# SPDX-License-Identifier: Apache-2.0
"""Speed of what guards memory: checks of remote accesses, alone and with posts, and requests that
change keys, taken as in bench_core.py. All queue pairs are guarded, each has a window of its own.
"""

from __future__ import annotations

import pyuvm

from tb.bench.load import MEMORY_CYCLES, RATE_1, Goal
from tb.bench.post_load import Line, PostLoadTest
from tb.bench.report import config, metric
from tb.env.defs import CheckKind, Opcode, Right
from tb.env.harness.records import AccessCheck, AccessVerdict, Record
from tb.env.host.qp import Qp, connect_pair
from tb.env.host.regions import MemoryWindow, Region, next_key

BUILD = "engine_bench"
QPS = 64
CHECKS = 8_000
#: Requests of each QP that change its key: fewer than its send queue has slots.
CHANGES = 16
SAMPLES = 32
SIZE = 4096
VERDICT: Goal = ("<=", 5)
_RIGHTS = Right.REMOTE_READ | Right.REMOTE_WRITE
_LEAD = 64


class _GuardTest(PostLoadTest):
    """Guarded QPs with a window each."""

    async def guards(self) -> list[Qp]:
        """Connected QPs, and their windows, not bound."""
        host = self.env.host
        cqs = await self.create(QPS, 6, latency=MEMORY_CYCLES)
        qps = [await host.create_qp(cq=cq, guarded=True) for cq in cqs]
        for first, second in zip(qps[::2], qps[1::2], strict=True):
            await connect_pair(first, second)
        self.region: Region = await host.register(SIZE)
        self.windows: list[MemoryWindow] = [await host.create_window() for _ in qps]
        self.indicated: list[tuple[int, int]] = []
        self.kinds = self.rng("checks")
        self.checked: list[int] = []
        self.judged: list[int] = []
        self.env.add_subscriber(self._take, "work beats")
        self.env.add_subscriber(self._count, "checks")
        self.told = dict.fromkeys((cq.number for cq in cqs), 0)
        return qps

    def _count(self, records: list[Record]) -> None:
        for record in records:
            if isinstance(record, AccessCheck):
                self.checked.append(record.cycle)
            elif isinstance(record, AccessVerdict):
                assert record.data >> 16 == 0, f"refused: {record}"
                self.judged.append(record.cycle)

    async def bind(self, qps: list[Qp]) -> None:
        """Binds all windows, silently."""
        for qp, window in zip(qps, self.windows, strict=True):
            assert (await window.bind(qp, self.region, rights=_RIGHTS, silent=True)).accepted
        await self.env.drain()

    def check(self, qp: Qp, at: int | None = None) -> None:
        """Queues a check by the window of a QP."""
        key, kind = self.windows[qp.number].key, self.kinds.choice(list(CheckKind))
        post = self.env.transport.responder.post_check
        post(qp.number, kind, key, self.region.base + 64, 256, at_cycle=at)


@pyuvm.test()
class AccessChecks(_GuardTest):
    """A check per cycle, each for the next QP."""

    allow = ("no_completions",)

    async def scenario(self) -> None:
        qps = await self.guards()
        await self.bind(qps)
        start = self.harness.cycle + _LEAD
        for number in range(CHECKS):
            self.check(qps[number % QPS], start)
        await self.env.drain()
        verdicts = [(cycle, 1) for cycle in self.judged]
        assert len(verdicts) == CHECKS
        rate = self.meter.rate(verdicts, self.meter.middle(verdicts))
        metric("access_checks_per_cycle", rate, RATE_1)
        config("checks per run", CHECKS)


@pyuvm.test()
class AccessCheckLatency(_GuardTest):
    """Single checks through an idle engine."""

    allow = ("no_completions",)

    async def scenario(self) -> None:
        qps = await self.guards()
        await self.bind(qps)
        for number in range(SAMPLES):
            await self.harness.cycles(number % 7 + 8)
            self.check(qps[number])
            await self.env.drain(16)
        delays = [b - a for a, b in zip(self.checked, self.judged, strict=True)]
        metric("access_check_cycles", max(delays), VERDICT)


@pyuvm.test()
class PostsWithChecks(_GuardTest):
    """A post per cycle on random QPs, and a check per cycle with it."""

    allow = ("no_completions",)

    async def scenario(self) -> None:
        qps = await self.guards()
        await self.bind(qps)
        seen = len(self.meter.doorbells)
        self.indicated.clear()
        lines = self.lines(qps, CHECKS, silent=True)
        start = self.harness.cycle + _LEAD
        for number in range(CHECKS):
            self.check(qps[number % QPS], start)
        await self.run_posts(lines, before=QPS)
        answers = self.meter.doorbells[seen:]
        window = self.meter.middle(answers)
        metric("posts_per_cycle_with_checks", self.meter.rate(answers, window), RATE_1)
        verdicts = [(cycle, 1) for cycle in self.judged]
        metric("access_checks_per_cycle_with_posts", self.meter.rate(verdicts, window))


@pyuvm.test()
class LocalRequests(_GuardTest):
    """Bind and Invalidate by turns, on all QPs at once; each waits for the one before it."""

    allow = ("no_completions",)

    async def scenario(self) -> None:
        qps = await self.guards()
        lines = []
        for turn in range(CHANGES):
            for qp, window in zip(qps, self.windows, strict=True):
                if turn % 2:
                    post = qp.make(Opcode.INVALIDATE, token=window.key, silent=True)
                else:
                    post = window.make_bind(qp, self.region, rights=_RIGHTS, silent=True)
                    window.key = next_key(window.key)
                lines.append(Line(qp, post.encode()))
        span = await self.run_posts(lines)
        metric("local_requests_per_cycle_guarded", self.meter.rate(self.indicated, span))
        changed = await self.env.host.counter("INVALIDATED")
        assert changed == QPS * CHANGES // 2, f"{changed} invalidated"
