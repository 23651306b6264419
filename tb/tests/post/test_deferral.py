# SPDX-License-Identifier: Apache-2.0
"""Deferred processing: what holds requests, and everything that lets them go (DF-01 to DF-11)."""

from __future__ import annotations

from typing import Any

import pyuvm

from models.post.post import Post, Segment
from tb.env.defs import Cause, Cmd, CqStatus, Opcode, PageReg, QpState, TraceOp
from tb.env.harness.records import DoorbellResponse
from tb.env.host.qp import Qp
from tb.sequences.bad_posts import OWN_CAUSES, bad_bits
from tb.tests.common.directed import SLVERR
from tb.tests.common.posting import CANCELED, FAILED, OK, PostingTest

BUILD = ["engine", "engine_small"]

#: Most cycles from the response of a failed post to the beat, and from a write to its beat.
AFTER_FAILURE = 8
FOREIGN = 1


class DeferralTest(PostingTest):
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
class FailureOfResourcesTest(DeferralTest):
    """DF-04, causes outside the post: queue full, no credit, CQ in error, not connected."""

    async def scenario(self) -> None:
        for defer in (False, True):
            await self.no_credit(defer)
            await self.cq_error(defer)
            # NOT_CONNECTED: nothing is held any more, whatever the way out was.
            qp = await self.qp()
            posts = await self.hold(qp, 2)
            await qp.flush()
            await self.fail(qp, self.write_post(qp, defer=defer), Cause.NOT_CONNECTED, [])
            await self.demand_results(qp, posts, CANCELED)
            await self.remove(qp)
        await self.queue_full()

    async def no_credit(self, defer: bool) -> None:
        """Another QP of the same CQ has the entries."""
        first = await self.qp(log2=2)
        second = await self.qp(share=first)
        posts, kept = await self.hold(first, 3), await self.hold(second, 1)
        mark = self.mark
        await self.fail(first, self.write_post(first, defer=defer), Cause.NO_CREDIT, posts)
        assert self.beats(second, mark) == []
        await self.done(first, posts)
        # Entries are free again; nothing is left over.
        await self.done(second, kept + await self.accept(second, [self.write_post(second)]))
        await self.remove(first, second)

    async def cq_error(self, defer: bool) -> None:
        """An entry of another QP could not be written; what was accepted retires."""
        first = await self.qp()
        second = await self.qp(share=first)
        posts = await self.hold(first, 2)
        self.env.mem.fail(cq=first.cq.number)
        await self.harness.cycles(4)
        await self.accept(second, [self.write_post(second)])
        self.report(second)
        await self.rest()
        assert (await first.cq.query()).status == CqStatus.INTERNAL_ERROR
        mark = self.mark
        for make in (self.write_post, self.local_post):
            assert await second.post(make(second, defer=defer, silent=defer)) == Cause.CQ_ERROR
        await self.rest()
        assert self.beats(first, mark) == []
        await self.fail(first, self.write_post(first, defer=defer), Cause.CQ_ERROR, posts)
        self.report(first, 0, 0)
        assert (await first.wait_retired()).state == QpState.CONNECTED
        await self.remove(first, second)

    async def queue_full(self) -> None:
        """DF-08: a queue full of held requests is no deadlock, whatever its depth."""
        deepest = 1 << self.config.sq_log2
        for depth in sorted({1, 2, 3, deepest - 1, deepest}):
            qp = await self.qp(depth=depth)
            for defer in (False, True):
                posts = await self.hold(qp, depth)
                await self.fail(qp, self.write_post(qp, defer=defer), Cause.QUEUE_FULL, posts)
                # Indicated is not retired: the queue is still full, and nothing comes twice.
                await self.fail(qp, self.write_post(qp), Cause.QUEUE_FULL, [])
                await self.done(qp, posts)
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
        await self.fail(qp, bad, Cause.RESERVED_BITS, posts)
        await self.done(qp, posts)


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
class ChainFailureTest(DeferralTest):
    """DF-04, DF-09: chains of every length that fail at every position, posted back to back."""

    async def scenario(self) -> None:
        qp = await self.qp()
        good, rng = qp.make(Opcode.SEND, length=4), self.rng("bad")
        bad = [bad_bits(rng, cause, good) for cause in OWN_CAUSES]
        for length in range(1, qp.depth + 1, 3 if qp.depth > 8 else 1):
            for position in range(length):
                mark = self.mark
                chain = [self.write_post(qp, defer=n + 1 < length) for n in range(length)]
                answers = qp.queue_many([*chain[:position], bad[position % len(bad)]])
                assert [(await answer).resp for answer in answers] == [0] * position + [SLVERR]
                await self.rest(16)
                self.demand_beats(qp, chain[:position], mark)
                await self.done(qp, chain[:position])


