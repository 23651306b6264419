# SPDX-License-Identifier: Apache-2.0
"""What the directed tests of taking and completing share: buffers, messages and reports in exact
cycles, and demands on answers and completions.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple

import cocotb
from cocotb.task import Task

from models.post.post import Segment
from models.receive.receive_post import RecvPost
from tb.env.agents.base import Pending
from tb.env.agents.receive import Answer
from tb.env.defs import TSTATE, Cause, Cmd, CqeStatus, CqeType, Scatter, TraceOp
from tb.env.harness.records import Command, Record, ScatterAnswer, Trace
from tb.env.host.cq import Cq
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.env.host.regions import Region
from tb.env.transport.receive import Receiver
from tb.tests.common.recording import Recording

TAKEN = Scatter.SCATTER
NOT_READY = Scatter.NOT_READY
TOO_LONG = Scatter.LENGTH_ERROR
REFUSED = Scatter.REFUSED
LENGTH_ERROR = CqeStatus.LENGTH_ERROR
LENGTH = 64  # bytes of a buffer, unless a test says otherwise


class Want(NamedTuple):
    """What a completion of a receive must say."""

    cookie: int
    nbytes: int = 0
    status: int = 0
    type: int = CqeType.RECEIVE
    token: int = 0


def canceled(cookies: Iterable[int]) -> list[Want]:
    """These buffers complete CANCELED."""
    return [Want(cookie, status=CqeStatus.CANCELED) for cookie in cookies]


class Receiving(Recording):
    """The test reports what was taken by itself (:meth:`settle`), unless ``reporting``."""

    reporting = False

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self.receiver.automatic = self.reporting
        #: Tags answered and not settled, by QP.
        self.tags: defaultdict[int, deque[int]] = defaultdict(deque)
        #: Buffers settled before their answers were seen, by QP.
        self.early: Counter[int] = Counter()
        #: Tag that is to come next, by QP.
        self.next_tag: Counter[int] = Counter()
        self.env.add_subscriber(self._note_tags, "tags of the test")
        self._region: Region | None = None

    @property
    def receiver(self) -> Receiver:
        """The receiving half of the transport."""
        return self.env.transport.receiver

    # -- buffers -----------------------------------------------------------------------------------

    @property
    def most(self) -> int:
        """Buffers that one QP can have in flight."""
        return 1 << self.config.rx_log2

    @property
    def depth(self) -> int:
        """Slots of a QP's own receive queue."""
        return 1 << self.config.rq_log2

    async def region(self) -> Region:
        """The region of the buffers of this test."""
        if self._region is None:
            self._region = await self.env.host.register(1 << 16)
        return self._region

    async def accept_recv(self, queue: ReceiveQueue, posts: Iterable[RecvPost]) -> list[RecvPost]:
        """Receive posts back to back; all are accepted."""
        posts = list(posts)
        for answer in queue.queue_recv_many(posts):
            assert await answer == (0, Cause.NONE)
        return posts

    async def supply(self, queue: ReceiveQueue, count: int, length: int = LENGTH) -> list[int]:
        """Posts buffers of so many bytes back to back; all are accepted. Returns their cookies."""
        parts = [(await self.region()).segment(0, length)] if length else []
        posts = await self.accept_recv(queue, [queue.make_recv(parts) for _ in range(count)])
        return [post.context for post in posts]

    # -- messages ----------------------------------------------------------------------------------

    def ask(
        self, qp: Qp, *lengths: int, at: int | None = None, **options: Any
    ) -> list[Pending[Answer]]:
        """Requests back to back; returns their answers to come."""
        return [
            self.receiver.post_request(qp.number, length, at_cycle=at, **options)
            for length in lengths
        ]

    async def answers(self, pending: Iterable[Pending[Answer]], *codes: int) -> list[Answer]:
        """Awaits answers and demands their codes (one: for all)."""
        found = [await answer for answer in pending]
        wanted = codes * len(found) if len(codes) == 1 else codes
        assert [answer.code for answer in found] == list(wanted), found
        return found

    async def take(self, qp: Qp, *lengths: int, **options: Any) -> list[Answer]:
        """Messages, for each of which a buffer is taken."""
        return await self.answers(self.ask(qp, *lengths, **options), TAKEN)

    async def code(self, qp: Qp, length: int = 1) -> Scatter:
        """The code of the answer to one message."""
        return (await self.receiver.request(qp.number, length)).code

    def settle(self, qp: Qp, *statuses: int, at: int | None = None) -> None:
        """Reports the oldest buffers of a QP, one per cycle; none given: one success."""
        for status in statuses or (0,):
            if self.tags[qp.number]:
                tag = self.tags[qp.number].popleft()
            else:
                tag = self.next_tag[qp.number] + self.early[qp.number] & self.mask
                self.early[qp.number] += 1
            self.env.rdone.send(qp.number, tag, int(status), at_cycle=at)

    def _note_tags(self, records: list[Record]) -> None:
        for record in records:
            if isinstance(record, ScatterAnswer):
                answer = Answer.decode(record)
                if answer.taken and self.early[answer.qp]:
                    self.early[answer.qp] -= 1
                elif answer.taken:
                    self.tags[answer.qp].append(answer.tag)
            elif isinstance(record, Trace) and record.op == TraceOp.TAKE:
                # Of a step whose answer is seen later, too; nobody settles in between.
                self.next_tag[record.cq] = TSTATE["taken"].get(record.new)

    def command_at(self, cycle: int, code: Cmd, *args: int) -> Task[Command]:
        """A command whose CMD write is offered in that cycle; await it for its record."""

        async def run() -> Command:
            command = await self.env.control.command(code, *(int(arg) for arg in args), at=cycle)
            if code == Cmd.CONNECT_QP and command.result == 0:
                self.env.transport.connected(args[0])
            return command

        return cocotb.start_soon(run())

    # -- demands -----------------------------------------------------------------------------------

    async def demand(self, qp: Qp, wanted: Sequence[Want], cq: Cq | None = None) -> None:
        """Exactly these receives of the QP complete on its receive CQ, in order; nothing else is
        there.
        """
        cq = qp.recv_cq if cq is None else cq
        found = await cq.wait_results(len(wanted))
        await self.rest()
        found += cq.get_cq_results_ex()
        await cq.update_consumer_index()
        got = [Want(r.request_context, r.nbytes, r.status, r.type, r.token) for r in found]
        assert got == list(wanted), f"QP {qp.number}: {got} instead of {wanted}"
        assert all(result.qp_context == qp.context for result in found)

    async def serve(
        self, qp: Qp, cookies: Iterable[int], lengths: Iterable[int] | None = None
    ) -> list[Answer]:
        """Messages for these buffers, by default of 0, 1, ... bytes, one by one: taken, reported,
        completed.
        """
        answers = []
        for cookie, length in zip(cookies, count() if lengths is None else lengths, strict=False):
            answers += await self.take(qp, length)
            self.settle(qp)
            await self.demand(qp, [Want(cookie, length)])
        return answers

    async def filled(self, qp: Qp, post: RecvPost, length: int | None = None) -> Answer:
        """A message as long as its buffer takes it, which is scattered as it was posted."""
        length = post.length if length is None else length
        (answer,) = await self.serve(qp, [post.context], [length])
        segments = [*post.segments, *[Segment(0, 0, 0)] * (3 - post.num_segments)]
        assert list(answer.segments) == segments, (post, answer)
        return answer

    async def nothing(self, *qps: Qp) -> None:
        """Nothing completes."""
        await self.rest()
        for qp in qps:
            assert qp.recv_cq.get_cq_results_ex() == [], f"QP {qp.number}"
