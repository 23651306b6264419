# SPDX-License-Identifier: Apache-2.0
"""The receiving half of the transport: messages that arrive, the buffers that are taken for them,
and the reports of these buffers.

Two ways to use it. Tests ask by themselves (:meth:`Receiver.request`, :meth:`Receiver.report`). Or
:meth:`Receiver.enable` names QPs that receive: every Send to one of them then takes a buffer there,
is asked for again after NOT_READY, and its own request is reported when the buffer is filled. QPs
that are not named are never asked.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from models.post.post import Segment
from tb.env.agents.base import Pending
from tb.env.agents.receive import Answer, RecvDoneAgent, RecvRequestAgent
from tb.env.defs import CqeStatus, Scatter
from tb.env.harness.harness import Channel
from tb.env.harness.records import ScatterAnswer
from tb.env.harness.schedule import LEAD
from tb.env.host.memory import HostMemory
from tb.env.transport.reports import MOST_BYTES, Errand, Job, Line, Reporter, Served


@dataclass(eq=False)
class Arrival(Errand):
    """A message on its way into a buffer."""

    qp: int
    length: int  # bytes
    solicited: bool = False
    invalidate: bool = False
    token: int = 0
    data: bytes | None = None
    """The payload, ``length`` bytes, if it is to be moved."""
    at: int = 0
    """Cycle in which it arrives."""
    tries: int = 0


@dataclass(eq=False)
class Taken(Job):
    """A buffer that was taken and not reported; in ``ends`` the whole message is in place."""

    answer: Answer
    arrival: Arrival

    @property
    def qp(self) -> int:
        """The QP that took it."""
        return self.answer.qp

    @property
    def tag(self) -> int:
        """Its tag."""
        return self.answer.tag


@dataclass
class _Qp(Line[Taken]):
    inbox: deque[Arrival] = field(default_factory=deque)
    """Messages in order; the first one is being asked for."""
    asking: bool = False


class Receiver(Reporter[Taken], Served):
    """The receiving side of all QPs; Sends to those that it serves take buffers. ``inject``,
    ``latency`` and errors are of the buffers taken.
    """

    def __init__(
        self, seed: int, rreq: RecvRequestAgent, rdone: RecvDoneAgent, memory: HostMemory
    ) -> None:
        super().__init__(seed, "receiver", rdone, Channel.RLOOP, Channel.RLOOP_FAIL)
        Served.__init__(self)
        self._rreq = rreq
        self._memory = memory
        rreq.busy = lambda: self.busy
        #: Cycles from NOT_READY to the next request for the same message: from, to.
        self.retry = (16, 200)
        #: Requests for one message at most; then its sender gets TRANSPORT_ERROR. None: no end.
        self.tries: int | None = None
        #: One of these is reported for a buffer that is too short.
        self.length_status: tuple[int, ...] = (
            CqeStatus.SUCCESS,
            CqeStatus.CANCELED,
            CqeStatus.TRANSPORT_ERROR,
        )
        #: Payloads are written to host memory, as the scatter list says.
        self.fill = False
        self.clear()

    def clear(self) -> None:
        super().clear()
        self._qps: defaultdict[int, _Qp] = defaultdict(_Qp)
        #: All answers, in order.
        self.answers: list[Answer] = []

    def ended(self, qp: int) -> bool:
        """The engine has ended the connection of a QP, and the host has made no other one."""
        return self._qps[qp].ended

    def line(self, qp: int) -> _Qp:
        return self._qps[qp]

    # -- what a test can do ------------------------------------------------------------------------

    def post_request(
        self,
        qp: int,
        length: int,
        *,
        solicited: bool = False,
        invalidate: bool = False,
        token: int = 0,
        data: bytes | None = None,
        at_cycle: int | None = None,
        gap: int = 0,
    ) -> Pending[Answer]:
        """Queues one receive request and returns its answer to come; requests go out one per
        cycle. Nothing is asked a second time. ``data``: payload to move (see ``fill``).
        """
        arrival = Arrival(qp, length, solicited, invalidate, token, data)
        return self._ask(arrival, at_cycle, gap)

    async def request(self, qp: int, length: int, **options: object) -> Answer:
        """One receive request; returns the answer. Options: those of :meth:`post_request`."""
        return await self.post_request(qp, length, **options)  # type: ignore[arg-type]

    def report(
        self, qp: int, tag: int | None = None, status: int | None = None, at: int | None = None
    ) -> None:
        """Reports a taken buffer, by default the oldest of its QP, at once or in cycle ``at``. A
        tag that is not the oldest is reported as it is, for the engine to refuse.
        """
        state = self._qps[qp]
        if tag is not None and (not state.queue or state.queue[0].tag != tag):
            self._done.send(qp, tag, status or 0, at_cycle=at)
            return
        if status is not None:
            state.queue[0].status = status
        self._send(state, at or 0)

    def release(self, qp: int) -> None:
        """What was held goes on now."""
        state = self._qps[qp]
        state.held = False
        if self.automatic:
            self._soon(state, 1)
        self._ask_next(state)

    # -- from the sending half ---------------------------------------------------------------------

    def arrive(self, arrival: Arrival) -> None:
        """A message is on its way; messages of one QP keep their order."""
        state = self._qps[arrival.qp]
        state.inbox.append(arrival)
        if len(state.inbox) == 1:
            self._ask_next(state)

    def gather(self, segments: Sequence[Segment]) -> bytes:
        """The payload of a Send, as host memory holds it."""
        assert sum(segment.length for segment in segments) <= MOST_BYTES, "too long to be moved"
        return b"".join(self._memory.read(s.address, s.length) for s in segments)

    def withdraw(self, arrival: Arrival) -> None:
        """The connection of the sender has ended: what was not asked for yet is dropped."""
        arrival.settled = None
        arrival.withdrawn = True
        state = self._qps[arrival.qp]
        if arrival in state.inbox and not (state.asking and state.inbox[0] is arrival):
            state.inbox.remove(arrival)
            self._ask_next(state)

    def connected(self, qp: int) -> None:
        """The host has connected the QP: the end of an earlier connection is over."""
        self._qps[qp].ended = False

    def terminated(self, qp: int, cycle: int) -> None:
        """The engine ends the connection of a QP: what is not in place stays so, and everything is
        reported soon.
        """
        state = self._qps[qp]
        state.ended = True
        for taken in state.queue:
            if self.automatic and taken.ends > cycle:
                taken.status = CqeStatus.CANCELED
        if self.automatic and not state.held:
            self._soon(state, 8)

    # -- from the recorder -------------------------------------------------------------------------

    def answered(self, record: ScatterAnswer) -> None:
        """A request was answered."""
        answer, note = self._rreq.answered(record)
        self.answers.append(answer)
        arrival = note if isinstance(note, Arrival) else Arrival(answer.qp, answer.nbytes)
        state = self._qps[answer.qp]
        mine = bool(state.inbox) and state.inbox[0] is arrival
        if mine:
            state.asking = False
            arrival.tries += 1
            if answer.code == Scatter.NOT_READY:
                again = self.tries is None or arrival.tries < self.tries
                if again and not arrival.withdrawn:
                    self._ask_later(state)
                    return
            state.inbox.popleft()
        if answer.code != Scatter.SCATTER:
            arrival.settle(CqeStatus.TRANSPORT_ERROR)
        if answer.taken:
            self._take(state, Taken(answer, arrival))
        if mine:
            self._ask_next(state)

    # -- execution ---------------------------------------------------------------------------------

    def _ask(self, arrival: Arrival, at: int | None = None, gap: int = 0) -> Pending[Answer]:
        return self._rreq.send(
            arrival.qp,
            arrival.length,
            solicited=arrival.solicited,
            invalidate=arrival.invalidate,
            token=arrival.token,
            note=arrival,
            at_cycle=at,
            gap=gap,
        )

    def _ask_next(self, state: _Qp) -> None:
        if not state.inbox or state.asking or state.held:
            return
        arrival = state.inbox[0]
        if arrival.at > self._harness.cycle + LEAD:
            self._clock.at(arrival.at, lambda _: self._ask_next(state))
        else:
            state.asking = True
            self._ask(arrival)

    def _ask_later(self, state: _Qp) -> None:
        at = self._harness.cycle + self._rng.randint(*self.retry)
        self._clock.at(at, lambda _: self._ask_next(state))

    def _take(self, state: _Qp, taken: Taken) -> None:
        if self._loop:
            self._loop_waiting += 1
            taken.arrival.settle(CqeStatus.SUCCESS)
            return
        cycle = taken.answer.cycle
        taken.status = self._outcome(state, taken)
        delay = self._rng.randint(1, 8) if state.ended else self._rng.randint(*self.latency)
        taken.ends = state.last = max(cycle + delay, state.last)
        state.queue.append(taken)
        if self.automatic and not state.held:
            self._schedule(state, taken)

    def _outcome(self, state: _Qp, taken: Taken) -> int:
        status = self.inject(taken) if self.inject is not None else None
        if status is not None:
            return status
        if taken.answer.code == Scatter.LENGTH_ERROR:
            return self._rng.choice(self.length_status)
        if state.ended:
            return CqeStatus.CANCELED
        if self.error_rate and self._rng.random() < self.error_rate:
            return self.error_status
        return CqeStatus.SUCCESS

    def _send(self, state: Line[Taken], at: int) -> Taken:
        taken = state.queue.popleft()
        taken.reported = True
        received = taken.status == CqeStatus.SUCCESS and taken.answer.code == Scatter.SCATTER
        self._fill(taken, received)
        self._done.send(taken.qp, taken.tag, taken.status, at_cycle=at)
        taken.arrival.settle(CqeStatus.SUCCESS if received else CqeStatus.TRANSPORT_ERROR)
        return taken

    def _fill(self, taken: Taken, received: bool) -> None:
        """Moves the payload; of a message that was not received a random part of it."""
        if not self.fill or taken.answer.code != Scatter.SCATTER:
            return
        data = taken.arrival.data
        assert taken.answer.nbytes <= MOST_BYTES, f"{taken.answer.nbytes} bytes to move"
        if data is None:
            data = self._rng.randbytes(taken.arrival.length)
            taken.arrival.data = data
        left = len(data) if received else self._rng.randint(0, len(data))
        at = 0
        for segment in taken.answer.segments:
            part = data[at : min(at + segment.length, left)]
            self._memory.write(segment.address, part)
            at += segment.length
