# SPDX-License-Identifier: Apache-2.0
"""Drives tours of receive queues (tb/tours/srq.py) through the pins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from tb.env.defs import Cmd
from tb.env.harness.harness import Channel
from tb.env.host.recv import ReceiveQueue
from tb.tours.base import TourTest, word_of
from tb.tours.srq import BAD, SIZE, key_of
from tb.tours.words import FOREIGN, PEER


class SrqTour(TourTest):
    """One SRQ or one own queue; each QP has a CQ, which is polled after each action."""

    channel = Channel.IRQ

    async def begin(self) -> None:
        env, host, setup = self.env, self.env.host, self.setup
        self.side = env.transport.receiver
        self.side.automatic = False
        eq = await host.create_eq(log2=2)
        self.shared = setup.shared
        if self.shared:
            self._srq = await host.create_srq(size=SIZE)
            self._srq.auto_reap = False
            self._reaped = self._srq.index
        queue = {"srq": self._srq} if self.shared else {"recv_depth": SIZE}
        for _ in range(setup.qps):
            cq = await host.create_cq(eq=eq, log2=3)
            self.qps.append(await host.create_qp(cq=cq, **queue))
            await self.qps[-1].connect(PEER)
        if setup.first:
            await self._srq.set_lw(setup.first)

    def state(self) -> Hashable:
        rc = self.board.engine_checks.rc
        srq = rc.srqs[self._srq.number if self.shared else 0]
        return key_of(srq, rc.rqs[: len(self.qps)], self.shared, self.stalled)

    def queries(self) -> Iterable[tuple[int, int]]:
        shared = [(Cmd.QUERY_SRQ, self._srq.number)] if self.shared else []
        return [*shared, *((Cmd.QUERY_QP, qp.number) for qp in self.qps)]

    async def end(self) -> None:
        """What was taken is reported."""
        self.env.release_all()
        await self.report_all()

    # -- actions -----------------------------------------------------------------------------------

    async def _do_post(self, kind: str = "") -> str:
        queue: ReceiveQueue = self._srq if self.shared else self.qp()
        segments = BAD.segments if kind == "bad" else ()
        page = FOREIGN if kind == "foreign" else None
        return word_of((await queue.post_recv(segments, page=page)).cause)

    async def _do_take(self, name: str, length: int = 0) -> str:
        return (await self.side.request(self.qp(name).number, length)).code.name

    async def _do_long(self, name: str) -> str:
        return await self._do_take(name, 1)

    async def _do_stray(self, name: str) -> str:
        self.env.rdone.send(*self.stray(name))
        return ""

    async def _do_create(self, name: str) -> str:
        return await self.made(self.qp(name).create)

    async def _do_reap(self, count: str) -> str:
        index = self._srq.index + 1 if count == "beyond" else self._reaped + int(count)
        index &= self.index_mask
        answer = word_of((await self._srq.reap(index))[1])
        if answer == "OK":
            self._reaped = index
        return answer

    async def _do_watermark(self, threshold: str) -> str:
        return await self.result(Cmd.SET_SRQ_WATERMARK, self._srq.number, int(threshold))

    async def _do_resize(self, size: str) -> str:
        return await self.result(Cmd.RESIZE_SRQ, self._srq.number, int(size))

    async def _do_free(self) -> str:
        return await self.result(Cmd.DESTROY_SRQ, self._srq.number)

    async def _do_new(self) -> str:
        answer = await self.made(self._srq.create)
        if answer == "OK":
            self._reaped = self._srq.index
        return answer
