# SPDX-License-Identifier: Apache-2.0
"""Smoke test of windows: every verb, both ways of completion, checks with payload, removal."""

from __future__ import annotations

import pyuvm

from models.post.post import Segment
from tb.env.defs import Cause, CqeStatus, CqeType, QpState, Verdict
from tb.env.host.qp import Qp, connect_pair
from tb.tests.common.windowing import ZONE, WindowTest

BUILD = ["engine", "engine_small"]
ICARUS_TESTS = ["WindowSmokeTest"]


@pyuvm.test()
class WindowSmokeTest(WindowTest):
    """NDKPI: Bind, Write, Read, Send, SendAndInvalidate, Invalidate, FastRegister; then a Write by
    the key that is invalid ends the connection and changes no memory.
    """

    manual = False
    reporting = True

    async def scenario(self) -> None:
        host, responder = self.env.host, self.env.transport.responder
        first, second = [
            await self.idle_qp(zone=ZONE, guarded=True, recv_depth=2) for _ in range(2)
        ]
        await connect_pair(first, second)
        responder.enable()
        self.receiver.enable()
        self.receiver.fill = True
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
        # A Send.
        assert (await second.post_recv([local.segment(900, 64)])).accepted
        assert await first.send(data=b"plain") == Cause.NONE
        assert await self.one(second) == CqeType.RECEIVE
        assert await self.one(first) == CqeType.SEND
        assert local.read(900, 5) == b"plain"
        # Invalidation by the peer.
        assert (await second.post_recv([local.segment(0, 64)])).accepted
        assert await first.send_and_invalidate(window.key, data=b"hello") == Cause.NONE
        (result,) = await second.cq.wait_results(1)
        await second.cq.update_consumer_index()
        assert (result.type, result.token) == (CqeType.RECEIVE_AND_INVALIDATE, window.key)
        assert (result.status, result.nbytes) == (0, 5) and local.read(0, 5) == b"hello"
        assert not window.valid and not (await window.query()).valid
        assert await self.one(first) == CqeType.SEND
        fast = await self.allocated(256)
        assert (await fast.fast_register(second)).accepted
        assert await self.one(second) == CqeType.FAST_REGISTER
        shown = await fast.query()
        assert (shown.valid, shown.allocated, shown.qp) == (True, True, second.number), shown
        assert shown.key == fast.key
        assert await fast.invalidate(second) == Cause.NONE
        assert await self.one(second) == CqeType.INVALIDATE
        assert not (await fast.query()).valid
        await fast.deregister()
        region.paint(0)
        assert await first.write(target, segments=[local.segment(0, 100)]) == Cause.NONE
        await self.one(first, CqeStatus.TRANSPORT_ERROR)
        assert responder.judgements[-1].code == Verdict.BAD_KEY
        assert region.read() == bytes(1024)
        await self.demand_state(second, QpState.ERROR)
        await window.close()
        await region.deregister()
        counters = await host.counters()
        names = "CHECKS", "CHECKS_REFUSED", "INVALIDATED"
        assert [counters[name] for name in names] == [3, 1, 2], counters

    async def one(self, qp: Qp, status: int = 0) -> CqeType:
        """The next result."""
        (result,) = await qp.cq.wait_results(1)
        await qp.cq.update_consumer_index()
        assert result.status == status, result
        return CqeType(result.type)
