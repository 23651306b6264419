# SPDX-License-Identifier: Apache-2.0
"""Drives tours of memory windows (tb/tours/window.py) through the pins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from tb.env.defs import Cause, Cmd, QpState, Right
from tb.env.host.regions import MemoryWindow, Region
from tb.tours.base import TourTest, word_of
from tb.tours.window import (
    CHECKS,
    GENERATION,
    LENGTH,
    PART,
    REGION_RIGHTS,
    RIGHTS,
    SIZE,
    WINDOWS,
    ZONE,
    key_of,
)
from tb.tours.words import NAMES


class WindowTour(TourTest):
    """Two guarded QPs, each with a CQ and a receive queue of its own."""

    async def begin(self) -> None:
        env, host = self.env, self.env.host
        env.transport.receiver.automatic = False
        eq = await host.create_eq(log2=2)
        for number in range(len(NAMES)):
            cq = await host.create_cq(eq=eq, log2=3)
            two = self.setup.nd1 and number == 1
            qp = await host.create_qp(
                cq=cq, depth=2, recv_depth=1, zone=ZONE, guarded=True, nd1=two
            )
            await qp.connect(number)
            self.qps.append(qp)
        base = env.memory.allocate(LENGTH)
        self._region = Region(host, 0, base, LENGTH, ZONE, int(REGION_RIGHTS))
        self._windows = {w: MemoryWindow(host, n, ZONE) for n, w in enumerate(WINDOWS)}
        for number, window in enumerate(self._windows.values()):
            window.key = 0x800 | number

    def state(self) -> Hashable:
        board = self.board
        table = board.engine_checks.kc.model.table
        qps = [board.engine_checks.qpc.qps[qp.number] for qp in self.qps]
        return key_of(table, qps, self.setup.windows, table.removed)

    def queries(self) -> Iterable[tuple[int, int]]:
        windows = [(Cmd.QUERY_MW, number) for number in range(self.setup.windows)]
        return [(Cmd.QUERY_MR, 0), *windows, *((Cmd.QUERY_QP, qp.number) for qp in self.qps)]

    def polled(self) -> None:
        """Also, the latest keys are known."""
        super().polled()
        table = self.board.engine_checks.kc.model.table
        there = (*table.windows[: len(WINDOWS)], table.regions[0])
        for held, one in zip((*self._windows.values(), self._region), there, strict=True):
            if one is not None:
                held.key = one.key

    # -- actions -----------------------------------------------------------------------------------

    def _key(self, name: str, old: str = "") -> int:
        """The present or latest key of an object, or the one before it."""
        key = self._region.key if name == "r" else self._windows[name].key
        return (key - GENERATION) % (1 << 32) if old else key

    async def _do_register(self) -> str:
        return await self.made(self._region.register)

    async def _do_allocate(self) -> str:
        return await self.made(self._region.allocate)

    async def _do_create(self, name: str) -> str:
        return await self.made(self._windows[name].create)

    async def _do_deregister(self) -> str:
        return await self.result(Cmd.DEREGISTER_MR, 0)

    async def _do_close(self, name: str) -> str:
        return await self.result(Cmd.CLOSE_MW, self._windows[name].number)

    async def _do_remove(self) -> str:
        return await self.result(Cmd.REMOVE_DEVICE, 0)

    async def _do_bind(self, name: str, window: str, old: str = "") -> str:
        qp, mw = self.qp(name), self._windows[window]
        token = self._key(window, old)
        post = mw.make_bind(qp, self._region, PART, SIZE, Right(RIGHTS), token=token)
        return word_of(await qp.post(post))

    async def _do_fast(self, name: str, _: str) -> str:
        qp = self.qp(name)
        return word_of(await qp.post(self._region.make_fast_register(qp)))

    async def _do_invalidate(self, name: str, what: str, old: str = "") -> str:
        qp = self.qp(name)
        return word_of(await qp.invalidate(self._key(what, old)))

    async def _do_peer(self, name: str, what: str, old: str = "") -> str:
        """A SendAndInvalidate arrives; there is a buffer if the QP is connected."""
        qp, receiver = self.qp(name), self.env.transport.receiver
        table = self.board.engine_checks.kc.model.table
        connected = self.board.engine_checks.qpc.qps[qp.number].state == QpState.CONNECTED
        if connected and not table.removed:
            assert (await qp.post_recv()).cause == Cause.NONE
        token = self._key(what, old)
        answer = await receiver.request(qp.number, 0, invalidate=True, token=token)
        await self.rest()
        if answer.taken:
            receiver.report(qp.number, status=0)
        return answer.code.name

    async def _do_check(self, name: str, what: str, kind: str, old: str = "") -> str:
        access, offset, length = CHECKS[kind]
        address = self._region.base + offset
        key = self._key(what, old)
        responder = self.env.transport.responder
        number = self.qp(name).number
        return (await responder.check(number, access, key, address, length)).name

    async def _do_revive(self, name: str) -> str:
        number = self.qp(name).number
        idle = await self.result(Cmd.SET_QP_STATE, number, QpState.IDLE)
        return f"{idle} {await self.result(Cmd.CONNECT_QP, number, number)}"

    async def _do_new(self, name: str) -> str:
        return await self.made(self.qp(name).create)
