# SPDX-License-Identifier: Apache-2.0
"""The event counters, bit for bit: ``MEM_INJECT`` inverts single bits of them, so that counts that
no run reaches are begun at, and counters of what never happens are seen at all.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyuvm

from tb.env.base_test import CarillonTest
from tb.env.coverage.lib import COUNTERS
from tb.env.defs import CAP7, CQ_DB, Cause, CheckKind, PageReg, Reg
from tb.tests.common.directed import SLVERR

BUILD = ["default", "engine", "engine_deep"]

#: All counters, in the order of their numbers.
NAMES = [reg for reg in Reg if reg.name.startswith("CNT_")]
NUMBER = {reg: number for number, reg in enumerate(NAMES)}
BITS = 32
M32 = (1 << BITS) - 1
BAD_OFFSET = 0xF00
#: Places of the error log, and the one before it.
_LOG = 17
#: Accesses that the harness takes at once.
_QUEUE = 120

#: A counter's number and a bit of it.
Flip = tuple[int, int]


class CounterBase(CarillonTest):
    """Bits of counters are inverted, in the engine and in what is expected of it."""

    allow = ("no_traffic",)

    async def start(self) -> None:
        """``self.expected``: the value of each counter."""
        self.order = self.rng("counters")
        self.expected = await self.values()

    async def values(self) -> list[int]:
        """The counters as they are."""
        answers = [self.env.control.post_read(reg) for reg in NAMES]
        found = [await answer for answer in answers]
        assert all(answer.resp == 0 for answer in found)
        return [answer.data for answer in found]

    async def flip(self, flips: Iterable[Flip], expected: bool = True) -> None:
        """Inverts these bits one after the other, in any order."""
        flips = list(flips)
        self.order.shuffle(flips)
        for begin in range(0, len(flips), _QUEUE):
            answers = []
            for counter, bit in flips[begin : begin + _QUEUE]:
                word = COUNTERS | counter << 8 | bit << 18
                answers.append(self.env.control.post_write(Reg.MEM_INJECT, word))
                if expected:
                    self.expected[counter] ^= 1 << bit
            for answer in answers:
                assert await answer == 0

    async def set(self, values: dict[int, int]) -> None:
        """Makes counters these values."""
        await self.flip(
            (counter, bit)
            for counter, value in values.items()
            for bit in range(BITS)
            if (self.expected[counter] ^ value) >> bit & 1
        )

    async def demand(self, what: str) -> None:
        """All counters are as expected: read twice, an odd number of cycles apart, so that a bit
        that turns over in every cycle is wrong once.
        """
        numbers = list(range(len(NAMES)))
        self.order.shuffle(numbers)
        at = self.harness.cycle + 16
        answers = []
        for begin in (at, at + 2 * len(NAMES) + 9):
            answers += [(n, self.env.control.post_read(NAMES[n], begin)) for n in numbers]
        for number, answer in answers:
            found, expected = (await answer).data, self.expected[number]
            name = NAMES[number].name
            assert found == expected, f"{what}: {name} is {found:#x}, not {expected:#x}"

    async def refuse(self, number: int = 1) -> None:
        """A write is refused, page 1's of this number, and is counted."""
        assert await self.env.doorbells.write(1, BAD_OFFSET, 0) == (SLVERR, Cause.BAD_OFFSET)
        assert await self.env.host.page_status(1) == (Cause.BAD_OFFSET, number)
        for reg in (Reg.CNT_DB_REFUSED, Reg.CNT_CAUSE4):
            self.expected[NUMBER[reg]] += 1


@pyuvm.test()
class PatternsTest(CounterBase):
    """Alternate bits, any values; numbers that no counter or bit has invert nothing; a reset."""

    async def scenario(self) -> None:
        await self.start()
        before = list(self.expected)
        everything = range(len(NAMES))
        absent = [(n, 3) for n in range(len(NAMES), 1 << 10)]
        absent += [(7, bit) for bit in range(BITS, 1 << 10)]
        for pattern in (0x5555_5555, 0xAAAA_AAAA):
            await self.set(dict.fromkeys(everything, pattern))
            await self.flip(absent, expected=False)
            await self.demand(f"{pattern:#x}")
        await self.set({n: self.order.getrandbits(BITS) for n in everything})
        await self.demand("any values")
        refused = NUMBER[Reg.CNT_CTRL_REFUSED]
        for reserved in range(28, 32):
            word = COUNTERS | 7 << 8 | 5 << 18 | 1 << reserved
            assert await self.env.control.write(Reg.MEM_INJECT, word) == SLVERR
            self.expected[refused] = self.expected[refused] + 1 & M32
        await self.demand("reserved bits")
        before[refused] += 4
        await self.set(dict(enumerate(before)))
        await self.refuse()
        await self.demand("counting on")
        await self.set({n: self.order.getrandbits(BITS) for n in everything})
        await self.demand("any values again")
        await self.env.reset(1)
        self.expected = [0] * len(NAMES)
        await self.demand("after a reset")
        await self.refuse()


