# SPDX-License-Identifier: Apache-2.0
"""Drives tours of deferral (tb/tours/deferral.py) through the pins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial

from tb.env.defs import Cmd, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import Trace
from tb.tours.base import TourTest, word_of
from tb.tours.deferral import BAD, POSTS, key_of
from tb.tours.words import FOREIGN, PEER

_AGE_LIMIT = 2000  # cycles, more than any release by age takes


class DeferralTour(TourTest):
    """One QP and its CQ, which is polled after each action."""

    channel = Channel.WORK

    async def begin(self) -> None:
        env, setup = self.env, self.setup
        self.side = env.transport
        self.side.automatic = False
        eq = await env.host.create_eq(log2=2)
        cq = await env.host.create_cq(eq=eq, log2=3)
        qp = await env.host.create_qp(cq=cq, depth=setup.slots, watermark=setup.watermark)
        await qp.connect(PEER)
        self.qps = [qp]

    def state(self) -> Hashable:
        return key_of(self.board.engine_checks.qpc.qps[self.qp().number], self.stalled)

    def queries(self) -> Iterable[tuple[int, int]]:
        return [(Cmd.QUERY_QP, self.qp().number)]

    async def end(self) -> None:
        """Everything that is outstanding ends."""
        self.env.release_all()
        await self.env.host.command(Cmd.DESTROY_QP, self.qp().number)
        await self.rest()
        await self.report_all()

    # -- actions -----------------------------------------------------------------------------------

    async def _do_post(self, kind: str, deferred: str = "") -> str:
        made = self.qp().make(POSTS[kind].opcode, flags=POSTS[kind].flags, defer=bool(deferred))
        return word_of(await self.qp().post(made))

    async def _do_bad(self, kind: str) -> str:
        bad = BAD[kind]
        return word_of(await self.qp().post(self.qp().make(bad.opcode, flags=bad.flags)))

    async def _do_foreign(self) -> str:
        made = self.qp().make(POSTS["send"].opcode)
        return word_of(await self.qp().post(made, page=FOREIGN))

    async def _do_create(self) -> str:
        return await self.made(partial(self.qp().create, self.setup.watermark))

    async def _do_stray(self) -> str:
        self.env.done.send(*self.stray())
        return ""

    async def _do_age(self) -> str:
        """The age limit is set until it releases."""
        watermark = self.setup.watermark
        await self.qp().modify(watermark=watermark, age=1)
        limit = self.harness.cycle + _AGE_LIMIT
        while not any(isinstance(r, Trace) and r.op == TraceOp.AGE for r in self.seen):
            assert self.harness.cycle < limit, "not released by age"
            await self.harness.cycles(16)
            await self.env.sync()
        await self.qp().modify(watermark=watermark)
        return ""
