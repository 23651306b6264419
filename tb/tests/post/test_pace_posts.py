# SPDX-License-Identifier: Apache-2.0
"""Pace of posts in clock cycles (architecture.md, "The way of a post"; posting.md): ways through an
idle engine, streams, and whose turn it is (ISO-04, DF-04, DF-06).
"""

from __future__ import annotations

from itertools import groupby, pairwise, permutations

import pyuvm

from models.post.post import Post
from tb.env.defs import Cause, TraceOp
from tb.env.harness.records import (
    ConnReport,
    DoneReport,
    DoorbellRequest,
    DoorbellResponse,
    MemWrite,
    WorkBeat,
)
from tb.env.host.qp import Qp
from tb.tests.common.engine import EngineTest
from tb.tests.common.pacing import LEAD, Pacing
from tb.tests.common.posting import OK

BUILD = ["engine", "engine_small"]

ROUNDS = 6

#: Requests that dispatch has fetched, at most, when the work port stands still.
FETCHED = 6


class PostPaceTest(Pacing, EngineTest):
    async def pairs(self) -> list[Qp]:
        """Four QPs, which are all that the smallest engine has, with a CQ each."""
        return [await self.qp() for _ in range(4)]


@pyuvm.test()
class PostWayTest(PostPaceTest):
    """A post to its work beat and to its response, a report to the entry; a failed post's response
    to the work beat of what it releases. Class: a stage more, a look that waits for its turn.
    """

    async def scenario(self) -> None:
        qps = await self.pairs()
        for turn in range(ROUNDS):
            for number, qp in enumerate(qps):
                await self.rest(16)
                await self.harness.cycles((turn + number) % 7)
                await self.request(qp)
                await self.failure(qp)
        self.demand_ways(indication=12, response=9, entry=15, release=3)

    async def request(self, qp: Qp) -> None:
        mark = self.mark
        posts = await self.accept(qp, [self.write_post(qp)])
        await self.rest(16)
        request = self.one(DoorbellRequest, mark)
        self.note("indication", request, self.one(WorkBeat, mark))
        self.note("response", request, self.one(DoorbellResponse, mark))
        self.report(qp)
        await self.rest(16)
        self.note("entry", self.one(DoneReport, mark), self.one(MemWrite, mark))
        await self.demand_results(qp, posts, OK)

    async def failure(self, qp: Qp) -> None:
        posts = await self.hold(qp, 1)
        await self.rest(16)
        mark = self.mark
        assert await qp.post(qp.make(0xFF)) == Cause.BAD_OPCODE
        await self.rest(16)
        self.note("release", self.one(DoorbellResponse, mark), self.one(WorkBeat, mark))
        await self.done(qp, posts)


@pyuvm.test()
class PostStreamTest(PostPaceTest):
    """A post in every cycle, over all QPs or on one: none waits, and beats follow as fast; reports
    in every cycle: entries follow as fast. Class: a stage that takes an item in two cycles.
    """

    async def scenario(self) -> None:
        qps = await self.pairs()
        # Each CQ takes all posts of its QP without a consumer index.
        depth = min(qps[0].depth, 16)
        # Cycles that pass between work beats, and between entries, as a run on one QP gets going.
        for order, beats, entries in (
            ([qp for _ in range(depth) for qp in qps], 0, 0),
            ([qps[0]] * depth, 1, 3),
            ([qp for qp in qps for _ in range(depth)], 2, 3),
        ):
            mark, start = self.mark, self.harness.cycle + LEAD
            posts: dict[int, list[Post]] = {qp.number: [] for qp in qps}
            answers = []
            for qp in order:
                post = self.write_post(qp)
                posts[qp.number].append(post)
                answers.append(qp.queue(post, at=start))
            for answer in answers:
                assert await answer == (0, Cause.NONE)
            await self.rest(16)
            self.in_a_row(self.of(DoorbellRequest, mark), len(order))
            self.in_a_row(self.of(DoorbellResponse, mark), len(order))
            self.in_a_row(self.of(WorkBeat, mark), len(order), len(order) + beats)
            at = self.harness.cycle + LEAD
            for qp in order:
                self.report(qp, at=at)
            await self.rest(16)
            self.in_a_row(self.of(DoneReport, mark), len(order))
            self.in_a_row(self.of(MemWrite, mark), len(order), len(order) + entries)
            for qp in qps:
                await self.demand_results(qp, posts[qp.number], OK)


