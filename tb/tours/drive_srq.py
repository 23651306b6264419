# SPDX-License-Identifier: Apache-2.0
"""Drives tours of receive queues (tb/tours/srq.py) through the pins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from tb.env.agents.control import CommandError
from tb.env.defs import TERM, Cmd, CqeStatus, QpState, Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import Interrupt, TermRequest
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.tours.base import TourTest, word_of
from tb.tours.graph import Outcome
from tb.tours.srq import BAD, FOREIGN, NAMES, PEER, SIZE, key_of

_QP_COMMANDS: dict[str, tuple[int, ...]] = {
    "connect": (Cmd.CONNECT_QP, PEER),
    "idle": (Cmd.SET_QP_STATE, QpState.IDLE),
    "pending": (Cmd.SET_QP_STATE, QpState.DISCONNECT_PENDING),
    "flush": (Cmd.FLUSH_QP,),
    "destroy": (Cmd.DESTROY_QP,),
}


class SrqTour(TourTest):
    """One SRQ or one own queue; each QP has a CQ, which is polled after each action."""

    shared = True
    qps = 2
    first = 0  #: watermark that is set at first

    async def begin(self) -> None:
        env, host = self.env, self.env.host
        self._receiver = env.transport.receiver
        self._receiver.automatic = False
        eq = await host.create_eq(log2=2)
        self._stalled = False
        self._qps: list[Qp] = []
        if self.shared:
            self._srq = await host.create_srq(size=SIZE)
            self._srq.auto_reap = False
            self._reaped = self._srq.index
        for _ in range(self.qps):
            cq = await host.create_cq(eq=eq, log2=3)
            if self.shared:
                qp = await host.create_qp(cq=cq, srq=self._srq)
            else:
                qp = await host.create_qp(cq=cq, recv_depth=SIZE)
            await qp.connect(PEER)
            self._qps.append(qp)
        if self.first:
            await self._srq.set_lw(self.first)

    def state(self) -> Hashable:
        rc = self.board.engine_checks.rc
        srq = rc.srqs[self._srq.number if self.shared else 0]
        return key_of(srq, rc.rqs[: self.qps], self.shared, self._stalled)

    def queries(self) -> Iterable[tuple[int, int]]:
        shared = [(Cmd.QUERY_SRQ, self._srq.number)] if self.shared else []
        return [*shared, *((Cmd.QUERY_QP, qp.number) for qp in self._qps)]

    async def end(self) -> None:
        """What was taken is reported."""
        self.env.release_all()
        for qp in self._qps:
            while self._receiver.outstanding(qp.number):
                self._receiver.report(qp.number, status=0)
                await self.rest()

    # -- actions -----------------------------------------------------------------------------------

    async def act(self, action: str) -> str:
        word, *rest = action.split()
        if word in _QP_COMMANDS:
            code, *args = _QP_COMMANDS[word]
            return await self.result(code, self._qp(rest[0]).number, *args)
        answer: str = await getattr(self, f"_do_{word}")(*rest)
        return answer

    def followed(self) -> Outcome:
        """Completions, terminate requests, watermark events."""
        done = []
        for name, qp in zip(NAMES, self._qps, strict=False):
            results = qp.cq.get_cq_results()
            done += [f"done {name} {CqeStatus(result.status).name}" for result in results]
            if results:
                qp.cq.post_consumer_index()
        terms = [f"term {QpState(TERM['state'].get(t.data)).name}" for t in self.of(TermRequest)]
        # No CQ is armed: there are no others.
        return (*done, *terms, *["watermark"] * len(self.of(Interrupt)))

    def _qp(self, name: str) -> Qp:
        return self._qps[NAMES.index(name)]

    async def _do_post(self, kind: str = "") -> str:
        queue: ReceiveQueue = self._srq if self.shared else self._qps[0]
        segments = BAD.segments if kind == "bad" else ()
        page = FOREIGN if kind == "foreign" else None
        return word_of((await queue.post_recv(segments, page=page)).cause)

    async def _do_take(self, name: str, length: int = 0) -> str:
        return (await self._receiver.request(self._qp(name).number, length)).code.name

    async def _do_long(self, name: str) -> str:
        return await self._do_take(name, 1)

    async def _do_report(self, name: str, status: str) -> str:
        self._receiver.report(self._qp(name).number, status=int(status))
        return ""

    async def _do_stray(self, name: str) -> str:
        """A report for the buffer behind the oldest one that was not reported."""
        number = self._qp(name).number
        waiting = self._receiver.outstanding(number)
        tag = waiting[0].tag + 1 if waiting else 0
        self.env.rdone.send(number, tag & self.index_mask)
        return ""

    async def _do_event(self, name: str) -> str:
        self.env.transport.disconnect(self._qp(name).number)
        return ""

    async def _do_create(self, name: str) -> str:
        await self._qp(name).create()
        return "OK"

    async def _do_reap(self, count: str) -> str:
        polled = self._srq.index
        index = polled + 1 if count == "beyond" else self._reaped + int(count)
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
        try:
            self._reaped = await self._srq.create()
        except CommandError as error:
            return Result(error.command.result).name
        return "OK"

    async def _do_stall(self) -> str:
        return self._stall(True)

    async def _do_go(self) -> str:
        return self._stall(False)

    def _stall(self, on: bool) -> str:
        self._stalled = on
        self.harness.hold(Channel.IRQ, on)
        return ""
