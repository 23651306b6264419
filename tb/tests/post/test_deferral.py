# SPDX-License-Identifier: Apache-2.0
"""Deferred processing: what holds requests, and everything that lets them go (DF-01 to DF-11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyuvm

from models.post.post import Post, Segment
from models.verbs import BAD_OPCODES
from tb.env.defs import Cause, Cmd, CqStatus, Opcode, PageReg, PostFlag, QpState, TraceOp
from tb.env.harness.records import DoorbellResponse
from tb.env.host.qp import Qp
from tb.tests.common.directed import SLVERR
from tb.tests.common.posting import CANCELED, FAILED, OK, PostingTest

BUILD = ["engine", "engine_small"]

#: Most cycles from the response of a failed post to the beat, and from a write to its beat.
AFTER_FAILURE = 8
FOREIGN = 1


def bad_posts(qp: Qp) -> Iterator[tuple[Cause, Post]]:
    """A post for each cause that lies in the post itself."""
    good = qp.make(Opcode.SEND, length=4)
    yield Cause.RESERVED_BITS, Post(Opcode.SEND, qp=qp.number, reserved=0x80)
    yield Cause.BAD_OPCODE, Post(BAD_OPCODES[1], qp=qp.number)
    yield Cause.BAD_FLAGS, Post(Opcode.SEND, qp=qp.number, flags=PostFlag.RDMA_READ_SINK)
    yield Cause.TOO_MANY_SEGMENTS, Post(Opcode.SEND, num_segments=4, qp=qp.number)
    yield Cause.BAD_LENGTH, Post(Opcode.SEND, inline_bytes=1, qp=qp.number, slots=good.slots)


def deferred(post: Post, defer: bool) -> int:
    """The post with or without DEFER."""
    line = post.encode() & ~(int(PostFlag.DEFER) << 16)
    return line | int(defer) * int(PostFlag.DEFER) << 16


class DeferralTest(PostingTest):
    async def fail(self, qp: Qp, post: int, cause: Cause, posts: list[Post]) -> None:
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
class FailureOfResourcesTest(DeferralTest):
    """DF-04, causes outside the post: queue full, no credit, CQ in error, not connected."""

    async def scenario(self) -> None:
        small = 1 << 2
        for defer in (False, True):
            # QUEUE_FULL is in QueueFullTest, too.
            qp = await self.qp(depth=3)
            posts = await self.hold(qp, 3)
            await self.fail(qp, deferred(self.write_post(qp), defer), Cause.QUEUE_FULL, posts)
            self.report(qp, 0, 0, 0)
            await self.demand_results(qp, posts, OK)
            await self.remove(qp)

            # NO_CREDIT: another QP of the same CQ has the entries.
            first = await self.qp(log2=2)
            second = await self.qp(share=first)
            posts = await self.hold(first, 3)
            kept = await self.hold(second, small - 3)
            await self.fail(first, deferred(self.write_post(first), defer), Cause.NO_CREDIT, posts)
            assert self.beats(second, self.mark) == []
            self.report(first, 0, 0, 0)
            await self.demand_results(first, posts, OK)
            # Entries are free again; nothing is left over.
            (last,) = await self.accept(second, [self.write_post(second)])
            self.report(second, 0, 0)
            await self.demand_results(second, [*kept, last], OK)
            await second.destroy()
            await self.remove(first)

            # CQ_ERROR: an entry of another QP could not be written.
            first = await self.qp()
            second = await self.qp(share=first)
            posts = await self.hold(first, 2)
            self.env.mem.fail(cq=first.cq.number)
            await self.harness.cycles(4)
            await self.accept(second, [self.write_post(second)])
            self.report(second)
            await self.rest()
            assert (await first.cq.query()).status == CqStatus.INTERNAL_ERROR
            await self.fail(first, deferred(self.write_post(first), defer), Cause.CQ_ERROR, posts)
            self.report(first, 0, 0)
            await first.wait_retired()
            await second.destroy()
            await self.remove(first)

            # NOT_CONNECTED: nothing is held any more, whatever the way out was.
            qp = await self.qp()
            posts = await self.hold(qp, 2)
            await qp.flush()
            await self.fail(qp, deferred(self.write_post(qp), defer), Cause.NOT_CONNECTED, [])
            await self.demand_results(qp, posts, CANCELED)
            await self.remove(qp)


@pyuvm.test()
class ForeignFailureTest(DeferralTest):
    """A failure that names no QP of the page releases nothing (DF-04, DF-10, ISO-01)."""

    async def scenario(self) -> None:
        host = self.env.host
        qp = await self.qp()
        posts = await self.hold(qp, 2)
        mark = self.mark
        good = self.write_post(qp)
        bad = Post(0, qp=qp.number, reserved=1)
        receives = {PageReg.RECV: Cause.RESERVED_BITS, PageReg.SRQ_RECV: Cause.NO_SRQ}
        for post in (good, bad):
            for page in range(FOREIGN, self.config.num_pages):
                assert await qp.post(post, page=page) == Cause.NOT_OWNER
            assert await qp.post(post, page=self.config.num_pages) == Cause.BAD_PAGE
            assert await qp.post(post, length=1) == Cause.BURST
            assert await qp.post(post, strb=(1 << 64) - 2) == Cause.BAD_SIZE
            # DF-10: a receive post that fails is no failure of the initiator side.
            for offset, cause in receives.items():
                answer = host.write(0, offset, 0, size=6, line=post.encode())
                assert await answer == (SLVERR, cause)
        far = Post(0, qp=self.config.num_qp | qp.number)
        assert await qp.post(far) == Cause.BAD_QP
        missing = Post(0, qp=qp.number + 1)
        assert await qp.post(missing) == Cause.NO_QP
        await self.demand_nothing(qp, mark)
        status = await qp.query()
        assert (status.tail - status.released) & self.mask == 2
        await self.fail(qp, bad.encode(), Cause.RESERVED_BITS, posts)
        self.report(qp, 0, 0)
        await self.demand_results(qp, posts, OK)


@pyuvm.test()
class SourceExampleTest(DeferralTest):
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
class QueueFullTest(DeferralTest):
    """DF-08: a queue full of held requests is no deadlock, whatever its depth."""

    async def scenario(self) -> None:
        deepest = 1 << self.config.sq_log2
        for depth in sorted({1, 2, 3, deepest - 1, deepest}):
            qp = await self.qp(depth=depth)
            for defer in (False, True):
                posts = await self.hold(qp, depth)
                await self.fail(qp, deferred(self.write_post(qp), defer), Cause.QUEUE_FULL, posts)
                # Indicated is not retired: the queue is still full, and nothing comes twice.
                await self.fail(qp, self.write_post(qp).encode(), Cause.QUEUE_FULL, [])
                self.report(qp, *[0] * depth)
                await self.demand_results(qp, posts, OK)
            await self.remove(qp)


@pyuvm.test()
class ChainFailureTest(DeferralTest):
    """DF-04, DF-09: chains of every length that fail at every position, posted back to back."""

    async def scenario(self) -> None:
        qp = await self.qp()
        causes = [post.encode() for _, post in bad_posts(qp)]
        lengths = range(1, qp.depth + 1)
        if qp.depth > 8:
            lengths = range(1, qp.depth + 1, 3)
        for length in lengths:
            for position in range(length):
                mark = self.mark
                chain = [self.write_post(qp, defer=n + 1 < length) for n in range(length)]
                lines = [post.encode() for post in chain[:position]]
                lines.append(causes[position % len(causes)])
                answers = qp.queue_many(lines)
                assert [(await answer).resp for answer in answers] == [0] * position + [SLVERR]
                await self.rest(16)
                self.demand_beats(qp, chain[:position], mark)
                self.report(qp, *[0] * position) if position else None
                await self.demand_results(qp, chain[:position], OK)


@pyuvm.test()
class WayOutTest(DeferralTest):
    """DF-11: a connection ends with requests finished, dispatched and held. What is held completes
    once, CANCELED, behind the rest; what was dispatched completes by its report.
    """

    async def scenario(self) -> None:
        for way in ("flush", "pending", "disconnected", "event", "failure", "destroy"):
            qp = await self.qp()
            mark = self.mark
            finished = await self.accept(qp, [self.write_post(qp)])
            dispatched = await self.accept(qp, [self.write_post(qp)])
            await self.rest()
            self.report(qp)
            await self.rest()
            held = await self.hold(qp, 2)
            state, status = await self.leave(qp, way)
            await self.rest()
            # Nothing of the rest completes before what was dispatched is reported.
            self.demand_beats(qp, finished + dispatched, mark, [0, 1])
            term = [] if way == "pending" else [(qp.number, state)]
            assert self.terms(mark) == term, way
            if way != "failure":
                assert await qp.post(self.write_post(qp)) == (
                    Cause.NO_QP if way == "destroy" else Cause.NOT_CONNECTED
                )
                self.report(qp)
            done = finished + dispatched + held
            await self.demand_results(
                qp, done, OK, status, CANCELED, CANCELED, done=way != "destroy"
            )
            self.demand_beats(qp, finished + dispatched, mark, [0, 1])
            if way != "destroy":
                assert (await qp.query()).state == state
            await self.remove(qp)
            assert self.terms(mark) == ([(qp.number, QpState.ERROR)] if way == "pending" else term)

    async def leave(self, qp: Qp, way: str) -> tuple[QpState, int]:
        """Ends the connection; the new state, and how the dispatched request completes."""
        if way == "flush":
            await qp.flush()
            return QpState.ERROR, OK
        if way == "pending":
            assert await qp.set_state(QpState.DISCONNECT_PENDING) == 0
            return QpState.DISCONNECT_PENDING, OK
        if way == "disconnected":
            assert await qp.set_state(QpState.DISCONNECTED) == 0
            return QpState.DISCONNECTED, OK
        if way == "event":
            self.env.transport.disconnect(qp.number)
            return QpState.DISCONNECTED, OK
        if way == "failure":
            self.report(qp, FAILED)
            return QpState.ERROR, FAILED
        assert await self.result(Cmd.DESTROY_QP, qp.number) != 0
        return QpState.ERROR, OK


@pyuvm.test()
class WatermarkTest(DeferralTest):
    """The post that makes the number held reach the watermark releases all, itself included."""

    async def scenario(self) -> None:
        qp = await self.qp(watermark=1)
        marks = range(1, qp.depth + 1) if qp.depth <= 4 else (1, 2, 3, 8, qp.depth - 1, qp.depth)
        for watermark in marks:
            await qp.modify(watermark=watermark)
            mark = self.mark
            posts = await self.hold(qp, watermark - 1)
            await self.demand_nothing(qp, mark)
            (last,) = await self.accept(qp, [self.write_post(qp, defer=True)])
            await self.rest()
            self.demand_beats(qp, [*posts, last], mark)
            self.report(qp, *[0] * watermark)
            await self.demand_results(qp, [*posts, last], OK)
        # Back to back: every watermark-th post ends a batch.
        await qp.modify(watermark=2)
        mark = self.mark
        posts = await self.accept(qp, [self.write_post(qp, defer=True) for _ in range(4)])
        await self.rest()
        self.demand_beats(qp, posts, mark, [1, 3])
        self.report(qp, *[0] * 4)
        await self.demand_results(qp, posts, OK)
        # A lower watermark applies from the next post on; off again, nothing is released.
        await qp.modify()
        mark = self.mark
        posts = await self.hold(qp, 2)
        await qp.modify(watermark=1)
        await self.demand_nothing(qp, mark)
        posts += await self.accept(qp, [self.write_post(qp, defer=True)])
        await self.rest()
        self.demand_beats(qp, posts, mark)
        self.report(qp, 0, 0, 0)
        await self.demand_results(qp, posts, OK)
        await qp.modify()
        mark = self.mark
        await self.hold(qp, qp.depth)
        await self.demand_nothing(qp, mark)
        await qp.flush()
        await qp.wait_retired()


@pyuvm.test()
class AgeTest(DeferralTest):
    """The age limit releases what is held, not before its time and within the bound, counted from
    the oldest held request.
    """

    async def scenario(self) -> None:
        tick = self.config.mod_tick
        qp, other = await self.qp(), await self.qp()
        slack = tick + 64 * self.config.num_qp
        for age in (1, 2, 5, 9):
            await qp.modify(age=age)
            for phase in range(0, 2 * tick, max(tick // 2, 1) | 1):
                await self.rest(32)
                await self.harness.cycles(phase)
                mark = self.mark
                posts = [self.write_post(qp, defer=True) for _ in range(2)]
                await self.accept(qp, posts)
                await self.harness.cycles(age * tick + slack + 16)
                await self.rest(16)
                self.demand_beats(qp, posts, mark)
                (post, _) = self.steps(qp, TraceOp.POST, mark)
                (step,) = self.steps(qp, TraceOp.AGE, mark)
                waited = step.cycle - post.cycle
                assert age * tick < waited <= age * tick + slack, (age, waited)
                assert step.operand == 0
                self.report(qp, 0, 0)
                await self.demand_results(qp, posts, OK)
        # Off: never. The clock starts anew with each chain, and runs for this QP alone.
        mark = self.mark
        kept = await self.hold(other, 1)
        await qp.modify(age=8)
        for _ in range(5):
            posts = await self.hold(qp, 1, watch=False)
            await self.harness.cycles(2 * tick)
            posts += await self.accept(qp, [self.write_post(qp)])
            self.report(qp, 0, 0)
            await self.demand_results(qp, posts, OK)
        assert self.steps(qp, TraceOp.AGE, mark) == []
        await self.harness.cycles(8 * tick + slack)
        await self.demand_nothing(other, mark)
        (last,) = await self.accept(other, [self.write_post(other)])
        await self.rest()
        self.demand_beats(other, [*kept, last], mark)
        self.report(other, 0, 0)
        await self.demand_results(other, [*kept, last], OK)
