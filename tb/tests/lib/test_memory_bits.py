# SPDX-License-Identifier: Apache-2.0
"""Every data bit and every check bit of the words of each memory turns over and is corrected
(ISO-05), under an action that writes a word of the memory and reads it again with values that the
scoreboard judges.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pyuvm

from models.post.post import Segment
from tb.env.defs import Cause, CheckKind, Opcode
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.tests.common.memory_words import MemoryWords
from tb.tests.common.posting import CANCELED, FAILED, OK
from tb.tests.common.taking import TAKEN
from tb.tests.common.upsetting import Bits, UpsetsTest
from tb.tests.common.windowing import ALL, GRANTED, WindowTest

BUILD = ["engine"]

Action = Callable[[], Awaitable[None]]
#: Injections between two looks at the log, which has room for their reports.
GROUP = 8
#: No word has this bit.
NONE = 1023


class BitsBase(WindowTest, UpsetsTest):
    """``memories``: whose bits turn over."""

    memories: Sequence[int]

    async def scenario(self) -> None:
        await self.start()
        self.words = MemoryWords(self.config)
        assert self.upsets.memories == len(self.words.widths)
        self.values = self.rng("values")
        self.sender = await self.qp(log2=4)
        self.owner = await self.guarded(recv_depth=2)
        self.srq = await self.env.host.create_srq(size=2, zone=5)
        self.user = await self.guarded(srq=self.srq)
        self.target = await self.env.host.register(
            1 << 47, base=self.values.getrandbits(63), zone=5, rights=ALL
        )
        self.near, self.kept = await self.memory(), await self.window()
        self.actions = (
            *(self.post, self.receive, self.share, self.refuse, self.complete),
            *(self.credit, self.key, self.fresh, self.take_away, self.fail),
            *(self.live_sender, self.live_owner, self.live_user),
        )
        for memory in self.chosen():
            await self.check_memory(memory)
        await self.finish()

    def chosen(self) -> Sequence[int]:
        return self.memories

    async def check_memory(self, memory: int) -> None:
        """With the shortest action in which the memory reports; what it does not report at once
        turns over again.
        """
        upsets, words = self.upsets, self.words
        checks = [bit for lane in words.lanes(memory) for bit in words.check_bits(memory, lane)]
        left = [(bit, bit) for bit in [*range(words.widths[memory]), *checks]]
        action = await self.action_of(memory, left[:2])
        del left[:2]
        await self.turn_all(memory, left, action)
        assert not upsets.lost, upsets.lost
        # One number does not change what the other one means: numbers that no word has, with each
        # of their bits 0 and 1, beside one that the word has.
        bits = [*range(words.widths[memory]), *checks]
        low = 1 << bits[-1].bit_length()
        absent = [n for n in (NONE, low, NONE ^ low) if bits[-1] < n < 1 << 10]
        ones = [pair for n in absent for pair in ((bits[0], n), (n, bits[0]))]
        await self.turn_all(memory, ones, action)
        assert not upsets.lost, upsets.lost
        # Each bit of the number counts, of the first and of the second one.
        beyond = [bits[-1] | 1 << n for n in range(10) if bits[-1] | 1 << n not in bits]
        none = [(bit, NONE) for bit in beyond] + [(NONE, bit) for bit in beyond]
        for _ in range(4):
            # A report may be late: of a word that was not read before.
            if not await self.reported(memory, none, action):
                # No word is reported again once it is right.
                assert upsets.corrected[memory] <= upsets.injected[memory], memory
                return
        raise AssertionError(f"memory {memory} reports bits that its words do not have")

    async def turn_all(self, memory: int, left: Sequence[Bits], action: Action) -> None:
        """Each of these bits, one at a time, until all are reported."""
        for _ in range(8):
            groups = [left[at : at + GROUP] for at in range(0, len(left), GROUP)]
            missing = [g for g in groups if await self.reported(memory, g, action) < len(g)]
            left = [bit for group in missing for bit in group]
        assert not left, f"memory {memory} has not reported its bits {left}"

    async def action_of(self, memory: int, bits: Sequence[Bits]) -> Action:
        """The first action in which the memory reports each of these bits (once may be chance)."""
        for action in self.actions:
            if all([await self.reported(memory, [bit], action) for bit in bits]):
                return action
        raise AssertionError(f"no action writes memory {memory} and reads it")

    async def reported(self, memory: int, bits: Sequence[Bits], action: Action) -> int:
        """Reports of these bits."""
        before = self.upsets.corrected[memory]
        for first, second in bits:
            await self.turn_over(memory, first, second)
            await action()
        await self.upsets.collect()
        return self.upsets.corrected[memory] - before

    async def turn_over(self, memory: int, first: int, second: int) -> None:
        """In the next word that is written: the order has come to the memory."""
        assert await self.upsets.inject(memory, first, second) == 0
        await self.harness.cycles(memory)

    # -- actions -----------------------------------------------------------------------------------

    def any_segment(self) -> Segment:
        rng = self.values
        return Segment(rng.getrandbits(64), rng.getrandbits(20), rng.getrandbits(32))

    async def post(self) -> None:
        """A request, its report and its completion."""
        await self.exchange(self.sender)

    async def exchange(self, qp: Qp) -> None:
        rng = self.values
        fields = (
            {"data": rng.randbytes(rng.randrange(33))}
            if rng.random() < 0.5
            else {"segments": [self.any_segment() for _ in range(rng.randrange(3))]}
        )
        post = qp.make(
            Opcode.WRITE, target=self.any_segment(), context=rng.getrandbits(64), **fields
        )
        await self.accept(qp, [post])
        self.report(qp)
        (found,) = await qp.cq.wait_results(1)
        assert found.request_context == post.context
        await qp.cq.update_consumer_index()

    async def receive(self) -> None:
        """A message into a buffer of an own queue."""
        await self.message(self.owner, self.owner)

    async def share(self) -> None:
        """A message into a buffer of a shared queue."""
        await self.message(self.user, self.srq)

    async def credit(self) -> None:
        """Sends and receives that complete on one queue."""
        await self.receive()
        await self.exchange(self.owner)
        await self.receive()

    async def fresh(self) -> None:
        """A message into a region that is registered for it."""
        old, rng = self.target, self.values
        self.target = await self.env.host.register(
            1 << 47, base=rng.getrandbits(63), zone=5, rights=ALL
        )
        await self.receive()
        await self.target.deregister()
        self.target = old

    async def message(self, qp: Qp, queue: ReceiveQueue) -> None:
        rng = self.values
        sizes = [rng.getrandbits(28) for _ in range(3)]
        parts = [self.target.segment(rng.getrandbits(46), size) for size in sizes]
        cookie = rng.getrandbits(64)
        assert (await queue.post_recv(parts, cookie=cookie)).accepted
        nbytes = rng.randrange(1, sum(sizes) + 1)
        await self.answers(self.ask(qp, nbytes), TAKEN)
        self.settle(qp)
        (found,) = await qp.recv_cq.wait_results(1)
        assert (found.request_context, found.nbytes) == (cookie, nbytes)
        await qp.recv_cq.update_consumer_index()

    async def refuse(self) -> None:
        """A doorbell that is refused, and its count."""
        assert (await self.env.doorbells.write(0, 0xF00, 0)).cause == Cause.BAD_OFFSET
        await self.env.host.page_status(1)
        assert (await self.env.host.page_status(0))[0] == Cause.BAD_OFFSET

    async def complete(self) -> None:
        """An arm, and a callback that waited for moderation."""
        cq = self.sender.cq
        called = len(cq.callbacks)
        await cq.modify(moderation=(self.values.randrange(1, 3), self.values.randrange(99)))
        await cq.arm()
        await self.post()
        await self.post()
        await cq.wait_callbacks(called + 1)
        await cq.callback_return()

    async def key(self) -> None:
        """A region and a window from their registration to their end, an access in between."""
        rng, host = self.values, self.env.host
        length = rng.randrange(1, 1 << 48)
        base = rng.randrange((1 << 64) - length)
        region = await host.register(length, base=base, zone=5, rights=ALL)
        code = await self.check(self.owner, CheckKind.WRITE, region.key, base, length & 0xFFFF)
        assert code == GRANTED
        window = await host.create_window(zone=5, context=rng.getrandbits(64))
        nbytes = rng.randrange(1, min(length, 1 << 31) + 1)
        offset = rng.randrange(length - nbytes + 1)
        bind = window.make_bind(self.owner, region, offset, nbytes, ALL)
        await self.accept(self.owner, [bind])
        await self.owner.cq.wait_results(1)
        await window.refresh()
        code = await self.check(self.owner, CheckKind.READ, window.key, base + offset, nbytes)
        assert code == GRANTED
        invalidate = self.owner.make(Opcode.INVALIDATE, token=window.key)
        await self.accept(self.owner, [invalidate])
        await self.owner.cq.wait_results(1)
        await self.owner.cq.update_consumer_index()
        await window.close()
        await region.deregister()

    async def take_away(self) -> None:
        """A window is bound, and a message invalidates it."""
        rng, qp = self.values, self.owner
        await self.accept(qp, [self.kept.make_bind(qp, self.near)])
        await qp.cq.wait_results(1)
        key = (await self.kept.refresh()).key
        buffer = self.target.segment(rng.getrandbits(46), 8)
        assert (await qp.post_recv([buffer], cookie=rng.getrandbits(64))).accepted
        await self.answers([self.send_invalidate(qp, key)], TAKEN)
        self.settle(qp)
        await qp.recv_cq.wait_results(1)
        await qp.recv_cq.update_consumer_index()

    async def fail(self) -> None:
        """A request and a receive that fail, what comes behind them, and new connections."""
        first, second = self.sender, self.owner
        posts = [self.write_post(first) for _ in range(2)]
        await self.accept(first, posts)
        self.report(first, FAILED, OK)
        await self.demand_results(first, posts, FAILED, CANCELED)
        buffers = [self.target.segment(self.values.getrandbits(46), 8)]
        for _ in range(2):
            assert (await second.post_recv(buffers)).accepted
        await self.answers(self.ask(second, 8), TAKEN)
        self.settle(second, FAILED)
        await second.recv_cq.wait_results(2)
        await second.recv_cq.update_consumer_index()
        for qp in (first, second):
            await self.revive(qp)

    async def live_sender(self) -> None:
        """A queue pair with a send queue, from its creation to its end."""
        rng, old = self.values, self.sender
        self.sender = await self.qp(
            log2=4, watermark=rng.getrandbits(16), context=rng.getrandbits(64)
        )
        await self.complete()
        await self.end(self.sender)
        self.sender = old

    async def live_owner(self) -> None:
        """The same with an own receive queue."""
        old = self.owner
        self.owner = await self.guarded(recv_depth=2, context=self.values.getrandbits(64))
        await self.receive()
        await self.key()
        await self.end(self.owner)
        self.owner = old

    async def live_user(self) -> None:
        """The same with a shared one."""
        old = self.srq, self.user
        self.srq = await self.env.host.create_srq(size=2, zone=5)
        self.user = await self.guarded(srq=self.srq)
        await self.share()
        await self.end(self.user)
        await self.srq.free()
        self.srq, self.user = old

    async def end(self, qp: Qp) -> None:
        await qp.query()
        await qp.flush()
        await self.remove(qp)


@pyuvm.test()
class CoreBitsTest(BitsBase):
    """Mailbox, pages, arm state, completion queues, credits."""

    memories = range(23)


@pyuvm.test()
class PostBitsTest(BitsBase):
    """Posts and their indication."""

    memories = range(23, 34)


@pyuvm.test()
class RetireBitsTest(BitsBase):
    """Retirement: reports, results, flushes."""

    memories = range(34, 47)


@pyuvm.test()
class QpBitsTest(BitsBase):
    """Control of queue pairs."""

    memories = range(47, 51)


@pyuvm.test()
class TakeBitsTest(BitsBase):
    """Receive posts, taking."""

    memories = range(51, 62)


@pyuvm.test()
class ReceiveDoneBitsTest(BitsBase):
    """Completion and control of receives."""

    memories = range(62, 71)


@pyuvm.test()
class KeyBitsTest(BitsBase):
    """Zones of queue pairs, keys, regions of binds, contexts."""

    memories = range(71, 75)


@pyuvm.test()
class CheckBitsTest(BitsBase):
    """Keys of scatter and gather lists, checks."""

    memories = range(75, 80)
