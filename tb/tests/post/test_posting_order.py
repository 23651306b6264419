# SPDX-License-Identifier: Apache-2.0
"""Order of execution and completion: fences, failures, batches, reports, credits, and the life of a
queue pair (DF-02, DF-03, DF-09, DF-11 to DF-15, CQ-17).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pyuvm

from models.post.post import Post, Segment
from tb.env.agents.control import CommandError
from tb.env.defs import Cause, Opcode, PostFlag, QpState, Result
from tb.env.harness.harness import Channel
from tb.env.host.qp import Qp
from tb.tests.common.posting import CANCELED, FAILED, OK, PostingTest

BUILD = ["engine_small", "engine"]

#: Cycles from a post's write to the earliest report of it.
EARLIEST = 14


@pyuvm.test()
class FenceTest(PostingTest):
    """DF-13: a fence waits for every earlier Read of its QP, remote or local, whatever became of
    the Reads of an earlier connection; it holds up no other QP. At a failure or a flush (DF-11) a
    request that waits and all behind it are never indicated and complete CANCELED.
    """

    async def scenario(self) -> None:
        qp, other = await self.qp(), await self.qp()
        for make in (self.read_post, self.write_post, self.local_post):
            mark = self.mark
            posts = [self.read_post(qp), self.write_post(qp), make(qp, fence=True)]
            await self.accept(qp, posts)
            await self.through(other, fence=True)
            self.demand_beats(qp, posts[:2], mark, [0, 1])
            self.report(qp)
            await self.rest()
            self.demand_beats(qp, posts, mark, [0, 1, 2])
            self.report(qp, *[0] * (1 if make == self.local_post else 2))
            await self.demand_results(qp, posts, OK)
            # A Read that is never indicated is none that a later fence could wait for.
            for status in (OK, FAILED):
                mark = self.mark
                posts = [self.read_post(qp), make(qp, fence=True), self.local_post(qp)]
                await self.accept(qp, posts)
                await self.rest()
                if status == OK:
                    await qp.flush()
                self.report(qp, status)
                await self.demand_results(qp, posts, status, CANCELED, CANCELED)
                self.demand_beats(qp, posts[:1], mark)
                await self.reconnect(qp)


@pyuvm.test()
class FailedOnceTest(PostingTest):
    """DF-15: behind the first failure of a connection everything is CANCELED, whatever is reported
    for it; the next connection starts clean, and has a first failure of its own.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        for position in (0, 1, 0, 2):
            posts = await self.accept(qp, [self.write_post(qp) for _ in range(4)])
            await self.rest()
            statuses = [0, 0, 0, FAILED + 1]
            statuses[position] = FAILED
            self.report(qp, *statuses)
            found = [OK] * position + [FAILED] + [CANCELED] * (3 - position)
            await self.demand_results(qp, posts, *found)
            assert (await qp.query()).state == QpState.ERROR
            assert await qp.post(self.write_post(qp)) == Cause.NOT_CONNECTED
            await self.reconnect(qp)
            await self.done(qp, await self.accept(qp, [self.local_post(qp), self.write_post(qp)]))


@pyuvm.test()
class SilentTest(PostingTest):
    """CQ-17, DF-02, DF-03: a silent success has no entry and gives its credit back, so that posts
    go on; a silent request that fails or is flushed has its entry; a failed post never
    completes, and takes no entry.
    """

    async def scenario(self) -> None:
        qp = await self.qp(log2=2, depth=4)
        for _ in range(12):
            await self.accept(qp, [self.write_post(qp, silent=True) for _ in range(4)])
            await self.rest(32)
            self.report(qp, 0, 0, 0, 0)
            await self.completed(qp, [])
        for make in (self.write_post, self.read_post, self.local_post):
            await self.accept(qp, [make(qp, silent=True)])
            for _ in range(5):
                assert await qp.post(Post(0, qp=qp.number)) == Cause.BAD_OPCODE
            loud = await self.accept(qp, [make(qp)])
            if make != self.local_post:
                self.report(qp, 0, 0)
            await self.completed(qp, loud, OK)
        for status in (FAILED, CANCELED):
            posts = [self.write_post(qp, silent=True) for _ in range(3)]
            posts.insert(1, self.local_post(qp, silent=True))
            await self.accept(qp, posts)
            await self.rest()
            self.report(qp, 0, status, OK)
            # The local one is behind a success only.
            await self.completed(qp, posts[2:], status, CANCELED)
            await self.reconnect(qp)
        # All silent, and skipped: each completes.
        posts = [self.write_post(qp, silent=True, defer=True) for _ in range(3)]
        await self.accept(qp, posts)
        await qp.flush()
        await self.completed(qp, posts, CANCELED)

    async def completed(self, qp: Qp, posts: list[Post], *statuses: int) -> None:
        """These and no others complete, and no credit is left out."""
        await self.demand_results(qp, posts, *statuses)
        assert (await qp.cq.query()).credits == 0


@pyuvm.test()
class OldestAgeTest(PostingTest):
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
class BatchTest(PostingTest):
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
class StalledRunTest(PostingTest):
    """DF-09, ISO-04: what is released while a batch of its QP is stalled on its way out follows it.
    DF-11: a beat that is offered stays offered when its QP leaves CONNECTED, and its request
    completes by its report; the ones behind it are skipped.
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
class FlushedForGoodTest(PostingTest):
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
class MeetingTest(PostingTest):
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
        # In order of time: one that waits holds up all behind it.
        for at, qp, post in sorted(writes, key=lambda write: write[0]):
            qp.queue(post, at=at)
        await self.rest(32)
        for qp, posts in zip(qps, made, strict=True):
            if "w" in pattern.lower():
                self.report(qp)
            await self.demand_results(qp, posts, OK)


@pyuvm.test()
class ResizeUnderPostsTest(PostingTest):
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
        try:
            await cq.resize(1)
            raise AssertionError("resized")
        except CommandError as error:
            assert error.command.result == Result.TOO_SMALL
        self.report(qp, OK, OK)
        await self.demand_results(qp, posts, OK)
