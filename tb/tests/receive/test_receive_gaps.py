# SPDX-License-Identifier: Apache-2.0
"""Receives, where a planted fault is found by this alone: reports with nothing in flight, failures
of two QPs in one cycle, credits of messages that find no buffer, queues of the same number, the
start of an SRQ's next life, events beside other queues, the error log entry by entry.
"""

from __future__ import annotations

from dataclasses import astuple, replace

import pyuvm

from tb.env.defs import Cause, CqeStatus, Kind, QpState
from tb.env.harness.records import MemWrite, TermRequest, Trace
from tb.env.host.driver import LogEntry
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.env.host.srq import Srq
from tb.tests.common.posting import CANCELED, FAILED
from tb.tests.common.taking import (
    LENGTH,
    LENGTH_ERROR,
    NOT_READY,
    REFUSED,
    TOO_LONG,
    TakingTest,
    Want,
    canceled,
)

BUILD = ["engine_small", "engine"]

LEAD = 64  # cycles from setting a trial up to its centre


@pyuvm.test()
class NothingInFlightTest(TakingTest):
    """ISO-03: a report while nothing of its QP is in flight is refused, whichever tag it names,
    with buffers available or without; the next message takes and completes as ever. Class: what is
    outstanding is known by the tag alone.
    """

    async def scenario(self) -> None:
        srq, (user,) = await self.shared(1, size=4)
        own = await self.own()
        for qp in (own, user):
            queue = srq if qp is user else qp
            for there in (0, 2):
                for _ in range(self.most + 1):
                    await self.one(queue, qp, there)

    async def one(self, queue: ReceiveQueue, qp: Qp, there: int) -> None:
        (cookie, *left) = await self.supply(queue, 1 + there)
        await self.take(qp, 5)
        self.settle(qp)
        await self.demand(qp, [Want(cookie, 5)])
        mark, tag = self.mark, self.next_tag[qp.number]
        near = range(-self.most - 1, self.most + 2)
        tags = [tag + n & self.mask for n in near] + [tag ^ 1 << bit for bit in range(16)]
        async with self.counted(RECV_REFUSED=len(tags)):
            for number, wrong in enumerate(tags):
                status = FAILED if number % 2 else 0
                self.env.rdone.send(qp.number, wrong, status)
                await self.rest(16)
                found = await self.env.host.read_log()
                wanted = self.log_of(Cause.RDONE_UNEXPECTED, qp.number, wrong)
                assert found == [wanted], f"tag {wrong:#x}: {found}"
        assert [r for r in self.seen[mark:] if isinstance(r, Trace | MemWrite | TermRequest)] == []
        for cookie in left:
            await self.take(qp, 6)
            self.settle(qp)
            await self.demand(qp, [Want(cookie, 6)])


@pyuvm.test()
class TwoQpsFailTest(TakingTest):
    """SRQ-18, SRQ-19: a failing report of a QP in each cycle around the message that is too long
    for another: both QPs go to ERROR, the transport is told of both. Class: of two failures in one
    cycle one is lost.
    """

    async def scenario(self) -> None:
        long, failing = await self.own(), await self.own()
        for offset in range(-2, 12):
            (first,) = await self.supply(long, 1)
            (second,) = await self.supply(failing, 1)
            await self.take(failing, 1)
            await self.rest()
            mark, at = self.mark, self.harness.cycle + LEAD
            pending = self.ask(long, LENGTH + 1, at=at)
            self.settle(failing, FAILED, at=at + offset)
            await self.answers(pending, TOO_LONG)
            await self.rest()
            for qp in (long, failing):
                assert (await qp.query()).state == QpState.ERROR, f"QP {qp.number}, {offset}"
            ends = [(qp.number, QpState.ERROR) for qp in (long, failing)]
            assert sorted(self.terms(mark)) == sorted(ends), (offset, self.terms(mark))
            self.settle(long)
            await self.demand(long, [Want(first, status=LENGTH_ERROR)])
            await self.demand(failing, [Want(second, status=FAILED)])
            await self.reconnect(long)
            await self.reconnect(failing)