@pyuvm.test()
class CarriesTest(CounterBase):
    """ISO-02: counters that accesses, completions and requests that are refused raise, and those of
    a queue's traffic, count on from 2^k - 1 for each k, and from the last value to 0.
    """

    allow = ("no_completions",)

    async def scenario(self) -> None:
        host = self.env.host
        page = self.config.num_pages - 1
        eq = await host.create_eq(page=page, log2=2)
        posts = self.config.num_qp > 0
        self.cq = await host.create_cq(eq=eq, log2=3, reservation=posts)
        if posts:
            self.qp = await host.create_qp(cq=self.cq)
            await self.qp.connect(self.qp.number ^ 1)
            self.env.transport.latency = (1, 4)
        for _ in range(3):  # the log fills
            await self.events()
        begin = await self.values()
        await self.events()
        await self.start()
        before = list(self.expected)
        #: What `events` adds to each counter, by its number.
        steps = {n: now - begin[n] for n, now in enumerate(before) if now != begin[n]}
        assert len(steps) == (24 if posts else 18), steps
        for k in range(1, BITS + 1):
            await self.set(dict.fromkeys(steps, (1 << k) - 1))
            await self.events()
            for number, step in steps.items():
                self.expected[number] = self.expected[number] + step & M32
            await self.demand(f"from 2^{k} - 1")
        await self.set({n: before[n] + step * BITS for n, step in steps.items()})
        await self.demand("at the end")

    async def events(self) -> None:
        """One thing of each kind."""
        env, cq = self.env, self.cq
        page, far = cq.page, 0xFFFF
        bad = [
            env.doorbells.post(page, BAD_OFFSET, 0),
            env.doorbells.post(page, PageReg.CQ_DB, 0, length=1),
            env.doorbells.post(page, PageReg.CQ_DB, 0, size=2),
            env.doorbells.post(self.config.num_pages, PageReg.CQ_DB, 0),
            env.doorbells.post(page, PageReg.CQ_DB, CQ_DB.pack(cq=cq.number, arm_type=1)),
            env.doorbells.post(page, PageReg.CQ_DB, CQ_DB.pack(cq=cq.number, arm_type=3, arm=1)),
            env.doorbells.post(page, PageReg.CQ_DB, CQ_DB.pack(cq=far)),
            env.doorbells.post(page, PageReg.CQ_DB, CQ_DB.pack(cq=self.config.num_cq - 1)),
        ]
        for answer in bad:
            assert (await answer).resp == SLVERR
        assert await env.control.write(0xE00, 0) == SLVERR
        env.mem.stray(0)
        assert await cq.arm() == (0, 0)
        if not self.config.num_qp:
            env.completions.send(far)
            env.completions.send(cq.number)
        else:
            assert await self.qp.send() == 0
            env.done.send(far, 1, 0)
            env.conn.send(far)
            env.rreq.send(far, 8)
            env.rdone.send(far, 1, 0)
            env.check.send(far, CheckKind.READ, 1, 0, 8)
        await env.drain(40)
        assert len(cq.get_cq_results()) == 1
        assert await cq.callback_return() == (0, 0)
        await env.drain(16)


@pyuvm.test()
class CountedMeanwhileTest(CounterBase):
    """What is counted in the cycle in which a bit of the counter is inverted is counted."""

    async def scenario(self) -> None:
        await self.start()
        env, rng, before = self.env, self.order, list(self.expected)
        events = 120
        counted = [NUMBER[n] for n in (Reg.CNT_CTRL_REFUSED, Reg.CNT_DB_REFUSED, Reg.CNT_CAUSE4)]
        log_lost = NUMBER[Reg.CNT_LOG_LOST]
        for begin in range(4):
            at = self.harness.cycle + 40
            bad = [env.doorbells.post(1, BAD_OFFSET, 0, at=at) for _ in range(events)]
            reads = [env.control.post_read(0xE00, at + begin) for _ in range(events)]
            flips = []
            for _ in range(events):
                counter, bit = rng.choice([*counted, log_lost]), rng.randrange(16, BITS)
                self.expected[counter] ^= 1 << bit
                word = COUNTERS | counter << 8 | bit << 18
                flips.append(env.control.post_write(Reg.MEM_INJECT, word, at=at))
            assert [await answer for answer in flips] == [0] * events
            assert {(await write).resp for write in bad} == {SLVERR}
            assert {(await read).resp for read in reads} == {SLVERR}
            await env.drain(32)
            for counter in counted:
                self.expected[counter] += events
                before[counter] += events
            lost = (begin + 1) * events - _LOG
            self.expected[log_lost] += lost - before[log_lost]
            before[log_lost] = lost
            await self.demand(f"{begin} cycles apart")
        await self.set(dict(enumerate(before)))
        await self.demand("at the end")


@pyuvm.test()
class ReplacedByCounterTest(CounterBase):
    """A counter's injection takes the place of one that waits in a memory, even if it inverts
    nothing.
    """

    async def scenario(self) -> None:
        await self.start()
        env = self.env
        cap7 = CAP7.unpack(await env.control.value(Reg.CAP7))
        status = 2  # the memory that PAGE_STATUS reads
        for number, counter in enumerate((7, len(NAMES)), 1):
            answer = await env.control.write(Reg.MEM_INJECT, status | 2 << 8 | 2 << 18)
            assert answer == (0 if cap7["ecc"] else SLVERR)
            await self.harness.cycles(cap7["memories"])
            await self.flip([(counter, 31)], expected=counter < len(NAMES))
            await self.refuse(number)
            await env.host.page_status(0)
            self.expected[NUMBER[Reg.CNT_CTRL_REFUSED]] += not cap7["ecc"]
            await self.demand("nothing is corrected")
        await self.flip([(7, 31)])
        await self.demand("at the end")
