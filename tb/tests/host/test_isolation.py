# SPDX-License-Identifier: Apache-2.0
"""Bad doorbell writes: refused with the right cause, reported, and without any other effect.

ISO-01 (foreign pages), ISO-02 (bad input), CQ-22 (indices).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain, combinations, product
from typing import Any

import pyuvm

from tb.env.defs import CB_RETURN, CQ_DB, ArmType, Cause, PageReg, Result
from tb.tests.common.directed import SLVERR, DirectedTest

DB, RETURN = PageReg.CQ_DB, PageReg.CB_RETURN

#: What each fault sets; two faults that set one key differently cannot meet in one write.
FAULTS: dict[Cause, dict[str, Any]] = {
    Cause.BURST: {"length": 1},
    Cause.BAD_SIZE: {"size": 2},
    Cause.BAD_PAGE: {"page": "behind"},
    Cause.BAD_OFFSET: {"offset": 0x110},
    Cause.RESERVED_BITS: {"reserved": 1 << 55},
    Cause.BAD_ARM_TYPE: {"arm": 3, "register": "db"},
    Cause.BAD_CQ: {"target": "range"},
    Cause.NO_CQ: {"target": "gone"},
    Cause.NOT_OWNER: {"page": "foreign"},
    Cause.CQ_DESTROYING: {"target": "dying", "register": "db"},
    Cause.BAD_INDEX: {"index": 5, "register": "db"},
    Cause.NO_CALLBACK: {"offset": RETURN, "register": "return"},
}


class RefusalTest(DirectedTest):
    """A page with a healthy queue, a dying one and a destroyed one, and a second page."""

    PAGE, OTHER = 1, 2

    async def scenario(self) -> None:
        """The queues come and go around :meth:`writes`; the healthy one has entries and is
        armed.
        """
        host = self.env.host
        self.good = await self.queue(self.PAGE)
        self.gone = await self.queue(self.PAGE)
        self.dying = await self.queue(self.PAGE)
        self.foreign = await self.queue(self.OTHER)
        await self.gone.destroy()
        self.env.mem.hold_cq(self.dying.number)
        self.send(self.dying, [1])
        await self.harness.cycles(50)
        assert await self.dying.destroy(wait=False) == Result.PENDING
        await self.good.arm(ArmType.ERRORS)
        self.send(self.good, range(4))
        await self.good.wait_results(4)
        await self.good.update_consumer_index(2)
        await self.env.drain()
        assert await host.read_log() == []
        await self.writes()
        self.env.mem.release_cq(self.dying.number)
        assert await self.dying.destroy() == Result.OK

    async def writes(self) -> None:
        """What the test does."""
        raise NotImplementedError

    def write_of(self, *faults: dict[str, Any]) -> tuple[int, int, int, dict[str, int]]:
        """Page, offset, word and options of a write with these faults."""
        what: dict[str, Any] = {}
        for fault in faults:
            what |= fault
        numbers = {"range": self.config.num_cq, "gone": self.gone.number}
        numbers |= {"dying": self.dying.number, "good": self.good.number}
        pages = {"behind": self.config.num_pages, "foreign": self.OTHER, "own": self.PAGE}
        word = numbers[what.get("target", "good")] << 32 | what.get("reserved", 0)
        if what.get("offset") != RETURN:
            on_dying = what.get("target") == "dying"
            word |= what.get("index", 0 if on_dying else 2)
            if "arm" in what:
                word |= what["arm"] << 48 | 1 << 63
        options: dict[str, int] = {k: what[k] for k in ("length", "size") if k in what}
        return pages[what.get("page", "own")], what.get("offset", DB), word, options


@pyuvm.test()
class EveryCauseTest(RefusalTest):
    """Each cause alone, every pair of faults in the order of precedence, some triples (ISO-01,
    ISO-02, CQ-22).
    """

    async def writes(self) -> None:
        tested = 0
        async with self.no_effect():
            for chosen in chain.from_iterable(combinations(sorted(FAULTS), n) for n in (1, 2)):
                what = [FAULTS[cause] for cause in chosen]
                if all(what[-1].get(key, value) == value for key, value in what[0].items()):
                    page, offset, word, options = self.write_of(*what)
                    await self.refused(chosen[0], page, offset, word, **options)
                    tested += 1
            # Offsets are wrong for both registers.
            page, _, word, options = self.write_of(FAULTS[Cause.BAD_CQ])
            await self.refused(Cause.BAD_OFFSET, page, 0x110, word | 1 << 55, **options)
            # A return for a dying queue without a callback; for one of another page.
            word = CB_RETURN.pack(cq=self.dying.number)
            await self.refused(Cause.NO_CALLBACK, self.PAGE, RETURN, word)
            await self.refused(Cause.NOT_OWNER, self.OTHER, RETURN, word)
            await self.refused(Cause.BURST, self.config.num_pages, 0x111, ~0, length=3, size=1)
        assert tested == len(FAULTS) + 58, tested
        # A legal write makes the page's latest cause 0 and leaves its count.
        count = (await self.env.host.page_status(self.PAGE))[1]
        assert await self.good.update_consumer_index(3) == (0, 0)
        assert await self.env.host.page_status(self.PAGE) == (0, count)


@pyuvm.test()
class ForeignPageTest(RefusalTest):
    """Every page but the owner's is refused, with an arm, an index and a return (ISO-01)."""

    async def writes(self) -> None:
        host = self.env.host
        await self.foreign.arm(ArmType.ANY)
        self.send(self.foreign, [1])
        await self.foreign.wait_callbacks(1)
        words = [
            (DB, CQ_DB.pack(cons=0, cq=self.foreign.number)),
            (DB, CQ_DB.pack(cons=1, cq=self.foreign.number, arm_type=ArmType.ANY, arm=1)),
            (RETURN, CB_RETURN.pack(cq=self.foreign.number)),
        ]
        async with self.no_effect():
            for page in range(self.config.num_pages):
                if page != self.OTHER:
                    posts = [self.env.doorbells.post(page, offset, word) for offset, word in words]
                    for answer in posts:
                        assert await answer == (SLVERR, Cause.NOT_OWNER), page
                    assert await host.page_status(page) == (Cause.NOT_OWNER, 3)
            assert (await host.page_status(self.OTHER))[1] == 0
            pages = [self.config.num_pages << n for n in range(20) if self.config.num_pages << n]
            for page in [p for p in pages if p < 1 << 20]:
                for offset, word in words:
                    answer2 = await host.write(page | self.OTHER, offset, word)
                    assert answer2 == (SLVERR, Cause.BAD_PAGE)
            # They have no status; that of no other page has changed.
            for page in range(self.config.num_pages):
                found = await host.page_status(page)
                assert found == ((0, 0) if page == self.OTHER else (Cause.NOT_OWNER, 3)), page
        assert await self.foreign.callback_return() == (0, 0)
        assert await self.foreign.update_consumer_index(1) == (0, 0)


