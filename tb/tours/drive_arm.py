# SPDX-License-Identifier: Apache-2.0
"""Drives tours of arms (tb/tours/arm.py) through the pins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from tb.env.defs import CQ_DB, ArmType, Cmd, CqeStatus, PageReg, QpState, RecvFlag
from tb.tours.arm import LOG2, key_of
from tb.tours.base import TourTest, word_of
from tb.tours.words import FOREIGN


class ArmTour(TourTest):
    """One CQ with an EQ of its own, whose writes memory answers when the tour says so."""

    async def begin(self) -> None:
        env = self.env
        env.transport.latency = env.transport.receiver.latency = (1, 1)
        env.transport.inject = lambda _: self._status
        self._status: int | None = None
        self._eq = await env.host.create_eq(log2=2)
        env.mem.hold_eq(self._eq.number)
        await self._create()

    async def _create(self) -> None:
        host, setup = self.env.host, self.setup
        self._cq = await host.create_cq(
            eq=self._eq, log2=LOG2, typed=setup.typed, rearm_old=setup.rearm
        )
        self.env.mem.hold_cq(self._cq.number)
        self._qp = await host.create_qp(
            cq=self._cq, recv_depth=2, recv_flag=RecvFlag.SOLICITED_WAIT
        )
        await self._qp.connect(self._qp.number)
        self._told = 0

    def state(self) -> Hashable:
        engine, cq = self.board.ctx.engine, self._cq.number
        return key_of(engine.cqs[cq], engine.producers[cq], engine.info[cq].answered)

    def queries(self) -> Iterable[tuple[int, int]]:
        return [(Cmd.QUERY_CQ, self._cq.number)]

    async def end(self) -> None:
        self.env.release_all()

    # -- actions -----------------------------------------------------------------------------------

    async def _bell(self, index: int, arm: ArmType | None = None) -> str:
        index &= self.index_mask
        if arm is None:
            return word_of((await self._cq.update_consumer_index(index))[1])
        return word_of((await self._cq.arm(arm, index=index))[1])

    async def _do_arm(self, what: str, code: str = "") -> str:
        written = self.board.ctx.engine.cqs[self._cq.number].written
        if what == "beyond":
            return await self._bell(written + 1, ArmType.ANY)
        if what == "foreign":
            return word_of((await self._cq.arm(ArmType.ANY, page=FOREIGN))[1])
        if what == "code":
            word = CQ_DB.pack(cq=self._cq.number, arm=1, arm_type=int(code), cons=self._told)
            return word_of((await self.env.host.write(self._cq.page, PageReg.CQ_DB, word))[1])
        return await self._bell(self._told, ArmType[what])

    async def _do_take(self, count: str, _: str = "", kind: str = "") -> str:
        self._cq.get_cq_results(int(count))
        self._told += int(count)
        return await self._bell(self._told, ArmType[kind] if kind else None)

    async def _do_return(self) -> str:
        return word_of((await self._cq.callback_return())[1])

    async def _do_acknowledge(self, event: str = "") -> str:
        mem = self.env.mem
        axi_id = mem.id_of(eq=self._eq.number) if event else mem.id_of(cq=self._cq.number)
        mem.release_id(axi_id)
        # The answer that was held goes out; those to later writes are held again.
        mem.hold_id(axi_id)
        return "OK"

    async def _do_plain(self) -> str:
        return word_of(await self._qp.send())

    async def _do_failed(self) -> str:
        """A Send that fails; the queue pair is connected again."""
        self._status = CqeStatus.TRANSPORT_ERROR
        answer = await self._do_plain()
        await self.rest()
        self._status = None
        if answer == "OK":
            assert await self._qp.set_state(QpState.IDLE) == 0
            await self._qp.connect(self._qp.number)
        return answer

    async def _do_solicited(self) -> str:
        return await self._receive(True)

    async def _do_unsignalled(self) -> str:
        return await self._receive(False)

    async def _receive(self, solicited: bool) -> str:
        posted = await self._qp.post_recv()
        if posted.accepted:
            receiver = self.env.transport.receiver
            await receiver.request(self._qp.number, 0, solicited=solicited)
        return word_of(posted.cause)

    async def _do_lost(self) -> str:
        """A Send whose entry is not written; memory answers at once."""
        self.env.mem.fail(cq=self._cq.number, rule=0)
        answer = await self._do_plain()
        await self.rest()
        self.env.mem.clear_fault(0)
        await self._do_acknowledge()
        return answer

    async def _do_destroy(self, used: str = "") -> str:
        number = self._cq.number
        if not used and self._qp.number in self.env.host.qps:
            await self._qp.destroy()
        answer = await self.result(Cmd.DESTROY_CQ, number)
        if answer == "OK":
            self.env.host.cqs.pop(number)
            self.env.mem.release_cq(number)
        return answer

    async def _do_create(self) -> str:
        await self._create()
        return "OK"
