# SPDX-License-Identifier: Apache-2.0
"""Smoke test of windows: every verb, both ways of completion, checks with payload, removal."""

from __future__ import annotations

import pyuvm

from models.post.post import Segment
from tb.env.defs import Cause, Cmd, CqeStatus, CqeType, QpState, Result, Right, Verdict
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.tests.common.window_smoke import SmokeBase

BUILD = ["engine", "engine_small"]
ICARUS_TESTS = ["WindowSmokeTest", "WindowNd1SmokeTest"]


@pyuvm.test()
class WindowSmokeTest(SmokeBase):
    """NDKPI: Bind, Write, Read, Send, SendAndInvalidate, Invalidate, FastRegister; then a Write by
    the key that is invalid ends the connection and changes no memory.
    """

    async def scenario(self) -> None:
        host, responder = self.env.host, self.env.transport.responder
        first, second = await self.pair()
        region = await self.memory(1024)
        local = await self.memory(1024)
        window = await self.window()
        assert (await window.bind(second, region, 64, 256)).accepted
        assert await self.one(second) == CqeType.BIND
        status = await window.query()
        assert (status.key, status.valid, status.qp) == (window.key, True, second.number), status
        assert (status.base, status.length) == (region.base + 64, 256)
        assert (await region.query()).windows == 1
        local.paint(0x5A)
        target = Segment(region.base + 64, 0, window.key)
        assert await first.write(target, segments=[local.segment(0, 100)]) == Cause.NONE
        assert await self.one(first) == CqeType.WRITE
        assert region.read(64, 100) == b"\x5a" * 100 and region.read(164, 8) == bytes(8)
        parts = [local.segment(512, 40), local.segment(600, 90)]
        assert await first.read(target, segments=parts) == Cause.NONE
        assert await self.one(first) == CqeType.READ
        assert local.read(512, 40) == b"\x5a" * 40
        # Of the 130 bytes read the last 30 were never written.
        assert local.read(600, 90) == b"\x5a" * 60 + bytes(30)
        assert responder.moved == [130, 100]
        await self.exchange(first, second, local)
        # Invalidation by the peer.
        assert (await second.post_recv([local.segment(0, 64)])).accepted
        assert await first.send_and_invalidate(window.key, data=b"hello") == Cause.NONE
        (result,) = await second.cq.wait_results(1)
        await second.cq.update_consumer_index()
        assert (result.type, result.token) == (CqeType.RECEIVE_AND_INVALIDATE, window.key)
        assert (result.status, result.nbytes) == (0, 5) and local.read(0, 5) == b"hello"
        assert not window.valid and not (await window.query()).valid
        assert await self.one(first) == CqeType.SEND
        await self.registered(second)
        region.paint(0)
        assert await first.write(target, segments=[local.segment(0, 100)]) == Cause.NONE
        await self.one(first, CqeStatus.TRANSPORT_ERROR)
        assert responder.judgements[-1].code == Verdict.BAD_KEY
        assert region.read() == bytes(1024)
        await self.demand_state(second, QpState.ERROR)
        await window.close()
        await region.deregister()
        counters = await host.counters()
        assert (counters["CHECKS"], counters["CHECKS_REFUSED"], counters["INVALIDATED"]) == (
            3,
            1,
            2,
        )

    async def exchange(self, first: Qp, second: Qp, local: Region) -> None:
        """A Send."""
        assert (await second.post_recv([local.segment(900, 64)])).accepted
        assert await first.send(data=b"plain") == Cause.NONE
        assert await self.one(second) == CqeType.RECEIVE
        assert await self.one(first) == CqeType.SEND
        assert local.read(900, 5) == b"plain"

    async def registered(self, qp: Qp) -> None:
        """FastRegister and Invalidate of a region."""
        region = await self.allocated(256)
        assert (await region.fast_register(qp)).accepted
        assert await self.one(qp) == CqeType.FAST_REGISTER
        status = await region.query()
        assert (status.valid, status.allocated, status.qp) == (True, True, qp.number), status
        assert status.key == region.key
        assert await region.invalidate(qp) == Cause.NONE
        assert await self.one(qp) == CqeType.INVALIDATE
        assert not (await region.query()).valid
        await region.deregister()


@pyuvm.test()
class WindowNd1SmokeTest(SmokeBase):
    """NetworkDirect 1: two entries; a window on a region by FastRegister; removal."""

    async def scenario(self) -> None:
        host, transport = self.env.host, self.env.transport
        first, second = await self.pair(nd1=True)
        region = await self.allocated(1024)
        other = await self.memory(64)
        window = await self.window(context=0x1234_5678_9ABC)
        await self.fast_register(region, second)
        await self.bind(window, second, region, rights=Right.REMOTE_READ)
        read = Segment(region.base, 0, window.key)
        region.paint(0x33)
        assert await first.read(read, segments=[other.segment(0, 64)]) == Cause.NONE
        assert await self.one(first) == CqeType.READ
        assert other.read() == b"\x33" * 64
        assert (await second.post_recv([other.segment(0, 64)], cookie=77)).accepted
        assert await first.send_and_invalidate(window.key, data=b"hello") == Cause.NONE
        assert await self.one(first) == CqeType.SEND
        await self.rest()
        found = second.cq.get_cq_results()
        await second.cq.update_consumer_index()
        assert [r.request_context for r in found] == [window.context, 77], found
        assert host.window_of(found[0].request_context) is window and not window.valid
        await self.invalidate(second, region.key)
        await host.remove_device()
        assert await self.result(Cmd.CREATE_MW, 1) == Result.DEVICE_REMOVED
        assert await second.send(length=4) == Cause.DEVICE_REMOVED
        check = transport.responder.check
        assert await check(second.number, 1, window.key, region.base, 4) == Verdict.REFUSED
        await self.rest()
        assert sorted(self.terms()) == [(qp.number, int(QpState.ERROR)) for qp in (first, second)]
        await region.deregister()
        await window.close()
        await self.remove(first, second)
