# SPDX-License-Identifier: Apache-2.0
"""A model of the transport that executes the requests of all QPs.

It takes the work beats as they are recorded, executes each request with a random latency, and
reports it: in tag order within a QP, in any order across QPs. Sends arrive in a list at the peer;
at a peer that receives (:attr:`Transport.receiver`) in the buffer that is taken for them. Reads and
Writes to a peer that responds (:attr:`Transport.responder`) are checked there and move bytes.
At full rate :meth:`Transport.loopback` lets the harness report by itself (tb/hdl/bfm_transport.v).
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import cocotb
from cocotb.triggers import Event

from models.post.post import TARGET_SLOT, Post, Segment
from models.verbs import VERBS
from tb.env.agents.transport import ConnAgent, DoneAgent
from tb.env.defs import POST, TERM, WORK_USER, CqeStatus, PostFlag
from tb.env.harness.harness import Channel, Harness
from tb.env.harness.records import DoneReport, TermRequest, WorkBeat
from tb.env.harness.streams import stream
from tb.env.transport.access import Access, Responder
from tb.env.transport.receive import Arrival, Receiver

if TYPE_CHECKING:
    from cocotb.task import Task

_LEAD = 16  # cycles between giving a report to the harness and its earliest cycle
_STEP = 64  # most cycles that the pump sleeps
_SENDS = frozenset(opcode for opcode, verb in VERBS.items() if verb.message)
_ACCESSES = frozenset(opcode for opcode, verb in VERBS.items() if verb.access is not None)


class Message(NamedTuple):
    """A Send as it arrives at the peer."""

    cycle: int
    source: int
    context: int  # of the Send
    length: int
    data: bytes | None  # of an INLINE Send
    segments: tuple[Segment, ...]
    token: int | None  # of a SendAndInvalidate
    solicited: bool


@dataclass
class Request:
    """A remote request that the transport has taken."""

    qp: int
    tag: int
    index: int
    peer: int
    word: int
    taken: int
    """Cycle of the work beat."""
    status: int = 0
    skipped: bool = False
    """Not executed, because of an earlier error or the end of the connection."""
    executes: int = 0
    ends: int = 0
    reported: bool = False
    message: Arrival | None = None
    """On its way into a buffer of the peer."""
    access: Access | None = None
    """On its way to the memory of the peer."""
    waiting: bool = False
    """Nothing is reported before the peer has received it, or done it."""

    @property
    def post(self) -> Post:
        """The post as it was written."""
        return Post.decode(self.word)

    @property
    def opcode(self) -> int:
        """The opcode."""
        return POST["opcode"].get(self.word)

    @property
    def context(self) -> int:
        """The request context."""
        return POST["context"].get(self.word)


@dataclass
class _Qp:
    queue: deque[Request] = field(default_factory=deque)
    """Taken and not reported, in tag order."""
    failed: bool = False
    ended: bool = False
    held: bool = False
    last: int = 0
    """Latest cycle of a report."""
    line: deque[Request] = field(default_factory=deque)
    """To a peer that responds, and not begun there: in tag order."""
    begun: list[Request] = field(default_factory=list)
    """Begun there and not settled."""
    front: int = 0
    """Latest cycle in which a request began there."""


#: Told of each remote request: the status to report, or None to leave that to the transport.
Inject = Callable[[Request], int | None]


class Transport:
    """All QPs' connections. Settings are attributes; they apply to requests taken from then on."""

    def __init__(
        self,
        seed: int,
        done: DoneAgent,
        conn: ConnAgent,
        receiver: Receiver,
        responder: Responder,
    ) -> None:
        self._seed = seed
        #: The responding side; ``responder.enable(qp)`` makes Reads and Writes be checked there.
        self.responder = responder
        #: The receiving side; ``receiver.enable(qp)`` makes Sends take buffers there.
        self.receiver = receiver
        self._done = done
        self._conn = conn
        done.busy = lambda: self.busy
        #: Cycles from a work beat to its report: from, to.
        self.latency = (1, 200)
        #: Share of requests that fail, and with which status.
        self.error_rate = 0.0
        self.error_status: int = CqeStatus.TRANSPORT_ERROR
        #: One of these is reported for a request after one that failed, or after a terminate.
        self.after_error: tuple[int, ...] = (CqeStatus.CANCELED,)
        self.inject: Inject | None = None
        #: Without it nothing is reported, except by :meth:`report`.
        self.automatic = True
        self.clear()

    def clear(self) -> None:
        """After a reset: nothing is under way, nothing arrived."""
        self.receiver.clear()
        self.responder.clear()
        self._rng = stream(self._seed, "transport")
        self._qps: defaultdict[int, _Qp] = defaultdict(_Qp)
        self._heap: list[tuple[int, int, Request]] = []
        self._order = 0
        self._pump: Task[None] | None = None
        self._wake = Event()
        self._loop = False
        self._loop_waiting = 0
        #: Messages by the QP at which they arrived.
        self.arrived: defaultdict[int, list[Message]] = defaultdict(list)
        #: Requests taken: remote ones, local ones.
        self.taken = 0
        self.local = 0
        #: QPs that were to be terminated, in order, with the state that they had entered.
        self.terminated: list[tuple[int, int]] = []

    @property
    def rng(self) -> random.Random:
        """The transport's own stream of random numbers."""
        return self._rng

    @property
    def _harness(self) -> Harness:
        harness: Harness = self._done.harness
        return harness

    @property
    def busy(self) -> bool:
        """Reports are still to come by themselves."""
        return bool(self._heap) or self._loop_waiting > 0

    def outstanding(self, qp: int) -> list[Request]:
        """Requests of a QP that were taken and not reported, in tag order."""
        return list(self._qps[qp].queue)

    # -- what a test can do ------------------------------------------------------------------------

    def hold(self, qp: int) -> None:
        """Nothing of this QP is reported until :meth:`release`."""
        self._qps[qp].held = True

    def release(self, qp: int) -> None:
        """What was held is reported now."""
        state = self._qps[qp]
        state.held = False
        self._schedule_all(state, 1)

    def report(self, qp: int, status: int | None = None) -> Request:
        """Reports the oldest outstanding request of a QP at once."""
        state = self._qps[qp]
        if status is not None:
            state.queue[0].status = status
        return self._send(state, 0)

    def disconnect(self, qp: int) -> None:
        """Tells the engine that the connection has ended."""
        self._conn.send(qp)

    def connected(self, qp: int) -> None:
        """The host has connected the QP: errors of an earlier connection are over."""
        state = self._qps[qp]
        state.failed = state.ended = False
        self.receiver.connected(qp)

    def loopback(
        self, latency: int | None, *, mask: int = 0, match: int = 0, status: int = 2
    ) -> None:
        """Requests taken from now on are reported by the harness, in order, ``latency`` cycles
        after their beats at the earliest; None ends that. Those fail with ``status`` whose context,
        its low 32 bits masked with ``mask`` (not 0), is ``match``. No message arrives anywhere.
        """
        assert not self._heap, "requests are under way"
        self._loop = latency is not None
        word = 0 if latency is None else 1 | status << 8 | latency << 16
        self._harness.configure(Channel.LOOP_FAIL, mask | match << 32)
        self._harness.configure(Channel.LOOP, word)

    # -- from the recorder -------------------------------------------------------------------------

    def work(self, beat: WorkBeat) -> None:
        """A request was indicated."""
        tag, index, peer, local = WORK_USER.unpack(beat.user).values()
        if local:
            self.local += 1
            return
        self.taken += 1
        if self._loop:
            self._loop_waiting += 1
            return
        request = Request(beat.qp, tag, index, peer, beat.data, beat.cycle)
        state = self._qps[beat.qp]
        request.status = self._outcome(state, request)
        delay = 0 if state.ended else self._rng.randint(*self.latency)
        request.ends = max(beat.cycle + delay, state.last)
        request.executes = request.ends - self._rng.randint(0, delay)
        state.last = request.ends
        state.queue.append(request)
        if self._is_executed(request) and self.responder.serves(request.peer):
            self._line_up(state, request)
        elif self._is_received(request):
            self._send_message(request)
        elif self.automatic and not state.held:
            self._schedule(request)

    def done(self, record: DoneReport) -> None:
        """A report was taken."""
        if not self._done.sent(record):
            self._loop_waiting -= 1

    def term(self, record: TermRequest) -> None:
        """The engine ends a connection: what has not been executed is not executed any more, and
        everything is reported quickly.
        """
        qp, entered = TERM.unpack(record.data).values()
        self.terminated.append((qp, entered))
        state = self._qps[qp]
        state.ended = True
        for request in state.queue:
            if request.executes > record.cycle or request.waiting:
                self._withdraw(request)
                request.skipped = True
                request.status = self._rng.choice(self.after_error)
        if self.automatic and not state.held:
            self._schedule_all(state, 8)
        self.receiver.terminated(qp, record.cycle)

    # -- execution ---------------------------------------------------------------------------------

    def _outcome(self, state: _Qp, request: Request) -> int:
        status = self.inject(request) if self.inject is not None else None
        if status is None:
            if state.failed or state.ended:
                request.skipped = True
                status = self._rng.choice(self.after_error)
            elif self.error_rate and self._rng.random() < self.error_rate:
                status = self.error_status
            else:
                status = 0
        if status:
            state.failed = True
        return status

    def _schedule_all(self, state: _Qp, most: int) -> None:
        """Everything of a QP ends soon, in order."""
        at = self._harness.cycle
        for request in list(state.queue):
            if request.waiting:
                return
            if not request.reported:
                at = min(at + self._rng.randint(1, most), max(request.ends, at))
                state.last = request.ends = at
                self._schedule(request)

    def _schedule(self, request: Request) -> None:
        self._order += 1
        heappush(self._heap, (request.ends, self._order, request))
        if request.ends <= self._harness.cycle + _LEAD:
            self._send_due()
        elif self._pump is None:
            self._pump = cocotb.start_soon(self._run())
        else:
            self._wake.set()

    def _send_due(self) -> None:
        limit = self._harness.cycle + _LEAD
        heap = self._heap
        while heap and heap[0][0] <= limit:
            at, _, request = heappop(heap)
            # What was put into the heap a second time ends at another time, or is over.
            state = self._qps[request.qp]
            if request.ends == at and not state.held:
                while not request.reported and not state.queue[0].waiting:
                    self._send(state, at)

    def _send(self, state: _Qp, at: int) -> Request:
        request = state.queue.popleft()
        request.reported = True
        self._done.send(request.qp, request.tag, request.status, at_cycle=at)
        if request.status == 0 and not request.skipped and request.message is None:
            self._deliver(request)
        return request

    def _deliver(self, request: Request) -> None:
        if request.opcode not in _SENDS:
            return
        post = request.post
        inline = bool(post.flags & PostFlag.INLINE)
        with_token = VERBS[post.opcode].has_target
        self.arrived[request.peer].append(
            Message(
                self._harness.cycle,
                request.qp,
                post.context,
                post.length,
                post.inline_data if inline else None,
                tuple(post.segments),
                Segment.decode(post.slots[TARGET_SLOT]).key if with_token else None,
                bool(post.flags & PostFlag.SEND_AND_SOLICIT_EVENT),
            )
        )

    # -- Sends into buffers of the peer ------------------------------------------------------------

    @staticmethod
    def _is_executed(request: Request) -> bool:
        return request.status == 0 and not request.skipped

    def _is_received(self, request: Request) -> bool:
        """A Send that is carried out and takes a buffer."""
        sends = self._is_executed(request) and request.opcode in _SENDS
        return sends and self.receiver.serves(request.peer)

    def _send_message(self, request: Request) -> None:
        post = request.post
        with_token = VERBS[post.opcode].has_target
        data: bytes | None = None
        if post.flags & PostFlag.INLINE:
            data = post.inline_data
        elif self.receiver.fill:
            data = self.receiver.gather(post.segments)
        request.waiting = True
        request.message = Arrival(
            request.peer,
            post.length,
            bool(post.flags & PostFlag.SEND_AND_SOLICIT_EVENT),
            with_token,
            Segment.decode(post.slots[TARGET_SLOT]).key if with_token else 0,
            data,
            lambda status: self._settle(request, status),
            at=request.executes,
        )
        self.receiver.arrive(request.message)

    def _withdraw(self, request: Request) -> None:
        state = self._qps[request.qp]
        if request in state.line:
            state.line.remove(request)
        elif request in state.begun:
            state.begun.remove(request)
        if request.message is not None and request.waiting:
            self.receiver.withdraw(request.message)
        if request.access is not None and request.waiting:
            self.responder.withdraw(request.access)
        request.waiting = False

    def _settle(self, request: Request, status: int) -> None:
        """The peer has received a message, or has not."""
        state = self._qps[request.qp]
        request.waiting = False
        if request in state.begun:
            state.begun.remove(request)
        if status == 0:
            self._deliver(request)
        if request.reported:
            self._begin_next(state)
            return
        request.status = status
        if status:
            state.failed = True
            behind = list(state.queue)
            for other in behind[behind.index(request) + 1 :]:
                self._withdraw(other)
                other.skipped = True
                other.status = self._rng.choice(self.after_error)
        if self.automatic and not state.held:
            self._schedule_all(state, 8)
        self._begin_next(state)

    # -- Requests to a peer that responds ----------------------------------------------------------

    def _line_up(self, state: _Qp, request: Request) -> None:
        """To such a peer requests go in order, and none overtakes what came before it: a Send
        begins when everything before it is settled, a Read or Write when every Send is.
        """
        request.waiting = True
        state.line.append(request)
        self._begin_next(state)

    def _begin_next(self, state: _Qp) -> None:
        while state.line:
            request = state.line[0]
            accesses = request.opcode in _ACCESSES
            if any(not accesses or other.opcode not in _ACCESSES for other in state.begun):
                return
            state.line.popleft()
            state.front = max(request.executes, self._harness.cycle, state.front)
            request.executes = state.front
            if accesses:
                state.begun.append(request)
                self._access(request)
            elif self.receiver.serves(request.peer):
                state.begun.append(request)
                self._send_message(request)
            else:
                request.waiting = False
                if self.automatic and not state.held:
                    self._schedule_all(state, 8)

    def _access(self, request: Request) -> None:
        request.access = Access(
            request.peer, request.post, lambda status: self._settle(request, status)
        )
        self.responder.arrive(request.access, request.executes)

    async def _run(self) -> None:
        """Gives the reports to the harness shortly before their time."""
        harness = self._harness
        heap = self._heap
        while self._heap is heap:
            self._send_due()
            if heap:
                now = harness.cycle
                await harness.until(min(max(heap[0][0] - _LEAD, now + 1), now + _STEP))
            else:
                self._wake.clear()
                await self._wake.wait()
