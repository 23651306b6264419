# SPDX-License-Identifier: Apache-2.0
"""Values of every width through every field: addresses, lengths, zones, contexts, cookies, tokens;
each object under every number.
"""

from __future__ import annotations

import pyuvm

from models.post.post import Segment
from tb.env.defs import CheckKind, Opcode, Right
from tb.tests.common.posting import OK
from tb.tests.common.windowing import ALL, GRANTED, READ, WRITE, WindowTest

BUILD = "engine"


@pyuvm.test()
class WideKeysTest(WindowTest):
    """MW-01, MW-10, MW-11: regions anywhere in 64 bits of address with 48 bits of length, windows
    with any context and any part of them, in any zone: queries, checks at the edges and
    completions have each bit.
    """

    async def scenario(self) -> None:
        rng = self.rng("values")
        for number in range(12):
            zone = rng.getrandbits(16)
            qp = await self.guarded(zone=zone, context=rng.getrandbits(64))
            length = max(1, rng.getrandbits(48) >> rng.randrange(0, 48, 7))
            base = rng.randrange((1 << 64) - length)
            region = await self.env.host.register(
                length, number=rng.randrange(self.config.num_mr), base=base, zone=zone, rights=ALL
            )
            status = await region.query()
            assert (status.base, status.length, status.zone) == (base, length, zone), status
            window = await self.env.host.create_window(
                rng.randrange(self.config.num_mw), zone=zone, context=rng.getrandbits(64)
            )
            nbytes = min(length, max(1, rng.getrandbits(31)))
            offset = rng.randrange(length - nbytes + 1)
            await self.bind(window, qp, region, offset, nbytes)
            bound = await window.query()
            assert (bound.base, bound.length) == (base + offset, nbytes), bound
            for kind in (READ, WRITE):
                edges = [(0, 1), (nbytes - 1, 1), (0, nbytes), (rng.randrange(nbytes), 1)]
                for start, count in edges:
                    where = base + offset + start
                    code = await self.check(qp, kind, window.key, where, count)
                    assert code == GRANTED, (number, kind, start, count)
            await self.invalidate(qp, window.key)
            fast = await self.env.host.allocate(
                max(1, rng.getrandbits(31)), base=rng.getrandbits(63), zone=zone, rights=ALL
            )
            await self.fast_register(fast, qp)
            await self.demand_verdict(qp, GRANTED, CheckKind.READ, fast.key, fast.base, fast.length)
            await self.invalidate(qp, fast.key)
            await fast.deregister()
            await window.close()
            await region.deregister()
            await qp.flush()
            await self.remove(qp)


@pyuvm.test()
class WideReceivesTest(WindowTest):
    """SRQ-02: buffers anywhere in memory, with any cookie, on every SRQ, and messages of
    any length that fits: the scatter list and the completion have each bit.
    """

    async def scenario(self) -> None:
        rng = self.rng("values")
        for number in range(self.config.num_srq):
            zone = rng.getrandbits(16)
            srq = await self.env.host.create_srq(number, zone=zone)
            region = await self.env.host.register(
                (1 << 48) - 1, base=rng.getrandbits(63), zone=zone, rights=Right.LOCAL_WRITE
            )
            qp = await self.qp(srq=srq, zone=zone, context=rng.getrandbits(64))
            for _ in range(24):
                sizes = [rng.getrandbits(30) for _ in range(3)]
                parts = [region.segment(rng.getrandbits(47), size) for size in sizes]
                result = await srq.post_recv(parts, cookie=rng.getrandbits(64))
                assert result.accepted, result
                nbytes = rng.randrange(sum(sizes) + 1)
                answer = await self.receiver.request(qp.number, nbytes)
                assert answer.taken and answer.nbytes == nbytes, answer
                self.settle(qp)
                (found,) = await qp.recv_cq.wait_results(1)
                assert found.nbytes == nbytes
                await qp.recv_cq.update_consumer_index()


@pyuvm.test()
class WidePostsTest(WindowTest):
    """DF-03, DF-09: requests with any context, address, token and length reach the transport and
    complete bit for bit, from every QP; queries of QPs have what was set.
    """

    async def scenario(self) -> None:
        rng = self.rng("values")
        for number in range(self.config.num_qp):
            page = rng.randrange(self.config.num_pages)
            mark, age = rng.getrandbits(16), rng.getrandbits(16)
            qp = await self.qp(
                number=number,
                page=page,
                zone=rng.getrandbits(16),
                context=rng.getrandbits(64),
                watermark=mark,
                age=age,
            )
            status = await qp.query()
            assert (status.page, status.watermark, status.age) == (page, mark, age), status
            for _ in range(6):
                target = Segment(rng.getrandbits(64), 0, rng.getrandbits(32))
                parts = [
                    Segment(rng.getrandbits(64), rng.getrandbits(30), rng.getrandbits(32))
                    for _ in range(rng.randrange(3))
                ]
                post = qp.make(
                    Opcode.WRITE, segments=parts, target=target, context=rng.getrandbits(64)
                )
                mark = self.mark
                await self.accept(qp, [post])
                self.report(qp, OK)
                await self.demand_results(qp, [post], OK)
                self.demand_beats(qp, [post], mark)
