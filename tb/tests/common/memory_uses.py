# SPDX-License-Identifier: Apache-2.0
"""What writes a word of each memory of the full engine and reads it again, with values that the
scoreboard judges.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from models.post.post import Segment
from tb.env.defs import Cause, CheckKind, Opcode
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.env.host.regions import Region
from tb.tests.common.engine import ALL, GRANTED, EngineTest
from tb.tests.common.memory_words import MemoryWords
from tb.tests.common.posting import CANCELED, FAILED, OK
from tb.tests.common.receiving import TAKEN
from tb.tests.common.upsetting import UpsetsTest

Action = Callable[[], Awaitable[None]]

#: Memories by the action that uses a word of each, nearly every time.
USES: Final = {
    "refuse": (1, 2),
    "complete": (0, 3, 4, 45),
    "post": (*range(5, 12), 13, 15, 16, *range(24, 29), 30, 31, *range(34, 41), 42),
    "chain": (29,),
    "receive": (19, 50, 55, 57, 60, 61, 73, 74),
    "share": (12, 20, 21, 49, 51, 53, 54, 56, 58, 59, 63),
    "key": (69, 70, 71, 72, 75),
    "fail": (43, 44),
    "live_sender": (14, 17, 18, 22, 23, 32, 33, 41, 46, 52, 67),
    "live_apart": (47,),
    "live_owner": (48, 62, 64, 65, 66, 68, 76),
}


class MemoryUser(EngineTest, UpsetsTest):
    """Objects of every kind, and actions on them."""

    async def start(self) -> None:
        await super().start()
        self.words = MemoryWords(self.config)
        assert self.upsets.memories == len(self.words.widths)
        self.values = self.rng("values")
        await self.make_objects()

    async def make_objects(self) -> None:
        """Objects that actions use, after a reset."""
        for kept in (self.reports, self.tags, self.early, self.next_tag):
            kept.clear()
        self.sender = await self.qp(log2=4)
        self.owner = await self.guarded(recv_depth=2)
        self.srq = await self.env.host.create_srq(size=2, zone=5)
        self.user = await self.guarded(srq=self.srq)
        self.target = await self.some_region()
        self.near, self.kept = await self.memory(), await self.window()

    def use_of(self, memory: int) -> Action:
        """The action that uses a memory."""
        action: Action = getattr(self, next(use for use, own in USES.items() if memory in own))
        return action

    async def turn_over(self, memory: int, first: int, second: int) -> None:
        """In the next word that is written: the order has come to the memory."""
        assert await self.upsets.inject(memory, first, second) == 0
        await self.harness.cycles(memory)

    async def read_words(self) -> None:
        """Reads words without a change."""
        await self.env.host.page_status(0)
        for qp in (self.sender, self.owner, self.user):
            await qp.query()
            await qp.cq.query()
        await self.srq.query()
        await self.near.query()
        await self.kept.query()
        await self.check(self.owner, CheckKind.READ, self.near.key, self.near.base, 1)

    async def some_region(self) -> Region:
        base = self.values.getrandbits(63)
        return await self.env.host.register(1 << 47, base=base, zone=5, rights=ALL)

    def any_segment(self) -> Segment:
        rng = self.values
        return Segment(rng.getrandbits(64), rng.getrandbits(20), rng.getrandbits(32))

    async def post(self) -> None:
        """A request, its report and its completion."""
        qp, rng = self.sender, self.values
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
        # Not always right after the publication, whose word would be replaced unread.
        await self.harness.cycles(rng.randrange(9))
        await qp.cq.update_consumer_index()

    async def chain(self) -> None:
        """A request that is held, and the one that ends its chain later: its end is read when the
        write of it is over.
        """
        qp = self.sender
        posts = await self.hold(qp, 1)
        posts += await self.accept(qp, [self.write_post(qp)])
        self.report(qp, OK, OK)
        await self.demand_results(qp, posts, OK)

    async def receive(self) -> None:
        """A message into a buffer of an own queue, in a region that is registered for it."""
        old = self.target
        self.target = await self.some_region()
        await self.message(self.owner, self.owner)
        await self.target.deregister()
        self.target = old

    async def share(self) -> None:
        """A message into a buffer of a shared queue."""
        await self.message(self.user, self.srq)

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

    async def fail(self) -> None:
        """A request and a receive that fail, what comes after them, and new connections."""
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
        options = {"watermark": rng.getrandbits(16), "context": rng.getrandbits(64)}
        self.sender = await self.qp(log2=4, **options)
        await self.complete()
        await self.end(self.sender)
        self.sender = old

    async def live_apart(self) -> None:
        """One with two CQs, whose users are counted apart, from its creation to its end."""
        recv_cq = await self.queue(0, reservation=True, log2=4)
        await self.remove(await self.qp(log2=4, recv_cq=recv_cq))
        await recv_cq.destroy()

    async def live_owner(self) -> None:
        """The same with an own receive queue."""
        old = self.owner
        self.owner = await self.guarded(recv_depth=2, context=self.values.getrandbits(64))
        await self.receive()
        await self.key()
        await self.end(self.owner)
        self.owner = old

    async def end(self, qp: Qp) -> None:
        await qp.query()
        await qp.flush()
        await self.remove(qp)
