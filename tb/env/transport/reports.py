# SPDX-License-Identifier: Apache-2.0
"""What the halves of the transport have in common: QPs that take part, and reports to the engine,
in order within a QP and in any order across QPs.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tb.env.agents.transport import DoneAgent
from tb.env.defs import CqeStatus
from tb.env.harness.harness import Channel, Harness
from tb.env.harness.records import DoneReport, RecvDone
from tb.env.harness.schedule import Schedule
from tb.env.harness.streams import stream

MOST_BYTES = 1 << 20  # longest payload that is moved


class Served:
    """QPs of which a half looks after what their peers send."""

    def __init__(self) -> None:
        #: None: all.
        self.enabled: set[int] | None = set()

    def enable(self, *qps: int) -> None:
        """These QPs (none given: every QP) are served from now on."""
        if not qps:
            self.enabled = None
        elif self.enabled is not None:
            self.enabled |= set(qps)

    def serves(self, qp: int) -> bool:
        """What is for this QP is looked after."""
        return self.enabled is None or qp in self.enabled


@dataclass(eq=False, kw_only=True)
class Errand:
    """Something on its way to the peer."""

    settled: Callable[[int], None] | None = None
    """Told once what becomes of it: 0 done, else the status for its requester."""
    withdrawn: bool = False
    """Its requester does not wait for it any more."""

    def settle(self, status: int) -> None:
        """Tells the requester, if there is one and it does not know."""
        settled, self.settled = self.settled, None
        if settled is not None:
            settled(status)


@dataclass(eq=False, kw_only=True)
class Job:
    """What is to be reported with ``status`` in cycle ``ends``."""

    status: int = 0
    ends: int = 0
    reported: bool = False
    waiting: bool = False
    """Not reported before something else has happened."""


J = TypeVar("J", bound=Job)


@dataclass
class Line(Generic[J]):
    """Of one QP: what was taken and not reported, in tag order; the latest cycle of a report."""

    queue: deque[J] = field(default_factory=deque)
    held: bool = False
    ended: bool = False
    last: int = 0


class Reporter(Generic[J]):
    """Reports through an agent. Settings are attributes; they apply from then on."""

    def __init__(self, seed: int, name: str, done: DoneAgent, *loop: Channel) -> None:
        """``loop``: channels of the harness that report by themselves, and let reports fail."""
        self._stream = seed, name
        self._done = done
        self._loops = loop
        done.busy = lambda: self.busy
        self._clock = Schedule(lambda: self._harness)
        #: Cycles from what is taken to its report: from, to.
        self.latency = (1, 200)
        #: Share that is reported with an error, and with which status.
        self.error_rate = 0.0
        self.error_status: int = CqeStatus.TRANSPORT_ERROR
        #: Told of each: the status to report, or None to leave that to the transport.
        self.inject: Callable[[J], int | None] | None = None
        #: Without it nothing is reported, except by ``report``.
        self.automatic = True

    def clear(self) -> None:
        """After a reset: nothing is under way."""
        self._rng = stream(*self._stream)
        self._clock.clear()
        self._loop = False
        self._loop_waiting = 0

    @property
    def rng(self) -> random.Random:
        """Random numbers of its own."""
        return self._rng

    @property
    def _harness(self) -> Harness:
        harness: Harness = self._done.harness
        return harness

    @property
    def busy(self) -> bool:
        """Something is still to come by itself."""
        return self._clock.busy or self._loop_waiting > 0

    def line(self, qp: int) -> Line[J]:
        """What is known of a QP."""
        raise NotImplementedError

    def outstanding(self, qp: int) -> list[J]:
        """What a QP has taken and was not reported, in tag order."""
        return list(self.line(qp).queue)

    def hold(self, qp: int) -> None:
        """Nothing of this QP is reported, or asked again, until ``release``."""
        self.line(qp).held = True

    def loopback(
        self, latency: int | None, *, mask: int = 0, match: int = 0, status: int = 2
    ) -> None:
        """What is taken from now on is reported by the harness, in order, ``latency`` cycles later
        at the earliest; None ends that. Those fail with ``status`` whose low 32 bits of the context
        (of a buffer: of the address of slot 0), masked with ``mask`` (not 0), are ``match``.
        Nothing is moved.
        """
        assert not self._clock.busy, "something is under way"
        self._loop = latency is not None
        word = 0 if latency is None else 1 | status << 8 | latency << 16
        self._harness.configure(self._loops[1], mask | match << 32)
        self._harness.configure(self._loops[0], word)

    def done(self, record: DoneReport | RecvDone) -> None:
        """A report was taken."""
        if not self._done.sent(record):
            self._loop_waiting -= 1

    def _send(self, line: Line[J], at: int) -> J:
        """Reports the oldest of a QP."""
        raise NotImplementedError

    def _schedule(self, line: Line[J], job: J) -> None:
        def report(at: int) -> None:
            # What was scheduled a second time ends at another time, or is over.
            if job.ends == at and not line.held:
                while not job.reported and not line.queue[0].waiting:
                    self._send(line, at)

        self._clock.at(job.ends, report)

    def _soon(self, line: Line[J], most: int) -> None:
        """Everything of a QP, up to what waits, is reported soon, in order."""
        at = self._harness.cycle
        ready = []
        for job in line.queue:
            if job.waiting:
                break
            at = min(at + self._rng.randint(1, most), max(job.ends, at))
            job.ends = line.last = at
            ready.append(job)
        for job in ready:
            self._schedule(line, job)