@pyuvm.test()
class NoLeakTest(TakingTest):
    """CQ-17, SRQ-10: a message that is answered NOT_READY, for lack of a buffer or because enough
    of its QP are in flight, or that is refused, takes no entry of the receive CQ. Class: a credit
    leaks with each message that takes nothing.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(size=4)
        user = await self.qp(srq=srq, log2=2)
        idle = await self.idle_qp(share=user, srq=srq)
        cq, entries = user.recv_cq, 4
        for _ in range(2):
            await self.misses(user, NOT_READY, 2 * entries, 0)
            await self.misses(idle, REFUSED, 2 * entries, 0)
            cookies = await self.supply(srq, 4)
            flight = min(self.most, entries)
            await self.take(user, *range(flight))
            if flight < entries:
                await self.misses(user, NOT_READY, 2 * entries, flight)
            await self.misses(idle, REFUSED, entries, flight)
            self.settle(user, *[0] * flight)
            wanted = [Want(cookie, n) for n, cookie in enumerate(cookies)]
            await self.demand(user, wanted[:flight])
            for want in wanted[flight:]:
                await self.take(user, want.nbytes)
                self.settle(user)
                await self.demand(user, [want])
            assert (await cq.query()).credits == 0

    async def misses(self, qp: Qp, code: int, count: int, held: int) -> None:
        """So many messages are answered so; the credits stay."""
        for _ in range(count):
            await self.answers(self.ask(qp, 1), code)
        await self.answers(self.ask(qp, *[1] * count), code)
        assert (await qp.recv_cq.query()).credits == held


@pyuvm.test()
class SameNumberTest(TakingTest):
    """SRQ-02, SRQ-09: posts to a QP's own queue and to the SRQ of its number in neighbouring
    cycles, messages of both as they come: each buffer lands in its queue. Class: what a step
    changes is handed to the next one by number, whichever kind of queue it is.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(0, size=4)
        own = await self.own()
        assert own.number == srq.number == 0
        user = await self.qp(srq=srq)
        # The queues stand at different indices all the time.
        for ahead in range(1, 4):
            for queue, qp in ((own, own), (srq, user)):
                for cookie in await self.supply(queue, ahead):
                    await self.take(qp, 1)
                    self.settle(qp)
                    await self.demand(qp, [Want(cookie, 1)])
                for turn in range(4):
                    await self.both(own, srq, user, turn)

    async def both(self, own: Qp, srq: Srq, user: Qp, turn: int) -> None:
        region = await self.region()
        segment = region.segment(0, LENGTH)
        queues: tuple[ReceiveQueue, ...] = (own, srq) if turn % 2 else (srq, own)
        await self.rest(16)
        at = self.harness.cycle + LEAD
        posts = [queue.make_recv([segment]) for queue in (*queues, *queues)]
        answers = [
            queue.queue_recv(post, at=at)
            for queue, post in zip((*queues, *queues), posts, strict=True)
        ]
        # One asks for what is not there when it is right, and is there if the queues are mixed up.
        first, second = (user, own) if turn & 2 else (own, user)
        pending = []
        for n in range(12):
            pending += self.ask((first, second)[n % 2], 2, at=at - 2)
        assert [await answer for answer in answers] == [(0, 0)] * 4
        for answer in pending:
            await answer
        await self.rest(16)
        for queue, qp in ((own, own), (srq, user)):
            cookies = [
                post.context
                for post, to in zip(posts, (*queues, *queues), strict=True)
                if to is queue
            ]
            there = len(self.tags[qp.number])
            if there:
                self.settle(qp, *[0] * there)
            for _ in cookies[there:]:
                await self.take(qp, 2)
                self.settle(qp)
            await self.demand(qp, [Want(cookie, 2) for cookie in cookies])
            assert await self.code(qp) == NOT_READY


@pyuvm.test()
class NextLifeTest(TakingTest):
    """SRQ-17: an SRQ that is destroyed with completions that were never reaped, and created again,
    has all its slots at once, with any number of them, and no more. Class: what was not reaped
    stays so in the next life.
    """

    async def scenario(self) -> None:
        most = 1 << self.config.srq_log2
        for size in (1, 2, 3, most, 4):
            for missed in range(min(size, self.most) + 1):
                srq = await self.env.host.create_srq(0, size=size)
                srq.auto_reap = False
                assert await srq.query() == (0, 0)
                user = await self.qp(srq=srq)
                cookies = await self.supply(srq, size)
                await self.full(srq)
                await self.take(user, *[3] * missed)
                if missed:
                    self.settle(user, *[0] * missed)
                await self.demand(user, [Want(cookie, 3) for cookie in cookies[:missed]])
                await self.full(srq)
                await self.remove(user)
                await srq.free()

    async def full(self, srq: Srq) -> None:
        assert (await srq.status()).outstanding == srq.size
        assert (await srq.post_recv()).cause == Cause.QUEUE_FULL