@pyuvm.test()
class BackToBackTest(RefusalTest):
    """Only one beat of eight bytes at their place is a doorbell (ISO-02): every offset, sizes and
    strobes, bursts that are drained, as fast as they can come; each is answered once and counted,
    and the write after it counts. The log keeps the oldest.
    """

    async def writes(self) -> None:
        host, rng = self.env.host, self.rng("sizes")
        lane, full = 0xFF << (DB & 63), (1 << 64) - 1
        strobes = [lane & ~(1 << bit) for bit in range(8)]
        strobes += [lane | 1 << bit for bit in range(8, 64)]
        strobes += [0xFF << 8 * n for n in range(1, 8)] + [0, full, 0xF, 0xF0, 0xFFFF, lane << 1]
        #: Size, offset, strobes, beats after the first one.
        cases = [(3, o, 0xFF << o % 64, 0) for o in range(0, 4096, 8) if o not in (DB, RETURN)]
        cases += [(3, o + low, 0xFF << o % 64, 0) for o in (DB, RETURN) for low in range(1, 8)]
        cases += [(3, DB, strb, 0) for strb in strobes]
        cases += [(size, DB, lane, 0) for size in range(7)]
        cases += [(size, DB, (1 << (1 << size)) - 1, 0) for size in (0, 1, 2, 4, 5, 6)]
        for length in [*range(1, 16), 16, 32, 64, 128, 255, 7, 255]:
            cases += [(3, DB, lane, length), (3, DB, lane, 0), (3, RETURN, 0xFF << RETURN % 64, 0)]
        for _ in range(600):
            strb = rng.choice((rng.getrandbits(64), lane, 0xFF << 8 * rng.randrange(8)))
            low = rng.choice((0, 0, 4, 1, 8, 16, 56))
            cases.append((rng.randrange(8), DB - DB % 64 + low, strb, 0))
        causes = [self.cause_of(*case) for case in cases]
        steps = Counter(f"CAUSE{int(cause)}" for cause in causes if cause)
        refused = steps.total()
        # The healthy queue has number 0: a return of 0 finds it.
        assert self.good.number == 0
        word = CQ_DB.pack(cons=2, cq=self.good.number)
        async with self.counted(
            DB_OK=len(cases) - refused, DB_REFUSED=refused, LOG_LOST=refused - 17, **steps
        ):
            post = partial(self.env.doorbells.post, self.PAGE)
            answers = [
                post(offset, 0 if offset == RETURN else word, size=size, strb=strb, length=length)
                for size, offset, strb, length in cases
            ]
            for answer, cause in zip(answers, causes, strict=True):
                assert await answer == ((SLVERR if cause else 0), cause)
        assert await host.page_status(self.PAGE) == (causes[-1], refused)
        log = await host.read_log()
        assert log == [self.log_of_refusal(Cause.BAD_OFFSET, self.PAGE, word)] * 17
        # Address long before its data, and the other way round.
        at = self.harness.cycle + 40
        early = post(DB, word, length=3, at=at, data_at=at + 60)
        late = post(DB, word, length=3, at=at + 90, data_at=at + 61)
        assert (await early, await late) == ((SLVERR, Cause.BURST),) * 2
        state = await self.good.query()
        assert (state.cons, state.armed, state.arm_type) == (2, True, ArmType.ERRORS)

    @staticmethod
    def cause_of(size: int, offset: int, strb: int, length: int) -> Cause:
        """What a write to the page deserves."""
        if length:
            return Cause.BURST
        if size < 3 or offset % 8 or strb != 0xFF << offset % 64:
            return Cause.BAD_SIZE
        return {int(DB): Cause.NONE, int(RETURN): Cause.NO_CALLBACK}.get(offset, Cause.BAD_OFFSET)


