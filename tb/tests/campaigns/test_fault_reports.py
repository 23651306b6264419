# SPDX-License-Identifier: Apache-2.0
"""A transport that loses and doubles its reports (ISO-03, ISO-04, DF-03): a lost report holds up
its own queue pair and nobody else; a doubled one is refused, and nothing completes twice.
"""

from __future__ import annotations

import random
from typing import Any

import pyuvm

from tb.env.defs import Cause, Cmd, Opcode, QpState, Result
from tb.env.harness.records import DoneReport, DoorbellRequest, RecvDone
from tb.sequences import find
from tb.tests.common.pairs import PairsTest
from tb.tests.common.posting import TARGET
from tb.tests.common.soaking import LONG_SEED

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class LostReportsTest(PairsTest):
    """The reports of a send and of a receive never come: everything of that QP waits, its destroy
    stays pending; the other pair works as fast as without it. With the reports it can be removed.
    """

    async def scenario(self) -> None:
        await self.bring_pairs()
        alone = await self.speed()
        lost = self.qps[0]
        self.env.transport.hold(0)
        self.env.transport.receiver.hold(0)
        assert (await lost.post_recv([self.region.segment(0, 64)])).accepted
        for _ in range(3):
            assert await lost.post(lost.make(Opcode.WRITE, length=8, target=TARGET)) == 0
        assert (await self.env.transport.receiver.request(0, 8)).taken
        together = await self.speed()
        assert together <= alone + 32, f"{together} cycles instead of {alone}"
        assert await self.result(Cmd.DESTROY_QP, 0) == Result.PENDING
        await self.harness.cycles(10_000 if self.env.seed >= LONG_SEED else 1000)
        await self.speed()
        assert await self.result(Cmd.DESTROY_QP, 0) == Result.PENDING
        assert lost.cq.get_cq_results() == [], "completed without a report"
        assert (await lost.query()).state == QpState.DESTROYING
        self.env.transport.release(0)
        self.env.transport.receiver.release(0)
        await self.env.drain()
        assert await self.result(Cmd.DESTROY_QP, 0) == Result.OK
        assert len(lost.cq.get_cq_results()) == 4
        self.checking.facts.counts["lost_reports"] = 4

    async def speed(self) -> int:
        """Cycles from the first of some posts of the other pair to its last completion."""
        self.env.transport.latency = (5, 5)
        qps = [self.qps[2], self.qps[3]]
        await self.env.drain()
        for qp in qps:
            qp.cq.get_cq_results()
            assert await qp.cq.update_consumer_index() == (0, 0)
        depth = qps[0].depth
        mark, begin = len(self.seen), self.harness.cycle + 40
        for _ in range(depth):
            for qp in qps:
                qp.queue(qp.make(Opcode.WRITE, length=8, target=TARGET), at=begin)
        await self.env.drain()
        assert len(self.of(DoorbellRequest, mark)) == 2 * depth
        for qp in qps:
            assert len(qp.cq.get_cq_results()) == depth
        return max(r.cycle for r in self.of(DoneReport, mark)) - begin


def double(agent: Any, rng: random.Random) -> list[int]:
    """From now on half of an agent's reports are sent again, at once or later; returns those."""
    send, recent, doubled = agent.send_raw, list[int](), list[int]()

    def send_raw(data: int, **options: Any) -> None:
        send(data, **options)
        if rng.random() < 0.5:
            recent[:] = [*recent[-7:], data]
            doubled.append(rng.choice((data, rng.choice(recent))))
            send(doubled[-1], **options)

    agent.send_raw = send_raw
    return doubled


@pyuvm.test()
class DoubledReportsTest(PairsTest):
    """Random posts and receives, half of whose reports come twice: each second one is refused and
    counted, and completes nothing.
    """

    async def scenario(self) -> None:
        env, rng = self.env, self.rng("doubled")
        doubled = [double(agent, rng) for agent in (env.done, env.rdone)]
        small = self.config.num_qp < 16
        long = env.seed >= LONG_SEED
        rates = {"rate": 0.3, "recv_rate": 0.2, "message_rate": 0.2}
        sequence: Any = find("receive_traffic")(
            env, duration=8000 if long else 2500, chunk=32 if small else 64, **rates
        )
        await sequence.run()
        await env.drain()
        counters = await env.host.counters()
        done, rdone = (len(reports) for reports in doubled)
        assert done > 5 and rdone > 5, (done, rdone)
        assert counters["DONE_REFUSED"] == done, counters
        # Requests are refused here, too.
        assert counters["RECV_REFUSED"] >= rdone, counters
        seen = {kind: len(self.of(kind)) for kind in (DoneReport, RecvDone)}
        assert counters["DONE"] == seen[DoneReport] - done
        assert counters["RECV_DONE"] == seen[RecvDone] - rdone
        self.checking.facts.counts["refused_reports"] = done + rdone


@pyuvm.test()
class DoubledErrorTest(PairsTest):
    """A report says success, then, once more, failure: the second changes nothing; and the other
    way round.
    """

    async def scenario(self) -> None:
        await self.bring_pairs()
        env, qp = self.env, self.qps[0]
        env.transport.automatic = False
        for first, second in ((0, 2), (2, 0), (2, 2)):
            assert await qp.post(qp.make(Opcode.WRITE, length=8, target=TARGET)) == 0
            await env.drain(32)
            (request,) = env.transport.outstanding(0)
            env.transport.report(0, first)
            env.done.send(0, request.tag, second)
            await env.drain()
            (entry,) = await env.host.read_log()
            assert (entry.cause, entry.object) == (Cause.DONE_UNEXPECTED, 0), entry
            assert [r.status for r in qp.cq.get_cq_results_ex()] == [first]
            state = (await qp.query()).state
            assert state == (QpState.ERROR if first else QpState.CONNECTED), state
            if first:
                await qp.reset()
                await qp.connect(1)
        assert await env.host.counter("DONE_REFUSED") == 3
