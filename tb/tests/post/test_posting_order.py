# SPDX-License-Identifier: Apache-2.0
"""Order of execution and completion: what is held and let go, fences, failures, batches, reports,
credits, and the life of a queue pair (DF-01 to DF-15, CQ-17).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pyuvm

from models.post.post import Post, Segment
from tb.env.defs import Cause, Opcode, PostFlag, Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import DoorbellResponse
from tb.env.host.qp import Qp
from tb.tests.common.directed import SLVERR
from tb.tests.common.engine import EngineTest
from tb.tests.common.posting import CANCELED, OK

BUILD = ["engine_small", "engine"]

#: Most cycles from the response of a failed post to the beat.
AFTER_FAILURE = 8
#: Cycles from a post's write to the earliest report of it.
EARLIEST = 14


@pyuvm.test()
class FailureOfResourcesTest(EngineTest):
    """DF-04: a post that finds no credit, for another QP of its CQ has the entries, or no place,
    releases what its QP holds, and nothing of the other. Other causes: test_tour_deferral.py.
    """

    async def scenario(self) -> None:
        for defer in (False, True):
            first = await self.qp(log2=2)
            second = await self.qp(share=first)
            posts, kept = await self.hold(first, 3), await self.hold(second, 1)
            mark = self.mark
            await self.fail(first, self.write_post(first, defer=defer), Cause.NO_CREDIT, posts)
            assert self.beats(second, mark) == []
            await self.done(first, posts)
            # Entries are free again; nothing is left over.
            await self.done(second, kept + await self.accept(second, [self.write_post(second)]))
            # DF-08: nor is a queue full of held requests a deadlock.
            full = await self.qp(depth=2)
            posts = await self.hold(full, 2)
            await self.fail(full, self.write_post(full, defer=defer), Cause.QUEUE_FULL, posts)
            await self.done(full, posts)
            await self.remove(first, second, full)

    async def fail(self, qp: Qp, post: Post, cause: Cause, posts: list[Post]) -> None:
        """A post fails inline; exactly ``posts`` are indicated, as one batch, soon enough."""
        await self.rest(32)
        mark = self.mark
        assert await qp.queue(post) == (SLVERR, cause)
        await self.rest(32)
        beats = self.demand_beats(qp, posts, mark)
        (response,) = self.of(DoorbellResponse, mark)
        if beats:
            late = beats[0].cycle - response.cycle
            assert late <= AFTER_FAILURE, f"{cause.name}: {late} cycles"
            assert [b.cycle for b in beats] == [beats[0].cycle + n for n in range(len(beats))]


@pyuvm.test()
class SourceExampleTest(EngineTest):
    """DF-07, the example of the source: a chain of two FastRegister requests and a Send."""

    async def scenario(self) -> None:
        qp = await self.qp()
        mark = self.mark
        region: dict[str, Any] = {"token": 0x11, "length": 4096, "defer": True}

        # 1. The consumer posts the first fast-register with the DEFER flag, and NdkFastRegister
        #    returns STATUS_SUCCESS.
        first = qp.make(Opcode.FAST_REGISTER, **region)
        assert await qp.post(first) == Cause.NONE
        await self.demand_nothing(qp, mark)

        # 2. Again, the second fast-register is posted with the DEFER flag set, but now
        #    NdkFastRegister returns a failure status. In this case the consumer will not post the
        #    Send request.
        second = qp.make(Opcode.FAST_REGISTER, segments=[Segment(), Segment()], defer=True)
        resp, cause = await qp.queue(second)
        assert (resp, cause) == (SLVERR, Cause.TOO_MANY_SEGMENTS)

        # 3. When returning the inline failure for the second call, the provider makes sure that all
        #    requests that were not indicated before (the first fast-register in this case) are
        #    indicated to the hardware for processing.
        await self.rest()
        self.demand_beats(qp, [first], mark)

        # 4. Because the first call succeeded, a completion must be generated to the CQ.
        (result,) = await qp.cq.wait_results(1)
        assert (result.request_context, result.status) == (first.context, OK)

        # 5. Because the second call failed inline, no completion must be generated to the CQ.
        await self.harness.cycles(500)
        assert await qp.cq.update_consumer_index() == (0, 0)
        assert qp.cq.get_cq_results() == []
        state = await qp.cq.query()
        assert state.prod == state.cons == state.alloc == 1 and state.credits == 0


@pyuvm.test()
class OldestAgeTest(EngineTest):
    """DF-01: age counts from the oldest held request, and neither a stream of posts of other QPs
    nor control steps that take the cycle of the look for old requests put the release off.
    """

    async def scenario(self) -> None:
        tick = self.config.mod_tick
        slack = tick + 64 * self.config.num_qp
        age = 2 * slack // tick
        qp, other, idle = await self.qp(age=age), await self.qp(), await self.idle_qp()
        posts = await self.hold(qp, 1)
        await self.harness.cycles(age * tick - 100)
        posts += await self.hold(qp, 1, watch=False)
        await self.harness.cycles(slack + 200)
        await self.done(qp, posts)
        await qp.modify(age=1)
        bad = Post(Opcode.SEND, qp=other.number, reserved=1)
        for steps in ([], sorted(self.rng("steps").sample(range(2 * slack), slack // 5))):
            posts = [self.write_post(qp, defer=True)]
            start = self.harness.cycle + 64
            answers = [qp.queue(posts[0], at=start)]
            for step in steps:
                self.env.conn.send(idle.number, at_cycle=start + step)
            answers += other.queue_many([bad] * (2 * slack))
            for answer in answers:
                await answer
            await self.done(qp, posts)


@pyuvm.test()
class BatchTest(EngineTest):
    """DF-03, DF-09: batches of every length in front of every index, around twice (small build), of
    requests that differ in everything: no slot and no index has what was there before.
    """

    async def scenario(self) -> None:
        qp, rng = await self.qp(), self.rng("posts")
        for length in [4, 3, 1, 2] * 8:
            mark = self.mark
            posts = []
            for n in range(length):
                address, nbytes, key, context = map(rng.getrandbits, (64, 20, 32, 64))
                parts = [Segment(address, nbytes, key)] * rng.randint(1, 2)
                post = qp.make(Opcode.WRITE, segments=parts, target=parts[0], context=context)
                posts.append(replace(post, flags=PostFlag.DEFER * (n < length - 1)))
            await self.accept(qp, posts)
            await self.rest(32)
            self.demand_beats(qp, posts, mark)
            await self.done(qp, posts)


@pyuvm.test()
class StalledRunTest(EngineTest):
    """DF-09, ISO-04: what is released while a batch of its QP is stalled on its way out follows it.
    DF-11: a beat that is offered stays offered when its QP leaves CONNECTED, and its request
    completes by its report; the ones after it are skipped.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        for length in (1, 2, 3):
            for extra in range(1, 5 - length):
                mark = self.mark
                self.harness.stall(Channel.WORK, hold=True)
                posts = [self.write_post(qp, defer=n + 1 < length) for n in range(length)]
                posts += [self.write_post(qp) for _ in range(extra)]
                await self.accept(qp, posts)
                await self.harness.cycles(16)
                self.harness.stall(Channel.WORK, hold=False)
                await self.rest(32)
                self.demand_beats(qp, posts, mark, range(length - 1, length + extra))
                await self.done(qp, posts)
        for make in (self.write_post, self.local_post):
            mark = self.mark
            self.harness.stall(Channel.WORK, hold=True)
            posts = await self.accept(qp, [make(qp), self.write_post(qp), self.local_post(qp)])
            await qp.flush()
            await self.harness.cycles(32)
            self.harness.stall(Channel.WORK, hold=False)
            await self.rest()
            self.demand_beats(qp, posts[:1], mark)
            if make == self.write_post:
                self.report(qp)
            await self.demand_results(qp, posts, OK, CANCELED, CANCELED)
            await self.reconnect(qp)


