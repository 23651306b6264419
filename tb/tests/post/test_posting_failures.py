# SPDX-License-Identifier: Apache-2.0
"""Known failures of drivers and engines around posted lists: requests that are stranded, dropped,
doubled, stale, or completed although nobody posted them. Each is looked for at every offset of the
two things that meet.
"""

from __future__ import annotations

from collections.abc import Callable

import cocotb
import pyuvm

from models.post.post import Post, Segment
from models.verbs import VERBS
from tb.env.defs import Cause, Cmd, QpState, TraceOp
from tb.env.harness.records import WorkBeat
from tb.env.host.qp import Qp
from tb.tests.common.posting import CANCELED, FAILED, OK, TARGET, PostingTest

BUILD = ["engine", "engine_small"]

OFFSETS = range(-10, 11)
LEAD = 40  # cycles from giving items to the harness to the moment they meet
#: From a write, or from a report, to what it brings about.
ABOUT = 4


class MeetTest(PostingTest):
    def meeting(self) -> int:
        """A cycle soon."""
        return self.harness.cycle + LEAD

    async def outcome(self, qp: Qp, posts: list[Post], mark: int, reports: int) -> None:
        """All are indicated once, reported and completed."""
        await self.rest(32)
        beats = self.beats(qp, mark)
        assert [b.data for b in beats] == [p.encode() for p in posts]
        self.report(qp, *[0] * reports) if reports else None
        await self.demand_results(qp, posts, OK)


@pyuvm.test()
class ReleaseMeetsIdleTest(MeetTest):
    """A request is stranded because the dispatcher went idle in the cycle of its release: a post,
    an inline failure or the end of a chain behind a request that is just being indicated.
    """

    async def scenario(self) -> None:
        qp, other = await self.qp(), await self.qp()
        for offset in OFFSETS:
            for release in ("post", "failure", "chain"):
                for first in (qp, other):
                    await self.trial(first, qp, offset + 10, release)

    async def trial(self, first: Qp, qp: Qp, offset: int, release: str) -> None:
        mark = self.mark
        posts: dict[int, list[Post]] = {first.number: [], qp.number: []}
        at = self.meeting()
        post = self.write_post(first)
        posts[first.number].append(post)
        first.queue(post, at=at)
        post = self.write_post(qp, defer=release != "post")
        posts[qp.number].append(post)
        answer = qp.queue(post, at=at + offset)
        if release == "failure":
            qp.queue(Post(0, qp=qp.number), at=at + offset)
        elif release == "chain":
            post = self.write_post(qp)
            posts[qp.number].append(post)
            answer = qp.queue(post, at=at + offset)
        assert await answer == (0, 0)
        for one in {first, qp}:
            wanted = posts[one.number]
            await self.outcome(one, wanted, mark, len(wanted))


@pyuvm.test()
class SkipMeetsReportTest(MeetTest):
    """A skipped request is stranded because the report before it comes in the cycle of the skip."""

    async def scenario(self) -> None:
        qp = await self.qp()
        for status in (OK, FAILED):
            for offset in OFFSETS:
                posts = await self.accept(qp, [self.write_post(qp)])
                posts += await self.hold(qp, 2)
                await self.rest(16)
                at = self.meeting()
                self.env.conn.send(qp.number, at_cycle=at)
                self.report(qp, status, at=at + offset)
                await self.demand_results(qp, posts, status, CANCELED, CANCELED)
                await self.reconnect(qp)


@pyuvm.test()
class StalledSinkTest(PostingTest):
    """Posts back to back while the work sink is stalled: none is dropped, doubled or reordered; a
    list that fails half-way is rung all the same, up to its failure.
    """

    async def scenario(self) -> None:
        qps = [await self.qp() for _ in range(4)]
        for extra in (0, 1, 3):
            mark = self.mark
            self.env.work.hold()
            posts: dict[int, list[Post]] = {qp.number: [] for qp in qps}
            answers = []
            for qp in qps:
                made = [self.write_post(qp, defer=extra == 3) for _ in range(qp.depth + extra)]
                if not extra:
                    made[-1] = self.write_post(qp)
                posts[qp.number] = made[: qp.depth]
                answers += qp.queue_many(made)
            causes = [(await answer).cause for answer in answers]
            wanted = [Cause.NONE] * qps[0].depth + [Cause.QUEUE_FULL] * extra
            assert causes == wanted * len(qps)
            await self.harness.cycles(300)
            assert self.of(WorkBeat, mark) == []
            self.env.work.hold(False)
            await self.rest()
            for qp in qps:
                accepted = posts[qp.number]
                ends = None if extra == 3 else range(qp.depth)
                self.demand_beats(qp, accepted, mark, ends)
                self.report(qp, *[0] * qp.depth)
                await self.demand_results(qp, accepted, OK)


