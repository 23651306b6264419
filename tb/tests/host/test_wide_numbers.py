# SPDX-License-Identifier: Apache-2.0
"""Objects under every number and with settings of any value, and as many of them at once as there
are: queue pairs on every completion queue, connections that all end at once, keys that are all
valid on one queue pair.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cmd, QpState, Result
from tb.tests.common.engine import EngineTest
from tb.tests.common.posting import CANCELED, OK
from tb.tests.common.receiving import LENGTH, Want

BUILD = ["engine", "engine_small", "engine_deep"]

#: At least so many QPs, so that bits of their settings differ.
_LIVES = 16


@pyuvm.test()
class EveryQueueTest(EngineTest):
    """CQ-17, DF-01, SRQ-02: each CQ is the send CQ of a QP and the receive CQ of another, which
    receives from a queue of its own or from an SRQ. Queries say what was set, work names the peer,
    entries come to the CQ that was named, and arguments that a command does not have do not matter.
    """

    async def scenario(self) -> None:
        config, host, rng = self.config, self.env.host, self.rng("numbers")
        numbers = rng.sample(range(config.num_cq), config.num_cq)
        log2 = min(4, config.max_log2)
        for turn in range(max(_LIVES, config.num_cq)):
            page = rng.randrange(config.num_pages)
            eq = await host.create_eq(rng.randrange(config.num_eq), page=page, log2=log2)
            sends, receives = (numbers[(turn + n) % config.num_cq] for n in range(2))
            cq = await host.create_cq(sends, eq=eq, log2=log2)
            recv_cq = await host.create_cq(receives, eq=eq, log2=log2)
            srq = None
            if turn & 1:
                srq = await host.create_srq(rng.randrange(config.num_srq), page=page)
            qp = await host.create_qp(
                rng.randrange(config.num_qp),
                cq=cq,
                recv_cq=recv_cq,
                depth=rng.randint(1, 1 << config.sq_log2),
                context=rng.getrandbits(64),
                watermark=rng.getrandbits(16),
                age=rng.getrandbits(16),
                recv_depth=0 if srq else rng.randint(1, self.depth),
                srq=srq,
            )
            await qp.connect(rng.getrandbits(24))
            await qp.query()
            post = self.write_post(qp, context=rng.getrandbits(64))
            start = self.mark
            await self.accept(qp, [post])
            self.report(qp)
            await self.demand_results(qp, [post], OK)
            self.demand_beats(qp, [post], start)
            (cookie,) = await self.supply(srq or qp, 1)
            await self.take(qp, LENGTH)
            self.settle(qp)
            await self.demand(qp, [Want(cookie, LENGTH)])
            await qp.flush()
            await qp.destroy()
            if srq:
                await srq.free()
            for queue in (cq, recv_cq):
                # Its further arguments are left as they are: they are none of the other command's.
                words = (rng.getrandbits(32) for _ in range(7))
                assert await self.result(Cmd.QUERY_CQ, queue.number, *words) == Result.OK
                await queue.destroy()
            await host.destroy_eq(eq)


@pyuvm.test()
class EveryConnectionEndsTest(EngineTest):
    """DF-15: all connections end while the transport takes no terminate request: each request
    waits, and comes in the order of the ends. What was held is canceled meanwhile.
    """

    async def scenario(self) -> None:
        qps = [await self.qp() for _ in range(min(self.config.num_qp, self.config.num_cq))]
        held = {qp: await self.hold(qp, 1, watch=False) for qp in qps}
        mark = self.mark
        self.env.term.hold()
        ends = self.rng("order").sample(qps, len(qps))
        for qp in ends:
            await qp.flush()
            await self.demand_results(qp, held[qp], CANCELED)
        # One may stand at the port already.
        assert len(self.terms(mark)) <= 1
        self.env.term.hold(False)
        await self.rest()
        wanted = [(qp.number, int(QpState.ERROR)) for qp in ends]
        assert self.terms(mark) == wanted, f"terminate requests: {self.terms(mark)}"


@pyuvm.test()
class EveryKeyTest(EngineTest):
    """MW-03, MW-05, MW-11: every region and every window is valid on one QP, which can not be
    destroyed before the last of them is invalidated.
    """

    async def scenario(self) -> None:
        config, rng = self.config, self.rng("order")
        qp, other = await self.guarded(), await self.guarded()
        regions = [await self.allocated(64) for _ in range(config.num_mr)]
        windows = [await self.window() for _ in range(config.num_mw)]
        for region in regions:
            await self.fast_register(region, qp)
        for window in windows:
            await self.bind(window, qp, rng.choice(regions))
        keyed = rng.sample(windows, len(windows)) + rng.sample(regions, len(regions))
        assert await self.result(Cmd.DESTROY_QP, other.number) == Result.OK
        for one in keyed:
            assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.IN_USE
            await self.invalidate(qp, one.key)
        assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.OK
