# SPDX-License-Identifier: Apache-2.0
"""Breadth-first walk over every interleaving of what can happen to one small queue pair.

A :class:`World` holds the model and a :class:`Witness`. The witness sees only what a consumer and
a transport see (posts and their answers, work beats, its own reports, completions, states) and
keeps one record for each accepted post; the properties are stated over these records. In every
state the walk also lets everything finish that can: whatever is not held must complete then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from models.codes import Cause, CommandResult, LogCause, ModelError, PostFlag, QpState, Status
from models.params import Params
from models.post.post import Post
from models.post.qp import Indication, PostResult, QpConfig, QpModel, StateStep
from models.verbs import BY_NAME

INDEX_BITS = 3
WRAP = 1 << INDEX_BITS
START = WRAP - 1  #: indices and tags start just before their wrap
PEER = 0xABCDEF
PARAMS = Params(idx_w=INDEX_BITS, num_qp=2, sq_log2=2, num_pages=2)

DEFER, FENCE, SILENT = PostFlag.DEFER, PostFlag.READ_FENCE, PostFlag.SILENT_SUCCESS


def make(name: str, flags: int = 0) -> Post:
    """A post of this type without segments."""
    return Post(BY_NAME[name].opcode, flags=flags)


GOOD = {
    "send": make("Send"),
    "read": make("Read"),
    "local": make("FastRegister"),
    "fenced": make("Send", FENCE),
    "fenced local": make("Invalidate", FENCE),
    "silent": make("Write", SILENT),
}


class ViolationError(AssertionError):
    """A property does not hold; ``prop`` is its name."""

    def __init__(self, prop: str, text: str) -> None:
        super().__init__(f"{prop}: {text}")
        self.prop = prop


def demand(good: bool, prop: str, text: str = "") -> None:
    """Raises :class:`ViolationError` unless ``good``."""
    if not good:
        raise ViolationError(prop, text)


@dataclass
class Record:
    """One accepted post, until its completion."""

    post: Post
    held: bool = True
    end: bool = False  #: it was the newest one when it was released
    offered: bool = False
    dropped: bool = False  #: not offered when the connection was left
    answer: int | None = None  #: reported, or executed

    def clone(self) -> Record:
        """An independent copy."""
        other = object.__new__(Record)
        other.__dict__.update(self.__dict__)
        return other

    def key(self) -> tuple[object, ...]:
        """What its future can depend on."""
        post = self.post.opcode, self.post.flags & ~DEFER
        return (*post, self.held, self.end, self.offered, self.dropped, self.answer)


@dataclass
class Witness:
    """The history, as far as anything can still depend on it."""

    records: list[Record] = field(default_factory=list)
    accepted: int = START
    completed: int = START
    works: int = START  #: remote work beats
    state: QpState = QpState.FREE
    failed: bool = False
    terms: int = 0

    def clone(self) -> Witness:
        """An independent copy."""
        other = object.__new__(Witness)
        other.__dict__.update(self.__dict__)
        other.records = [record.clone() for record in self.records]
        return other

    def release(self) -> None:
        """Everything held is released; the newest record ends the batch."""
        if any(r.held for r in self.records):
            self.records[-1].end = True
        for record in self.records:
            record.held = False

    def enter(self, step: StateStep | None) -> None:
        """The state changes."""
        if step is None:
            return
        demand(step.old is self.state and step.old is not step.new, "state", f"{step}")
        if self.state is QpState.CONNECTED:
            for record in self.records:
                record.held = False
                record.dropped = not record.offered
        self.terms += step.term
        if step.new is QpState.CONNECTED:
            self.terms, self.failed = 0, False
        ended = step.new not in (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
        was = self.state in (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
        demand(step.term == (was and ended), "term", f"{step}")
        demand(self.terms <= 1, "term", "told twice")
        self.state = step.new

    def work(self, beat: Indication) -> None:
        """A work beat."""
        waiting = [r for r in self.records if not r.offered]
        demand(bool(waiting), "twice", "work beat without a request that waits for one")
        record = waiting[0]
        number = self.accepted - len(self.records) + self.records.index(record)
        demand(beat.index == number % WRAP and beat.post == record.post, "order", f"{beat}")
        demand(not record.held, "held", "work beat of a held request")
        demand(beat.last == record.end, "batch", f"{beat}")
        if record.post.has(FENCE):
            earlier = self.records[: self.records.index(record)]
            reads = [r for r in earlier if r.post.opcode == BY_NAME["Read"].opcode]
            demand(not reads, "fence", "work beat before a Read has completed")
        record.offered, record.dropped = True, False
        local = record.post.opcode in (BY_NAME["FastRegister"].opcode, BY_NAME["Invalidate"].opcode)
        demand(beat.local == local, "local")
        if local:
            record.answer = 0
        demand(beat.tag == (0 if local else self.works % WRAP), "tag", f"{beat}")
        self.works += not local

    @property
    def unreported(self) -> list[Record]:
        """What the transport works on."""
        return [r for r in self.records if r.offered and r.answer is None]

    def complete(self, index: int, status: int, silent: bool, skipped: bool) -> None:
        """A completion, or a silent success."""
        demand(bool(self.records), "extra", "completion without a request")
        record = self.records.pop(0)
        demand(index == self.completed % WRAP, "order", f"completion {index}")
        demand(skipped == record.dropped, "skip")
        demand(record.dropped or record.answer is not None, "early", "completion before its report")
        cancel = self.failed or record.answer is None
        demand(status == (Status.CANCELED if cancel else record.answer), "status", f"{status}")
        demand(silent == (record.post.has(SILENT) and status == 0), "silent")
        self.failed = self.failed or status != 0
        self.completed += 1


@dataclass
class Setup:
    """One configuration to walk: settings, mutated model, what may happen."""

    slots: int = 2
    watermark: int = 0
    lag: int = 0  #: most retirements that posts do not know yet
    kinds: tuple[str, ...] = tuple(GOOD)
    model: Callable[[], QpModel] = lambda: QpModel(0, PARAMS)
    skip: frozenset[str] = frozenset()


class World:
    """The model and the witness."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.qp = qp = setup.model()
        qp.tail = qp.released = qp.indicated = qp.retired = qp.seen = qp.tags = START
        self.wit = Witness()
        self.create()

    def clone(self) -> World:
        """An independent copy."""
        other = object.__new__(World)
        other.setup = self.setup
        other.wit = self.wit.clone()
        qp = object.__new__(type(self.qp))
        qp.__dict__.update(self.qp.__dict__)
        qp.requests = []
        for request in self.qp.requests:
            copy = object.__new__(type(request))
            copy.__dict__.update(request.__dict__)
            qp.requests.append(copy)
        other.qp = qp
        return other

    def key(self) -> tuple[object, ...]:
        """Canonical state: numbers relative to the oldest request not retired."""
        qp, wit = self.qp, self.wit
        base = qp.retired
        model = tuple(
            (r.number - base, r.last, r.indicated, r.skipped, r.status, r.tag and qp.tags - r.tag)
            for r in qp.requests
        )
        late = None if qp.late is None else qp.late - base
        numbers = (qp.tail - base, qp.released - base, qp.indicated - base, qp.seen - base)
        records = tuple(r.key() for r in wit.records)
        flags = (qp.state, qp.failed, late, wit.state, wit.failed, wit.terms)
        return model, numbers, records, flags

    # -- moves -------------------------------------------------------------------------------

    def create(self) -> None:
        """CREATE_QP."""
        config = QpConfig(depth=self.setup.slots, watermark=self.setup.watermark, age=1)
        self.wit.enter(self.qp.create(config))

    def _post(self, post: Post, page: int = 0, **faults: bool) -> PostResult:
        seen = self.qp.params.index(max(self.qp.seen, self.qp.retired - self.setup.lag))
        return self.qp.post(post, page, retired_seen=seen, **faults)

    def post(self, post: Post) -> None:
        """A post in which nothing is wrong; the queue may be full, or the QP not connected."""
        lagging = self.qp.retired - self.setup.lag
        known = self.wit.accepted - max(self.qp.seen, lagging)
        result = self._post(post)
        if self.wit.state in (QpState.FREE, QpState.DESTROYING):
            demand(result == PostResult(Cause.NO_QP), "cause", f"{result}")
            return
        want = Cause.OK
        if self.wit.state is not QpState.CONNECTED:
            want = Cause.NOT_CONNECTED
        elif known >= self.setup.slots:
            want = Cause.QUEUE_FULL
        demand(result.cause is want, "cause", f"{result}")
        before = sum(r.held for r in self.wit.records)
        if want is Cause.OK:
            self.wit.accepted += 1
            self.wit.records.append(Record(post))
            marked = 0 < self.setup.watermark <= before + 1
            if not post.has(DEFER) or marked:
                self.wit.release()
        else:
            self.wit.release()
        demand(self.qp.held == sum(r.held for r in self.wit.records), "held", f"{result}")

    def bad_post(self, cause: Cause, post: Post, page: int = 0, **faults: bool) -> None:
        """A post in which something is wrong: no completion; releases what is held, if it may."""
        open_ = self.wit.state is QpState.CONNECTED
        gone = self.wit.state in (QpState.FREE, QpState.DESTROYING)
        before = self.key()
        result = self._post(post, page, **faults)
        demand(result.number is None, "accepted")
        if gone:
            demand(result.cause is Cause.NO_QP, "cause", f"{result}")
        elif open_ or cause is Cause.NOT_OWNER:
            full = result.cause is Cause.QUEUE_FULL and bool(faults)
            demand(result.cause is cause or full, "cause", f"{result}")
        if gone or cause is Cause.NOT_OWNER:
            demand(self.key() == before and not result.released, "foreign", f"{result}")
            return
        self.wit.release()
        demand(self.qp.held == 0, "held", "held after an inline failure")

    def age(self) -> None:
        """The oldest held request is too old."""
        self.wit.release()
        demand(len(self.qp.age()) > 0 and self.qp.held == 0, "held", "release by age")

    def indicate(self, late: bool = False) -> None:
        """The next work beat."""
        self.wit.work(self.qp.indicate(late))

    def report(self, status: int) -> None:
        """The transport reports the oldest request that it works on."""
        oldest = self.wit.unreported[0]
        remote = self.wit.works - len(self.wit.unreported)
        for wrong in {remote + 1, remote - 1}:
            got = self.qp.report(wrong % WRAP, 9)
            demand(got == (LogCause.DONE_UNEXPECTED, None), "stray", f"{wrong}")
        oldest.answer = status
        log, step = self.qp.report(remote % WRAP, status)
        demand(log is LogCause.OK, "report", f"{log}")
        open_ = self.wit.state in (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
        demand((step is not None) == (open_ and status != 0), "error state", f"{step}")
        self.wit.enter(step)

    def retire(self) -> None:
        """The next completion."""
        r = self.qp.retire()
        self.wit.complete(r.index, r.status, r.silent, r.skipped)
        demand(r.cqe.status == r.status and r.cqe.qp == 0, "cqe")

    def command(self, what: tuple[CommandResult, StateStep | None], *good: CommandResult) -> None:
        """A command that changes the state."""
        demand(what[0] in (good or (CommandResult.OK,)), "result", f"{what}")
        self.wit.enter(what[1])

    def idle(self) -> None:
        """SET_QP_STATE to IDLE: not while a request is outstanding."""
        wanted = CommandResult.CMD_BUSY if self.wit.records else CommandResult.OK
        self.command(self.qp.set_state(1), wanted)

    def destroy(self) -> None:
        """One DESTROY_QP."""
        wanted = CommandResult.CMD_PENDING if self.wit.records else CommandResult.OK
        self.command(self.qp.destroy(), wanted)

    def conn(self) -> None:
        """The transport says that the connection has ended."""
        log, step = self.qp.disconnected()
        demand((log is LogCause.CONN_NO_QP) == (self.wit.state is QpState.FREE), "log")
        self.wit.enter(step)

    def moves(self) -> Iterator[tuple[str, Callable[[World], object]]]:
        """Everything that can happen now."""
        state, qp = self.wit.state, self.qp
        yield "conn", World.conn
        if state is QpState.FREE:
            yield "create", World.create
            yield "post send", lambda w: w.post(GOOD["send"])
            return
        kinds = self.setup.kinds if state is QpState.CONNECTED else ("send",)
        for kind in kinds:
            for flags in (DEFER, 0):
                post = make_flags(GOOD[kind], flags)
                yield f"post {kind} {flags!r}", lambda w, p=post: w.post(p)  # type: ignore[misc]
        yield "bad flags", lambda w: w.bad_post(Cause.BAD_FLAGS, make("Send", 0x108))
        yield "bad, deferred", lambda w: w.bad_post(Cause.BAD_OPCODE, Post(0xFF, flags=DEFER))
        yield "no credit", lambda w: w.bad_post(Cause.NO_CREDIT, GOOD["send"], credit=False)
        yield "CQ error", lambda w: w.bad_post(Cause.CQ_ERROR, GOOD["send"], cq_error=True)
        yield "foreign", lambda w: w.bad_post(Cause.NOT_OWNER, GOOD["send"], 1)
        yield "destroy", World.destroy
        if state is QpState.IDLE:
            yield "connect", lambda w: w.command(w.qp.connect(PEER))
        if state in (QpState.DISCONNECTED, QpState.ERROR):
            yield "idle", World.idle
        if state is QpState.CONNECTED:
            yield "pending", lambda w: w.command(w.qp.set_state(3))
        if state in (QpState.CONNECTED, QpState.DISCONNECT_PENDING):
            yield "disconnect", lambda w: w.command(w.qp.set_state(4))
            yield "flush", lambda w: w.command(w.qp.flush())
        if any(r.held for r in self.wit.records):
            yield "age", World.age
        if qp.next_indication() is not None:
            yield "indicate", World.indicate
        if qp.late is not None:
            yield "late", lambda w: w.indicate(late=True)
        if self.wit.unreported:
            yield "success", lambda w: w.report(0)
            yield "failure", lambda w: w.report(Status.TRANSPORT_ERROR)
        if qp.retirable:
            yield "retire", World.retire

    def refuses(self) -> None:
        """What cannot happen now is an error of who says that it happened."""
        qp = self.qp
        steps: list[tuple[bool, Callable[[World], object]]] = [
            (qp.next_indication() is not None, lambda w: w.qp.indicate()),
            (qp.late is not None, lambda w: w.qp.indicate(late=True)),
            (bool(qp.requests) and qp.requests[0].done, lambda w: w.qp.retire()),
            (qp.held > 0, lambda w: w.qp.age()),
        ]
        for possible, step in steps:
            if not possible:
                try:
                    step(self.clone())
                except ModelError:
                    continue
                raise ViolationError("refuse", "an impossible step was taken")

    def drain(self) -> None:
        """Everything that can finish finishes: only what is held may be left (DF-04, DF-08)."""
        moved = True
        while moved:
            moved = False
            for ready, move in (
                (self.qp.next_indication() is not None, World.indicate),
                (bool(self.wit.unreported), lambda w: w.report(0)),
                (self.qp.retirable, World.retire),
            ):
                if ready:
                    move(self)
                    moved = True
        left = len(self.wit.records)
        demand(all(r.held for r in self.wit.records), "stuck", f"{left} requests")
        demand(self.qp.outstanding == left == self.qp.held, "count", f"{left}")
        if left:  # DF-08: the next inline failure sends all of it off
            self.bad_post(Cause.BAD_OPCODE, Post(0xFF))
            self.drain()


def make_flags(post: Post, flags: int) -> Post:
    """The post with more flags."""
    return Post(post.opcode, flags=post.flags | flags)


@dataclass
class Result:
    """Counts of a walk that closed: every reachable state was continued."""

    states: int = 0
    transitions: int = 0
    moves: set[str] = field(default_factory=set)


def walk(setup: Setup) -> Result:
    """Walk every state; raises :class:`ViolationError` with the path in its notes."""
    start = World(setup)
    known = {start.key()}
    todo: deque[tuple[World, tuple[str, ...]]] = deque([(start, ())])
    result = Result()
    while todo:
        world, path = todo.popleft()
        for name, move in world.moves():
            if name in setup.skip:
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
                    after.refuses()
                    after.clone().drain()
            except ModelError as error:
                raise ViolationError("model", f"{error} after {(*path, name)}") from error
            except ViolationError as violation:
                violation.add_note(" > ".join((*path, name)))
                raise
    result.states = len(known)
    return result
