# SPDX-License-Identifier: Apache-2.0
"""Credits of the full engine: each accepted post holds one of its CQ (CQ-17).

There is no port for them. A post is judged when its step comes; the engine looked at the CQ at some
moment between the write and that step. All states that the CQ had in that time are kept; a post
may have been decided in any of them, with the credits of all earlier posts counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from models.codes import Cause, CqStatus, Life
from tb.env.scoreboard.context import Context
from tb.env.scoreboard.cq.credits import Credits

_UNLIMITED = 1 << 20
_NONE = -(1 << 20)

#: So many states of a CQ are kept before it is looked which of them count for nothing.
_LOOK = 64


class _Moment(NamedTuple):
    serial: int
    error: int  # 1: in error; 2: overflow, the error's step is still to come
    space: int  # entries that are neither present nor used by credits of earlier completions


#: Lanes whose steps reserve.
POST_LANE, TAKE_LANE, RECEIVE_LANE = 3, 5, 6


class PostCredits(Credits):
    """What posts, receive posts and takes can get of a CQ. Posts on an own receive queue hold
    credits of the receive CQ, and so do buffers that are taken from an SRQ.

    Steps of different lanes do not come in the order in which the engine gave their credits: what
    is on its way on another lane may hold one already.
    """

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._moments: list[deque[_Moment]] = [deque() for _ in range(ctx.params.num_cq)]
        self.serial = 0
        #: Who waits for a step: the serial of the oldest state that counts for it.
        self.waiters: list[Callable[[], int]] = []
        #: What is on its way and names the CQ, by lane and CQ; set by those who check it.
        self.lanes = {
            lane: [0] * ctx.params.num_cq for lane in (POST_LANE, TAKE_LANE, RECEIVE_LANE)
        }
        for cq in range(ctx.params.num_cq):
            self.changed(cq)

    def changed(self, cq: int) -> None:
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
        if len(moments) % _LOOK == 0:
            # Older states than those that something waits since count for nothing.
            horizon = min((since() for since in self.waiters), default=self.serial)
            while len(moments) > 1 and moments[1].serial <= horizon:
                moments.popleft()

    def outcomes(self, cq: int, since: int, wanted: int = 1, lane: int = POST_LANE) -> set[Cause]:
        """What a step of a lane can have been told that wants so many credits, in the states since
        serial ``since``.
        """
        granted = self.ctx.engine.producers[cq].granted
        found: set[Cause] = set()
        for moment in self.moments(cq, since):
            if moment.error:
                found.add(Cause.CQ_ERROR)
            if moment.error != 1:
                room = moment.space - granted
                found.add(Cause.OK if room >= wanted else Cause.NO_CREDIT)
        others = sum(count[cq] for number, count in self.lanes.items() if number != lane)
        if others and Cause.OK in found:
            least = granted + others + wanted
            if any(m.error != 1 and m.space < least for m in self.moments(cq, since)):
                found.add(Cause.NO_CREDIT)
        return found

    def moments(self, cq: int, since: int) -> Iterator[_Moment]:
        """The states of a CQ since serial ``since``, the latest first."""
        for moment in reversed(self._moments[cq]):
            yield moment
            if moment.serial <= since:
                return

    def refusal_excused(self, cq: int, cycle: int, wanted: int = 1) -> bool:
        """May a command have made the engine more careful? ``cycle``: of the write."""
        return self.excused(cq, cycle, wanted, self.room(cq))

    def grant(self, cq: int, count: int = 1) -> None:
        """A post was accepted."""
        producer = self.ctx.engine.producers[cq]
        if producer.reservation and producer.exists:
            self.note(cq)
            producer.granted += count
            self.note(cq)

    def in_flight(self, cq: int) -> int:
        """Credits that writes and requests without a step may hold already."""
        return sum(count[cq] for count in self.lanes.values())
