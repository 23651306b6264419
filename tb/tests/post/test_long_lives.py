# SPDX-License-Identifier: Apache-2.0
"""Send queues and receive queues that live longer than their 16-bit indices count."""

from __future__ import annotations

import pyuvm

from models.post.post import Segment
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import SRQ_DB, Cause, CqeStatus, Opcode, PageReg, QpState, Right
from tb.env.host.cq import Cq
from tb.env.host.qp import Qp, connect_pair
from tb.env.host.recv import ReceiveQueue
from tb.env.host.srq import Srq
from tb.tests.common.long_lives import LongLifeTest

BUILD = "engine"

_FAILING = 0xDEAD_BEEF  # low half of the contexts of requests that fail


@pyuvm.test()
class LongSendTest(LongLifeTest):
    """DF-03, DF-09, DF-13: one QP reads, and writes now and then, for longer than tags, indices and
    counts of Reads go, with fences, and failures at tags of every size; its CQ counts round, too.
    """

    async def scenario(self) -> None:
        env, rng = self.env, self.rng("posts")
        eq = await env.host.create_eq(log2=4)
        cq = await env.host.create_cq(eq=eq, log2=10)
        qp = await env.host.create_qp(cq=cq)
        peer = await env.host.create_qp(cq=cq)
        await connect_pair(qp, peer)
        env.transport.loopback(latency=1, mask=0xFFFFFFFF, match=_FAILING, status=0x7F)
        answers: list[Pending[WriteResult]] = []
        made = round_ = 0
        room = (1 << self.config.sq_log2) - 1  # and one that fails
        while self.made_reads < self.lifetime:
            round_ += 1
            wanted: list[tuple[int, int]] = []
            for _ in range(min(rng.randint(12, 20), room)):
                silent = rng.random() < 0.2
                context = rng.getrandbits(63) << 1  # no failing one
                answers.append(qp.queue(self.line(qp, context, silent)))
                made += 1
                if not silent:
                    wanted.append((context, 0))
            fails = round_ % 100 == 0
            if fails:
                context = rng.getrandbits(32) << 32 | _FAILING
                answers.append(qp.queue(self.line(qp, context, False)))
                made += 1
                wanted.append((context, CqeStatus.TRANSPORT_ERROR))
            await answers[-1]
            self.accepted(answers)
            found = [(r.request_context, r.status) for r in await cq.wait_results(len(wanted))]
            assert [context for context, _ in found] == [context for context, _ in wanted]
            assert [bool(status) for _, status in found] == [bool(s) for _, s in wanted], found
            if round_ % 25 == 0:
                await qp.wait_retired()
                assert await cq.update_consumer_index() == (0, 0)
                status = await qp.query()
                assert status.tail == status.retired == status.indicated == made & self.mask, status
            if fails:
                await qp.flush()
                assert (await qp.query()).state == QpState.ERROR
                await qp.reset()
                await qp.connect(peer)

    def line(self, qp: Qp, context: int, silent: bool) -> int:
        """The line of a Read, or of a Write; some wait for the Reads before them."""
        rng = self._reads
        segment = Segment(rng.getrandbits(64), rng.getrandbits(20), rng.getrandbits(32))
        target = Segment(rng.getrandbits(64), 0, rng.getrandbits(32))
        reads = rng.random() >= 0.05
        self.made_reads += reads
        post = qp.make(
            Opcode.READ if reads else Opcode.WRITE,
            segments=[segment],
            target=target,
            context=context,
            silent=silent,
            fence=rng.random() < 0.02,
        )
        return post.encode()

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self._reads = self.rng("reads")
        self.made_reads = 0


@pyuvm.test()
class LongReceiveTest(LongLifeTest):
    """SRQ-02, SRQ-06: an SRQ and its user hand out more buffers than their indices and tags count.
    Queues of QPs are in the same memories. Now and then both are made anew: the indices of the
    number go on. No buffer is reaped that is not completed.
    """

    async def scenario(self) -> None:
        env, host, rng = self.env, self.env.host, self.rng("buffers")
        eq = await host.create_eq(log2=4)
        cq = await host.create_cq(eq=eq, log2=10)
        self.region = await host.register(
            1 << 40, base=rng.getrandbits(63), zone=7, rights=Right.LOCAL_WRITE
        )
        env.transport.receiver.loopback(latency=1)
        srq, user = await self.life(cq)
        answers: list[Pending[WriteResult]] = []
        made = round_ = 0
        room = 1 << min(self.config.srq_log2, self.config.rx_log2)
        while made < self.lifetime:
            round_ += 1
            wanted = [self.buffer(srq, answers) for _ in range(min(rng.randint(20, 28), room))]
            made += len(wanted)
            start = self.harness.cycle + 40
            for _ in wanted:
                env.transport.receiver.post_request(user.number, 8, at_cycle=start)
            found = await cq.wait_results(len(wanted))
            assert [result.request_context for result in found] == wanted
            self.accepted(answers)
            if round_ % 20 == 0 or made >= self.lifetime:
                assert await cq.update_consumer_index() == (0, 0)
                status = await srq.status()
                assert status.tail == status.reaped == status.completed == made & self.mask, status
                await self.one_ahead(srq, made)
            if round_ % 100 == 0:
                await user.flush()
                await user.destroy()
                await srq.free()
                srq, user = await self.life(cq)
                assert srq.index == made & self.mask, srq.index

    async def one_ahead(self, srq: Srq, completed: int) -> None:
        """SRQ-17: a buffer more than have completed is not reaped, whatever the index."""
        word = SRQ_DB.pack(index=completed + 1 & self.mask, srq=srq.number)
        answer = await self.env.host.write(srq.page, PageReg.SRQ_DB, word)
        assert answer == (2, Cause.BAD_INDEX), f"{completed} completed: {answer}"

    async def life(self, cq: Cq) -> tuple[Srq, Qp]:
        """A new SRQ, and a connected QP that uses it."""
        srq = await self.env.host.create_srq(zone=7)
        user = await self.env.host.create_qp(cq=cq, srq=srq, zone=7)
        await user.connect(self._buffers.getrandbits(24))
        return srq, user

    def buffer(self, queue: ReceiveQueue, answers: list[Pending[WriteResult]]) -> int:
        """Queues the post of a buffer; returns its context."""
        rng = self._buffers
        segment = self.region.segment(rng.getrandbits(39), 8)
        cookie = rng.getrandbits(64)
        answers.append(queue.queue_recv(queue.make_recv([segment], cookie)))
        return cookie

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self._buffers = self.rng("segments")
