# SPDX-License-Identifier: Apache-2.0
"""Shared receive queues as objects: commands and their results, resize, reaping, accounting, lives
(SRQ-16, SRQ-17, ISO-01, ISO-02).
"""

from __future__ import annotations

from collections.abc import Mapping

import pyuvm

from models.receive.receive_post import RecvPost
from tb.env.defs import SRQ_DB, Cause, Cmd, PageReg, QpState, RecvFlag, Result
from tb.env.host.qp import Qp
from tb.env.host.srq import Srq, SrqStatus
from tb.tests.common.receive_posts import ReceivePostTest

BUILD = ["engine", "engine_small"]

M32 = (1 << 32) - 1


@pyuvm.test()
class SrqResultsTest(ReceivePostTest):
    """Every result of every command of SRQs, in the order of the checks."""

    allow = ("no_posts", "no_receives", "no_doorbells")

    async def scenario(self) -> None:
        config = self.config
        last, most = config.num_srq - 1, 1 << config.srq_log2
        good = (last, 1, 0)
        outside = (config.num_srq, 0x7FFF, 0xFFFF, 0x1_0000, 1 << 31 | last, M32)
        for number in outside:
            assert await self.result(Cmd.CREATE_SRQ, number, 0, 0xFFFF) == Result.BAD_OBJECT
            for code in (Cmd.RESIZE_SRQ, Cmd.SET_SRQ_WATERMARK):
                assert await self.result(code, number, 0x1_0000) == Result.RESERVED
                assert await self.result(code, number, 0) == Result.BAD_OBJECT
            for code in (Cmd.QUERY_SRQ, Cmd.DESTROY_SRQ):
                assert await self.result(code, number) == Result.BAD_OBJECT
        for size in (0, most + 1, 2 * most, 0x8000, 0xFFFF):
            assert await self.result(Cmd.CREATE_SRQ, last, size, 0xFFFF) == Result.BAD_SIZE
        for page in (config.num_pages, 0xFFF, 0x1000, 0xFFFF):
            assert await self.result(Cmd.CREATE_SRQ, last, most, page) == Result.BAD_PAGE
        await self.absent(last)
        assert await self.result(Cmd.CREATE_SRQ, *good) == Result.OK
        assert await self.result(Cmd.CREATE_SRQ, last, 0, 0xFFFF) == Result.EXISTS
        for code in (Cmd.RESIZE_SRQ, Cmd.SET_SRQ_WATERMARK):
            for bit in range(16, 32):
                assert await self.result(code, last, 1 | 1 << bit) == Result.RESERVED
        for size in (0, most + 1, 0x8000, 0xFFFF):
            assert await self.result(Cmd.RESIZE_SRQ, last, size) == Result.BAD_SIZE
        for mark in (2, 0x8000, 0xFFFF):
            assert await self.result(Cmd.SET_SRQ_WATERMARK, last, mark) == Result.BAD_SIZE
        assert await self.result(Cmd.SET_SRQ_WATERMARK, last, 0) == Result.OK
        assert await self.result(Cmd.RESIZE_SRQ, last, most) == Result.OK
        assert await self.result(Cmd.DESTROY_SRQ, last) == Result.OK
        await self.absent(last)
        await self.every_object()

    async def absent(self, number: int) -> None:
        """It does not exist."""
        for code in (Cmd.RESIZE_SRQ, Cmd.SET_SRQ_WATERMARK):
            assert await self.result(code, number, 0xFFFF) == Result.NO_OBJECT
        for code in (Cmd.QUERY_SRQ, Cmd.DESTROY_SRQ):
            assert await self.result(code, number) == Result.NO_OBJECT

    async def every_object(self) -> None:
        """All SRQs there can be, each as it was created; then all are gone."""
        srqs = []
        for number in range(self.config.num_srq):
            options = {"size": number + 1, "zone": 0xFFFF - number, "vector": 0xFFF0 + number}
            page = number % self.config.num_pages
            srqs.append(await self.env.host.create_srq(number, page=page, **options))
        for srq in srqs:
            status = await srq.status()
            wanted = SrqStatus(
                *(0, 0, 0, 0, 0, 0, False, False, 0),
                *(srq.size, srq.zone, srq.page, srq.vector),
            )
            assert status == wanted, status
        for srq in srqs:
            await srq.free()
            await self.absent(srq.number)


