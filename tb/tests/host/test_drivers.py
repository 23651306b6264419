# SPDX-License-Identifier: Apache-2.0
"""The reference driver in C, with registers, doorbells and memory served here."""

from __future__ import annotations

import ctypes
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pyuvm

from models.post.post import Segment
from tb.env.defs import LOG0, LOG1, ArmType, Cause, CqeType, Kind, PostFlag, Right
from tb.env.harness.records import Interrupt, WorkBeat
from tb.env.host.c_driver import CHost
from tb.env.host.driver import LogEntry
from tb.tests.common.directed import DirectedTest

BUILD = "engine"

EQ, CQ, VECTOR, ZONE = 1, 2, 0x21, 5
CONTEXT = 0xC0DE_0000_0000_0000
RIGHTS = Right.LOCAL_WRITE | Right.REMOTE_READ | Right.REMOTE_WRITE
KEY_STEP = 1 << 12
OKAY = (0, Cause.NONE)
LIMIT = 20_000


@pyuvm.test()
class CDriverTest(DirectedTest):
    """ISO-02: the driver of sw/. Each scenario begins with two guarded QPs connected with each
    other, one CQ for both, and a region, and ends with the removal of everything.
    """

    #: Interrupts that were waited for.
    heard = 0

    async def scenario(self) -> None:
        receiver, responder = self.env.transport.receiver, self.env.transport.responder
        receiver.enable()
        receiver.fill = True
        responder.enable()
        host = self.host = CHost(self.env)
        plays = (self.post_and_poll, self.deferred_chain, self.arm_and_callback, self.receive)
        for play in (*plays, self.window):
            self.logger.info(play.__name__)
            await host.bring_up()
            self.eq = await host.create_eq(EQ, vector=VECTOR, log2=1)
            self.cq = await host.create_cq(CQ, eq=self.eq, log2=3)
            options: dict[str, Any] = {"depth": 4, "recv_depth": 4, "zone": ZONE, "guarded": True}
            self.qps = [
                await host.create_qp(n, cq=self.cq, context=CONTEXT | n, **options) for n in (0, 1)
            ]
            for number, qp in enumerate(self.qps):
                await qp.connect(1 - number)
            self.region = await host.register(256, zone=ZONE, rights=RIGHTS)
            await play()
            await self.told()
            for qp in self.qps:
                await qp.destroy()
            await self.region.deregister()
            await self.cq.destroy()
            await host.destroy_eq(self.eq)
        await host.bring_up()
        await self.set_up_at_once()

    # -- helpers -----------------------------------------------------------------------------------

    async def run_loop(self, wanted: int) -> list[Any]:
        """The driver loop of docs/driver.md."""
        results = (self.host.structs["result_ex"] * wanted)()
        wait = self.host.waiter(self.interrupted)
        await self.host.do("loop", self.eq.c, self.cq.c, results, wanted, wait)
        return list(results)

    async def told(self) -> None:
        assert await self.cq.update_consumer_index() == OKAY

    async def until(self, look: Callable[[], Awaitable[Sequence[Any]]], count: int) -> list[Any]:
        """Looks until so many were found; no more come."""
        end = self.harness.cycle + LIMIT
        found: list[Any] = []
        while len(found) < count:
            assert self.harness.cycle < end, f"{len(found)} of {count}"
            await self.harness.cycles(16)
            await self.env.sync()
            found += await look()
        await self.env.drain()
        found += await look()
        assert len(found) == count, found
        return found

    async def interrupted(self) -> None:
        """Sleeps until an interrupt has come for each call."""
        end = self.harness.cycle + LIMIT
        while len(self.of(Interrupt)) <= self.heard:
            assert self.harness.cycle < end, "no interrupt"
            await self.harness.cycles(16)
            await self.env.sync()
        self.heard += 1

    async def buffers(self, *cookies: int) -> None:
        """Receive buffers of 64 bytes on the second QP."""
        for number, cookie in enumerate(cookies):
            posted = await self.qps[1].post_recv([self.region.segment(64 * number, 64)], cookie)
            assert posted.cause == Cause.NONE

    # -- the scenarios -----------------------------------------------------------------------------

    async def post_and_poll(self) -> None:
        """Inline results, plain polls; more results than the ring has entries."""
        for turn in range(3):
            await self.buffers(0x91, 0x92)
            for number in (0, 1):
                assert await self.qps[0].send(context=number, data=b"hello") == Cause.NONE
            found = await self.until(self.cq.get_cq_results, 4)
            seen = sorted((r.request_context, r.qp_context, r.nbytes, r.status) for r in found)
            assert seen == [
                *((n, CONTEXT, 5, 0) for n in (0, 1)),
                *((n, CONTEXT | 1, 5, 0) for n in (0x91, 0x92)),
            ], (turn, seen)
            await self.told()
        flag = PostFlag.RDMA_READ_SINK
        assert await self.qps[0].send(context=7, data=b"", flags=flag) == Cause.BAD_FLAGS

    async def deferred_chain(self) -> None:
        """Two requests are held; the third one releases all, as one batch, in order."""
        mark = len(self.seen)
        for number in (0, 1):
            cause = await self.qps[0].send(context=number, data=b"", flags=PostFlag.DEFER)
            assert cause == Cause.NONE
        await self.until(self.cq.get_cq_results, 0)
        assert self.of(WorkBeat, mark) == []
        await self.buffers(0x91, 0x92, 0x93)
        assert await self.qps[0].send(context=2, data=b"") == Cause.NONE
        found = await self.until(self.cq.get_cq_results, 6)
        assert [beat.last for beat in self.of(WorkBeat, mark)] == [False, False, True]
        sent = [result.request_context for result in found if result.qp_context == CONTEXT]
        assert sent == [0, 1, 2]

    async def arm_and_callback(self) -> None:
        """One arm, one callback; the next one waits for the return."""
        await self.buffers(0x91, 0x92)
        assert await self.cq.callback_return() == (2, Cause.NO_CALLBACK)
        assert await self.cq.arm(ArmType.ANY) == OKAY
        assert await self.qps[0].send(context=0, data=b"a") == Cause.NONE
        (called,) = await self.until(self.eq.events, 1)
        assert (called.cq, called.status) == (CQ, 0) and called.snap in (1, 2), called
        await self.until(self.cq.get_cq_results, 2)
        assert await self.cq.arm(ArmType.ANY) == OKAY
        assert await self.qps[0].send(context=1, data=b"b") == Cause.NONE
        await self.until(self.eq.events, 0)
        assert await self.cq.callback_return() == OKAY
        (called,) = await self.until(self.eq.events, 1)
        assert called.snap == 4, called
        await self.until(self.cq.get_cq_results, 2)
        assert await self.cq.callback_return() == OKAY

    async def receive(self) -> None:
        """What is sent lies in the buffer; a buffer outside the region is refused."""
        await self.buffers(0x91)
        outside = [self.region.segment(250, 64)]
        assert (await self.qps[1].post_recv(outside, 0x92)).cause == Cause.BAD_RANGE
        assert await self.qps[0].send(context=3, data=b"payload") == Cause.NONE
        found = await self.until(self.cq.get_cq_results_ex, 2)
        seen = sorted((r.request_context, r.nbytes, r.status, r.type, r.token) for r in found)
        assert seen == [(3, 7, 0, CqeType.SEND, 0), (0x91, 7, 0, CqeType.RECEIVE, 0)]
        assert self.region.read(0, 8) == b"payload\0"

    async def window(self) -> None:
        """Bound, written through by the peer, invalidated: its key is known without asking."""
        window = await self.host.create_window(zone=ZONE, context=0x3130)
        key = window.key + KEY_STEP
        posted = await window.bind(self.qps[1], self.region, 64, 64, context=1)
        assert posted == (Cause.NONE, key)
        await self.done(1, CqeType.BIND)
        self.region.paint(0)
        self.env.memory.write(self.region.base, b"\x5a" * 64)
        target, source = Segment(self.region.base + 64, 0, key), [self.region.segment(0, 64)]
        assert await self.qps[0].write(target, context=2, segments=source) == Cause.NONE
        await self.done(2, CqeType.WRITE)
        assert self.region.read(64, 65) == b"\x5a" * 64 + b"\0"
        assert await self.qps[1].invalidate(key, context=3) == Cause.NONE
        await self.done(3, CqeType.INVALIDATE)
        await window.close()

    async def done(self, context: int, kind: CqeType) -> None:
        """The next result, with success."""
        (result,) = await self.until(self.cq.get_cq_results_ex, 1)
        assert (result.request_context, result.status, result.type) == (context, 0, kind), result

    async def set_up_at_once(self) -> None:
        """All objects by one call; a resize; errors of the log."""
        c, self.heard = self.host, len(self.of(Interrupt))
        pair = c.structs["pair"]()
        await c.do("set_up", pair, c.device, VECTOR, c.used_memory(1024))
        self.eq.c, self.cq.c = pair.eq, pair.cq
        self.qps[0].c, self.qps[1].c = pair.first, pair.second
        await self.message(1)
        assert len(await self.run_loop(2)) == 2
        # Results in the ring before a resize, and in the one after it.
        await self.message(2)
        await self.env.drain()
        await c.do("resize_cq", pair.cq, c.used_memory(32 << 5), 5)
        await self.message(3)
        found = await self.until(self.cq.get_cq_results, 4)
        assert [result.request_context for result in found] == [2, 2, 3, 3], found
        await self.told()
        await self.error()
        for qp in self.qps:
            await qp.destroy()
        await self.cq.destroy()
        await c.destroy_eq(self.eq)

    async def message(self, context: int) -> None:
        """A Send without data."""
        assert (await self.qps[1].post_recv([], context)).cause == Cause.NONE
        assert await self.qps[0].send(context=context, data=b"") == Cause.NONE

    async def error(self) -> None:
        """Errors of the log, oldest first; the last one is that of a refused post."""
        cause = await self.qps[0].send(context=7, data=b"", flags=PostFlag.RDMA_READ_SINK)
        words = (ctypes.c_uint32 * 1)(), (ctypes.c_uint32 * 1)()
        while await self.host.call("take_error", self.host.device, *words):
            first, second = LOG0.unpack(words[0][0]), LOG1.unpack(words[1][0])
            entry = LogEntry(first["cause"], first["kind"], first["object"], second["detail"])
            self.env.host.logged.append(entry)
        assert entry == LogEntry(cause, Kind.QP, 0, 0) and cause == Cause.BAD_FLAGS
