# SPDX-License-Identifier: Apache-2.0
"""Receive posts: what each is answered, on a QP's own queue and on an SRQ (SRQ-01, SRQ-12, SRQ-15,
SRQ-19); segments and the regions that they name: order, keys, zones, rights; registration.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any, NamedTuple

import pyuvm

from models.post.post import Segment
from models.receive.receive_post import RESERVED, RecvPost
from tb.env.defs import Cause, Cmd, CqStatus, PageReg, Result, Right
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue, Srq, posted
from tb.env.host.regions import Region
from tb.tests.common.engine import EngineTest
from tb.tests.common.posting import OK
from tb.tests.common.receive_segments import ZONE, SegmentTest
from tb.tests.common.receiving import NOT_READY

BUILD = ["engine", "engine_small"]

FULL = (1 << 64) - 1
TOP = 1 << 64
LONGEST = (1 << 48) - 1
M32 = (1 << 32) - 1


class Fault(NamedTuple):
    """A fault, what it is answered through the own and the shared portal (None: there is none), and
    the name of its uDAPL result (None: no driver makes it).
    """

    name: str
    own: int | None
    shared: int | None
    result: str | None


#: docs/receive.md, SRQ-15, in order of precedence.
FAULTS = (
    Fault("burst", 0x01, 0x01, None),
    Fault("size", 0x02, 0x02, None),
    Fault("page", 0x03, 0x03, None),
    Fault("number", 0x0D, 0x18, "DAT_INVALID_HANDLE"),
    Fault("missing", 0x0E, 0x19, "DAT_INVALID_HANDLE"),
    Fault("foreign", 0x09, 0x09, "DAT_INVALID_HANDLE"),
    Fault("reserved", 0x05, 0x05, "DAT_INVALID_PARAMETER"),
    Fault("segments", 0x11, 0x11, "DAT_INVALID_PARAMETER"),
    Fault("region", 0x1A, 0x1A, "DAT_PRIVILEGES_VIOLATION"),
    Fault("zone", 0x1B, 0x1B, "DAT_PROTECTION_VIOLATION"),
    Fault("rights", 0x1C, 0x1C, "DAT_PRIVILEGES_VIOLATION"),
    Fault("range", 0x1D, 0x1D, "DAT_INVALID_PARAMETER"),
    Fault("state", 0x1E, None, "DAT_INVALID_STATE"),
    Fault("full", 0x14, 0x14, "DAT_INSUFFICIENT_RESOURCES"),
    Fault("cq", 0x15, None, "DAT_INSUFFICIENT_RESOURCES"),
    Fault("credit", 0x16, None, "DAT_INSUFFICIENT_RESOURCES"),
)
#: Faults that the queue has, not the write.
OF_QUEUE = ("state", "full", "cq", "credit")
#: No write has both.
EXCLUSIVE = ({"number", "missing"}, {"page", "foreign"})
SITUATIONS: tuple[tuple[str, ...], ...] = (
    *((), ("state",), ("full",), ("cq",), ("credit",)),
    *combinations(OF_QUEUE, 2),
)


@pyuvm.test()
class ReturnCodesTest(EngineTest):
    """SRQ-15: each fault alone, and every two of them together; nothing else happens: the QP's
    request that is held stays so (DF-10), and leaves receives alone.
    """

    async def scenario(self) -> None:
        #: By zone and right: good, each wrong, both wrong.
        self.regions = {
            (zone, right): await self.env.host.register(
                64, zone=ZONE ^ zone, rights=Right.REMOTE_READ if right else Right.LOCAL_WRITE
            )
            for zone in (0, 1)
            for right in (0, 1)
        }
        srq = await self.env.host.create_srq(size=1, zone=ZONE)
        await self.matrix(srq, ())
        await self.supply(srq, 1, 0)
        await self.matrix(srq, ("full",))
        for faults in SITUATIONS:
            qp, others = await self.situation(faults)
            await self.matrix(qp, faults)
            if faults == ("full", "cq"):
                # Nor is the buffer taken that is there (CQ-17).
                assert await self.code(qp, 0) == NOT_READY
            if {"state", "full"} <= set(faults):
                self.settle(qp)
            await self.rest(32)
            for one in (qp, *others):
                await one.destroy()
            await self.rest(32)
            await qp.cq.destroy()
        # The post that the matrix spoils is a good one.
        qp = await self.qp(log2=2, recv_depth=2, zone=ZONE)
        held, mark = await self.hold(qp, 1), self.mark
        posts = await self.accept_recv(qp, [self.good(qp), self.good(qp)])
        await self.serve(qp, [post.context for post in posts], [48, 0])
        assert self.beats(qp, mark) == []
        assert await qp.post(replace(self.write_post(qp), opcode=0)) == Cause.BAD_OPCODE
        await self.rest()
        self.demand_beats(qp, held, mark)
        self.report(qp)
        await self.demand_results(qp, held, OK)
        await self.remove(qp)

    async def situation(self, faults: tuple[str, ...]) -> tuple[Qp, list[Qp]]:
        """A connected QP whose queue has these faults and that holds a request, if it can, and
        others on its CQ.
        """
        # Two entries are gone if there is no credit.
        short = 1 if "credit" in faults else 3
        qp = await self.qp(log2=short, recv_depth=1, depth=1, zone=ZONE)
        other = await self.qp(share=qp, recv_depth=2)
        holds = not {"state", "cq"} & set(faults)
        if holds:
            await self.hold(qp, 1)
        if "full" in faults:
            await self.supply(qp, 1, 0)
            if "state" in faults:
                await self.take(qp, 0)
        else:
            await self.supply(other, 1, 0)
        if "cq" in faults:
            # The entry of this one cannot be written.
            self.env.mem.fail(cq=qp.cq.number)
            await self.harness.cycles(4)
            await self.accept(other, [self.local_post(other)])
            await self.rest(32)
            assert (await qp.cq.query()).status == CqStatus.INTERNAL_ERROR
        elif "credit" in faults and not holds:
            await self.supply(other, 1, 0)
        if "state" in faults:
            await qp.flush()
        return qp, [other]

    def good(self, queue: ReceiveQueue) -> RecvPost:
        """A post with three segments in the good region."""
        region = self.regions[0, 0]
        return queue.make_recv([region.segment(0, 16)] * 3)

    async def matrix(self, queue: ReceiveQueue, of_queue: tuple[str, ...]) -> None:
        """Posts to a queue with these faults of its own."""
        shared = queue.portal == PageReg.SRQ_RECV
        faults = [f for f in FAULTS if (f.shared if shared else f.own) is not None]
        of_write = [f.name for f in faults if f.name not in OF_QUEUE]
        sets: list[tuple[str, ...]] = [(name,) for name in of_write]
        if not of_queue:
            sets += [p for p in combinations(of_write, 2) if set(p) not in EXCLUSIVE]
        else:
            sets.append(())
        before = await self.states()
        mark = self.mark
        for names in sets:
            together = {*names, *of_queue}
            first = next(fault for fault in faults if fault.name in together)
            post, options = self.spoiled(queue, names)
            answer = await queue.queue_recv(post, **options)
            what = f"{queue.portal.name}, {sorted(together)}"
            assert answer == (2, first.shared if shared else first.own), f"{what}: {answer}"
            result = posted(answer).result
            assert (result and result.value) == first.result, f"{what}: {result}"
        await self.rest(32)
        assert self.effects(mark) == []
        assert await self.states() == before

    def spoiled(
        self, queue: ReceiveQueue, names: tuple[str, ...]
    ) -> tuple[RecvPost, dict[str, Any]]:
        """A good post with these faults in its second segment and in the write."""
        region: Region = self.regions["zone" in names, "rights" in names]
        segment = region.segment(64, 1) if "range" in names else region.segment(63, 1)
        if "region" in names:
            segment = segment._replace(key=segment.key + 0x1000)
        post = self.good(queue)
        post = replace(post, slots=(post.slots[0], segment.encode(), post.slots[2]))
        spoilt: dict[str, dict[str, Any]] = {
            "burst": {"length": 1},
            "size": {"strb": FULL ^ 1 << 63},
            "page": {"page": self.config.num_pages},
            "foreign": {"page": 1},
        }
        options = {k: v for name in names for k, v in spoilt.get(name, {}).items()}
        number = post.number
        if "number" in names:
            number |= 0x8000
        if "missing" in names:
            number = (self.config.num_srq if isinstance(queue, Srq) else self.config.num_qp) - 1
        count = 4 if "segments" in names else 3
        reserved = 1 << 63 if "reserved" in names else 0
        return replace(post, number=number, num_segments=count, reserved=reserved), options


@pyuvm.test()
class FieldsTest(EngineTest):
    """Each reserved bit, and each number of segments that there cannot be (SRQ-01)."""

    allow = ("no_posts", "no_receives")

    async def scenario(self) -> None:
        own, srq = await self.own(), await self.env.host.create_srq()
        bits = [bit for bit in range(64) if RESERVED >> bit & 1]
        assert bits == [*range(8), *range(16, 32), *range(48, 64)]
        for queue in (own, srq):
            post = queue.make_recv()
            cases = [(replace(post, reserved=1 << bit), Cause.RESERVED_BITS) for bit in bits]
            many = Cause.TOO_MANY_SEGMENTS
            cases += [(replace(post, num_segments=n), many) for n in range(4, 256)]
            await self.causes(queue, cases)


# -- segments --------------------------------------------------------------------------------------


@pyuvm.test()
class VectorOrderTest(SegmentTest):
    """The first failing segment in vector order counts, whatever is after it; a segment without
    bytes and a slot that is not used are not checked.
    """

    async def scenario(self) -> None:
        await self.setup()
        host = self.env.host
        good = await host.register(64, zone=ZONE)
        alien = await host.register(64, zone=ZONE ^ 0x8000, rights=Right.REMOTE_READ)
        closed = await host.register(64, zone=ZONE, rights=Right.REMOTE_READ)
        #: A segment, and what it is answered.
        kinds = (
            (good.segment(), Cause.NONE),
            (Segment(TOP - 1, 0, M32), Cause.NONE),
            (Segment(closed.base, 0, closed.key), Cause.NONE),
            (Segment(good.base, 1, good.key + 0x1000), Cause.BAD_REGION),
            (alien.segment(1, 64), Cause.BAD_ZONE),
            (closed.segment(1, 64), Cause.NO_LOCAL_WRITE),
            (good.segment(1, 64), Cause.BAD_RANGE),
        )
        for count in range(4):
            cases = []
            for chosen in product(kinds, repeat=count):
                first = next((cause for _, cause in chosen if cause), Cause.NONE)
                cases.append(([segment for segment, _ in chosen], first))
            await self.judge(cases)
        # What lies in unused slots does not count.
        for queue, legal in self.targets:
            bad = queue.make_recv([kinds[3][0]] * 3)
            for count in range(4):
                post = type(bad)(bad.number, count, 5, bad.slots)
                cause = Cause.BAD_REGION if count else legal
                assert await queue.queue_recv(post) == (2, cause)
        # Without bytes: accepted, and the next segment is filled.
        own = await self.qp(recv_depth=1, zone=ZONE, log2=2)
        for place in range(3):
            segments = [good.segment(0, 8)] * 3
            segments[place] = Segment(TOP - 1, 0, M32)
            (post,) = await self.accept_recv(own, [own.make_recv(segments)])
            await self.filled(own, post, 16)


@pyuvm.test()
class RightsTest(SegmentTest):
    """Every bit of a zone and every set of rights."""

    async def scenario(self) -> None:
        await self.setup()
        zones = (ZONE, *(ZONE ^ 1 << bit for bit in range(16)), ZONE ^ 0xFFFF, 0)
        cases = [(z, Right.LOCAL_WRITE, Cause.BAD_ZONE if z != ZONE else Cause.NONE) for z in zones]
        for rights in map(Right, (*range(4), 5, 7)):  # remote write asks for local write
            cause = Cause.NONE if rights & Right.LOCAL_WRITE else Cause.NO_LOCAL_WRITE
            cases.append((ZONE, rights, cause))
        for zone, rights, cause in cases:
            region = await self.env.host.register(8, number=0, zone=zone, rights=rights)
            beyond = ([region.segment(1, 8)], cause or Cause.BAD_RANGE)
            await self.judge([([region.segment()], cause), beyond])
            await region.deregister()


@pyuvm.test()
class KeysTest(SegmentTest):
    """A key is good for one registration: not before, not after, not for another region; what was
    posted before the end of its region stays posted.
    """

    async def scenario(self) -> None:
        await self.setup()
        host = self.env.host
        count = self.config.num_mr
        own = await self.qp(recv_depth=2, zone=ZONE, log2=3)
        number = count - 1
        base = host.env.memory.allocate(64)
        old: list[int] = []
        for life in range(1, 6):
            key = number | life << 12
            other = Segment(base, 8, key)
            await self.judge([([other], Cause.BAD_REGION)])
            region = await host.register(64, number=number, base=base, zone=ZONE)
            assert region.key == key
            assert (await region.query()).key == key
            cases = [([other], Cause.NONE)]
            wrong = {key ^ 1 << bit for bit in range(32)} | {0, M32, number, *old}
            cases += [([Segment(base, 8, k)], Cause.BAD_REGION) for k in sorted(wrong)]
            await self.judge(cases)
            posts = await self.accept_recv(own, [own.make_recv([region.segment()])] * 2)
            await self.filled(own, posts[0])
            await region.deregister()
            old.append(key)
            await self.judge([([other], Cause.BAD_REGION)])
            assert (await own.post_recv([other])).cause == Cause.BAD_REGION
            # The second buffer is taken when its region is gone.
            await self.filled(own, posts[1])
        # Another region in its place, with the same number: another zone, and it counts.
        region = await host.register(8, number=number, base=0, zone=0)
        await self.judge([([Segment(0, 1, region.key)], Cause.BAD_ZONE)])
        await self.judge([([Segment(base, 8, k)], Cause.BAD_REGION) for k in old])


@pyuvm.test()
class RegionCommandsTest(SegmentTest):
    """The shortest and the longest region, at both ends of the address space; regions that end with
    it, and 2^k bytes after it for each k; rights that there cannot be. A query tells what was
    registered; refused registrations use no key.
    """

    allow = ("no_traffic", "no_posts", "no_receives")

    async def scenario(self) -> None:
        for rights in (4, 6):  # remote write, and no local write
            answer = await self.result(Cmd.REGISTER_MR, 1, 0, 0, 8, 0, rights << 16)
            assert answer == Result.BAD_FLAG
        lives = 0
        for base, length, result in (
            *((TOP - (1 << k), 1 << k, Result.OK) for k in range(48)),
            *((TOP - 1, (1 << k) + 1, Result.BAD_RANGE) for k in range(48)),
            *((0, 0, Result.BAD_RANGE), (TOP - 1, 0, Result.BAD_RANGE), (0, 1, Result.OK)),
            *((TOP - 1, 1, Result.OK), (TOP - 1, 2, Result.BAD_RANGE)),
            *((TOP - 2, 2, Result.OK), (TOP - 2, 3, Result.BAD_RANGE)),
            *((0, LONGEST, Result.OK), (TOP - LONGEST, LONGEST, Result.OK)),
            *((TOP - LONGEST + 1, LONGEST, Result.BAD_RANGE), (1, 1 << 47, Result.OK)),
            *((TOP - (1 << 32), 1 << 32, Result.OK), (TOP - 1, LONGEST, Result.BAD_RANGE)),
            *((TOP - (1 << 32), (1 << 32) + 1, Result.BAD_RANGE), (1 << 63, 1 << 47, Result.OK)),
        ):
            words = (base & M32, base >> 32, length & M32, length >> 32, 1 << 16)
            assert await self.result(Cmd.REGISTER_MR, 1, *words) == result, (base, length)
            if result == Result.OK:
                outs = (await self.env.host.command(Cmd.QUERY_MR, 1)).outs
                assert outs[1:6] == words
                assert await self.result(Cmd.DEREGISTER_MR, 1) == Result.OK
                lives += 1
            else:
                assert await self.result(Cmd.QUERY_MR, 1) == Result.NO_OBJECT
        region = await self.env.host.register(1, number=1)
        assert region.key == 1 | lives + 1 << 12
