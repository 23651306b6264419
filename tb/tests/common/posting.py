# SPDX-License-Identifier: Apache-2.0
"""What the directed tests of posting share: queue pairs, reports in exact cycles, and demands on
what was indicated and what completed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from models.post.post import Post, Segment
from models.verbs import VERBS
from tb.env.defs import (
    POST,
    TERM,
    WORK_USER,
    Cause,
    Cmd,
    CqeStatus,
    Opcode,
    QpState,
    TraceOp,
)
from tb.env.harness.records import TermRequest, Trace, WorkBeat
from tb.env.host.qp import Qp
from tb.tests.common.recording import Recording

TARGET = Segment(0x1234_0000, 0, 0xBEEF)
OK = CqeStatus.SUCCESS
CANCELED = CqeStatus.CANCELED
FAILED = CqeStatus.TRANSPORT_ERROR


class Posting(Recording):
    """``manual``: the test reports by itself (:meth:`report`)."""

    manual = True

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self.env.transport.automatic = not self.manual
        self.reports: Counter[int] = Counter()

    # -- queue pairs -------------------------------------------------------------------------------

    async def idle_qp(
        self, *, page: int = 0, log2: int = 6, share: Qp | None = None, **options: Any
    ) -> Qp:
        """A QP that is not connected, with a CQ of its own or that of another."""
        if share is None:
            log2 = min(log2, self.config.max_log2)
            cq = await self.queue(page, reservation=True, log2=log2)
        else:
            cq = share.cq
        return await self.env.host.create_qp(cq=cq, **options)

    async def qp(self, **options: Any) -> Qp:
        """A connected QP; see :meth:`idle_qp`."""
        qp = await self.idle_qp(**options)
        await qp.connect(qp.number ^ 1)
        return qp

    async def reconnect(self, qp: Qp) -> None:
        """A fresh connection; nothing may be outstanding."""
        answer = await self.env.host.command(Cmd.SET_QP_STATE, qp.number, QpState.IDLE)
        assert answer.result == 0, answer
        await qp.connect(qp.number ^ 1)

    async def remove(self, *qps: Qp) -> None:
        """Destroys QPs at rest with their CQs."""
        for qp in qps:
            await qp.destroy()
        for cq in {qp.cq.number: qp.cq for qp in qps}.values():
            await cq.destroy()

    # -- posts -------------------------------------------------------------------------------------

    def write_post(self, qp: Qp, **fields: Any) -> Post:
        """A Write of eight bytes."""
        return qp.make(Opcode.WRITE, length=8, target=TARGET, **fields)

    def read_post(self, qp: Qp, **fields: Any) -> Post:
        """A Read of eight bytes."""
        return qp.make(Opcode.READ, length=8, target=TARGET, **fields)

    def local_post(self, qp: Qp, **fields: Any) -> Post:
        """An Invalidate, which the engine executes itself."""
        return qp.make(Opcode.INVALIDATE, token=3, **fields)

    async def hold(self, qp: Qp, count: int, watch: bool = True) -> list[Post]:
        """Posts that are accepted and held."""
        posts = [self.write_post(qp, defer=True) for _ in range(count)]
        await self.accept(qp, posts)
        if watch:
            status = await qp.query()
            assert (status.tail - status.released) & self.mask == count, status
        return posts

    async def accept(self, qp: Qp, posts: Iterable[Post]) -> list[Post]:
        """Posts back to back; all are accepted."""
        posts = list(posts)
        for answer in qp.queue_many(posts):
            assert (await answer) == (0, Cause.NONE)
        return posts

    # -- the transport -----------------------------------------------------------------------------

    def report(self, qp: Qp, *statuses: int, at: int | None = None) -> None:
        """Reports the oldest requests of a QP, one per cycle; none given: one success."""
        for status in statuses or (0,):
            tag = self.reports[qp.number] & self.mask
            self.reports[qp.number] += 1
            self.env.done.send(qp.number, tag, int(status), at_cycle=at)

    async def done(self, qp: Qp, posts: Sequence[Post]) -> None:
        """These were accepted: what the transport executes is reported, and all succeed."""
        await self.rest(32)
        if remote := sum(not VERBS[post.opcode].local for post in posts):
            self.report(qp, *[OK] * remote)
        await self.demand_results(qp, posts, OK)

    async def through(self, *qps: Qp, **fields: Any) -> None:
        """A Write of each QP succeeds, one after the other."""
        for qp in qps:
            await self.done(qp, await self.accept(qp, [self.write_post(qp, **fields)]))

    # -- demands -----------------------------------------------------------------------------------

    def beats(self, qp: Qp, since: int = 0) -> list[WorkBeat]:
        """Work beats of one QP."""
        return [beat for beat in self.of(WorkBeat, since) if beat.qp == qp.number]

    def demand_beats(
        self, qp: Qp, posts: Sequence[Post], since: int, ends: Iterable[int] | None = None
    ) -> list[WorkBeat]:
        """Exactly these posts were indicated since then, in order, each once, bit by bit; the
        batch ends are ``ends`` (default: the last one only).
        """
        beats = self.beats(qp, since)
        got = [POST["context"].get(beat.data) for beat in beats]
        assert got == [post.context for post in posts], f"QP {qp.number}: {got}"
        assert [beat.data for beat in beats] == [post.encode() for post in posts]
        indices = [WORK_USER["index"].get(beat.user) for beat in beats]
        assert indices == [(indices[0] + n) & self.mask for n in range(len(beats))] or not beats
        last = {len(posts) - 1} if ends is None else set(ends)
        assert {n for n, beat in enumerate(beats) if beat.last} == (last if posts else set())
        for beat, post in zip(beats, posts, strict=True):
            local = VERBS[post.opcode].local
            user = WORK_USER.unpack(beat.user)
            assert not beat.user & WORK_USER.reserved
            assert (user["local"], user["peer"]) == (local, qp.peer)
            assert not local or user["tag"] == 0
        return beats

    async def demand_results(
        self, qp: Qp, posts: Sequence[Post], *statuses: int, done: bool = True
    ) -> None:
        """Exactly these posts complete with these statuses (one: for all), in order, and nothing
        else does. ``done``: nothing is outstanding afterwards.
        """
        wanted = list(statuses) * (len(posts) if len(statuses) == 1 else 1)
        found = await qp.cq.wait_results(len(posts))
        await self.rest()
        found += qp.cq.get_cq_results_ex()
        await qp.cq.update_consumer_index()
        got = [(result.request_context, int(result.status)) for result in found]
        want = [(p.context, int(s)) for p, s in zip(posts, wanted, strict=True)]
        assert got == want, f"QP {qp.number}: {got} instead of {want}"
        for result, post in zip(found, posts, strict=True):
            counts = VERBS[post.opcode].transfers and result.status == 0
            assert result.nbytes == (post.length if counts else 0)
            assert result.qp_context == qp.context
        if done:
            status = await qp.query()
            assert status.tail == status.released == status.indicated == status.retired, status

    async def demand_nothing(self, qp: Qp, since: int) -> None:
        """Nothing was indicated since then, nothing completed."""
        await self.rest()
        assert self.beats(qp, since) == []
        assert qp.cq.get_cq_results() == []

    def terms(self, since: int = 0) -> list[tuple[int, int]]:
        """Terminate requests: QP and state."""
        requests = self.of(TermRequest, since)
        return [(TERM["qp"].get(t.data), t.data >> TERM["state"].lsb) for t in requests]

    def steps(self, qp: Qp, op: TraceOp, since: int = 0) -> list[Trace]:
        """Steps of a QP."""
        return [t for t in self.of(Trace, since) if t.op == op and t.cq == qp.number]