@pyuvm.test()
class FlushedForGoodTest(EngineTest):
    """DF-11: two QPs are flushed one after the other while the work port is taken by a third: what
    either held is never indicated, whoever was flushed last. Every pair of QPs.
    """

    async def scenario(self) -> None:
        qps = [await self.qp() for _ in range(4)]
        held = qps[0].depth - 1
        for first, second, busy, _ in permutations(qps, 4):
            mark = self.mark
            self.env.work.hold()
            taken = await self.accept(busy, [self.write_post(busy)])
            await self.harness.cycles(32)
            posts = {}
            for qp in (first, second):
                posts[qp.number] = await self.hold(qp, held, watch=False)
                await qp.flush()
            self.env.work.hold(False)
            await self.rest()
            self.demand_beats(busy, taken, mark)
            self.report(busy)
            await self.demand_results(busy, taken, OK)
            for qp in (first, second):
                assert self.beats(qp, mark) == [], f"QP {qp.number} is flushed"
                await self.demand_results(qp, posts[qp.number], CANCELED)
                await self.reconnect(qp)


@pyuvm.test()
class MeetingTest(EngineTest):
    """DF-12, ISO-04: releases, indications, reports, fences and retirements of two QPs that meet in
    any cycle leave nothing behind.
    """

    #: Read, Write, local; upper case: fenced.
    patterns = ("rl", "rwl", "rL", "rW", "rLwl", "rlwl")

    async def scenario(self) -> None:
        qps = await self.qp(), await self.qp()
        for pattern in self.patterns:
            for shift in range(2):
                for phase in range(12):
                    await self.meet(qps, pattern, phase, shift)

    async def meet(self, qps: tuple[Qp, Qp], pattern: str, phase: int, shift: int) -> None:
        start = self.harness.cycle + 64
        kinds = {"r": self.read_post, "w": self.write_post, "l": self.local_post}
        made = []
        writes = []
        for number, qp in enumerate(qps):
            posts = [kinds[kind.lower()](qp, fence=kind.isupper()) for kind in pattern]
            at = start + number + shift
            writes.append((at, qp, posts[0]))
            writes += [(at + 2 + phase + n, qp, post) for n, post in enumerate(posts[1:])]
            self.report(qp, at=at + EARLIEST + number * shift)
            made.append(posts)
        # In order of time: one that waits holds up all after it.
        for at, qp, post in sorted(writes, key=lambda write: write[0]):
            qp.queue(post, at=at)
        await self.rest(32)
        for qp, posts in zip(qps, made, strict=True):
            if "w" in pattern.lower():
                self.report(qp)
            await self.demand_results(qp, posts, OK)


@pyuvm.test()
class ResizeUnderPostsTest(EngineTest):
    """Up and down, to each size, with a result that nobody has read and a request on its way: the
    index of the change is where the next result goes, and no result is lost. Results and credits
    that do not fit: refused, and nothing changes.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        cq, placed = qp.cq, 0
        for log2 in (3, 1, 2, 1, 3, 2):
            posts = await self.accept(qp, [self.write_post(qp) for _ in range(2)])
            await self.rest()
            self.report(qp)
            await self.rest()
            placed += 1
            assert await cq.resize(log2) == placed & self.mask
            self.report(qp)
            placed += 1
            await self.demand_results(qp, posts, OK)
        posts = await self.accept(qp, [self.write_post(qp) for _ in range(3)])
        await self.rest()
        self.report(qp)
        await self.rest()
        # A result and two credits in a ring of two.
        await self.fails_with(Result.TOO_SMALL, cq.resize(1))
        self.report(qp, OK, OK)
        await self.demand_results(qp, posts, OK)
