# SPDX-License-Identifier: Apache-2.0
"""Bits of the engine's memories turn over: corrected, reported by number, healed; two in one word
are reported. The scoreboard judges that nothing else happens.
"""

from __future__ import annotations

from typing import Any

import cocotb
import pyuvm

from models.post import Segment
from tb.env.base_test import CarillonTest
from tb.env.defs import Cause, CqeStatus, CqeType, Reg
from tb.env.qp import Qp, connect_pair
from tb.env.recv import ReceiveQueue
from tb.env.regions import Region
from tb.env.sequences import find
from tb.env.upsets import Upsets
from tb.tests.directed import SLVERR
from tb.tests.test_window_smoke import SmokeBase
from tb.tests.windowing import ZONE

BUILD = ["engine"]
STATUS_BITS = 40  # of a word of the pages' status, memories 1 and 2
READ_RAM = 2  # the copy that PAGE_STATUS reads


class _UpsetsTest(CarillonTest):
    async def every_memory(self, rounds: int, wait: int) -> None:
        """Inverts bits in memory after memory until each has reported ``rounds`` times, the first
        time bit 0; ``wait``: cycles in which a word may be written and read.
        """
        env, rng, upsets = self.env, self.rng("upsets"), self.upsets
        for number in range(rounds):
            cycles = wait
            missing = set(range(upsets.memories))
            while missing:
                for memory in sorted(missing):
                    bit = 0 if number == 0 else rng.randrange(1 << rng.choice((2, 3, 4, 5, 9)))
                    before = upsets.corrected[memory]
                    assert await upsets.inject(memory, bit) == 0
                    await env.harness.cycles(cycles)
                    await upsets.collect()
                    if upsets.corrected[memory] > before:
                        missing.discard(memory)
                cycles = min(2 * cycles, 16 * wait)

    async def start(self) -> None:
        """``self.upsets``."""
        self.upsets = Upsets(self.env)
        await self.upsets.start()

    async def finish(self) -> None:
        """What the log names is what the counters count."""
        upsets = self.upsets
        await upsets.collect()
        self.logger.info(
            "%d injections: corrected %s, lost %s",
            *(upsets.injected.total(), dict(sorted(upsets.corrected.items())), dict(upsets.lost)),
        )
        corrected, lost = await upsets.counted()
        logged = upsets.corrected.total() + upsets.lost.total()
        assert 0 <= corrected + lost - logged <= await self.env.host.counter("LOG_LOST")
        assert corrected >= upsets.corrected.total() and lost >= upsets.lost.total()
        assert upsets.lost or lost == 0, "single bits were lost"


@pyuvm.test()
class EveryMemoryTest(SmokeBase, _UpsetsTest):
    """Each memory of the engine, under a traffic that makes, uses and ends objects of every kind;
    when nothing is injected any more, nothing is reported any more.
    """

    async def scenario(self) -> None:
        await self.start()
        injector = cocotb.start_soon(self.every_memory(2, 400))
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


class _LifeUpsetsTest(_UpsetsTest):
    """Random lives with a wrong bit about every 200 cycles."""

    async def life(self, sequence: str, **options: Any) -> None:
        await self.start()
        self.over = False
        injector = cocotb.start_soon(self.sprinkle())
        run: Any = find(sequence)(self.env, **options)
        await run.run()
        self.over = True
        await injector
        self.env.release_all()
        await self.finish()
        assert len(self.upsets.corrected) > 2

    async def sprinkle(self) -> None:
        rng, upsets = self.rng("upsets"), self.upsets
        while not self.over:
            bit = rng.randrange(1 << rng.choice((0, 3, 4, 5, 9)))
            assert await upsets.inject(rng.randrange(upsets.memories), bit) == 0
            await self.env.harness.cycles(rng.randint(20, 180))
            await upsets.collect()


@pyuvm.test()
class WindowLifeUpsetsTest(_LifeUpsetsTest):
    """Windows, accesses, messages."""

    async def scenario(self) -> None:
        await self.life("window_life")


@pyuvm.test()
class ReceiveLifeUpsetsTest(_LifeUpsetsTest):
    """Posts and receives."""

    async def scenario(self) -> None:
        await self.life("receive_life", duration=6000, actions=0.02)


@pyuvm.test()
class LostWordTest(_UpsetsTest):
    """Two wrong bits in one word are reported as lost on every look that is not the one before
    again; the word is not healed until it is written. Two check bits leave the data as they are.
    """

    allow = ("no_traffic", "no_doorbells", "no_posts", "no_completions", "no_receives")

    async def scenario(self) -> None:
        await self.start()
        env, upsets = self.env, self.upsets
        assert await upsets.inject(READ_RAM, STATUS_BITS, STATUS_BITS + 3) == 0
        refused = (SLVERR, Cause.BAD_OFFSET)
        assert await env.doorbells.write(1, 0xF00, 0) == refused
        for reads in (1, 2, 3):
            assert await env.host.page_status(1) == (Cause.BAD_OFFSET, 1)
            await env.host.page_status(0)
            await upsets.collect()
            assert (await upsets.counted())[0] == 0
            assert upsets.lost == {READ_RAM: reads}, upsets.lost
        assert await env.doorbells.write(1, 0xF00, 0) == refused
        assert await env.host.page_status(1) == (Cause.BAD_OFFSET, 2)
        await upsets.collect()
        assert upsets.lost == {READ_RAM: 3} and await upsets.counted() == (0, 3)
        # One bit: corrected once, then healed.
        assert await upsets.inject(READ_RAM, 1) == 0
        assert await env.doorbells.write(1, 0xF00, 0) == refused
        for _ in range(3):
            assert await env.host.page_status(1) == (Cause.BAD_OFFSET, 3)
            await env.host.page_status(0)
        await upsets.collect()
        assert upsets.corrected == {READ_RAM: 1} and await upsets.counted() == (1, 3)


@pyuvm.test()
class InjectionRegisterTest(_UpsetsTest):
    """Numbers that no memory has, and reserved bits, are refused."""

    allow = ("no_traffic", "no_doorbells", "no_posts", "no_completions", "no_receives")

    async def scenario(self) -> None:
        await self.start()
        control, memories = self.env.control, self.upsets.memories
        assert memories > 1
        for value in (memories, 0xFF, 1 << 28, 1 << 31):
            assert await control.write(Reg.MEM_INJECT, value) == SLVERR
        assert await control.write(Reg.MEM_INJECT, memories - 1 | 0x3FF << 8 | 0x3FF << 18) == 0
        assert (await control.read(Reg.MEM_INJECT)).resp == SLVERR
        for page in range(2):
            assert await self.env.doorbells.write(page, 0xF00, 0) == (SLVERR, Cause.BAD_OFFSET)
            assert await self.env.host.page_status(page) == (Cause.BAD_OFFSET, 1)
        assert await self.upsets.counted() == (0, 0)
