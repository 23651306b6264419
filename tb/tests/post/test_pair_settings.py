# SPDX-License-Identifier: Apache-2.0
"""Settings and counts of queue pairs, shared receive queues and regions: what a command sets, a
query tells bit for bit, as the scoreboard judges, and each count up to its largest value and back.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import MR, QP_HOLDS, Cmd, Result
from tb.env.host.cq import Cq
from tb.env.host.qp import Qp
from tb.tests.common.engine import EngineTest
from tb.tests.common.posting import CANCELED

BUILD = ["engine"]

M16, M32, M48, M64 = ((1 << n) - 1 for n in (16, 32, 48, 64))
#: Cycles until one has seen that a request is held.
LOOK = 200


def both(bits: int) -> list[int]:
    """Numbers with one bit set, and with one missing."""
    ones = [1 << bit for bit in range(bits)]
    return ones + [(1 << bits) - 1 ^ one for one in ones]


@pyuvm.test()
class PairBitsTest(EngineTest):
    """DF-01, DF-09: watermark, age limit, peer, zone and page of a QP: each bit alone, each one
    missing, on the first and the last number; the peer outlives a change of the other two.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        host, config, rng = self.env.host, self.config, self.rng("order")
        words, peers = both(32), both(24)
        last = config.num_pages - 1
        for number in (0, config.num_qp - 1):
            eq = await host.create_eq(page=last ^ number & last)
            cq = await host.create_cq((config.num_cq - 1) ^ number, eq=eq)
            qp = await host.create_qp(number, cq=cq, zone=M16 ^ number, recv_depth=1)
            for word in rng.sample(words, len(words)):
                await self.holds(qp, word)
            for peer in rng.sample(peers, len(peers)):
                await qp.connect(peer)
                for word in rng.sample(words, 2):
                    await self.holds(qp, word)
                await qp.flush()
                await qp.reset()
            await self.created(qp, cq, rng.sample(both(16), 32))

    async def holds(self, qp: Qp, word: int) -> None:
        """Sets watermark and age limit."""
        await qp.query()
        await qp.modify(**QP_HOLDS.unpack(word))
        await qp.query()

    async def created(self, qp: Qp, cq: Cq, zones: list[int]) -> None:
        """What only CREATE_QP sets: zone, context, depths."""
        config = self.config
        for turn, zone in enumerate(zones):
            await qp.destroy()
            depth, recv = 1 << turn % (config.sq_log2 + 1), 1 << turn % (config.rq_log2 + 1)
            words = [
                cq.number * 0x1_0001,
                cq.page | depth << 16,
                (zone ^ turn) << 16 | zone,
                zone | recv << 16,
                [0, 0x0200_0000, 0x0400_0000, 0x1000_0000][turn % 4] | (turn >> 2) % 4 << 17,
            ]
            created = await self.result(Cmd.CREATE_QP, qp.number, zone, ~zone & M32, *words)
            assert created == Result.OK
            await qp.query()


@pyuvm.test()
class HoldingBitsTest(EngineTest):
    """DF-02, DF-03: each bit of watermark and age limit counts: with it and the lowest one a
    request is held, and without it it is released at once or in time. Ages that are over before
    one could see it held are left out; where ticks are long none is.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        tick = self.config.mod_tick
        for bit in both(16)[1:16]:
            for watermark, age in ((1 | bit, 0), (0, 1 | bit)):
                if age and age * tick < LOOK:
                    continue
                await qp.modify(watermark=watermark, age=age)
                posts = await self.hold(qp, 1, watch=False)
                if age:
                    await self.harness.cycles(3 * tick if bit > 4 else tick // 2)
                status = await qp.query()
                held = status.tail != status.released
                assert held, f"watermark {watermark:#x}, age {age:#x}"
                await qp.flush()
                await self.demand_results(qp, posts, CANCELED)
                await self.reconnect(qp)
        for watermark, age in ((1, 0), (0, 1)):
            await qp.modify(watermark=watermark, age=age)
            posts = await self.accept(qp, [self.write_post(qp, defer=True)])
            await self.harness.cycles(4 * tick)
            await self.done(qp, posts)


@pyuvm.test()
class SharedBitsTest(EngineTest):
    """SRQ-12, SRQ-16: zone, vector, page, size and watermark of an SRQ, each bit alone and missing;
    the number of its users from none to all QPs and back, of each SRQ.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        host, config, rng = self.env.host, self.config, self.rng("order")
        full, last = 1 << config.srq_log2, config.num_pages - 1
        words = rng.sample(both(16), 32)
        for number in (0, config.num_srq - 1):
            for zone, vector in zip(words, reversed(words), strict=True):
                srq = await host.create_srq(
                    number, size=1, page=zone & last, zone=zone, vector=vector
                )
                await srq.status()
                await srq.free()
        srqs = [await host.create_srq(n, size=1) for n in range(config.num_srq)]
        for srq in srqs[:1] + srqs[-1:]:
            for size in rng.sample(range(1, full + 1), min(full, 16)):
                await srq.resize(size)
                await srq.status()
            await srq.resize(full)
            for bit in range(config.srq_log2 + 1):
                for mark in (1 << bit, full - 1 ^ (1 << bit & full - 1)):
                    await srq.set_lw(mark)
                    await self.rest()
                    await srq.status()
            await srq.set_lw(0)
        cq = await self.queue(0)
        for srq in srqs:
            qps: list[Qp] = []
            while len(qps) < config.num_qp:
                qps.append(await host.create_qp(cq=cq, srq=srq, context=len(qps)))
                await self.uses(srq.number, len(qps))
            while qps:
                await qps.pop(rng.randrange(len(qps))).destroy()
                await self.uses(srq.number, len(qps))
            assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.OK
            await srq.create()

    async def uses(self, number: int, count: int) -> None:
        """Users of one SRQ; the others have none. What is in use can not be destroyed."""
        for other in range(self.config.num_srq):
            await self.result(Cmd.QUERY_SRQ, other)
        if count:
            assert await self.result(Cmd.DESTROY_SRQ, number) == Result.IN_USE


@pyuvm.test()
class RegionBitsTest(EngineTest):
    """MW-01: base, length, zone and rights of a region, each bit alone and missing."""

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        last = self.config.num_mr - 1
        for bit in range(64):
            one, few = 1 << bit, 1 << (bit % 48)
            zone, rights = 1 << bit % 16, (0, 1, 2, 3, 5, 7)[bit % 6]
            # Not beyond 2^64: a large length where the base is far from there.
            many = M48 ^ few if bit < 63 else few
            for number, base, length, zone_, rights_ in (
                (bit & last, one, many, M16 ^ zone, rights),
                (~bit & last, M64 ^ one, few, zone, rights ^ 2),
            ):
                words = [base & M32, base >> 32, length & M32, length >> 32]
                words.append(MR.pack(zone=zone_, rights=rights_))
                for code in (Cmd.REGISTER_MR, Cmd.QUERY_MR, Cmd.DEREGISTER_MR):
                    given = words if code == Cmd.REGISTER_MR else ()
                    assert await self.result(code, number, *given) == Result.OK
