# SPDX-License-Identifier: Apache-2.0
"""Smoke test of posting: queue pairs connected with each other, a few posts of each verb, their
completions, and the ways out.
"""

from __future__ import annotations

import pyuvm

from models.post.post import Segment
from tb.env.base_test import CarillonTest
from tb.env.defs import Cause, CqeStatus, CqeType, Opcode, QpState
from tb.env.host.qp import Qp, connect_pair

BUILD = ["engine", "engine_small"]
ICARUS_TESTS = ["PostSmokeTest"]

TARGET = Segment(0x1234_0000, 0, 0xBEEF)
#: Fields of a post of each verb; type and bytes of its completion.
VERBS = (
    (Opcode.BIND, {"token": 5, "length": 64}, CqeType.BIND, 0),
    (Opcode.FAST_REGISTER, {"token": 6, "length": 4096}, CqeType.FAST_REGISTER, 0),
    (Opcode.INVALIDATE, {"token": 7}, CqeType.INVALIDATE, 0),
    (Opcode.READ, {"target": TARGET, "length": 300}, CqeType.READ, 300),
    (Opcode.SEND, {"length": 100, "solicit": True}, CqeType.SEND, 100),
    (Opcode.SEND_AND_INVALIDATE, {"token": 9, "data": b"goodbye"}, CqeType.SEND, 7),
    (Opcode.WRITE, {"target": TARGET, "length": 1 << 20}, CqeType.WRITE, 1 << 20),
)


class _PostTest(CarillonTest):
    async def pair(self) -> tuple[Qp, Qp]:
        """Two QPs of one page, connected, each with a CQ of its own."""
        host = self.env.host
        assert self.env.config is not None
        log2 = min(4, self.env.config.max_log2)
        eq = await host.create_eq(log2=log2)
        first = await host.create_qp(cq=await host.create_cq(eq=eq, log2=log2))
        second = await host.create_qp(cq=await host.create_cq(eq=eq, log2=log2))
        await connect_pair(first, second)
        return first, second


@pyuvm.test()
class PostSmokeTest(_PostTest):
    """Each verb from both sides, an error, flush, re-connection, destruction."""

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        qps = await self.pair()
        for qp in qps:
            status = await qp.query()
            assert (status.state, status.peer) == (QpState.CONNECTED, 1 - qp.number)
            assert (status.page, status.depth, status.cq) == (0, qp.depth, qp.cq.number)
        for opcode, fields, kind, nbytes in VERBS:
            posts = [qp.make(opcode, **fields) for qp in qps]
            for qp, post in zip(qps, posts, strict=True):
                assert await qp.post(post) == Cause.NONE
            for qp, post in zip(qps, posts, strict=True):
                (result,) = await qp.cq.wait_results(1)
                assert (result.request_context, result.qp_context) == (post.context, qp.context)
                assert (result.type, result.nbytes, result.status) == (kind, nbytes, 0)
                assert await qp.cq.update_consumer_index() == (0, 0)

        # What was sent has arrived at the peer.
        for qp in qps:
            send, last = env.transport.arrived[qp.number]
            assert (send.source, send.length, send.solicited) == (1 - qp.number, 100, True)
            assert (last.data, last.token) == (b"goodbye", 9)

        # Many at once, one of them silent.
        first, second = qps
        answers = first.queue_many(first.make(Opcode.SEND, silent=n == 1) for n in range(3))
        assert [(await answer).cause for answer in answers] == [0, 0, 0]
        found = await first.cq.wait_results(2)
        assert [result.request_context & 0xFFFF for result in found] == [7, 9]
        await first.cq.update_consumer_index()

        # A transport error ends the connection of this side only.
        env.transport.inject = lambda _: CqeStatus.TRANSPORT_ERROR
        assert await first.send() == Cause.NONE
        env.transport.inject = None
        (result,) = await first.cq.wait_results(1)
        assert result.status == CqeStatus.TRANSPORT_ERROR
        await first.cq.update_consumer_index()
        assert (await first.query()).state == QpState.ERROR
        assert env.transport.terminated == [(first.number, QpState.ERROR)]
        assert await first.send() == Cause.NOT_CONNECTED
        await first.reset()
        await first.connect(second)
        assert await first.send() == Cause.NONE
        (result,) = await first.cq.wait_results(1)
        assert result.status == 0

        # Ways out.
        await first.flush()
        assert (await first.query()).state == QpState.ERROR
        await second.disconnect()
        assert (await second.query()).state == QpState.DISCONNECTED
        assert await host.read_log() != []
        for qp in qps:
            await qp.destroy()
            await qp.cq.destroy()


@pyuvm.test()
class PostLoopTest(_PostTest):
    """Posts one per cycle, reported by the harness."""

    async def scenario(self) -> None:
        env = self.env
        first, _ = await self.pair()
        env.transport.loopback(latency=3, mask=0xFFFF, match=11, status=7)
        statuses = []
        for _ in range(3):
            answers = first.queue_many(first.make(Opcode.WRITE, length=8) for _ in range(4))
            assert [(await answer).cause for answer in answers] == [0] * 4
            statuses += [result.status for result in await first.cq.wait_results(4)]
            await first.cq.update_consumer_index()
        assert statuses == [0] * 11 + [7]
        assert (await first.query()).state == QpState.ERROR
