# SPDX-License-Identifier: Apache-2.0
"""Posting, where a planted fault is found by this alone: fences, offered beats, reports that do not
fit, credits, precedence of causes, age in a stream, and things that meet in every cycle.
"""

from __future__ import annotations

import pyuvm

from models.post.post import Post
from models.verbs import VERBS
from tb.env.defs import Cause, Opcode, QpState
from tb.env.harness.harness import Channel
from tb.env.host.qp import Qp
from tb.tests.common.posting import CANCELED, FAILED, OK, PostingTest

BUILD = ["engine_small", "engine"]

#: Cycles from a post's write to the earliest report of it.
EARLIEST = 14


class GapTest(PostingTest):
    async def done(self, qp: Qp, posts: list[Post]) -> None:
        """All of these are remote, and succeed."""
        await self.rest(32)
        self.report(qp, *[0] * len(posts))
        await self.demand_results(qp, posts, OK)


@pyuvm.test()
class FenceTest(GapTest):
    """DF-13: a fence waits for every earlier Read of its QP, remote or local, whatever became of
    the Reads of an earlier connection; it holds up no other QP.
    """

    async def scenario(self) -> None:
        qp, other = await self.qp(), await self.qp()
        for make in (self.write_post, self.local_post, self.read_post):
            mark = self.mark
            posts = [self.read_post(qp), self.write_post(qp), make(qp, fence=True)]
            await self.accept(qp, posts)
            await self.done(other, await self.accept(other, [self.write_post(other, fence=True)]))
            self.demand_beats(qp, posts[:2], mark, [0, 1])
            self.report(qp)
            await self.rest()
            self.demand_beats(qp, posts, mark, [0, 1, 2])
            self.report(qp, *[0] * (1 if make == self.local_post else 2))
            await self.demand_results(qp, posts, OK)
            # A Read that is never indicated is none that a later fence could wait for.
            posts = [self.read_post(qp), self.read_post(qp, fence=True)]
            await self.accept(qp, posts)
            await self.rest()
            await qp.flush()
            self.report(qp)
            await self.demand_results(qp, posts, OK, CANCELED)
            await self.reconnect(qp)


@pyuvm.test()
class OfferedBeatTest(GapTest):
    """A beat that is offered stays offered when its QP leaves CONNECTED, and its request completes
    by its report; the ones behind it are skipped (DF-11).
    """

    async def scenario(self) -> None:
        qp = await self.qp()
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
class FailedOnceTest(GapTest):
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
            posts = await self.accept(qp, [self.local_post(qp), self.write_post(qp)])
            await self.rest()
            self.report(qp)
            await self.demand_results(qp, posts, OK)


@pyuvm.test()
class UnexpectedReportTest(GapTest):
    """ISO-03: a report that does not name the oldest unreported request of its QP changes nothing
    and is logged.
    """

    async def scenario(self) -> None:
        host, done = self.env.host, self.env.done
        qp, other = await self.qp(), await self.qp()
        limit = self.config.num_qp
        for _ in range(3):
            mark = self.mark
            self.harness.stall(Channel.WORK, hold=True)
            posts = await self.accept(qp, [self.write_post(qp) for _ in range(2)])
            tag = self.reports[qp.number] & self.mask
            await host.read_log()
            # Not taken yet.
            done.send(qp.number, tag)
            await self.harness.cycles(32)
            self.harness.stall(Channel.WORK, hold=False)
            await self.rest()
            self.demand_beats(qp, posts, mark, [0, 1])
            found = await host.read_log()
            assert found == [self.qp_log(Cause.DONE_UNEXPECTED, qp.number, tag)], found
            for target, wrong, status, cause in (
                (qp.number, tag + 1 & self.mask, 0, Cause.DONE_UNEXPECTED),
                (qp.number, tag - 1 & self.mask, FAILED, Cause.DONE_UNEXPECTED),
                (qp.number, tag | 1 << 15, 0, Cause.DONE_UNEXPECTED),
                (other.number, self.reports[other.number] & self.mask, 0, Cause.DONE_UNEXPECTED),
                (qp.number | limit, tag, 0, Cause.DONE_BAD),
                (qp.number, tag, 1 << 8, Cause.DONE_BAD),
            ):
                done.send(target, wrong, status)
                await self.rest(32)
                (entry,) = await host.read_log()
                assert (entry.cause, entry.object) == (cause, target), entry
            assert qp.cq.get_cq_results() == []
            await self.done(qp, posts)
            await self.done(other, await self.accept(other, [self.write_post(other)]))