@pyuvm.test()
class RefusedCreateTest(ReceivePostTest):
    """ISO-01, ISO-02: CREATE_SRQ of one that exists, with other arguments, behind each command of
    another one: refused, and size, vector and owner stay as they are.
    """

    allow = ("no_posts", "no_receives")

    async def scenario(self) -> None:
        options = {"size": 2, "zone": 0x5A5A, "vector": 0x1234}
        srq = await self.env.host.create_srq(0, page=1, **options)
        other, before = self.config.num_srq - 1, await srq.status()
        others = (
            (Cmd.CREATE_SRQ, 1),
            (Cmd.RESIZE_SRQ, 2),
            (Cmd.QUERY_SRQ, 0),
            (Cmd.DESTROY_SRQ, 0),
        )
        for code, size in (*others, (Cmd.QUERY_SRQ, 0)):
            await self.result(code, other, size)
            again = (Cmd.CREATE_SRQ, srq.number, 0xA5A5_0001, 0xEDCB_0000)
            assert await self.result(*again) == Result.EXISTS
            assert await srq.status() == before
            assert (await srq.reap(0, page=0)).cause == Cause.NOT_OWNER
            assert (await srq.reap(0)).cause == Cause.NONE


@pyuvm.test()
class CreateQpTest(ReceivePostTest):
    """CREATE_QP: what receives add, in the order of the checks; IN_USE while a QP names the SRQ."""

    async def scenario(self) -> None:
        config, host = self.config, self.env.host
        cq = await self.queue(reservation=True)
        srq = await host.create_srq(size=2)
        foreign = await host.create_srq(size=2, page=1)
        deepest = 1 << config.rq_log2
        missing = config.num_srq
        good = [0, 0, 0, cq.number * 0x10001, 1 << 16, 0, 0, 0]
        use = 1 << 16
        bad_flag, far = 0x1F << 24, 1 << 12
        for bit in (*range(19, 24), 29, 30, 31):
            await self.create(Result.RESERVED, good, {0: M32, 7: 1 << bit})
        for number in (1, 0xFFFF, 0x8000):
            await self.create(Result.RESERVED, good, {7: number})
        await self.create(Result.BAD_OBJECT, good, {0: config.num_qp, 6: M32, 7: bad_flag})
        for depth in (deepest + 1, 0x8000, 0xFFFF):
            await self.create(Result.BAD_SIZE, good, {6: depth << 16, 3: far, 7: bad_flag})
        # With an SRQ there is no queue of its own.
        for depth in (1, deepest):
            await self.create(Result.BAD_SIZE, good, {6: depth << 16, 3: far, 7: use | missing})
        await self.create(Result.NO_CQ, good, {3: far, 7: use | missing | bad_flag})
        for number in (missing, 0x8000, 0xFFFF):
            await self.create(
                Result.NO_SRQ, good, {7: use | number | bad_flag, 4: 1 << 16 | 0xFFFF}
            )
        if config.num_srq > 2:
            await self.create(Result.NO_SRQ, good, {7: use | 2})
        await self.create(Result.BAD_PAGE, good, {7: use | foreign.number | bad_flag})
        await self.create(Result.BAD_PAGE, good, {4: 1 << 16 | 1, 7: use | srq.number | bad_flag})
        flags = {int(flag) for flag in RecvFlag}
        assert flags == {0x00, 0x02, 0x04, 0x10}
        for flag in range(32):
            for how in ({6: deepest << 16}, {7: use | srq.number}):
                word = how.get(7, 0) | flag << 24
                if flag not in flags:
                    await self.create(Result.BAD_FLAG, good, {**how, 7: word})
                    continue
                zone = 0xFFFF - flag
                changes = {6: how.get(6, 0) | zone, 7: word}
                await self.create(Result.OK, good, changes)
                await self.create(Result.EXISTS, good, {6: M32, 7: bad_flag})
                outs = (await host.command(Cmd.QUERY_QP, 0)).outs
                assert outs[6:] == (changes[6], word)
                assert await self.result(Cmd.DESTROY_QP, 0) == Result.OK
        assert (await srq.status()).users == 0
        await self.in_use(srq)

    async def create(self, result: Result, good: list[int], changes: Mapping[int, int]) -> None:
        """CREATE_QP with some other arguments."""
        args = [changes.get(n, value) for n, value in enumerate(good)]
        assert await self.result(Cmd.CREATE_QP, *args) == result, args

    async def in_use(self, srq: Srq) -> None:
        """As many QPs as there are use it, in any state; the last one's end frees it."""
        host = self.env.host
        first = await self.idle_qp(srq=srq, log2=3)
        qps = [first]
        for number in range(1, self.config.num_qp):
            assert (await srq.status()).users == number
            qps.append(await self.idle_qp(srq=srq, share=first))
        for n, qp in enumerate(qps):
            if n % 4:
                await qp.connect(qp.number ^ 1)
            if n % 4 == 2:
                await qp.flush()
            if n % 4 == 3:
                await qp.disconnect(graceful=False)
        await self.fill(srq, 2)
        # One is being destroyed: it still counts.
        assert qps[1].peer is not None
        await self.take(qps[1])
        assert await qps[1].destroy(wait=False) == Result.PENDING
        assert (await qps[1].query()).state == QpState.DESTROYING
        assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.IN_USE
        assert (await srq.status()).users == len(qps)
        self.receiver.report(qps[1].number)
        await first.cq.wait_results(1)
        await self.rest(16)
        for left, qp in zip(reversed(range(len(qps))), qps, strict=True):
            assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.IN_USE
            await qp.destroy()
            assert (await srq.status()).users == left
        await self.accounts(srq, 1, 1)
        await srq.free()
        for code in (Cmd.QUERY_SRQ, Cmd.DESTROY_SRQ):
            assert (await host.command(code, srq.number)).result == Result.NO_OBJECT