@pyuvm.test()
class EveryFieldTest(RefusalTest):
    """Reserved bits one by one, arm types without arm, reserved arm codes, numbers with one bit too
    many (ISO-02).
    """

    async def writes(self) -> None:
        async with self.no_effect():
            for cause, offset, word in self.bad_writes():
                await self.refused(cause, self.PAGE, offset, word)

    def bad_writes(self) -> Iterator[tuple[Cause, int, int]]:
        """Cause, offset and word."""
        number = self.good.number
        base, back = CQ_DB.pack(cons=2, cq=number), CB_RETURN.pack(cq=number)
        armed = base | ArmType.ANY << 48 | 1 << 63
        for word, bit in product((base, armed), [*range(self.config.idx_w, 32), *range(52, 63)]):
            yield Cause.RESERVED_BITS, DB, word | 1 << bit
        for code in range(1, 16):
            yield Cause.RESERVED_BITS, DB, base | code << 48
        for code in range(3, 16):
            yield Cause.BAD_ARM_TYPE, DB, base | code << 48 | 1 << 63
        for bit in [*range(32), *range(48, 64)]:
            yield Cause.RESERVED_BITS, RETURN, back | 1 << bit
        for far in {self.config.num_cq, self.config.num_cq << 1, 0x8000, 0xFFFF}:
            yield Cause.BAD_CQ, DB, base | far << 32
            yield Cause.BAD_CQ, RETURN, back | far << 32