@pyuvm.test()
class SilentTest(GapTest):
    """CQ-17, DF-03: a silent success has no entry and gives its credit back, so that posts go on;
    a silent request that fails has its entry, of each kind that the transport executes.
    """

    async def scenario(self) -> None:
        qp = await self.qp(log2=2, depth=4)
        for _ in range(12):
            posts = [self.write_post(qp, silent=True) for _ in range(4)]
            await self.accept(qp, posts)
            await self.rest(32)
            self.report(qp, 0, 0, 0, 0)
            await self.demand_results(qp, [], OK)
        posts = await self.accept(qp, [self.write_post(qp, silent=True) for _ in range(3)])
        await self.rest(32)
        self.report(qp, 0, FAILED, 0)
        await self.demand_results(qp, posts[1:], FAILED, CANCELED)
        for verb in VERBS.values():
            if verb.local:
                continue
            await self.reconnect(qp)
            posts = [self.least_post(qp, verb, silent=True)]
            await self.accept(qp, posts)
            await self.rest(32)
            self.report(qp, FAILED)
            await self.demand_results(qp, posts, FAILED)


@pyuvm.test()
class CreditTest(GapTest):
    """CQ-17: every accepted post takes one entry of its CQ, held or not; no refused one does."""

    async def scenario(self) -> None:
        first = await self.qp(log2=2, depth=4)
        second = await self.qp(share=first, depth=4)
        idle = await self.idle_qp(share=first, depth=4)
        for defer in (False, True, False):
            bad = Post(Opcode.SEND, qp=first.number, reserved=1)
            for _ in range(5):
                assert await first.post(bad) == Cause.RESERVED_BITS
                assert await idle.post(self.write_post(idle)) == Cause.NOT_CONNECTED
            posts = [self.write_post(first, defer=defer) for _ in range(4)]
            await self.accept(first, posts)
            for _ in range(5):
                assert await first.post(self.write_post(first)) == Cause.QUEUE_FULL
                assert await second.post(self.write_post(second)) == Cause.NO_CREDIT
            await self.done(first, posts)


@pyuvm.test()
class OldestAgeTest(GapTest):
    """DF-01: age counts from the oldest held request, and a stream of posts of other QPs does not
    put the release off.
    """

    async def scenario(self) -> None:
        tick = self.config.mod_tick
        slack = tick + 64 * self.config.num_qp
        age = 2 * slack // tick
        qp, other = await self.qp(age=age), await self.qp()
        posts = await self.hold(qp, 1)
        await self.harness.cycles(age * tick - 100)
        posts += await self.hold(qp, 1, watch=False)
        await self.harness.cycles(slack + 200)
        await self.done(qp, posts)
        await qp.modify(age=1)
        posts = [self.write_post(qp, defer=True)]
        bad = Post(Opcode.SEND, qp=other.number, reserved=1)
        for answer in other.queue_many([*posts, *[bad] * (2 * slack)]):
            await answer
        await self.done(qp, posts)


@pyuvm.test()
class WrapTest(GapTest):
    """DF-09: batches of every length in front of every index, around twice (small build)."""

    async def scenario(self) -> None:
        qp = await self.qp()
        for length in [4, 3, 1, 2] * 8:
            mark = self.mark
            posts = [self.write_post(qp, defer=n < length - 1) for n in range(length)]
            await self.accept(qp, posts)
            await self.rest(32)
            self.demand_beats(qp, posts, mark)
            await self.done(qp, posts)


@pyuvm.test()
class StalledRunTest(GapTest):
    """DF-09, ISO-04: what is released while a batch of its QP is stalled on its way out follows it;
    the same of completions that memory stalls.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        for length in (1, 2, 3):
            for extra in range(1, 5 - length):
                mark = self.mark
                self.harness.stall(Channel.WORK, hold=True)
                posts = [self.write_post(qp, defer=n + 1 < length) for n in range(length)]
                await self.accept(qp, posts)
                posts += await self.accept(qp, [self.write_post(qp) for _ in range(extra)])
                await self.harness.cycles(16)
                self.harness.stall(Channel.WORK, hold=False)
                await self.rest(32)
                self.demand_beats(qp, posts, mark, range(length - 1, length + extra))
                await self.done(qp, posts)


@pyuvm.test()
class MeetingTest(GapTest):
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