@pyuvm.test()
class TurnsTest(PostPaceTest):
    """ISO-04: QPs that all have more released than one run take turns, whoever began: ``BURST``
    requests each, and none comes again before all others that have something left have come; but
    one that asked for its second turn before others asked for their first.
    Class: one QP is passed over, or comes twice in a round.
    """

    async def scenario(self) -> None:
        qps = await self.pairs()
        for busy in (*permutations(qps, 3), *list(permutations(qps, 4))[::5]):
            self.env.work.hold()
            posts = {}
            for qp in busy:
                posts[qp.number] = await self.hold(qp, qp.depth - 1, watch=False)
                posts[qp.number] += await self.accept(qp, [self.write_post(qp)])
            await self.harness.cycles(32)
            mark = self.mark
            self.env.work.hold(False)
            await self.harness.cycles(2 * sum(map(len, posts.values())) + 16)
            await self.env.sync()
            order = [beat.qp for beat in self.of(WorkBeat, mark)]
            self.demand_turns(order, {qp.number: qp.depth for qp in busy})
            for qp in busy:
                await self.done(qp, posts[qp.number])

    def demand_turns(self, order: list[int], left: dict[int, int]) -> None:
        """``left``: requests of each QP."""
        latest = dict.fromkeys(left, -1)
        turns = dict.fromkeys(left, 0)
        for place, (number, found) in enumerate(groupby(order)):
            count = len(list(found))
            others = [other for other in left if left[other] and other != number]
            if others:
                before = latest[number]
                passed = [other for other in others if latest[other] < before]
                if turns[number] == 1:
                    passed = [other for other in passed if turns[other]]
                assert not passed, f"QP {number} comes again before {passed}: {order}"
                most = min(self.config.burst, left[number])
                # What was fetched before the others asked is not given back.
                right = count == most or (place == 0 and count <= FETCHED)
                assert right, f"{count} of QP {number}: {order}"
            latest[number] = place
            turns[number] += 1
            left[number] -= count
        assert not any(left.values()), left


@pyuvm.test()
class EventsTest(PostPaceTest):
    """DF-11: a connection event to its step through an idle engine; then one in four cycles is
    taken, whether they end a connection or come too late. Class: a pause that goes round when
    nothing has come, that is longer, shorter or left out.
    """

    allow = ("no_doorbells", "no_completions", "no_posts", "no_receives")

    async def scenario(self) -> None:
        qps = await self.pairs()
        for phase in range(8):
            qp = qps[phase % len(qps)]
            await self.rest(16)
            await self.harness.cycles(phase)
            mark = self.mark
            self.env.conn.send(qp.number)
            await self.rest(16)
            (step,) = self.steps(qp, TraceOp.QP_STATE, mark)
            self.note("step", self.one(ConnReport, mark), step)
            await self.reconnect(qp)
        self.demand_ways(step=8)
        await self.rest(16)
        mark, start = self.mark, self.harness.cycle + LEAD
        for number in range(3 * len(qps)):
            self.env.conn.send(qps[number % len(qps)].number, at_cycle=start)
        await self.rest(100)
        cycles = [record.cycle for record in self.of(ConnReport, mark)]
        gaps = [second - first for first, second in pairwise(cycles)]
        # The register slice takes the first ones at once.
        assert len(gaps) == 3 * len(qps) - 1 and set(gaps[3:]) == {4}, f"cycles between: {gaps}"
