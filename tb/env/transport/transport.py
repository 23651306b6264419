# SPDX-License-Identifier: Apache-2.0
"""A model of the transport that executes the requests of all QPs.

It takes the work beats as they are recorded, executes each request with a random latency, and
reports it: in tag order within a QP, in any order across QPs. Sends arrive in a list at the peer;
at a peer that receives (:attr:`Transport.receiver`) in the buffer that is taken for them. Reads and
Writes to a peer that responds (:attr:`Transport.responder`) are checked there and move bytes.
At full rate :meth:`Transport.loopback` lets the harness report by itself (tb/hdl/bfm_transport.v).
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from models.post.post import TARGET_SLOT, Post, Segment
from models.verbs import VERBS
from tb.env.agents.transport import ConnAgent, DoneAgent
from tb.env.defs import POST, TERM, WORK_USER, CqeStatus, PostFlag
from tb.env.harness.harness import Channel
from tb.env.harness.records import TermRequest, WorkBeat
from tb.env.transport.access import Access, Responder
from tb.env.transport.receive import Arrival, Receiver
from tb.env.transport.reports import Job, Line, Reporter

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


@dataclass(eq=False)
class Request(Job):
    """A remote request that the transport has taken. It waits for the peer to receive or do it."""

    qp: int
    tag: int
    index: int
    peer: int
    word: int
    taken: int
    """Cycle of the work beat."""
    skipped: bool = False
    """Not executed, because of an earlier error or the end of the connection."""
    executes: int = 0
    message: Arrival | None = None
    """On its way into a buffer of the peer."""
    access: Access | None = None
    """On its way to the memory of the peer."""

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
class _Qp(Line[Request]):
    failed: bool = False
    line: deque[Request] = field(default_factory=deque)
    """To a peer that responds, and not begun there: in tag order."""
    begun: list[Request] = field(default_factory=list)
    """Begun there and not settled."""
    front: int = 0
    """Latest cycle in which a request began there."""


class Transport(Reporter[Request]):
    """All QPs' connections. ``inject``, ``latency`` and errors are of remote requests."""

    def __init__(
        self, seed: int, done: DoneAgent, conn: ConnAgent, receiver: Receiver, responder: Responder
    ) -> None:
        super().__init__(seed, "transport", done, Channel.LOOP, Channel.LOOP_FAIL)
        #: The responding side; ``responder.enable(qp)`` makes Reads and Writes be checked there.
        self.responder = responder
        #: The receiving side; ``receiver.enable(qp)`` makes Sends take buffers there.
        self.receiver = receiver
        self._conn = conn
        #: One of these is reported for a request after one that failed, or after a terminate.
        self.after_error: tuple[int, ...] = (CqeStatus.CANCELED,)
        self.clear()

    def clear(self) -> None:
        """After a reset: nothing is under way, nothing arrived."""
        self.receiver.clear()
        self.responder.clear()
        super().clear()
        self._qps: defaultdict[int, _Qp] = defaultdict(_Qp)
        #: Messages by the QP at which they arrived.
        self.arrived: defaultdict[int, list[Message]] = defaultdict(list)
        #: Requests taken: remote ones, local ones.
        self.taken = 0
        self.local = 0
        #: QPs that were to be terminated, in order, with the state that they had entered.
        self.terminated: list[tuple[int, int]] = []

    def line(self, qp: int) -> _Qp:
        return self._qps[qp]

    # -- what a test can do ------------------------------------------------------------------------

    def release(self, qp: int) -> None:
        """What was held is reported now."""
        state = self._qps[qp]
        state.held = False
        self._soon(state, 1)

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
            request.waiting = True
            state.line.append(request)
            self._begin_next(state)
        elif self._is_received(request):
            self._send_message(request)
        elif self.automatic and not state.held:
            self._schedule(state, request)

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
            self._soon(state, 8)
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

    def _send(self, state: Line[Request], at: int) -> Request:
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
            request.executes,
            settled=partial(self._settle, request),
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
            self._soon(state, 8)
        self._begin_next(state)

    # -- Requests to a peer that responds ----------------------------------------------------------

    def _begin_next(self, state: _Qp) -> None:
        """To such a peer requests go in order, and none overtakes what came before it: a Send
        begins when everything before it is settled, a Read or Write when every Send is.
        """
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
                settled = partial(self._settle, request)
                request.access = Access(request.peer, request.post, settled=settled)
                self.responder.arrive(request.access, request.executes)
            elif self.receiver.serves(request.peer):
                state.begun.append(request)
                self._send_message(request)
            else:
                request.waiting = False
                if self.automatic and not state.held:
                    self._soon(state, 8)
