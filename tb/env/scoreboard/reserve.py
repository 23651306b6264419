# SPDX-License-Identifier: Apache-2.0
"""Credits of the full engine: each accepted post holds one of its send CQ (CQ-17).

There is no port for them. A post is judged when its step comes; the engine looked at the CQ at some
moment between the write and that step. All states that the CQ had in that time are kept; a post
may have been decided in any of them, with the credits of all earlier posts counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from models.codes import Cause, CqStatus, Life
from tb.env.scoreboard.base import Context
from tb.env.scoreboard.credits import CreditChecks, _Request

_UNLIMITED = 1 << 20
_NONE = -(1 << 20)


class _Moment(NamedTuple):
    serial: int
    error: int  # 1: in error; 2: overflow, the error's step is still to come
    space: int  # entries that are neither present nor used by credits of earlier completions


class PostCredits(CreditChecks):
    """What posts can get of their send CQ."""

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._moments: list[deque[_Moment]] = [deque() for _ in range(ctx.params.num_cq)]
        self.serial = 0
        #: Serial of the oldest write that waits for its step; set by the checks of posts.
        self.horizon = 0
        #: Posts on their way whose QP names the CQ; set by the checks of posts.
        self.on_the_way = [0] * ctx.params.num_cq
        for cq in range(ctx.params.num_cq):
            self.changed(cq)

    def changed(self, cq: int) -> None:
        """The state of a CQ changed."""
        engine = self.ctx.engine
        producer, q = engine.producers[cq], engine.cqs[cq]
        if not producer.exists or producer.stopped or q.life is not Life.READY:
            space = _NONE
        elif not producer.reservation:
            space = _UNLIMITED
        else:
            space = producer.ring.entries - (producer.alloc - q.cons) + producer.used
        error = 1 if q.status is not CqStatus.OK else 2 * producer.overflowed
        moments = self._moments[cq]
        if not moments or moments[-1][1:] != (error, space):
            self.serial += 1
            moments.append(_Moment(self.serial, error, space))
        while len(moments) > 1 and moments[1].serial <= self.horizon:
            moments.popleft()

    def outcomes(self, cq: int, since: int, wanted: int = 1) -> set[Cause]:
        """What a post can have been told that wants so many credits, in the states since serial
        ``since``.
        """
        granted = self.ctx.engine.producers[cq].granted
        found: set[Cause] = set()
        for moment in self.moments(cq, since):
            if moment.error:
                found.add(Cause.CQ_ERROR)
            if moment.error != 1:
                room = moment.space - granted
                found.add(Cause.OK if room >= wanted else Cause.NO_CREDIT)
        return found

    def errors(self, cq: int, since: int) -> set[Cause]:
        """The same for what holds its credits already: OK, or CQ_ERROR, or both."""
        found: set[Cause] = set()
        for moment in self.moments(cq, since):
            if moment.error:
                found.add(Cause.CQ_ERROR)
            if moment.error != 1:
                found.add(Cause.OK)
        return found

    def moments(self, cq: int, since: int) -> Iterator[_Moment]:
        """The states of a CQ since serial ``since``."""
        moments = self._moments[cq]
        for i, moment in enumerate(moments):
            if i + 1 == len(moments) or moments[i + 1].serial > since:
                yield moment

    def refusal_excused(self, cq: int, cycle: int, wanted: int = 1) -> bool:
        """May a command have made the engine more careful? ``cycle``: of the write."""
        request = _Request(cycle, cq, wanted, True)
        request.low = request.high = self.room(cq)
        return self._changing(request)

    def grant(self, cq: int, count: int = 1) -> None:
        """A post was accepted."""
        producer = self.ctx.engine.producers[cq]
        if producer.reservation and producer.exists:
            self.note(cq)
            producer.granted += count
            self.note(cq)

    def in_flight(self, cq: int) -> int:
        """Credits that posts without a step may hold already."""
        return self.on_the_way[cq]
