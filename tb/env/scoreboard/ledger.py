# SPDX-License-Identifier: Apache-2.0
"""What a host and a transport can tell by themselves: of posts, answers and completions, told apart
by contexts that no two posts share; of receives, buffers posted and taken, completions, and the
bytes in memory. It uses neither the trace port nor the scoreboard.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from models.codes import Cause, PostFlag, Status
from models.cq.queue import NdResultEx
from models.post.post import Post, Segment
from models.receive.receive_post import RecvPost
from models.verbs import VERBS
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import CqeStatus, CqeType, Scatter
from tb.env.host.cq import Cq
from tb.env.host.memory import HostMemory
from tb.env.host.qp import Qp
from tb.env.host.recv import Srq
from tb.env.transport.receive import Taken


@dataclass(eq=False)
class Written:
    """A post of either kind. ``epoch``: connection of its QP; ``causes``: empty if it may be
    accepted.
    """

    answer: Pending[WriteResult]
    epoch: int
    causes: frozenset[Cause]

    @property
    def cause(self) -> Cause:
        """What it was answered."""
        assert self.answer.result is not None
        return Cause(self.answer.result.cause)

    @property
    def accepted(self) -> bool:
        """It was answered OKAY."""
        return self.answer.done and self.answer.result == (0, 0)


@dataclass(eq=False)
class Posted(Written):
    """One post."""

    post: Post


@dataclass(eq=False)
class Buffer(Written):
    """One receive post."""

    post: RecvPost


W = TypeVar("W", bound=Written)


def answered(unanswered: deque[W]) -> Iterator[W]:
    """Takes those that have an answer."""
    while unanswered and unanswered[0].answer.done:
        yield unanswered.popleft()


@dataclass
class Life:
    """A QP from creation to destruction."""

    qp: Qp
    posted: list[Posted] = field(default_factory=list)
    seen: list[NdResultEx] = field(default_factory=list)
    unanswered: deque[Posted] = field(default_factory=deque)
    open: deque[Posted] = field(default_factory=deque)
    """Perhaps outstanding, in post order."""
    epoch: int = 0
    left: int = 0
    """Posts to the end of the chain."""
    down: int = 0
    """Answers NOT_CONNECTED of this connection."""
    busy: bool = False
    """Commands are under way."""
    gone: bool = False
    """Destroyed, and comes again with another CQ; busy until then."""
    paused: bool = False
    """No legal posts."""
    lossy: bool = False
    """The CQ has failed: completions are missing."""


class Ledger:
    """All posts of a test."""

    def __init__(self) -> None:
        self.lives: list[Life] = []
        self.causes: Counter[Cause] = Counter()
        self.statuses: Counter[int] = Counter()
        self._by_context: dict[int, Life] = {}

    def context(self, life: Life) -> int:
        """A context for a post of this QP that no other post has."""
        context = len(self._by_context) + 1 << 16 | life.qp.number
        self._by_context[context] = life
        return context

    def posted(self, life: Life, entry: Posted) -> None:
        """A post was queued."""
        life.posted.append(entry)
        life.unanswered.append(entry)
        if not entry.causes:
            life.open.append(entry)

    def look(self, life: Life) -> list[Cause]:
        """Takes the answers that have come; returns their causes."""
        found: list[Cause] = []
        refused = False
        for entry in answered(life.unanswered):
            cause = entry.cause
            assert not entry.causes or cause in entry.causes, (
                f"{entry.post}: answered {cause.name}, not {entry.causes}"
            )
            refused = refused or cause is not Cause.OK
            if cause is Cause.NOT_CONNECTED and entry.epoch == life.epoch:
                life.down += 1
            self.causes[cause] += 1
            found.append(cause)
        if refused:
            life.open = deque(e for e in life.open if not e.answer.done or e.accepted)
        return found

    def completed(self, cq: int, result: NdResultEx) -> None:
        """A completion was polled."""
        life = self._by_context.get(result.request_context)
        assert life is not None, f"CQ {cq}: completion that nobody asked for: {result}"
        assert life.qp.cq.number == cq, f"CQ {cq}: completion of {life.qp.number}: {result}"
        assert result.qp_context == life.qp.context, f"CQ {cq}: wrong QP context: {result}"
        life.seen.append(result)
        self.statuses[result.status] += 1
        while life.open:
            entry = life.open.popleft()
            if entry.post.context == result.request_context:
                break

    def accepted(self, number: int | None = None) -> int:
        """Posts accepted, of one QP number over all its lives or of all."""
        lives = [life for life in self.lives if number in (None, life.qp.number)]
        return sum(entry.accepted for life in lives for entry in life.posted)

    def cq_failed(self, cq: Cq) -> None:
        """From now on completions of this CQ may be missing."""
        for life in self.lives:
            life.lossy = life.lossy or life.qp.cq is cq

    # -- the end -----------------------------------------------------------------------------------

    def check(self) -> None:
        """At rest: each accepted post has exactly one completion, in post order (DF-02, DF-03,
        DF-12, DF-15).
        """
        for life in self.lives:
            self.look(life)
            self._check(life)

    def _check(self, life: Life) -> None:
        assert not life.unanswered, f"QP {life.qp.number}: posts without an answer"
        seen = iter(life.seen)
        result = next(seen, None)
        failed = -1
        for entry in life.posted:
            if not entry.accepted:
                continue
            post = entry.post
            where = f"QP {life.qp.number}, post {post}"
            if result is None or result.request_context != post.context:
                if life.lossy:
                    continue
                silent = post.has(PostFlag.SILENT_SUCCESS)
                assert silent, f"{where}: no completion; the next one is {result}"
                assert failed != entry.epoch, f"{where}: succeeded silently behind a failure"
                continue
            status = result.status
            if failed == entry.epoch:
                assert status == Status.CANCELED, f"{where}: {result} behind a failure"
            elif status != Status.SUCCESS:
                failed = entry.epoch
            else:
                assert not post.has(PostFlag.SILENT_SUCCESS), f"{where}: silent, but {result}"
            want = VERBS[post.opcode].completion(post, status)
            got = result.type, result.nbytes, result.token
            assert got == (want.type, want.nbytes, 0), f"{where}: {result}, not {want}"
            result = next(seen, None)
        assert result is None, f"QP {life.qp.number}: {result} in no place of the post order"


RECEIVES = (CqeType.RECEIVE, CqeType.RECEIVE_AND_INVALIDATE)
#: Answers that a legal post may get, of either kind of queue.
_OWN_CAUSES = frozenset(
    {
        Cause.OK,
        Cause.NO_QP,
        Cause.BAD_STATE,
        Cause.QUEUE_FULL,
        Cause.CQ_ERROR,
        Cause.NO_CREDIT,
    }
)
_SHARED_CAUSES = frozenset({Cause.OK, Cause.NO_SRQ, Cause.QUEUE_FULL})
_CANARY = 8  # bytes after what was filled that are looked at


@dataclass(eq=False)
class Queue:
    """A queue of buffers from creation to destruction."""

    handle: Qp | Srq
    zone: int
    unanswered: deque[Buffer] = field(default_factory=deque)
    accepted: list[Buffer] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    """SRQ: in the order of the answers, of all QPs."""
    planned: int = 0
    """Posts that are to be queued soon."""
    polled: int = 0
    """Completions of its buffers."""
    users: int = 0
    """QPs that are being created."""
    busy: bool = False
    """Commands are under way."""
    closing: bool = False
    """No new users."""
    paused: bool = False
    """No posts."""
    lossy: bool = False
    """A CQ has failed: completions are missing."""

    @property
    def shared(self) -> bool:
        """It is an SRQ."""
        return isinstance(self.handle, Srq)

    @property
    def srq(self) -> Srq:
        """The same."""
        assert isinstance(self.handle, Srq)
        return self.handle

    @property
    def size(self) -> int:
        """Buffers that it can hold."""
        return self.handle.size if isinstance(self.handle, Srq) else self.handle.recv_depth

    @property
    def room(self) -> int:
        """Buffers that it would take now, as far as the host knows."""
        coming = self.planned + len(self.unanswered)
        return self.size - (len(self.accepted) + coming - self.polled)

    @property
    def available(self) -> int:
        """SRQ, with everything answered: buffers that nobody took."""
        return len(self.accepted) - len(self.taken)


@dataclass(eq=False)
class Receiving:
    """The receiving side of a QP from creation to destruction."""

    qp: Qp
    queue: Queue
    taken: list[Taken] = field(default_factory=list)
    seen: list[NdResultEx] = field(default_factory=list)
    lossy: bool = False


class ReceiveLedger:
    """All receives of a test."""

    def __init__(self, memory: HostMemory) -> None:
        self._memory = memory
        self.queues: list[Queue] = []
        self.ends: list[Receiving] = []
        self.causes: Counter[Cause] = Counter()
        self.statuses: Counter[int] = Counter()
        self._by_context: dict[int, Receiving] = {}
        self._by_number: dict[int, Receiving] = {}
        self._buffers: dict[Taken, Buffer] = {}
        #: Buffers whose payload was compared.
        self.compared = 0

    def create(self, qp: Qp, queue: Queue) -> Receiving:
        """A QP was created that receives from this queue."""
        end = Receiving(qp, queue)
        self.ends.append(end)
        self._by_context[qp.context] = end
        self._by_number[qp.number] = end
        return end

    def end(self, qp: Qp) -> Receiving:
        """What is known of a QP."""
        return self._by_context[qp.context]

    def posted(self, queue: Queue, buffer: Buffer) -> None:
        """A post was queued."""
        queue.unanswered.append(buffer)

    def look(self, queue: Queue, valid: set[int]) -> list[tuple[Cause, Buffer]]:
        """Takes the answers that have come; returns their causes. ``valid``: keys that are."""
        found: list[tuple[Cause, Buffer]] = []
        for buffer in answered(queue.unanswered):
            cause = buffer.cause
            want = set(buffer.causes) or set(_SHARED_CAUSES if queue.shared else _OWN_CAUSES)
            if any(s.length and s.key not in valid for s in buffer.post.segments):
                want.add(Cause.BAD_REGION)
            assert cause in want, f"{buffer.post}: answered {cause.name}, not {want}"
            if cause is Cause.OK:
                queue.accepted.append(buffer)
            self.causes[cause] += 1
            found.append((cause, buffer))
        return found

    def took(self, taken: Taken) -> None:
        """A buffer was taken."""
        end = self._by_number[taken.qp]
        assert taken.answer.srq == end.queue.shared, f"{taken.answer}: wrong kind of queue"
        end.taken.append(taken)
        if end.queue.shared:
            end.queue.taken.append(taken)

    def completed(self, cq: int, result: NdResultEx) -> None:
        """A completion of a receive was polled."""
        end = self._by_context.get(result.qp_context)
        assert end is not None, f"CQ {cq}: receive of nobody: {result}"
        assert end.qp.recv_cq.number == cq, f"CQ {cq}: receive of QP {end.qp.number}: {result}"
        end.seen.append(result)
        end.queue.polled += 1
        self.statuses[result.status] += 1

    def cq_failed(self, cq: Cq) -> None:
        """From now on completions of this CQ may be missing."""
        for end in self.ends:
            if end.qp.recv_cq is cq:
                end.lossy = end.queue.lossy = True

    def accepted(self) -> int:
        """Posts accepted."""
        return sum(len(queue.accepted) for queue in self.queues)

    def taken(self) -> int:
        """Buffers taken."""
        return sum(len(end.taken) for end in self.ends)

    def comparable(self) -> bool:
        """A message has completed with success on a QP whose CQ has not failed: its payload can be
        compared. Where a CQ has failed nothing tells which completions are missing.
        """
        return any(not result.status for end in self.ends if not end.lossy for result in end.seen)

    # -- the end -----------------------------------------------------------------------------------

    def open(self, end: Receiving) -> int:
        """At rest: buffers of a QP's own queue that have not completed."""
        return 0 if end.queue.shared else len(end.queue.accepted) - len(end.seen)

    def check(self, payload: bool) -> None:
        """When all QPs and SRQs are destroyed: each accepted buffer has completed once, in order,
        or was given back with its SRQ, and memory holds what arrived, if ``payload`` was moved
        (SRQ-03 to SRQ-06, SRQ-10, SRQ-14, SRQ-18, SRQ-19).
        """
        self._payload = payload
        for queue in self.queues:
            assert not queue.unanswered, f"{queue.handle.number}: posts without an answer"
            if queue.shared:
                self._assign(queue)
        for end in self.ends:
            if end.lossy:
                assert len(end.seen) <= len(end.taken) + len(end.queue.accepted)
            elif end.queue.shared:
                self._check_shared(end)
            else:
                self._check_own(end)

    def _assign(self, queue: Queue) -> None:
        where = f"SRQ {queue.handle.number}"
        assert queue.available >= 0, f"{where}: {-queue.available} buffers from nowhere"
        for taken, buffer in zip(queue.taken, queue.accepted, strict=False):
            assert self._fits(taken, buffer), f"{where}: {taken.answer} of {buffer.post}"
            self._buffers[taken] = buffer
        for buffer in queue.accepted[len(queue.taken) :]:
            self._untouched(buffer)

    def _check_shared(self, end: Receiving) -> None:
        where = f"QP {end.qp.number}"
        assert len(end.seen) == len(end.taken), (
            f"{where}: {len(end.taken)} taken, {len(end.seen)} completed"
        )
        for taken, result in zip(end.taken, end.seen, strict=True):
            want = self._result(taken, self._buffers[taken])
            assert _fields(result) == want, f"{where}: {result}, not {want}"
            self._compare(taken, self._buffers[taken], result)

    def _check_own(self, end: Receiving) -> None:
        """Buffers complete in post order; which of them were taken shows in the answers."""
        where = f"QP {end.qp.number}"
        buffers = end.queue.accepted
        assert len(end.seen) == len(buffers), (
            f"{where}: {len(buffers)} posted, {len(end.seen)} completed"
        )
        waiting = deque(end.taken)
        for buffer, result in zip(buffers, end.seen, strict=True):
            taken = waiting[0] if waiting else None
            if (
                taken is not None
                and self._fits(taken, buffer)
                and _fields(result) == self._result(taken, buffer)
            ):
                waiting.popleft()
                self._compare(taken, buffer, result)
                continue
            flushed = (CqeType.RECEIVE, CqeStatus.CANCELED, 0, 0, buffer.post.context)
            assert _fields(result) == flushed, f"{where}: {result} of {buffer.post}; took {taken}"
            self._untouched(buffer)
        assert not waiting, f"{where}: taken and never completed: {waiting[0]}"

    def _fits(self, taken: Taken, buffer: Buffer) -> bool:
        """The answer is one for this buffer."""
        segments, length = buffer.post.segments, taken.arrival.length
        if taken.answer.code == Scatter.LENGTH_ERROR:
            return length > buffer.post.length
        if length > buffer.post.length:
            return False
        want: list[Segment] = []
        for segment in segments:
            part = min(length, segment.length)
            length -= part
            want.append(Segment(segment.address, part, segment.key))
        want += [Segment()] * (len(taken.answer.segments) - len(want))
        return tuple(want) == taken.answer.segments

    def _result(self, taken: Taken, buffer: Buffer) -> tuple[int, int, int, int, int]:
        arrival = taken.arrival
        status = taken.status
        if taken.answer.code == Scatter.LENGTH_ERROR:
            status = CqeStatus.LENGTH_ERROR
        kind = CqeType.RECEIVE_AND_INVALIDATE if arrival.invalidate else CqeType.RECEIVE
        nbytes = 0 if status else arrival.length
        return kind, status, nbytes, arrival.token, buffer.post.context

    def _compare(self, taken: Taken, buffer: Buffer, result: NdResultEx) -> None:
        if result.status or not self._payload:
            return
        data = taken.arrival.data
        assert data is not None and len(data) == taken.arrival.length
        at = 0
        for segment in buffer.post.segments:
            part = data[at : at + segment.length]
            at += len(part)
            if segment.length:
                want = part + bytes(_CANARY)
                found = self._memory.read(segment.address, len(want))
                assert found == want, f"{buffer.post}: {found.hex()}, not {want.hex()}"
        self.compared += 1

    def _untouched(self, buffer: Buffer) -> None:
        for segment in buffer.post.segments:
            if segment.length and self._payload:
                found = self._memory.read(segment.address, _CANARY)
                assert not any(found), f"{buffer.post}: nobody took it, and it was written"


def _fields(result: NdResultEx) -> tuple[int, int, int, int, int]:
    return result.type, result.status, result.nbytes, result.token, result.request_context