@pyuvm.test()
class WayOutTest(DeferralTest):
    """DF-11: a connection ends with requests finished, dispatched and held. What is held completes
    once, CANCELED, behind the rest; what was dispatched completes by its report.
    """

    async def scenario(self) -> None:
        for way in ("flush", "pending", "disconnected", "event", "failure", "destroy"):
            qp = await self.qp()
            mark = self.mark
            # One finished, one dispatched.
            posts = await self.accept(qp, [self.write_post(qp) for _ in range(2)])
            await self.rest()
            self.report(qp)
            await self.rest()
            held = await self.hold(qp, 2)
            state, status = await self.leave(qp, way)
            await self.rest()
            # Nothing of the rest completes before what was dispatched is reported.
            self.demand_beats(qp, posts, mark, [0, 1])
            term = [] if way == "pending" else [(qp.number, state)]
            assert self.terms(mark) == term, way
            if way != "failure":
                assert await qp.post(self.write_post(qp)) == (
                    Cause.NO_QP if way == "destroy" else Cause.NOT_CONNECTED
                )
                self.report(qp)
            statuses = OK, status, CANCELED, CANCELED
            await self.demand_results(qp, posts + held, *statuses, done=way != "destroy")
            self.demand_beats(qp, posts, mark, [0, 1])
            if way != "destroy":
                assert (await qp.query()).state == state
            await self.remove(qp)
            assert self.terms(mark) == ([(qp.number, QpState.ERROR)] if way == "pending" else term)

    async def leave(self, qp: Qp, way: str) -> tuple[QpState, int]:
        """Ends the connection; the new state, and how the dispatched request completes."""
        states = {"pending": QpState.DISCONNECT_PENDING, "disconnected": QpState.DISCONNECTED}
        if way in states:
            assert await qp.set_state(states[way]) == 0
            return states[way], OK
        if way == "event":
            self.env.transport.disconnect(qp.number)
            return QpState.DISCONNECTED, OK
        if way == "failure":
            self.report(qp, FAILED)
            return QpState.ERROR, FAILED
        if way == "flush":
            await qp.flush()
        else:
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
            await self.released(qp, posts, mark)
        # Back to back: every watermark-th post ends a batch.
        await qp.modify(watermark=2)
        mark = self.mark
        posts = await self.accept(qp, [self.write_post(qp, defer=True) for _ in range(4)])
        await self.rest()
        self.demand_beats(qp, posts, mark, [1, 3])
        await self.done(qp, posts)
        # A lower watermark applies from the next post on; off again, nothing is released.
        await qp.modify()
        mark = self.mark
        posts = await self.hold(qp, 2)
        await qp.modify(watermark=1)
        await self.demand_nothing(qp, mark)
        await self.released(qp, posts, mark)
        await qp.modify()
        mark = self.mark
        await self.hold(qp, qp.depth)
        await self.demand_nothing(qp, mark)
        await qp.flush()
        await qp.wait_retired()

    async def released(self, qp: Qp, held: list[Post], mark: int) -> None:
        """One more releases all, as one batch."""
        posts = held + await self.accept(qp, [self.write_post(qp, defer=True)])
        await self.rest()
        self.demand_beats(qp, posts, mark)
        await self.done(qp, posts)


@pyuvm.test()
class AgeTest(DeferralTest):
    """The age limit releases what is held, not before its time and within the bound, counted from
    the oldest held request.
    """

    async def scenario(self) -> None:
        tick = self.config.mod_tick
        qp = await self.qp()
        slack = tick + 64 * self.config.num_qp
        for age in (1, 2, 5, 9):
            await qp.modify(age=age)
            for phase in range(0, 2 * tick, max(tick // 2, 1) | 1):
                await self.rest(32)
                await self.harness.cycles(phase)
                mark = self.mark
                posts = await self.accept(qp, [self.write_post(qp, defer=True) for _ in range(2)])
                await self.harness.cycles(age * tick + slack + 16)
                await self.rest(16)
                self.demand_beats(qp, posts, mark)
                (post, _) = self.steps(qp, TraceOp.POST, mark)
                (step,) = self.steps(qp, TraceOp.AGE, mark)
                waited = step.cycle - post.cycle
                assert age * tick < waited <= age * tick + slack, (age, waited)
                assert step.operand == 0
                await self.done(qp, posts)
        # The clock starts anew with each chain.
        mark = self.mark
        await qp.modify(age=8)
        for _ in range(5):
            posts = await self.hold(qp, 1, watch=False)
            await self.harness.cycles(2 * tick)
            await self.done(qp, posts + await self.accept(qp, [self.write_post(qp)]))
        assert self.steps(qp, TraceOp.AGE, mark) == []
