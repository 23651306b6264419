# SPDX-License-Identifier: Apache-2.0
"""What the directed tests of receive posts share: queues of both kinds, buffers that are consumed,
and demands on what a refused write may do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from models.post.post import Segment
from models.receive.receive_post import RecvPost
from tb.env.agents.receive import Answer
from tb.env.defs import RPOST, Cause, CqeStatus, Kind, PageReg, Scatter, TraceOp
from tb.env.harness.records import Interrupt, MemWrite, ScatterAnswer, TermRequest, Trace, WorkBeat
from tb.env.host.driver import LogEntry
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue, Srq
from tb.env.transport.receive import Receiver
from tb.tests.common.directed import SLVERR
from tb.tests.common.posting import PostingTest

#: Causes that name a page, and those of a write that names no queue of its page: no step.
PAGE_CAUSES = (Cause.BURST, Cause.BAD_SIZE, Cause.BAD_PAGE, Cause.BAD_OFFSET)
NO_STEP = (
    *(*PAGE_CAUSES, Cause.BAD_QP, Cause.BAD_SRQ),
    *(Cause.NO_QP, Cause.NO_SRQ, Cause.NOT_OWNER),
)
#: Where a portal could be, and none is.
NO_PORTAL = 0x0C0
RECEIVE_POST_LANE = 6


class ReceivePostTest(PostingTest):
    """The test reports by itself, receives too."""

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self.receiver.automatic = False

    @property
    def receiver(self) -> Receiver:
        """The receiving side of the transport."""
        return self.env.transport.receiver

    # -- buffers -----------------------------------------------------------------------------------

    async def accept_recv(self, queue: ReceiveQueue, posts: Iterable[RecvPost]) -> list[RecvPost]:
        """Receive posts back to back; all are accepted."""
        posts = list(posts)
        for answer in queue.queue_recv_many(posts):
            assert (await answer) == (0, Cause.NONE)
        return posts

    async def fill(self, queue: ReceiveQueue, count: int) -> list[RecvPost]:
        """Buffers without segments; all are accepted."""
        return await self.accept_recv(queue, [queue.make_recv() for _ in range(count)])

    async def take(self, qp: Qp, *lengths: int) -> list[Answer]:
        """Messages that find a buffer each; nothing is reported."""
        pending = [self.receiver.post_request(qp.number, length) for length in lengths or (0,)]
        answers: list[Answer] = [await answer for answer in pending]
        assert all(answer.code == Scatter.SCATTER for answer in answers), answers
        return answers

    async def demand_received(
        self,
        qp: Qp,
        posts: Sequence[RecvPost],
        lengths: Sequence[int] = (),
        status: CqeStatus = CqeStatus.SUCCESS,
    ) -> None:
        """Exactly these buffers complete on the receive CQ of this QP, in order; they are polled
        and its consumer index is told. ``lengths``: of the messages, default 0.
        """
        cq = qp.recv_cq
        found = await cq.wait_results(len(posts))
        await self.rest(32)
        found += cq.get_cq_results_ex()
        await cq.update_consumer_index()
        got = [(r.request_context, int(r.status), r.nbytes, r.qp_context) for r in found]
        sizes = list(lengths) or [0] * len(posts)
        want = [
            (post.context, int(status), size, qp.context)
            for post, size in zip(posts, sizes, strict=True)
        ]
        assert got == want, f"QP {qp.number}: {got} instead of {want}"
        await self.rest(16)

    async def consume(
        self, qp: Qp, posts: Sequence[RecvPost], lengths: Sequence[int] = ()
    ) -> list[Answer]:
        """Messages for these buffers: taken, reported, completed, polled. At most as many as a QP
        can have in flight are under way at a time.
        """
        sizes = list(lengths) or [0] * len(posts)
        answers = []
        for post, size in zip(posts, sizes, strict=True):
            answers += await self.take(qp, size)
            self.receiver.report(qp.number)
            await self.demand_received(qp, [post], [size])
        return answers

    async def filled(self, qp: Qp, post: RecvPost, length: int | None = None) -> Answer:
        """A message as long as its buffer takes it, which is scattered as it was posted."""
        (answer,) = await self.consume(qp, [post], [post.length if length is None else length])
        segments = [*post.segments, *[Segment(0, 0, 0)] * (3 - post.num_segments)]
        assert list(answer.segments) == segments, (post, answer)
        return answer

    # -- demands -----------------------------------------------------------------------------------

    def effects(self, mark: int) -> list[object]:
        """What a refusal must not bring about; steps that change nothing are none."""
        kinds = (MemWrite, Interrupt, WorkBeat, TermRequest, ScatterAnswer)
        found: list[object] = [r for r in self.seen[mark:] if isinstance(r, kinds)]
        steps = self.of(Trace, mark)
        return found + [t for t in steps if t.lane != RECEIVE_POST_LANE or t.old != t.new]

    def recv_steps(self, mark: int) -> list[tuple[int, int]]:
        """Number and operand of each step of a receive post."""
        steps = [t for t in self.of(Trace, mark) if t.op == TraceOp.RECV_POST]
        return [(step.cq, step.operand) for step in steps]

    @staticmethod
    def step_of(offset: int, post: RecvPost, cause: int) -> list[tuple[int, int]]:
        """The step of a receive post, if it has one."""
        shared = offset == PageReg.SRQ_RECV
        return [] if cause in NO_STEP else [(post.number, cause | shared << 8)]

    async def causes(self, queue: ReceiveQueue, cases: Iterable[tuple[RecvPost, Cause]]) -> None:
        """Many posts to a queue that are refused, with these causes: answers, steps, counters, log,
        no effect.
        """
        cases = list(cases)
        host = self.env.host
        await self.rest(32)
        before = await self.states()
        mark = self.mark
        await host.read_log()
        old = await host.counters()
        answers = queue.queue_recv_many(post for post, _ in cases)
        for (post, cause), answer in zip(cases, answers, strict=True):
            got = await answer
            assert got == (SLVERR, cause), f"{post}: {got}, expected {cause.name}"
        await self.rest(32)
        counters = await host.counters()
        moved = Counter({name: counters[name] - old[name] for name in counters})
        lost = moved.pop("LOG_LOST")
        wanted = Counter(f"CAUSE{int(cause)}" for _, cause in cases)
        assert +moved == wanted + Counter(DB_REFUSED=len(cases)), +moved
        assert self.effects(mark) == []
        steps = [s for post, cause in cases for s in self.step_of(queue.portal, post, cause)]
        assert self.recv_steps(mark) == steps
        kind = Kind.SRQ if queue.portal == PageReg.SRQ_RECV else Kind.QP
        log = [LogEntry(cause, kind, post.number, queue.page) for post, cause in cases]
        # The newest ones may have found no room.
        assert await host.read_log() == log[: len(cases) - lost]
        assert await self.states() == before

    async def refuse(
        self, cause: Cause, data: RecvPost | int, *, page: int = 0, offset: int, **options: int
    ) -> None:
        """One refused write, a post or a doorbell word of an SRQ, with each of its traces."""
        host = self.env.host
        known = page < self.config.num_pages
        refusals = (await host.page_status(page))[1] if known else 0
        await host.read_log()
        await self.rest(16)
        mark = self.mark
        what = f"{data} page {page} offset {offset:#x} {options}"
        async with self.counted(DB_REFUSED=1, **{f"CAUSE{int(cause)}": 1}):
            if isinstance(data, RecvPost):
                options.setdefault("size", 6)
                answer = await host.write(page, offset, 0, line=data.encode(), **options)
            else:
                answer = await host.write(page, offset, data, **options)
            assert answer == (SLVERR, cause), f"{what}: {answer} instead of {cause.name}"
        if known:
            assert await host.page_status(page) == (cause, refusals + 1), what
        number = data.number if isinstance(data, RecvPost) else RPOST["queue"].get(data)
        kind = Kind.QP if offset == PageReg.RECV else Kind.SRQ
        entry = LogEntry(cause, kind, number, page & 0xFFFF)
        if cause in PAGE_CAUSES:
            entry = LogEntry(cause, Kind.PAGE, page & 0xFFFF, page & 0xFFFF)
        assert await host.read_log() == [entry], what
        assert self.effects(mark) == [], what
        steps = self.step_of(offset, data, cause) if isinstance(data, RecvPost) else []
        assert self.recv_steps(mark) == steps, what

    # -- shared queues -----------------------------------------------------------------------------

    async def accounts(self, srq: Srq, available: int, outstanding: int) -> None:
        """What a query of an SRQ tells, at rest."""
        await self.rest(16)
        status = await srq.status()
        found = (status.available, status.outstanding)
        assert found == (available, outstanding), status
        assert (status.tail - status.reaped) & self.mask == outstanding, status
        assert (status.tail - status.completed) & self.mask >= available, status

    async def complete(self, qp: Qp, count: int = 1) -> None:
        """Taken, reported, completed and polled; the driver reaps if the SRQ says so."""
        for _ in range(count):
            await self.take(qp)
            self.receiver.report(qp.number)
            await qp.cq.wait_results(1)
            await self.rest(16)
        await qp.cq.update_consumer_index()
        await self.rest(16)
