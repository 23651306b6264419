# SPDX-License-Identifier: Apache-2.0
"""Breadth-first walk over every interleaving of what can happen to small receive queues.

A :class:`World` holds the models (an SRQ, the receive sides of its queue pairs) and a
:class:`Witness`. The witness sees only what a consumer and a transport see (posts, answers, its own
reports, completions, states, events) and keeps plain lists of cookies; the properties are stated
over these lists. In every state the walk also lets everything finish that can.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from models.codes import Cause, CommandResult, LogCause, ModelError, QpState, ScatterCode, Status
from models.keys.region import RegionTable
from models.params import Params
from models.post.post import Segment, slots_of
from models.post.qp import QpConfig, QpModel
from models.post.qp_types import StateStep
from models.receive.receive_post import RecvPost
from models.receive.receive_qp import ReceiveQp
from models.receive.receive_types import RecvConfig, RecvRequest, SrqConfig, TakeResult
from models.receive.srq import SrqModel
from models.tests.post.posting_walk import Result, ViolationError, demand

PARAMS = Params(idx_w=4, num_qp=2, num_srq=2, rq_log2=1, srq_log2=1, rx_log2=1, num_mr=2)
START = 15  #: indices and tags start just before their wrap
OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
FLUSHING = (QpState.DISCONNECTED, QpState.ERROR, QpState.DESTROYING)

__all__ = ["PARAMS", "Result", "Setup", "ViolationError", "World", "walk"]


def on(move: Callable[..., object], *args: object) -> Callable[[World], object]:
    """A move with its arguments."""
    return lambda world: move(world, *args)


@dataclass
class Setup:
    """One configuration to walk: queue, mutated models, what may not happen."""

    shared: bool = True
    qps: int = 2
    size: int = 2
    qp: type[ReceiveQp] = ReceiveQp
    srq: type[SrqModel] = SrqModel
    skip: tuple[str, ...] = ()  #: beginnings of the names of moves

    def skips(self, name: str) -> bool:
        """True if a move is not to be made."""
        return name.startswith(self.skip)


@dataclass
class Witness:
    """The history, as far as anything can still depend on it. Buffers are told by their cookie."""

    posted: int = 0
    available: list[int] = field(default_factory=list)
    flight: list[list[list[int | None]]] = field(default_factory=list)  #: cookie, long, status
    states: list[QpState] = field(default_factory=list)
    ending: list[bool] = field(default_factory=list)  #: a length error is to end the connection
    unreaped: int = 0
    threshold: int = 0
    armed: bool = False
    waiting: bool = False

    def clone(self) -> Witness:
        """An independent copy."""
        other = object.__new__(Witness)
        other.__dict__.update(self.__dict__)
        other.available = list(self.available)
        other.flight = [[list(t) for t in flight] for flight in self.flight]
        other.states, other.ending = list(self.states), list(self.ending)
        return other

    def event(self) -> bool:
        """After the number available fell or a threshold was set: is an event due?"""
        if not self.armed or len(self.available) >= self.threshold:
            return False
        self.armed, self.waiting = False, True
        return True

    def enter(self, qp: int, step: StateStep | None) -> None:
        """A state changes."""
        if step is None:
            return
        demand(step.old is self.states[qp] is not step.new, "state", f"{step}")
        left = step.old in OPEN and step.new not in OPEN
        demand(step.term is left, "term", f"{step}")
        self.states[qp] = step.new
        if step.new not in OPEN:
            self.ending[qp] = False


class World:
    """The models and the witness."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        regions = RegionTable(PARAMS)
        self.qps = [QpModel(n, PARAMS) for n in range(setup.qps)]
        self.rqs = [setup.qp(qp, regions) for qp in self.qps]
        self.srq = setup.srq(1, PARAMS, regions)
        self.srq.create(SrqConfig(setup.size), START)
        self.wit = Witness()
        for n in range(setup.qps):
            rq = self.rqs[n]
            rq.taken = rq.reported = rq.completed = START
            self.wit.flight.append([])
            self.wit.states.append(QpState.FREE)
            self.wit.ending.append(False)
            self.create(n)
            self.connect(n)

    def clone(self) -> World:
        """An independent copy."""
        other = object.__new__(World)
        other.setup = self.setup
        other.wit = self.wit.clone()
        srq = object.__new__(type(self.srq))
        srq.__dict__.update(self.srq.__dict__)
        srq.buffers = list(srq.buffers)
        other.srq, other.qps, other.rqs = srq, [], []
        for old in self.rqs:
            qp = object.__new__(QpModel)
            qp.__dict__.update(old.qp.__dict__)
            rq = object.__new__(type(old))
            rq.__dict__.update(old.__dict__)
            rq.qp, rq.srq = qp, srq if old.srq is not None else None
            rq.buffers, rq.flight = list(rq.buffers), []
            for taken in old.flight:
                copy = object.__new__(type(taken))
                copy.__dict__.update(taken.__dict__)
                rq.flight.append(copy)
            other.qps.append(qp)
            other.rqs.append(rq)
        return other

    def key(self) -> tuple[object, ...]:
        """Canonical state: cookies by rank, numbers relative to each other."""
        w, srq = self.wit, self.srq
        live = sorted([*w.available, *(int(t[0] or 0) for flight in w.flight for t in flight)])
        rank = {cookie: n for n, cookie in enumerate(live)}
        model: list[object] = [
            (
                srq.tail - srq.reaped,
                srq.available,
                srq.in_flight,
                getattr(srq, "taker", None),
                srq.exists,
            ),
            (srq.threshold, srq.armed, srq.waiting),
            tuple(rank.get(b.post.context, -1) for b in srq.buffers),
        ]
        for rq in self.rqs:
            model.append(
                (
                    tuple(
                        (rank.get(t.buffer.post.context, -1), t.overlong, t.status, t.flush)
                        for t in rq.flight
                    ),
                    tuple(rank.get(b.post.context, -1) for b in rq.buffers),
                    rq.taken - rq.reported,
                    (0, 0) if rq.srq else (rq.tail - rq.completed, rq.tail - rq.taken),
                    (rq.qp.state, rq.overlong == rq.qp.connections),
                )
            )
        seen = (
            tuple(rank[c] for c in w.available),
            tuple(tuple((rank[int(t[0] or 0)], t[1], t[2]) for t in f) for f in w.flight),
            (*w.states, *w.ending, w.unreaped, w.threshold, w.armed, w.waiting),
        )
        return (*model, *seen)

    # -- moves -------------------------------------------------------------------------------

    def create(self, n: int) -> None:
        """CREATE_QP."""
        self.wit.enter(n, self.qps[n].create(QpConfig()))
        if self.setup.shared:
            self.rqs[n].create(RecvConfig(srq=1), self.srq)
        else:
            self.rqs[n].create(RecvConfig(depth=self.setup.size))

    def connect(self, n: int) -> None:
        """CONNECT_QP."""
        self.command(n, self.qps[n].connect(1))

    def command(
        self, n: int, got: tuple[CommandResult, StateStep | None], busy: bool = False
    ) -> None:
        """The result of a state command, and its step."""
        destroying = self.wit.states[n] is QpState.DESTROYING or got[1] is None
        wanted = {CommandResult.CMD_BUSY, CommandResult.CMD_PENDING} if busy else {CommandResult.OK}
        demand(got[0] in wanted and (destroying or got[1] is not None), "result", f"{got}")
        self.wit.enter(n, got[1])

    def post(self) -> None:
        """A post in which nothing is wrong; the queue may be full, or not take it now."""
        w = self.wit
        flight = sum(len(f) for f in w.flight)
        want = Cause.OK
        post = RecvPost(1, 0, w.posted)
        if self.setup.shared:
            full = len(w.available) + flight + w.unreaped >= self.setup.size
            got = self.srq.post(post)
        else:
            full = len(w.available) + flight >= self.setup.size
            got = self.rqs[0].post(post)
            if w.states[0] in (QpState.FREE, QpState.DESTROYING):
                want = Cause.NO_QP
            elif w.states[0] in (QpState.DISCONNECTED, QpState.ERROR):
                want = Cause.BAD_STATE
        if want is Cause.OK and full:
            want = Cause.QUEUE_FULL
        demand(got.cause is want, "cause", f"{got}")
        if want is Cause.OK:
            w.available.append(w.posted)
            w.posted += 1

    def bad_post(self) -> None:
        """A post with a fault in it changes nothing."""
        bad = RecvPost(1, 1, 1, slots_of([Segment(0, 1, 0x1000)]))
        before = self.key()
        got = self.srq.post(bad) if self.setup.shared else self.rqs[0].post(bad)
        demand(got.number is None and self.key() == before, "accepted", f"{got}")
        unknown = not self.setup.shared and self.wit.states[0] in (
            QpState.FREE,
            QpState.DESTROYING,
        )
        demand(got.cause is (Cause.NO_QP if unknown else Cause.BAD_REGION), "cause")

    def take(self, n: int, length: int = 0, credit: bool = True) -> None:
        """A message arrives; every buffer has 0 bytes."""
        w = self.wit
        flying = [t for t in w.flight[n] if t[2] is None]
        want = ScatterCode.LENGTH_ERROR if length else ScatterCode.SCATTER
        if (
            not w.available
            or len(flying) >= 1 << PARAMS.rx_log2
            or (self.setup.shared and not credit)
        ):
            want = ScatterCode.NOT_READY
        if w.states[n] not in OPEN:
            want = ScatterCode.REFUSED
        got = self.rqs[n].take(RecvRequest(n, length), credit=credit)
        demand(got.code is want, "code", f"{got.code} instead of {want}")
        if want in (ScatterCode.SCATTER, ScatterCode.LENGTH_ERROR):
            self._took(n, got, [None, length, None])
            w.ending[n] = w.ending[n] or bool(length)
        else:
            demand(got.buffer is None and not got.event, "taken", f"{got}")

    def _took(self, n: int, got: TakeResult, record: list[int | None]) -> None:
        w = self.wit
        demand(got.buffer is not None and bool(w.available), "twice", f"{got}")
        cookie = w.available.pop(0)
        demand(got.buffer is not None and got.buffer.post.context == cookie, "order", f"{got}")
        record[0] = cookie
        w.flight[n].append(record)
        demand(got.event is (self.setup.shared and w.event()), "event", f"{got}")

    def flush_take(self, n: int) -> None:
        """A flush takes a buffer: an own one, after all taken ones were reported."""
        w = self.wit
        demand(not self.setup.shared and w.states[n] in FLUSHING, "flush")
        demand(all(t[2] is not None for t in w.flight[n]), "flush", "before a report")
        self._took(n, self.rqs[n].flush_take(), [None, 0, Status.CANCELED])

    def raw_flush(self, n: int) -> None:
        """A flush, whether it may be or not."""
        self.rqs[n].flush_take()

    def report(self, n: int, status: int) -> None:
        """The transport reports the oldest buffer of a queue pair that it works on."""
        rq, w = self.rqs[n], self.wit
        oldest = next(t for t in w.flight[n] if t[2] is None)
        for wrong in (rq.reported + 1, rq.reported - 1):
            got = rq.report(wrong % 16, 9)
            demand(got == (LogCause.RDONE_UNEXPECTED, None), "stray", f"{wrong}")
        oldest[2] = status
        log, step = rq.report(rq.reported % 16, status)
        demand(log is LogCause.OK, "report", f"{log}")
        ends = w.states[n] in OPEN and status != 0
        demand((step is not None) is ends, "error state", f"{step}")
        w.enter(n, step)

    def complete(self, n: int) -> None:
        """The next completion: of the oldest taken buffer, with its status."""
        w = self.wit
        got = self.rqs[n].complete()
        demand(bool(w.flight[n]), "extra", "completion without a buffer")
        cookie, long, status = w.flight[n].pop(0)
        demand(got.cqe.request_context == cookie, "order", f"{got.cqe} instead of {cookie}")
        demand(status is not None, "early", "completion before its report")
        demand(got.status == (3 if long else status) == got.cqe.status, "status", f"{got}")
        w.unreaped += self.setup.shared

    def reap(self, count: int) -> None:
        """The consumer has removed completions; one more than there are is refused."""
        w, srq = self.wit, self.srq
        beyond = srq.reaped + w.unreaped + 1
        demand(srq.reap(beyond % 16) is Cause.BAD_INDEX, "reap", "more than there are")
        demand(srq.reap((srq.reaped + count) % 16) is Cause.OK, "reap", f"{count}")
        w.unreaped -= count

    def watermark(self, threshold: int) -> None:
        """SET_SRQ_WATERMARK."""
        w = self.wit
        wanted = CommandResult.CMD_BUSY if threshold and w.waiting else CommandResult.OK
        demand(self.srq.check_watermark(threshold) is wanted, "result", "watermark")
        if wanted is not CommandResult.OK:
            return
        if threshold:
            w.threshold, w.armed = threshold, True
        got = self.srq.watermark(threshold)
        demand(got.event is bool(threshold and w.event()), "event", f"{got}")

    def interrupt(self) -> None:
        """The event leaves."""
        self.srq.interrupt()
        self.wit.waiting = False

    def pending(self, n: int) -> None:
        """SET_QP_STATE to DISCONNECT_PENDING."""
        self.command(n, self.qps[n].set_state(3))

    def conn(self, n: int) -> None:
        """The transport says that the connection has ended."""
        self.wit.enter(n, self.qps[n].disconnected()[1])

    def fail_length(self, n: int) -> None:
        """The state that follows a length error."""
        step = self.rqs[n].fail_length()
        demand((step is not None) is self.wit.ending[n], "length", f"{step}")
        self.wit.enter(n, step)

    def _busy(self, n: int) -> bool:
        own = bool(self.wit.available) and not self.setup.shared
        busy = bool(self.wit.flight[n]) or own
        demand(self.rqs[n].busy is busy, "busy", f"QP {n}")
        return busy

    def idle(self, n: int) -> None:
        """SET_QP_STATE to IDLE."""
        busy = self._busy(n)
        self.command(n, self.qps[n].set_state(1, receiving=self.rqs[n].busy), busy)

    def destroy(self, n: int) -> None:
        """DESTROY_QP."""
        busy = self._busy(n)
        self.command(n, self.qps[n].destroy(receiving=self.rqs[n].busy), busy)

    def renew(self) -> None:
        """DESTROY_SRQ gives back exactly what is available; then CREATE_SRQ."""
        w = self.wit
        given = [b.post.context for b in self.srq.destroy()]
        demand(given == w.available, "lost", f"{given} instead of {w.available}")
        self.srq.create(SrqConfig(self.setup.size))
        self.wit.available, self.wit.unreaped = [], 0
        w.threshold, w.armed = 0, False

    def moves(self) -> Iterator[tuple[str, Callable[[World], object]]]:
        """Everything that can happen now."""
        w, shared = self.wit, self.setup.shared
        yield "post", World.post
        yield "bad post", World.bad_post
        for n, state in enumerate(w.states):
            yield f"take {n}", on(World.take, n)
            yield f"long {n}", on(World.take, n, 1)
            yield f"creditless {n}", on(World.take, n, 0, False)
            if any(t[2] is None for t in w.flight[n]):
                yield f"success {n}", on(World.report, n, 0)
                yield f"cancel {n}", on(World.report, n, 1)
                yield f"failure {n}", on(World.report, n, 7)
            if self.rqs[n].completable:
                yield f"complete {n}", on(World.complete, n)
            if self.rqs[n].flushable:
                yield f"flush {n}", on(World.flush_take, n)
            if state in OPEN:
                yield f"conn {n}", on(World.conn, n)
            if state is QpState.CONNECTED:
                yield f"pending {n}", on(World.pending, n)
            if w.ending[n]:
                yield f"length {n}", on(World.fail_length, n)
            if state in (QpState.DISCONNECTED, QpState.ERROR):
                yield f"idle {n}", on(World.idle, n)
            if state is QpState.IDLE:
                yield f"connect {n}", on(World.connect, n)
            if state is QpState.FREE:
                yield f"create {n}", on(World.create, n)
            else:
                yield f"destroy {n}", on(World.destroy, n)
        if shared:
            for count in range(w.unreaped + 1):
                yield f"reap {count}", on(World.reap, count)
            for threshold in range(self.setup.size + 1):
                yield f"watermark {threshold}", on(World.watermark, threshold)
            if w.waiting:
                yield "interrupt", World.interrupt
            if all(state is QpState.FREE for state in w.states) and not w.waiting:
                yield "renew", World.renew

    # -- in every state ----------------------------------------------------------------------

    def check(self) -> None:
        """Conservation: available, in flight, completed; and what a query shows."""
        w, srq = self.wit, self.srq
        flight = sum(len(f) for f in w.flight)
        if self.setup.shared:
            out = srq.query()
            outstanding = len(w.available) + flight + w.unreaped
            demand(out[0] == len(w.available) | outstanding << 16, "count", f"{out}")
            demand(outstanding <= self.setup.size, "count", "more than the size")
            demand(out[3] == w.armed | w.waiting << 1, "watermark", f"{out}")
            demand(out[2] >> 16 == w.threshold, "watermark", f"{out}")
            demand(srq.in_flight == flight, "count", f"{srq.in_flight} in flight")
        else:
            rq = self.rqs[0]
            demand(rq.tail - rq.completed == len(w.available) + flight, "count", "own queue")
            demand(len(w.available) == rq.available, "count", "own queue")
        for n, rq in enumerate(self.rqs):
            flying = [t for t in w.flight[n] if t[2] is None]
            demand(rq.in_flight == len(flying) <= 1 << PARAMS.rx_log2, "limit", f"{rq.in_flight}")
            demand(rq.length_pending is w.ending[n], "length", f"QP {n}")

    def refuses(self) -> None:
        """What cannot happen now is an error of who says that it happened."""
        steps: list[tuple[bool, Callable[[World], object]]] = [
            (self.srq.waiting, lambda w: w.srq.interrupt()),
            (not self.srq.waiting and not self.srq.in_flight, lambda w: w.srq.destroy()),
        ]
        for n, rq in enumerate(self.rqs):
            steps.append((rq.completable, on(World.complete, n)))
            steps.append((rq.flushable, on(World.raw_flush, n)))
            ended = rq.overlong == rq.qp.connections
            steps.append((ended, on(World.fail_length, n)))
        for possible, step in steps:
            if not possible:
                try:
                    step(self.clone())
                except ModelError:
                    continue
                raise ViolationError("refuse", "an impossible step was taken")

    def drain(self) -> None:
        """Everything that can finish finishes: nothing taken is left, nor anything to flush."""
        for n, rq in enumerate(self.rqs):
            while any(t[2] is None for t in self.wit.flight[n]):
                self.report(n, 0)
            while rq.flushable:
                self.flush_take(n)
            while rq.completable:
                self.complete(n)
            demand(not self.wit.flight[n], "stuck", f"QP {n}")
            if self.wit.states[n] in FLUSHING and not self.setup.shared:
                demand(not self.wit.available, "stuck", "not flushed")
        self.check()


def walk(setup: Setup) -> Result:
    """Walk every state; raises :class:`ViolationError` with the path in its notes."""
    start = World(setup)
    known = {start.key()}
    todo: deque[tuple[World, tuple[str, ...]]] = deque([(start, ())])
    result = Result()
    while todo:
        world, path = todo.popleft()
        for name, move in world.moves():
            if setup.skips(name):
                continue
            after = world.clone()
            try:
                move(after)
                result.transitions += 1
                result.moves.add(name)
                key = after.key()
                if key not in known:
                    known.add(key)
                    todo.append((after, (*path, name)))
                    after.check()
                    after.refuses()
                    after.clone().drain()
            except ModelError as error:
                raise ViolationError("model", f"{error} after {(*path, name)}") from error
            except ViolationError as violation:
                violation.add_note(" > ".join((*path, name)))
                raise
    result.states = len(known)
    return result