@pyuvm.test()
class OtherQueueTest(TakingTest):
    """SRQ-16: a QP takes from its own queue down to nothing while an SRQ is armed, the one that its
    setting would name: no event, and nothing of that SRQ moves. Class: the watermark of an SRQ is
    compared with a queue that is not its own.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(0, size=4)
        user = await self.qp(srq=srq)
        shared = await self.supply(srq, 4)
        await srq.set_lw(3)
        own = await self.own()
        for turn in range(3):
            cookies = await self.supply(own, self.depth)
            for n, cookie in enumerate(cookies):
                await self.take(own, n)
                self.settle(own)
                await self.demand(own, [Want(cookie, n)])
            assert await self.code(own) == NOT_READY
            status = await srq.status()
            assert (status.completed, status.available, status.armed) == (0, 4, True), status
            assert srq.events == [], f"turn {turn}"
        # A flush takes, too.
        cookies = await self.supply(own, self.depth)
        await own.flush()
        await self.demand(own, canceled(cookies))
        assert srq.events == [] and (await srq.status()).armed
        await self.take(user, 1, 1)
        self.settle(user, 0, 0)
        await self.demand(user, [Want(cookie, 1) for cookie in shared[:2]])
        assert len(srq.events) == 1 and not (await srq.status()).armed


@pyuvm.test()
class AnyFailureTest(TakingTest):
    """SRQ-19: a report with any status but 0, 1 (CANCELED) among them, from a CONNECTED QP takes it
    to ERROR, told to the transport, and completes with that status; a queue of its own is flushed
    behind it. Class: some statuses are no failures.
    """

    async def scenario(self) -> None:
        srq, (user,) = await self.shared(1, size=4)
        own = await self.own()
        for status in (1, 2, 3, 4, 8, 16, 32, 64, 128, 255):
            for queue, qp in ((srq, user), (own, own)):
                cookies = await self.supply(queue, 2)
                await self.take(qp, 7)
                await self.rest()
                mark = self.mark
                self.settle(qp, status)
                flushed = canceled(cookies[1:]) if qp is own else []
                await self.demand(qp, [Want(cookies[0], status=status), *flushed])
                assert self.terms(mark) == [(qp.number, QpState.ERROR)], f"status {status}"
                assert (await qp.query()).state == QpState.ERROR
                await self.reconnect(qp)
                if qp is user:
                    await self.take(qp, 8)
                    self.settle(qp)
                    await self.demand(qp, [Want(cookies[1], 8)])
        assert CANCELED == CqeStatus.CANCELED == 1


@pyuvm.test()
class LogTest(TakingTest):
    """ISO-02, ISO-03: bad messages, bad reports and refused posts by turns, apart and in one cycle:
    the log names cause, object and detail of each, in order where they are apart. Class: an entry
    tells of another fault, of another QP, or nothing of the tag.
    """

    async def scenario(self) -> None:
        self.srq, (self.user,) = await self.shared(1, size=2)
        self.qp_own = await self.own(2)
        cookies = await self.supply(self.srq, 1)
        await self.take(self.user, 1)
        await self.env.host.read_log()
        rng = self.rng("log")
        for _ in range(12):
            kinds = rng.sample(range(3), 3) * 2
            wanted = []
            for kind in kinds:
                wanted.append(self.fault(kind, rng.randrange(4)))
                await self.rest(32)
            found = await self.env.host.read_log()
            assert found == wanted, f"{found} instead of {wanted}"
        for _ in range(12):
            # Their order is that of their sources.
            at = self.harness.cycle + LEAD
            wanted = [
                self.fault(kind, rng.randrange(4), at + rng.randrange(12)) for kind in range(3)
            ]
            await self.rest(32)
            found = await self.env.host.read_log()
            assert sorted(found, key=astuple) == sorted(wanted, key=astuple), (
                f"{found} instead of {wanted}"
            )
        self.settle(self.user)
        await self.demand(self.user, [Want(cookies[0], 1)])

    def fault(self, kind: int, which: int, at: int | None = None) -> LogEntry:
        """A bad message, report, or post; what the log must say of it."""
        user, far = self.user.number, self.config.num_qp | which
        tag = self.tags[user][0]
        if kind == 0:
            bad = {0: user | 1 << 18, 1: far, 2: user | 1 << 31, 3: user | 1 << 96}[which]
            self.env.rreq.send_raw(bad | 1 << 32, at_cycle=at)
            return self.log_of(Cause.RREQ_BAD, bad & 0xFFFF)
        if kind == 1:
            wrong = tag + which + 1 & self.mask
            word, cause = {
                0: (user | wrong << 16, Cause.RDONE_UNEXPECTED),
                1: (far | tag << 16, Cause.RDONE_BAD),
                2: (user | tag << 16 | 1 << 40, Cause.RDONE_BAD),
                3: (self.qp_own.number | wrong << 16, Cause.RDONE_UNEXPECTED),
            }[which]
            self.env.rdone.send_raw(word, at_cycle=at)
            return self.log_of(cause, word & 0xFFFF, word >> 16 & 0xFFFF)
        queue: ReceiveQueue = self.srq if which % 2 else self.qp_own
        post = queue.make_recv()
        if which < 2:
            post, cause = replace(post, reserved=1), Cause.RESERVED_BITS
        else:
            post, cause = replace(post, num_segments=4), Cause.TOO_MANY_SEGMENTS
        queue.queue_recv(post, at=at or 0)
        named = Kind.SRQ if queue is self.srq else Kind.QP
        return LogEntry(cause, named, queue.number, queue.page)