@pyuvm.test()
class WrapsTest(PostingTest):
    """Stale contents of a slot, or of an index that is used again: many wraps with requests that
    differ in everything; indices and tags go up by one, and no index is in use twice.
    """

    manual = False

    async def scenario(self) -> None:
        rng = self.rng("wraps")
        self.env.transport.latency = (1, 40)
        qps = [await self.qp() for _ in range(2)]
        made: dict[int, list[Post]] = {qp.number: [] for qp in qps}
        for _ in range(60):
            for qp in qps:
                posts = []
                for _ in range(rng.randint(1, qp.depth)):
                    verb = rng.choice(list(VERBS.values()))
                    count = rng.randint(verb.least().num_segments, verb.max_segments)
                    lengths = [rng.getrandbits(29) for _ in range(count)]
                    if verb.exact_length is not None:
                        lengths = [verb.exact_length, *[0] * count][:count]
                    posts.append(
                        qp.make(
                            verb.opcode,
                            segments=[
                                Segment(rng.getrandbits(64), nbytes, rng.getrandbits(32))
                                for nbytes in lengths
                            ],
                            target=TARGET if verb.has_target else None,
                            context=rng.getrandbits(64),
                            fence=rng.random() < 0.2,
                            defer=rng.random() < 0.5,
                        )
                    )
                posts.append(Post(0, qp=qp.number))  # releases all
                answers = qp.queue_many(posts)
                posts.pop()
                assert [(await answer).cause for answer in answers[:-1]] == [0] * len(posts)
                made[qp.number] += posts
                found = await qp.cq.wait_results(len(posts))
                await qp.cq.update_consumer_index()
                for result, post in zip(found, posts, strict=True):
                    assert result.request_context == post.context
                    verb = VERBS[post.opcode]
                    assert (result.type, result.status) == (verb.result_type, 0)
                    assert result.nbytes == (post.length if verb.transfers else 0)
        for qp in qps:
            beats = self.beats(qp)
            assert [b.data for b in beats] == [p.encode() for p in made[qp.number]]
            assert [b.user >> 16 & 0xFFFF for b in beats] == [
                n & self.mask for n in range(len(beats))
            ]
            tags = [b.user & 0xFFFF for b in beats if not b.user >> 56 & 1]
            assert tags == [n & self.mask for n in range(len(tags))]
            assert len(beats) > 3 * qp.depth


class CommandTest(MeetTest):
    """Commands in exact cycles."""

    async def calibrate(self, qp: Qp) -> None:
        """Cycles from giving a FLUSH_QP to its step."""
        await self.rest()
        mark = self.mark
        start = self.meeting()
        await self.harness.until(start)
        await qp.flush()
        await self.rest()
        (step,) = self.steps(qp, TraceOp.QP_STATE, mark)
        self.delay = step.cycle - start
        await self.reconnect(qp)

    async def flush_at(self, qp: Qp, cycle: int) -> None:
        """A FLUSH_QP whose step is about there."""
        await self.harness.until(cycle - self.delay)
        await self.result(Cmd.FLUSH_QP, qp.number)


@pyuvm.test()
class FlushMeetsPostsTest(CommandTest):
    """A flush completes more or less than was posted: posts before, in, and behind it."""

    async def scenario(self) -> None:
        qp = await self.qp()
        await self.calibrate(qp)
        counts = set()
        for offset in OFFSETS:
            for defer in (False, True):
                mark = self.mark
                at = self.harness.cycle + self.delay + LEAD
                posts = [self.write_post(qp, defer=defer) for _ in range(4)]
                answers = [
                    qp.queue(post, at=at + offset + 2 * n - ABOUT) for n, post in enumerate(posts)
                ]
                await self.flush_at(qp, at)
                causes = [(await answer).cause for answer in answers]
                count = causes.count(Cause.NONE)
                assert causes == [Cause.NONE] * count + [Cause.NOT_CONNECTED] * (4 - count)
                counts.add(count)
                await self.rest(32)
                indicated = len(self.beats(qp, mark))
                self.report(qp, *[0] * indicated) if indicated else None
                statuses = [OK] * indicated + [CANCELED] * (count - indicated)
                await self.demand_results(qp, posts[:count], *statuses)
                assert self.terms(mark) == [(qp.number, QpState.ERROR)]
                await self.reconnect(qp)
        assert {0, 4} < counts, counts


@pyuvm.test()
class LeaveTogetherTest(CommandTest):
    """Connection event, failing report and flush of one QP in neighbouring cycles: one change of
    state, one terminate request, each request completes once.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        await self.calibrate(qp)
        states = set()
        ways: list[Callable[[int, int], tuple[int | None, int | None]]] = [
            lambda at, offset: (at + offset, None),
            lambda at, offset: (None, at + offset),
            lambda at, offset: (at + offset, at),
            lambda at, offset: (at, at + offset),
            lambda at, offset: (at + offset, at + offset),
        ]
        for way in ways:
            for offset in OFFSETS:
                mark = self.mark
                posts = await self.accept(qp, [self.write_post(qp), self.write_post(qp)])
                posts += await self.hold(qp, 2)
                await self.rest(16)
                at = self.harness.cycle + self.delay + LEAD
                event, report = way(at - ABOUT, offset)
                if event is not None:
                    self.env.conn.send(qp.number, at_cycle=event)
                if report is not None:
                    self.report(qp, FAILED, at=report)
                flush = cocotb.start_soon(self.flush_at(qp, at))
                await flush
                await self.rest(32)
                (step,) = self.steps(qp, TraceOp.QP_STATE, mark)
                why = step.operand & 0xFF
                state = QpState.DISCONNECTED if why == 1 else QpState.ERROR
                states.add(why)
                assert (await qp.query()).state == state == step.new & 0xF
                assert self.terms(mark) == [(qp.number, state)]
                self.report(qp, *[0] * (2 if report is None else 1))
                first = OK if report is None else FAILED
                behind = OK if report is None else CANCELED
                await self.demand_results(qp, posts, first, behind, CANCELED, CANCELED)
                await self.reconnect(qp)
        assert states == {0, 1, 2}