@pyuvm.test()
class ReapTest(ReceivePostTest):
    """SRQ_DB: from the present value up to what has completed, at every index; all else is refused
    with its cause and changes nothing.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(size=4)
        srq.auto_reap = False
        qp = await self.qp(srq=srq, log2=5)
        other = await self.env.host.create_srq(size=2, page=1)
        span = self.mask + 1
        steps = span // 3 + 2 if span <= 64 else 4
        for turn in range(steps):
            await self.fill(srq, 4)
            await self.complete(qp, 3)
            base = (await srq.status()).reaped
            if turn in (0, steps - 1):
                # One is available, three are completed.
                offsets = range(4, span) if span <= 64 else (4, 5, 8, span // 2, span - 2, span - 1)
                for offset in offsets:
                    await self.bad_index(srq, base + offset & self.mask, offset)
            for index in (0, 1, 1, 3):
                assert await srq.reap(base + index & self.mask) == (0, 0)
                status = await srq.status()
                assert status.reaped == base + index & self.mask
            for offset in (0, 2, 4):
                await self.bad_index(srq, base + offset & self.mask, offset)
            await self.complete(qp, 1)
            assert await srq.reap(base + 4 & self.mask) == (0, 0)
            await self.accounts(srq, 0, 0)
        index = srq.index
        for bit in (*range(self.config.idx_w, 16), *range(16, 32), *range(48, 64)):
            word = SRQ_DB.pack(index=index, srq=srq.number) | 1 << bit
            await self.refuse_word(Cause.RESERVED_BITS, word)
        for number in (self.config.num_srq, 0x8000 | srq.number, 0xFFFF):
            await self.refuse_word(Cause.BAD_SRQ, SRQ_DB.pack(index=index, srq=number))
        await self.refuse_word(Cause.NOT_OWNER, SRQ_DB.pack(index=0, srq=other.number))
        await self.refuse_word(Cause.NOT_OWNER, SRQ_DB.pack(index=1, srq=other.number))
        await other.free()
        await self.refuse_word(Cause.NO_SRQ, SRQ_DB.pack(index=0, srq=other.number))
        await self.remove(qp)

    async def bad_index(self, srq: Srq, index: int, offset: int) -> None:
        before = await srq.status()
        assert await srq.reap(index) == (2, Cause.BAD_INDEX), offset
        assert await srq.status() == before

    async def refuse_word(self, cause: Cause, word: int) -> None:
        await self.refuse(cause, word, offset=PageReg.SRQ_DB)


@pyuvm.test()
class ResizeSrqTest(ReceivePostTest):
    """SRQ-17: up, down and refused, with buffers available, in flight and completed but not reaped,
    in front of every index; no buffer is lost, none comes twice.
    """

    async def scenario(self) -> None:
        most = 1 << self.config.srq_log2
        srq = await self.env.host.create_srq(size=most)
        srq.auto_reap = False
        qp = await self.qp(srq=srq, log2=6)
        for turn in range(self.mask + 1 if self.mask < 64 else 16):
            await self.round(srq, qp, most, turn)
        await self.watermark(srq, most)
        await self.remove(qp)
        await self.meeting(srq, most)

    async def round(self, srq: Srq, qp: Qp, most: int, turn: int) -> None:
        """Three buffers: available, in flight, not reaped; sizes around them."""
        assert await self.resized(srq, 3) == Result.OK
        posts = await self.fill(srq, 3)
        assert (await srq.post_recv()).cause == Cause.QUEUE_FULL
        for stage in range(4):
            await self.accounts(srq, (3, 2, 2, 2)[stage], (3, 3, 3, 2)[stage])
            need = 3 if stage < 3 else 2
            assert await self.resized(srq, need - 1) == Result.TOO_SMALL, (turn, stage)
            assert await self.resized(srq, 1) == Result.TOO_SMALL
            for size in (most, need + 1, need):
                assert await self.resized(srq, size) == Result.OK
                assert (await srq.status()).size == size
            assert (await srq.post_recv()).cause == Cause.QUEUE_FULL
            if stage == 0:
                await self.take(qp)
            elif stage == 1:
                self.receiver.report(qp.number)
                await self.demand_received(qp, posts[:1])
            elif stage == 2:
                assert await srq.reap() == (0, 0)
        # Larger: the new slots are there at once; the order is that of the posts.
        assert await self.resized(srq, 4) == Result.OK
        posts += await self.fill(srq, 2)
        assert (await srq.post_recv()).cause == Cause.QUEUE_FULL
        await self.consume(qp, posts[1:])
        assert await self.resized(srq, 3) == Result.TOO_SMALL
        assert await srq.reap() == (0, 0)
        assert await self.resized(srq, 1) == Result.OK
        for _ in range(2):
            posts = await self.fill(srq, 1)
            assert (await srq.post_recv()).cause == Cause.QUEUE_FULL
            await self.consume(qp, posts)
            assert await srq.reap() == (0, 0)
        await self.accounts(srq, 0, 0)

    async def watermark(self, srq: Srq, most: int) -> None:
        """Not below the watermark, armed or not; the size alone disarms nothing."""
        assert await self.resized(srq, most) == Result.OK
        await self.fill(srq, 4)
        await srq.set_lw(3)
        assert await self.resized(srq, 4) == Result.OK
        status = await srq.status()
        assert (status.armed, status.watermark, status.size) == (True, 3, 4)
        qp = await self.qp(srq=srq, log2=4, context=9)
        srq.auto_reap = True
        await self.complete(qp, 4)
        await srq.wait_events(1)
        await self.accounts(srq, 0, 0)
        for size, result in ((1, Result.TOO_SMALL), (2, Result.TOO_SMALL), (3, Result.OK)):
            assert await self.resized(srq, size) == result
        assert await self.result(Cmd.SET_SRQ_WATERMARK, srq.number, 4) == Result.BAD_SIZE
        await self.remove(qp)
        srq.auto_reap = False

    async def meeting(self, srq: Srq, most: int) -> None:
        """Posts go on while it is resized: what was accepted is there, in order."""
        assert await self.resized(srq, most) == Result.OK
        qp = await self.qp(srq=srq, log2=6, context=11)
        for offset in range(24):
            for size in (2, most):
                start = self.harness.cycle + 40 + offset
                posts = [srq.make_recv() for _ in range(4)]
                answers = [srq.queue_recv(p, at=start + 5 * n) for n, p in enumerate(posts)]
                result = await self.resized(srq, size)
                taken: list[RecvPost] = []
                for post, answer in zip(posts, answers, strict=True):
                    cause = (await answer).cause
                    assert cause in (Cause.NONE, Cause.QUEUE_FULL)
                    taken += [post] if cause == Cause.NONE else []
                assert result in (Result.OK, Result.TOO_SMALL)
                if result == Result.OK and size == 2:
                    assert len(taken) == 2
                else:
                    assert len(taken) == 4, (result, size, offset)
                await self.consume(qp, taken)
                assert await srq.reap() == (0, 0)
        await self.remove(qp)
