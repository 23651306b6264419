# SPDX-License-Identifier: Apache-2.0
"""Speed of the full engine at the pins, from posts to completions in memory, taken as in
bench_core.py. Posts and doorbells share one write per cycle.
"""

from __future__ import annotations

from typing import TypeVar

import pyuvm

from tb.bench.load import MEMORY_CYCLES, RATE_1, Goal
from tb.bench.post_load import REPORT_CYCLES, Line, PostLoadTest
from tb.bench.report import config, metric
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import ArmType, Cause, Opcode
from tb.env.harness.records import (
    DoneReport,
    DoorbellRequest,
    DoorbellResponse,
    MemWrite,
    Record,
    WorkBeat,
)
from tb.env.host.cq import Cq
from tb.env.host.qp import Qp

BUILD = "engine_bench"
POSTS = 8_000
POSTS_FULL = 16_000
#: Retirement of random QPs settles slowly: turns are missed until some of them have a backlog.
POSTS_UNIFORM = 64_000
SAMPLES = 32
#: One of so many writes is a consumer index; the others are posts.
INDEX_EVERY = 1024
#: What that leaves, less one entry more or less in the measured time.
RATE_FULL: Goal = (">=", 0.998)
#: Ceilings; a failed post is one step of the pipeline more than one that is indicated.
INDICATION: Goal = ("<=", 10, 12)
RESPONSE: Goal = ("<=", 10)
FAILURE: Goal = ("<=", 12)
WRITE: Goal = ("<=", 10, 15)
R = TypeVar("R", bound=Record)


class _PostsTest(PostLoadTest):
    """Posts alone: SILENT_SUCCESS gives the credit back, so that no index is needed."""

    allow = ("no_completions",)
    qps: int

    async def scenario(self) -> None:
        qps = await self.create_qps(64, await self.create(64, 6))
        lines = self.lines(qps[: self.qps], POSTS, silent=True)
        window = await self.run_posts(lines)
        answers = self.meter.doorbells
        name = "one_qp" if self.qps == 1 else "uniform"
        metric(f"posts_per_cycle_{name}", self.meter.rate(answers, window), RATE_1)


@pyuvm.test()
class PostsUniform(_PostsTest):
    """One post per cycle, each on a random QP."""

    qps = 64


@pyuvm.test()
class PostsOneQp(_PostsTest):
    """All posts on one QP."""

    qps = 1


class _FullPathTest(PostLoadTest):
    """Posts, work, reports, retirement and entries, all at once; with them consumer indices."""

    async def full_path(self, name: str, lines: list[Line]) -> None:
        window = await self.run_posts(lines, every=INDEX_EVERY, doorbell=self.consume)
        rate = self.meter.rate(self.meter.cqes, window)
        metric(f"cqe_per_cycle_full_path_{name}", rate, RATE_FULL)


@pyuvm.test()
class FullPathUniform(_FullPathTest):
    """Each post on a random QP with a CQ of its own."""

    async def scenario(self) -> None:
        qps = await self.create_qps(64, await self.create(64, 10, latency=MEMORY_CYCLES))
        await self.full_path("uniform", self.lines(qps, POSTS_UNIFORM))
        assert self.env.config is not None
        config("QPs", self.env.config.num_qp)
        config("send queue", 1 << self.env.config.sq_log2)
        config("reports after", f"{REPORT_CYCLES} cycle")
        config("posts per run", f"{POSTS_FULL}, uniform {POSTS_UNIFORM}")


@pyuvm.test()
class FullPathOneQp(_FullPathTest):
    """All posts on one QP; the ring goes round."""

    async def scenario(self) -> None:
        qps = await self.create_qps(2, await self.create(2, 12, latency=MEMORY_CYCLES))
        await self.full_path("one_qp", self.lines(qps[:1], POSTS_FULL))


