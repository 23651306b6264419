# SPDX-License-Identifier: Apache-2.0
"""Send queues and receive queues that live longer than their 16-bit indices count; and values that
take longer than any test to come about, times of posts, indices of receive queues, generations of
keys up to the last one: there a bit of a word turns over in memory with a check bit, which the
engine reports; it uses the word.
"""

from __future__ import annotations

import pyuvm

from models.post.post import Segment
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import (
    KEY,
    SRQ_DB,
    Cause,
    Cmd,
    CqeStatus,
    Opcode,
    PageReg,
    QpState,
    Result,
    Right,
)
from tb.env.host.cq import Cq
from tb.env.host.qp import Qp, connect_pair
from tb.env.host.recv import ReceiveQueue, Srq
from tb.env.host.regions import MemoryWindow
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.tests.common.engine import GRANTED, READ, EngineTest, Keyed
from tb.tests.common.long_lives import LongLifeTest
from tb.tests.common.memory_words import MemoryWords, check_bit
from tb.tests.common.receiving import LENGTH, Want, canceled
from tb.tests.common.upsetting import UpsetsTest

BUILD = "engine"

_FAILING = 0xDEAD_BEEF  # low half of the contexts of requests that fail
POSTS = -53  # states of QPs, among the memories from the end
TAKEN, TAILS, DONE = -13, -12, -11  # indices of their receive queues, as commands see them
KEYS = -8
LAST = (1 << 20) - 1  # generation


@pyuvm.test()
class LongSendTest(LongLifeTest):
    """DF-03, DF-09, DF-13: one QP reads, and writes now and then, for longer than tags, indices and
    counts of Reads go, with fences, and failures at tags of every size; its CQ counts round, too.
    """

    async def scenario(self) -> None:
        env, rng, self._reads = self.env, self.rng("posts"), self.rng("reads")
        self.made_reads = 0
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
            wanted: list[tuple[int, bool]] = []
            for _ in range(min(rng.randint(12, 20), room)):
                silent = rng.random() < 0.2
                context = rng.getrandbits(63) << 1  # no failing one
                answers.append(qp.queue(self.line(qp, context, silent)))
                made += 1
                if not silent:
                    wanted.append((context, False))
            fails = round_ % 100 == 0
            if fails:
                context = rng.getrandbits(32) << 32 | _FAILING
                answers.append(qp.queue(self.line(qp, context, False)))
                made += 1
                wanted.append((context, True))
            await answers[-1]
            self.accepted(answers)
            results = await cq.wait_results(len(wanted))
            found = [(r.request_context, bool(r.status)) for r in results]
            assert found == wanted, results
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


@pyuvm.test()
class LongReceiveTest(LongLifeTest):
    """SRQ-02, SRQ-06: an SRQ and its user hand out more buffers than their indices and tags count.
    Queues of QPs are in the same memories. Now and then both are made anew: the indices of the
    number go on. No buffer is reaped that is not completed.
    """

    async def scenario(self) -> None:
        env, host, rng = self.env, self.env.host, self.rng("buffers")
        self._buffers = self.rng("segments")
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


class RareTest(EngineTest, UpsetsTest):
    def number(self, memory: int) -> int:
        """Of a memory that may be counted from the end."""
        return memory if memory > 0 else self.upsets.memories + memory

    async def turn(self, memory: int, bit: int) -> None:
        """A bit of the next word of this memory."""
        number = self.number(memory)
        check = check_bit(MemoryWords(self.config).widths[number], bit)
        assert await self.upsets.inject(number, bit, check) == 0
        await self.harness.cycles(self.upsets.memories + 16)

    async def reported(self, *memories: int) -> None:
        """Lost words of these memories and nothing else are in the log."""
        await self.upsets.collect()
        assert self.upsets.lost.keys() == set(map(self.number, memories)), self.upsets.lost
        assert not self.upsets.corrected and not self.upsets.others


