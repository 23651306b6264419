# SPDX-License-Identifier: Apache-2.0
"""Credits (CQ-17): their answers, in request order, granted exactly when there is room; and in the
full engine those of posts, each of which holds one of its CQ.

Between a request and its answer the room may change. The least and the most of that time are kept;
a grant needs a moment with room, a refusal one without. Credits of earlier requests that are
answered meanwhile count against later ones for all of their time, since requests are served in
order.

There is no port for those of posts. A post is judged when its step comes; the engine looked at the
CQ at some moment between the write and that step. All states that the CQ had in that time are kept;
a post may have been decided in any of them, with the credits of all earlier posts counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from models import codes
from models.codes import Cause, CqStatus, Life
from tb.env.defs import RSV
from tb.env.harness.records import Command, CreditAnswer, CreditRequest
from tb.env.scoreboard.context import Check, Context, Left, args_of

_UNLIMITED = 1 << 20
_NONE = -(1 << 20)
_CHANGING = (codes.Command.CREATE_CQ, codes.Command.RESIZE_CQ, codes.Command.DESTROY_CQ)


@dataclass(eq=False)
class _Request:
    cycle: int
    cq: int
    wanted: int
    legal: bool
    early: bool = False  # its credits were used before its answer
    epoch: int = 0
    low: int = _UNLIMITED
    high: int = _NONE

    def __str__(self) -> str:
        return f"credit request of cycle {self.cycle} ({self.wanted} of CQ {self.cq})"


class Credits(Check):
    """What is known of the credits of each CQ, however they are asked for."""

    rules = "CQ-17"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        #: (cycle, allocated index, credits held) of each CQ, for queries.
        self.log: list[deque[tuple[int, int, int]]] = [
            deque(maxlen=64) for _ in range(ctx.params.num_cq)
        ]

    def room(self, cq: int) -> int:
        """Credits that a request could get in this state."""
        engine = self.ctx.engine
        producer, q = engine.producers[cq], engine.cqs[cq]
        if not producer.exists or producer.stopped or q.life is not Life.READY:
            return _NONE
        if q.status is not CqStatus.OK:
            return _NONE
        if not producer.reservation:
            return _UNLIMITED
        return producer.ring.entries - (producer.alloc - q.cons) - producer.credits_held

    def changed(self, cq: int) -> None:
        """The state of a CQ changed."""

    def created(self, cq: int) -> None:
        """A CQ begins a new life: grants of the old one are void."""
        self.log[cq].clear()
        self.note(cq)

    def use_early(self, cq: int) -> bool:  # noqa: ARG002
        """A completion uses a credit whose answer is still on its way; False if there is none."""
        return False

    def in_flight(self, cq: int) -> int:  # noqa: ARG002
        """Credits that may be held already, although no record says so yet."""
        return 0

    def note(self, cq: int) -> None:
        """Remembers what a query of this moment would show."""
        producer = self.ctx.engine.producers[cq]
        self.log[cq].append((self.ctx.cycle, producer.alloc, producer.credits_held))

    def since(self, cq: int, start: int) -> set[tuple[int, int]]:
        """Allocated index and credits held of all moments from a cycle on, as far as noted."""
        producer = self.ctx.engine.producers[cq]
        pairs = {(producer.alloc, producer.credits_held)}
        log = list(self.log[cq])
        for i, (cycle, alloc, held) in enumerate(log):
            # The entry in front of the window shows its state at the beginning.
            if cycle >= start or i + 1 == len(log) or log[i + 1][0] >= start:
                pairs.add((alloc, held))
        return pairs

    def excused(self, cq: int, cycle: int, wanted: int, low: int) -> bool:
        """May a command in flight have refused a request of this cycle for ``wanted`` credits, with
        ``low`` free at least? While a CQ is created, destroyed or resized the engine may be more
        careful: a grant must fit both rings.
        """
        for command in self.ctx.finished:
            if command.cycle >= cycle and self._excuses(command, cq, wanted, low):
                return True
        command_now = self.ctx.command()
        return command_now is not None and self._excuses(command_now, cq, wanted, low)

    def _excuses(self, command: Command, cq: int, wanted: int, low: int) -> bool:
        if command.code not in _CHANGING or command.args[0] != cq:
            return False
        if command.code != codes.Command.RESIZE_CQ:
            return True
        producer = self.ctx.engine.producers[cq]
        log2 = producer.ring.log2
        smaller = 1 << min(args_of(command).log2, log2, self.ctx.old_log2.get(cq, log2))
        return low - (producer.ring.entries - smaller) < wanted


class PortCredits(Credits):
    """Requests and answers of the credit port."""

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.waiting: deque[_Request] = deque()
        self._open: dict[int, deque[_Request]] = {}
        self._epoch = [0] * ctx.params.num_cq

    def request(self, record: CreditRequest) -> None:
        """A request was taken."""
        cq, wanted = RSV.unpack(record.data).values()
        legal = wanted in (1, 2) and cq < self.ctx.params.num_cq
        legal = legal and not record.data & RSV.reserved
        request = _Request(record.cycle, cq, wanted, legal)
        self.waiting.append(request)
        if legal:
            request.epoch = self._epoch[cq]
            request.low = request.high = self.room(cq)
            self._open.setdefault(cq, deque()).append(request)

    def changed(self, cq: int) -> None:
        waiting = self._open.get(cq)
        if waiting:
            room = self.room(cq)
            for request in waiting:
                request.low = min(request.low, room)
                request.high = max(request.high, room)

    def answer(self, record: CreditAnswer) -> None:
        """A request was answered."""
        if not self.waiting:
            self.fail("credit answer without a request")
        request = self.waiting[0]
        cq = request.cq
        if not request.legal:
            if record.granted:
                self.fail(f"{request}: malformed, but granted")
        elif record.granted:
            if not request.early and request.high < request.wanted:
                self.fail(
                    f"{request}: granted, at most {max(request.high, 0)} were free", ("CQ", cq)
                )
        elif request.early:
            self.fail(f"{request}: refused, but a completion used its credit", ("CQ", cq))
        elif request.low >= request.wanted and not self.excused(
            cq, request.cycle, request.wanted, request.low
        ):
            self.fail(f"{request}: refused, at least {request.low} were free", ("CQ", cq))
        self.waiting.popleft()
        if request.legal:
            waiting = self._open[cq]
            waiting.popleft()
            if not waiting:
                del self._open[cq]
            if record.granted and not request.early:
                self._hold(request)

    def use_early(self, cq: int) -> bool:
        for request in self._open.get(cq, ()):
            if not request.early and request.high >= request.wanted:
                request.early = True
                self._hold(request)
                return True
        return False

    def created(self, cq: int) -> None:
        self._epoch[cq] += 1
        super().created(cq)
        for request in self._open.get(cq, ()):
            request.epoch = self._epoch[cq]

    def in_flight(self, cq: int) -> int:
        """Credits that requests without an answer may hold already."""
        return sum(r.wanted for r in self._open.get(cq, ()) if not r.early)

    def _hold(self, request: _Request) -> None:
        producer = self.ctx.engine.producers[request.cq]
        if not producer.reservation or not producer.exists:
            return
        if request.epoch != self._epoch[request.cq]:
            return
        self.note(request.cq)
        producer.granted += request.wanted
        self.note(request.cq)
        behind = False
        for other in self._open.get(request.cq, ()):
            # Without the request itself in the list all others are after it.
            if behind or not request.early:
                other.low -= request.wanted
                other.high -= request.wanted
            behind = behind or other is request

    def left(self) -> Iterator[Left]:
        """Requests without an answer."""
        for request in self.waiting:
            yield Left("credits", request.cycle, "no answer to the credit request of cycle")


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