@pyuvm.test()
class FullPathChains(_FullPathTest):
    """Random QPs; of the posts of each QP three are deferred and the fourth is not."""

    async def scenario(self) -> None:
        qps = await self.create_qps(64, await self.create(64, 10, latency=MEMORY_CYCLES))
        await self.full_path("chains_of_4", self.lines(qps, POSTS_FULL, chain=4))


@pyuvm.test()
class FullPathCallbacks(PostLoadTest):
    """Of eight writes one is a doorbell: a consumer arms for ANY again, or returns from its
    callback. Events share the write port with entries.
    """

    async def scenario(self) -> None:
        self.cqs = await self.create(64, 10, latency=MEMORY_CYCLES)
        qps = await self.create_qps(64, self.cqs)
        for cq in self.cqs:
            cq.post_arm(ArmType.ANY)
        await self.env.drain()
        self.returned = 0
        self.to_arm: list[Cq] = []
        window = await self.run_posts(self.lines(qps, POSTS), every=8, doorbell=self._consume)
        meter = self.meter
        metric("cqe_per_cycle_full_path_with_callbacks", meter.rate(meter.cqes, window))
        metric("callbacks_per_cycle_full_path", meter.rate(meter.eqes, window))
        metric("doorbell_port_per_cycle_full_path", meter.rate(meter.doorbells, window), RATE_1)

    def _consume(self) -> Pending[WriteResult]:
        if self.to_arm:
            cq = self.to_arm.pop()
            self.told[cq.number] = index = self.meter.written[cq.number]
            return cq.post_arm(ArmType.ANY, index=index & 0xFFFF)
        called = self.env.host.callbacks
        if self.returned == len(called):
            return self.consume()
        cq = self.env.host.cqs[called[self.returned].cq]
        self.returned += 1
        self.to_arm.append(cq)
        return cq.post_callback_return()


@pyuvm.test()
class PostLatencies(PostLoadTest):
    """Way of one request through an idle engine, on each of several QPs."""

    async def scenario(self) -> None:
        self.seen: list[Record] = []
        self.longest: dict[str, int] = {}
        self.env.add_subscriber(self.seen.extend, "samples")
        for number, qp in enumerate(await self.create_qps(SAMPLES, await self.create(SAMPLES, 4))):
            await self.harness.cycles(number % 7)
            await self._request(qp)
            await self._failure(qp)
        metric("post_to_indication_cycles", self.longest["indication"], INDICATION)
        metric("post_response_cycles", self.longest["response"], RESPONSE)
        metric("failure_to_indication_cycles", self.longest["failure"], FAILURE)
        metric("done_report_to_write_cycles", self.longest["write"], WRITE)

    def _one(self, kind: type[R]) -> R:
        found = [record for record in self.seen if isinstance(record, kind)]
        assert len(found) == 1, f"{len(found)} {kind.__name__} instead of one"
        return found[0]

    def _note(self, name: str, first: Record, second: Record) -> None:
        cycles = second.cycle - first.cycle
        self.longest[name] = max(self.longest.get(name, cycles), cycles)

    async def _request(self, qp: Qp) -> None:
        """A post is indicated, reported, and completes."""
        self.seen.clear()
        assert await qp.post(qp.make(Opcode.WRITE, length=8, token=1)) == Cause.NONE
        await self.env.drain()
        request = self._one(DoorbellRequest)
        self._note("indication", request, self._one(WorkBeat))
        self._note("response", request, self._one(DoorbellResponse))
        self._note("write", self._one(DoneReport), self._one(MemWrite))

    async def _failure(self, qp: Qp) -> None:
        """A post is held until another one fails."""
        assert await qp.post(qp.make(Opcode.WRITE, length=8, token=1, defer=True)) == Cause.NONE
        await self.env.drain()
        self.seen.clear()
        assert await qp.post(qp.make(0xFF)) == Cause.BAD_OPCODE
        await self.env.drain()
        self._note("failure", self._one(DoorbellResponse), self._one(WorkBeat))