@pyuvm.test()
class OldTimeTest(RareTest):
    """DF-01: posts are held since any time; without a limit of their age they stay, and go as one
    batch with the next that is not deferred.
    """

    async def scenario(self) -> None:
        await self.start()
        other, qp = await self.qp(), await self.qp()
        since = 4 + 2 * self.config.idx_w
        for bit in range(20):
            held = await self.hold(qp, 1, watch=False)
            await self.turn(POSTS, since + bit)
            for _ in range(min(3, qp.depth - 2)):
                held += await self.hold(qp, 1, watch=False)
            await self.rest()
            mark = self.mark
            await self.through(other)
            await self.rest(400)
            assert not self.beats(qp, mark), bit
            held += await self.accept(qp, [self.write_post(qp)])
            await self.done(qp, held)
            self.demand_beats(qp, held, mark)
        await self.reported(POSTS)


@pyuvm.test()
class OldIndexTest(RareTest):
    """SRQ-18: commands see what a QP's queue has got, taken and done by indices with any bits; a
    connection begins anew when they are equal.
    """

    async def scenario(self) -> None:
        await self.start()
        qp = await self.own()
        for bit in range(16):
            await self.turn(TAILS, bit)
            (cookie,) = await self.supply(qp, 1)
            await self.turn(TAKEN, bit)
            await self.take(qp, LENGTH)
            await self.turn(DONE, bit)
            self.settle(qp)
            await self.demand(qp, [Want(cookie, LENGTH)])
            await qp.flush()
            await self.reconnect(qp)
            # As they are without wrong bits.
            cookies = await self.supply(qp, 2)
            await self.take(qp, LENGTH)
            self.settle(qp)
            await self.demand(qp, [Want(cookies[0], LENGTH)])
            await qp.flush()
            await self.demand(qp, canceled(cookies[1:]))
            await self.reconnect(qp)
        await self.reported(TAILS, TAKEN, DONE)


@pyuvm.test()
class LastKeyTest(RareTest):
    """MW-11: a window and a region give keys with every bit of the generation, the last ones
    included, and the region's are good for Binds and buffers; then Bind, FastRegister and the
    commands that create fail with NO_KEYS.
    """

    async def scenario(self) -> None:
        await self.start()
        qp = await self.guarded()
        base = await self.memory(256)
        window, region = await self.window(), await self.allocated(256)
        other = await self.window()
        for keyed, memory in (window, base), (region, region):
            while keyed.key >> 12 < LAST - 2:
                await self.grow_old(keyed)
                await self.make_valid(keyed, qp, base)
                assert await self.check(qp, READ, keyed.key, memory.base, 256) == GRANTED
                if keyed is region:
                    # It serves a Bind, and each segment of a buffer.
                    await self.bind(other, qp, region)
                    await self.invalidate(qp, other.key)
                    parts = [region.segment(64 * n, 64) for n in range(3)]
                    assert (await qp.post_recv(parts, cookie=1)).accepted
                    await self.take(qp, 192)
                    self.settle(qp)
                    await self.demand(qp, [Want(1, 192)])
                await self.invalidate(qp, keyed.key)
            while keyed.key >> 12 < LAST:
                await self.make_valid(keyed, qp, base)
                await self.invalidate(qp, keyed.key)
        for post in (window.make_bind(qp, base), region.make_fast_register(qp)):
            await self.fails(qp, post, CqeStatus.NO_KEYS)
        await window.close()
        await region.deregister()
        for code, keyed, length in (
            (Cmd.CREATE_MW, window, 0),
            (Cmd.ALLOC_MR, region, 0),
            (Cmd.REGISTER_MR, region, 256),
        ):
            result = await self.result(code, keyed.number, 0, 0, length, 0, 0)
            assert result == Result.NO_KEYS, f"{code.name}: a key after the last one"
        await self.reported(KEYS)

    async def grow_old(self, keyed: Keyed) -> None:
        """Ends the object and makes it anew; the highest bit of the generation that is 0 has become
        1 meanwhile, unless that would be all.
        """
        generation = KEY["generation"].get(keyed.key)
        bit = max(bit for bit in range(20) if not generation >> bit & 1)
        if generation | 1 << bit < LAST - 3:
            await self.turn(KEYS, bit)
            generation |= 1 << bit
        board = self.checking.board
        assert isinstance(board, Scoreboard)
        table = board.engine_checks.kc.table
        if isinstance(keyed, MemoryWindow):
            await keyed.close()
            await self.env.sync()
            table.window_serials[keyed.number] = generation
            await keyed.create()
        else:
            await keyed.deregister()
            await self.env.sync()
            table.serials[keyed.number] = generation
            await keyed.allocate()
        assert keyed.key >> 12 == generation + 1
