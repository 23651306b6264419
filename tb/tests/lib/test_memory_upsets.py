# SPDX-License-Identifier: Apache-2.0
"""Bits of the full engine's memories turn over: corrected, reported by number, healed. The
scoreboard judges that nothing else happens.
"""

from __future__ import annotations

import cocotb
import pyuvm

from models.post.post import Segment
from tb.env.defs import Cause, CqeStatus, CqeType
from tb.env.host.qp import Qp, connect_pair
from tb.env.host.recv import ReceiveQueue
from tb.env.host.regions import Region
from tb.tests.common.soaking import LONG_SEED
from tb.tests.common.upsetting import LifeUpsetsTest, UpsetsTest
from tb.tests.common.window_smoke import SmokeBase
from tb.tests.common.windowing import ZONE

BUILD = ["engine"]


class TourTest(SmokeBase, UpsetsTest):
    """A traffic that makes, uses and ends objects of every kind."""

    async def tour(self) -> None:
        """Queue pairs with own and shared queues from their creation to their end."""
        first, second = await self.pair()
        srq = await self.env.host.create_srq(size=4, zone=ZONE)
        third = await self.idle_qp(zone=ZONE, guarded=True, srq=srq)
        fourth = await self.idle_qp(zone=ZONE, guarded=True, srq=srq)
        await connect_pair(third, fourth)
        await srq.set_lw(2)
        local = await self.memory(1024)
        await self.windows(first, second, local)
        for sender, receiver, queue in (
            (first, second, second),
            (second, first, first),
            (third, fourth, srq),
            (fourth, third, srq),
        ):
            await self.message(sender, receiver, queue, local)
        await self.fast(second)
        await self.failure(first, local)
        await self.rest()
        for qp in (first, second, third, fourth):
            qp.cq.get_cq_results_ex()
            await qp.cq.update_consumer_index()
        await self.remove(first, second, third, fourth)
        await srq.free()
        await local.deregister()

    async def windows(self, first: Qp, second: Qp, local: Region) -> None:
        """Bind, accesses and Invalidate."""
        region, window = await self.memory(1024), await self.window()
        assert (await window.bind(second, region, 64, 256)).accepted
        assert await self.one(second) == CqeType.BIND
        target = Segment(region.base + 64, 0, window.key)
        await second.cq.arm()
        for _ in range(3):
            assert await first.write(target, segments=[local.segment(0, 100)]) == Cause.NONE
            assert await self.one(first) == CqeType.WRITE
        for options in ({"defer": True, "silent": True}, {"fence": True}):
            fields = {"segments": [local.segment(0, 8)], **options}
            assert await first.write(target, **fields) == Cause.NONE
        assert await self.one(first) == CqeType.WRITE
        assert await first.read(target, segments=[local.segment(512, 40)]) == Cause.NONE
        assert await self.one(first) == CqeType.READ
        assert (await second.post_recv([local.segment(0, 64)])).accepted
        assert await first.send_and_invalidate(window.key, data=b"hello") == Cause.NONE
        assert await self.one(second) == CqeType.RECEIVE_AND_INVALIDATE
        assert await self.one(first) == CqeType.SEND
        await second.cq.wait_callbacks(1)
        await second.cq.callback_return()
        self.stale = target
        await window.close()
        await region.deregister()

    async def message(self, sender: Qp, receiver: Qp, queue: ReceiveQueue, local: Region) -> None:
        """A Send into a buffer of an own or a shared queue."""
        assert (await queue.post_recv([local.segment(900, 64)])).accepted
        assert await sender.send(data=b"plain") == Cause.NONE
        assert await self.one(receiver) == CqeType.RECEIVE
        await self.env.host.page_status(0)
        assert await self.one(sender) == CqeType.SEND
        await self.env.host.page_status(0)

    async def fast(self, qp: Qp) -> None:
        """FastRegister and Invalidate of a region."""
        region = await self.allocated(256)
        assert (await region.fast_register(qp)).accepted
        assert await self.one(qp) == CqeType.FAST_REGISTER
        assert await region.invalidate(qp) == Cause.NONE
        assert await self.one(qp) == CqeType.INVALIDATE
        await region.deregister()

    async def failure(self, qp: Qp, local: Region) -> None:
        """A Write by a key that is gone ends the connection."""
        assert await qp.write(self.stale, segments=[local.segment(0, 8)]) == Cause.NONE
        await self.one(qp, CqeStatus.TRANSPORT_ERROR)


@pyuvm.test()
class EveryMemoryTest(TourTest):
    """Each memory of the engine, under a traffic that makes, uses and ends objects of every kind;
    when nothing is injected any more, nothing is reported any more.
    """

    async def scenario(self) -> None:
        await self.start()
        injector = cocotb.start_soon(self.every_memory(2 if self.env.seed >= LONG_SEED else 1, 200))
        while not injector.done():
            await self.tour()
        injector.result()
        # What still waits, or is in a word that nobody reads, comes with the next use.
        assert await self.upsets.inject(0, 1023) == 0
        await self.tour()
        await self.upsets.collect()
        before = await self.upsets.counted()
        for _ in range(2):
            await self.tour()
        assert await self.upsets.counted() == before, "not healed"
        await self.finish()


@pyuvm.test()
class InjectionAtResetTest(TourTest):
    """A reset of one cycle forgets an injection that waits for a word to be written, in each
    memory: the traffic behind it finds no wrong bit.
    """

    async def scenario(self) -> None:
        await self.start()
        for memory in range(self.upsets.memories):
            assert await self.upsets.inject(memory, 0) == 0
            # It passes memory after memory.
            await self.env.harness.cycles(self.upsets.memories + 16)
            await self.env.reset(1)
            await self.tour()
            assert await self.upsets.counted() == (0, 0), f"memory {memory}"


@pyuvm.test()
class WindowLifeUpsetsTest(LifeUpsetsTest):
    """Windows, accesses, messages."""

    async def scenario(self) -> None:
        await self.life("window_life")


@pyuvm.test()
class StormUpsetsTest(LifeUpsetsTest):
    """Windows, accesses, messages; each wrong bit goes out as soon as the one before can have been
    written.
    """

    async def scenario(self) -> None:
        await self.life("window_life", duration=8000)

    async def sprinkle(self) -> None:
        rng, upsets = self.rng("storm"), self.upsets
        while not self.over:
            for _ in range(16):
                memory = rng.randrange(upsets.memories)
                bit = rng.randrange(1 << rng.choice((0, 3, 4, 5, 9)))
                assert await upsets.inject(memory, bit) == 0
                await self.env.harness.cycles(memory + rng.randint(1, 12))
            await upsets.collect()


@pyuvm.test()
class ReceiveLifeUpsetsTest(LifeUpsetsTest):
    """Posts and receives."""

    async def scenario(self) -> None:
        await self.life("receive_life", duration=9000, actions=0.02)
