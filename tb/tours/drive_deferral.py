# SPDX-License-Identifier: Apache-2.0
"""Drives tours of deferral (tb/tours/deferral.py) through the pins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from models.codes import Status
from models.post.post import Post
from tb.env.agents.control import CommandError
from tb.env.defs import TERM, Cmd, QpState, Result, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import TermRequest, Trace, WorkBeat
from tb.tours.base import TourTest, word_of
from tb.tours.deferral import BAD, FOREIGN, PEER, POSTS, key_of, name_of
from tb.tours.graph import Outcome

_AGE_LIMIT = 2000  # cycles, more than any release by age takes


class DeferralTour(TourTest):
    """One QP and its CQ, which is polled after each action."""

    slots = 2
    watermark = 0

    async def begin(self) -> None:
        env = self.env
        env.transport.automatic = False
        eq = await env.host.create_eq(log2=2)
        self._cq = await env.host.create_cq(eq=eq, log2=3)
        self._qp = await env.host.create_qp(cq=self._cq, depth=self.slots, watermark=self.watermark)
        await self._qp.connect(PEER)
        self._stalled = False
        self._names: dict[int, str] = {}

    def state(self) -> Hashable:
        return key_of(self.board.engine_checks.qpc.qps[self._qp.number], self._stalled)

    def queries(self) -> Iterable[tuple[int, int]]:
        return [(Cmd.QUERY_QP, self._qp.number)]

    async def end(self) -> None:
        """Everything that is outstanding ends."""
        self.env.release_all()
        transport, number = self.env.transport, self._qp.number
        await self.env.host.command(Cmd.DESTROY_QP, number)
        await self.rest()
        while transport.outstanding(number):
            transport.report(number, 0)
            await self.rest()

    # -- actions -----------------------------------------------------------------------------------

    async def act(self, action: str) -> str:
        word, *rest = action.split()
        if action in BAD:
            bad = BAD[action][0]
            return word_of(await self._qp.post(self._qp.make(bad.opcode, flags=bad.flags)))
        if word in _COMMANDS:
            code, *args = _COMMANDS[word]
            return await self.result(code, self._qp.number, *args)
        answer: str = await getattr(self, f"_do_{word}")(*rest)
        return answer

    def followed(self) -> Outcome:
        """Work beats, completions, terminate requests."""
        work = [
            f"work {name_of(Post.decode(beat.data))}" + " last" * beat.last
            for beat in self.of(WorkBeat)
        ]
        done = [
            f"done {self._names[result.request_context]} {Status(result.status).name}"
            for result in self._cq.get_cq_results()
        ]
        if done:
            self._cq.post_consumer_index()
        terms = [f"term {QpState(TERM['state'].get(t.data)).name}" for t in self.of(TermRequest)]
        return (*work, *done, *terms)

    async def _do_post(self, kind: str, deferred: str = "") -> str:
        post = POSTS[kind]
        made = self._qp.make(post.opcode, flags=post.flags, defer=bool(deferred))
        self._names[made.context] = kind
        return word_of(await self._qp.post(made))

    async def _do_foreign(self) -> str:
        return word_of(await self._qp.post(self._qp.make(POSTS["send"].opcode), page=FOREIGN))

    async def _do_create(self) -> str:
        try:
            await self._qp.create(self.watermark)
        except CommandError as error:
            return Result(error.command.result).name
        return "OK"

    async def _do_report(self, status: str) -> str:
        self.env.transport.report(self._qp.number, int(status))
        return ""

    async def _do_stray(self) -> str:
        """A report for the request behind the oldest one that was not reported."""
        assert self.env.config is not None
        waiting = self.env.transport.outstanding(self._qp.number)
        tag = waiting[0].tag + 1 if waiting else 0
        self.env.done.send(self._qp.number, tag & (1 << self.env.config.idx_w) - 1)
        return ""

    async def _do_event(self) -> str:
        self.env.transport.disconnect(self._qp.number)
        return ""

    async def _do_age(self) -> str:
        """The age limit is set until it releases."""
        await self._qp.modify(watermark=self.watermark, age=1)
        limit = self.harness.cycle + _AGE_LIMIT
        while not any(step.op == TraceOp.AGE for step in self.of(Trace)):
            assert self.harness.cycle < limit, "not released by age"
            await self.harness.cycles(16)
            await self.env.sync()
        await self._qp.modify(watermark=self.watermark)
        return ""

    async def _do_stall(self) -> str:
        return self._stall(True)

    async def _do_go(self) -> str:
        return self._stall(False)

    def _stall(self, on: bool) -> str:
        self._stalled = on
        self.harness.hold(Channel.WORK, on)
        return ""


_COMMANDS: dict[str, tuple[int, ...]] = {
    "connect": (Cmd.CONNECT_QP, PEER),
    "idle": (Cmd.SET_QP_STATE, QpState.IDLE),
    "pending": (Cmd.SET_QP_STATE, QpState.DISCONNECT_PENDING),
    "disconnect": (Cmd.SET_QP_STATE, QpState.DISCONNECTED),
    "flush": (Cmd.FLUSH_QP,),
    "destroy": (Cmd.DESTROY_QP,),
}
