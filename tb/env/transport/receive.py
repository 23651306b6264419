# SPDX-License-Identifier: Apache-2.0
"""The receiving half of the transport: messages that arrive, the buffers that are taken for them,
and the reports of these buffers.

Two ways to use it. Tests ask by themselves (:meth:`Receiver.request`, :meth:`Receiver.report`). Or
:meth:`Receiver.enable` names QPs that receive: every Send to one of them then takes a buffer there,
is asked for again after NOT_READY, and its own request is reported when the buffer is filled. QPs
that are not named are never asked.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from models.post.post import Segment
from tb.env.agents.base import Pending
from tb.env.agents.receive import Answer, RecvDoneAgent, RecvRequestAgent
from tb.env.defs import CqeStatus, Scatter
from tb.env.harness.harness import Channel, Harness
from tb.env.harness.records import RecvDone, RecvRequest, ScatterAnswer
from tb.env.harness.schedule import LEAD, Schedule
from tb.env.harness.streams import stream
from tb.env.host.memory import HostMemory

MOST_BYTES = 1 << 20  # longest payload that is moved


@dataclass(eq=False)
class Arrival:
    """A message on its way into a buffer."""

    qp: int
    length: int  # bytes
    solicited: bool = False
    invalidate: bool = False
    token: int = 0
    data: bytes | None = None
    """The payload, ``length`` bytes, if it is to be moved."""
    settled: Callable[[int], None] | None = None
    """Told once what becomes of it: 0 received, else the status for its sender."""
    at: int = 0
    """Cycle in which it arrives."""
    tries: int = 0
    withdrawn: bool = False
    """Its sender does not wait for it any more."""

    def settle(self, status: int) -> None:
        """Tells the sender, if there is one and it does not know."""
        settled, self.settled = self.settled, None
        if settled is not None:
            settled(status)


@dataclass(eq=False)
class Taken:
    """A buffer that was taken and not reported."""

    answer: Answer
    arrival: Arrival
    status: int = 0
    ends: int = 0
    """Cycle in which the whole message is in place, and of the report."""
    reported: bool = False

    @property
    def qp(self) -> int:
        """The QP that took it."""
        return self.answer.qp

    @property
    def tag(self) -> int:
        """Its tag."""
        return self.answer.tag


@dataclass
class _Qp:
    taken: deque[Taken] = field(default_factory=deque)
    inbox: deque[Arrival] = field(default_factory=deque)
    """Messages in order; the first one is being asked for."""
    asking: bool = False
    held: bool = False
    ended: bool = False
    last: int = 0
    """Latest cycle of a report."""


#: Told of each buffer taken: the status to report, or None to leave that to the receiver.
Inject = Callable[[Taken], int | None]


class Receiver:
    """The receiving side of all QPs. Settings are attributes; they apply from then on."""

    def __init__(
        self, seed: int, rreq: RecvRequestAgent, rdone: RecvDoneAgent, memory: HostMemory
    ) -> None:
        self._seed = seed
        self._rreq = rreq
        self._rdone = rdone
        self._memory = memory
        rreq.busy = lambda: self.busy
        rdone.busy = lambda: self.busy
        self._clock = Schedule(lambda: self._harness)
        #: QPs that take the Sends of their peers; None: all.
        self.enabled: set[int] | None = set()
        #: Cycles from an answer to the report: from, to.
        self.latency = (1, 200)
        #: Cycles from NOT_READY to the next request for the same message: from, to.
        self.retry = (16, 200)
        #: Requests for one message at most; then its sender gets TRANSPORT_ERROR. None: no end.
        self.tries: int | None = None
        #: Share of buffers that are reported with an error, and with which status.
        self.error_rate = 0.0
        self.error_status: int = CqeStatus.TRANSPORT_ERROR
        #: One of these is reported for a buffer that is too short.
        self.length_status: tuple[int, ...] = (
            CqeStatus.SUCCESS,
            CqeStatus.CANCELED,
            CqeStatus.TRANSPORT_ERROR,
        )
        self.inject: Inject | None = None
        #: Without it nothing is reported, except by :meth:`report`.
        self.automatic = True
        #: Payloads are written to host memory, as the scatter list says.
        self.fill = False
        self.clear()

    def clear(self) -> None:
        """After a reset: nothing is under way."""
        self._rng = stream(self._seed, "receiver")
        self._qps: defaultdict[int, _Qp] = defaultdict(_Qp)
        self._clock.clear()
        self._loop = False
        self._loop_waiting = 0
        #: All answers, in order.
        self.answers: list[Answer] = []

    @property
    def rng(self) -> random.Random:
        """The receiver's own stream of random numbers."""
        return self._rng

    @property
    def _harness(self) -> Harness:
        harness: Harness = self._rdone.harness
        return harness

    @property
    def busy(self) -> bool:
        """Requests or reports are still to come by themselves."""
        return self._clock.busy or self._loop_waiting > 0

    def outstanding(self, qp: int) -> list[Taken]:
        """Buffers that a QP has taken and that were not reported, in tag order."""
        return list(self._qps[qp].taken)

    def ended(self, qp: int) -> bool:
        """The engine has ended the connection of a QP, and the host has made no other one."""
        return self._qps[qp].ended

    # -- what a test can do ------------------------------------------------------------------------

    def enable(self, *qps: int) -> None:
        """Sends to these QPs (none given: to every QP) take buffers from now on."""
        if not qps:
            self.enabled = None
        elif self.enabled is not None:
            self.enabled |= set(qps)

    def serves(self, qp: int) -> bool:
        """Sends to this QP take buffers."""
        return self.enabled is None or qp in self.enabled

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
        if tag is not None and (not state.taken or state.taken[0].tag != tag):
            self._rdone.send(qp, tag, status or 0, at_cycle=at)
            return
        if status is not None:
            state.taken[0].status = status
        self._send(state, at or 0)

    def hold(self, qp: int) -> None:
        """Nothing of this QP is reported or asked again until :meth:`release`."""
        self._qps[qp].held = True

    def release(self, qp: int) -> None:
        """What was held goes on now."""
        state = self._qps[qp]
        state.held = False
        if self.automatic:
            self._report_soon(state, 1)
        self._ask_next(state)

    def loopback(
        self, latency: int | None, *, mask: int = 0, match: int = 0, status: int = 2
    ) -> None:
        """Buffers taken from now on are reported by the harness, in order, ``latency`` cycles after
        their answers at the earliest; None ends that. Those fail with ``status`` whose address of
        slot 0, its low 32 bits masked with ``mask`` (not 0), is ``match``. Nothing is filled.
        """
        assert not self._clock.busy, "buffers are under way"
        self._loop = latency is not None
        word = 0 if latency is None else 1 | status << 8 | latency << 16
        self._harness.configure(Channel.RLOOP_FAIL, mask | match << 32)
        self._harness.configure(Channel.RLOOP, word)

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
        for taken in state.taken:
            if self.automatic and taken.ends > cycle:
                taken.status = CqeStatus.CANCELED
        if self.automatic and not state.held:
            self._report_soon(state, 8)

    # -- from the recorder -------------------------------------------------------------------------

    def requested(self, _: RecvRequest) -> None:
        """A request was taken."""
        self._rreq.taken()

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

    def done(self, record: RecvDone) -> None:
        """A report was taken."""
        if not self._rdone.sent(record):
            self._loop_waiting -= 1

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
        self._clock.at(
            self._harness.cycle + self._rng.randint(*self.retry), lambda _: self._ask_next(state)
        )

    def _take(self, state: _Qp, taken: Taken) -> None:
        if self._loop:
            self._loop_waiting += 1
            taken.arrival.settle(CqeStatus.SUCCESS)
            return
        cycle = taken.answer.cycle
        taken.status = self._outcome(state, taken)
        delay = self._rng.randint(1, 8) if state.ended else self._rng.randint(*self.latency)
        taken.ends = state.last = max(cycle + delay, state.last)
        state.taken.append(taken)
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

    def _schedule(self, state: _Qp, taken: Taken) -> None:
        def report(at: int) -> None:
            # What was scheduled a second time ends at another time, or is over.
            if taken.ends == at and not state.held:
                while not taken.reported:
                    self._send(state, at)

        self._clock.at(taken.ends, report)

    def _report_soon(self, state: _Qp, most: int) -> None:
        """Everything that a QP has taken is reported soon, in order."""
        at = self._harness.cycle
        for taken in state.taken:
            at = min(at + self._rng.randint(1, most), max(taken.ends, at))
            taken.ends = state.last = at
        for taken in list(state.taken):
            self._schedule(state, taken)

    def _send(self, state: _Qp, at: int) -> None:
        taken = state.taken.popleft()
        taken.reported = True
        received = taken.status == CqeStatus.SUCCESS and taken.answer.code == Scatter.SCATTER
        self._fill(taken, received)
        self._rdone.send(taken.qp, taken.tag, taken.status, at_cycle=at)
        taken.arrival.settle(CqeStatus.SUCCESS if received else CqeStatus.TRANSPORT_ERROR)

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
            self._write(segment, part)
            at += segment.length

    def _write(self, segment: Segment, part: bytes) -> None:
        if part:
            self._memory.write(segment.address, part)
