# SPDX-License-Identifier: Apache-2.0
"""One window's life, step by step, as docs/walk_of_a_window.md tells it. Each step logs the time in
which it happened; scripts/draw_walk.py makes the pictures of that page from the waves.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pyuvm
from cocotb.utils import get_sim_time

from models.post.post import Segment
from tb.env.base_test import CarillonTest
from tb.env.defs import Cause, CheckKind, CqeStatus, CqeType, QpState, Right, Verdict
from tb.env.host.qp import Qp, connect_pair
from tb.env.host.regions import Region

BUILD = ["engine"]
ICARUS_TESTS = ["WindowWalkTest"]

_ZONE = 5
_CONTEXT = 0xA11CE


@pyuvm.test()
class WindowWalkTest(CarillonTest):
    """Create, bind, granted, refused elsewhere, SendAndInvalidate, old key refused, bind on another
    QP, close.
    """

    async def scenario(self) -> None:
        host, transport, memory = self.env.host, self.env.transport, self.env.memory
        transport.latency = transport.receiver.latency = (1, 4)
        transport.receiver.enable()
        transport.receiver.fill = True
        transport.responder.enable()
        eq = await host.create_eq(log2=4)
        # QP 0 gives to QP 1, QP 2 gives to QP 3.
        qps: list[Qp] = []
        for number in range(4):
            cq = await host.create_cq(eq=eq, log2=6)
            qps.append(await host.create_qp(number, cq=cq, zone=_ZONE, guarded=True, recv_depth=4))
        giver, taker, other, stranger = qps
        await connect_pair(giver, taker)
        await connect_pair(other, stranger)
        rights = Right.LOCAL_WRITE
        region = await host.register(4096, zone=_ZONE, rights=rights)
        source = await host.register(64, zone=_ZONE)
        source.paint(0xA5)
        await self.env.drain()

        async with self.step("create"):
            window = await host.create_window(7, zone=_ZONE, context=_CONTEXT)
        assert not (await window.query()).valid

        async with self.step("bind"):
            assert (await window.bind(giver, region, 256, 128, Right.REMOTE_WRITE)).accepted
            assert (await giver.cq.wait_results(1))[0].status == 0
        first = window.key

        async with self.step("granted"):
            assert await self.write(taker, region.base + 256, first, source) == CqeStatus.SUCCESS
        assert memory.read(region.base + 256, 64) == b"\xa5" * 64

        async with self.step("elsewhere"):
            status = await self.write(stranger, region.base + 320, first, source)
            assert status == CqeStatus.TRANSPORT_ERROR
        assert transport.responder.judgements[-1].code == Verdict.WRONG_QP
        assert memory.read(region.base + 320, 64) == bytes(64)
        assert (await other.query()).state == QpState.ERROR

        async with self.step("invalidated"):
            assert (await giver.post_recv([region.segment(0, 64)])).accepted
            assert await taker.send_and_invalidate(first, data=b"thanks") == Cause.NONE
            result = (await giver.cq.wait_results(1))[0]
        assert (result.type, result.token) == (CqeType.RECEIVE_AND_INVALIDATE, first)
        await taker.cq.wait_results(1)
        assert not (await window.refresh()).valid

        async with self.step("old_key"):
            status = await self.write(taker, region.base + 320, first, source)
            assert status == CqeStatus.TRANSPORT_ERROR
        assert transport.responder.judgements[-1].code == Verdict.BAD_KEY
        assert memory.read(region.base + 320, 64) == bytes(64)

        for qp in (other, stranger):
            await qp.set_state(QpState.DISCONNECTED)
            await qp.reset()
        await connect_pair(other, stranger)
        await self.env.drain()
        async with self.step("another"):
            assert (await window.bind(other, region, 256, 128, Right.REMOTE_WRITE)).accepted
            assert (await other.cq.wait_results(1))[0].status == 0
            code = await transport.responder.check(
                other.number, CheckKind.WRITE, window.key, region.base + 256, 128
            )
        assert code == Verdict.GRANTED
        assert window.key != first

        async with self.step("close"):
            await window.close()
            code = await transport.responder.check(
                other.number, CheckKind.WRITE, window.key, region.base + 256, 1
            )
        assert code == Verdict.BAD_KEY

    async def write(self, qp: Qp, address: int, key: int, source: Region) -> int:
        """A Write to the peer's memory; returns its status."""
        there = Segment(address, 64, key)
        assert await qp.write(there, segments=[source.segment()]) == Cause.NONE
        return (await qp.cq.wait_results(1))[0].status

    @asynccontextmanager
    async def step(self, name: str) -> AsyncIterator[None]:
        """One step of the walk, from rest to rest."""
        await self.env.drain()
        begin = int(get_sim_time("ps"))
        yield
        await self.env.sync()
        self.logger.info("walk %s: %d to %d ps", name, begin, int(get_sim_time("ps")))
