# SPDX-License-Identifier: Apache-2.0
"""Breadth-first walk over every interleaving of what can happen to one small queue.

A :class:`World` holds the model (queue, producer, host memory, reader) and a :class:`Witness`. The
witness sees only what a consumer sees (completions placed and acknowledged, its own calls, the
callbacks) and keeps it in plain lists; the properties are stated over those lists, so they share no
bookkeeping with the model. Two worlds with the same canonical state behave alike for ever, so each
is continued only once; where the set of states closes, the walk covers histories of any length.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from models.arm.arm import Callback, CqConfig, CqModel, Step
from models.codes import ArmType, Cause, CqStatus, Life
from models.cq.entries import Cqe
from models.cq.queue import CqProducer, Ring, RingReader

STRENGTH = (ArmType.ERRORS, ArmType.SOLICITED, ArmType.ANY)
INDEX_BITS = 5


class ViolationError(AssertionError):
    """A property does not hold; ``prop`` is its name."""

    def __init__(self, prop: str, text: str) -> None:
        super().__init__(f"{prop}: {text}")
        self.prop = prop


@dataclass
class Witness:
    """The history since creation, and the properties over it."""

    typed: bool = False
    rearm: bool = False
    count: int = 0  #: completions that end moderation's waiting; 0 is off
    placed: list[tuple[bool, bytes]] = field(default_factory=list)
    acked: list[bool] = field(default_factory=list)
    polled: list[bytes] = field(default_factory=list)
    failed: bool = False
    broken: bool = False
    seen: int = 0  #: acknowledged when the last callback was called
    arms: list[ArmType] = field(default_factory=list)  #: since the last callback
    owed: list[str] = field(default_factory=list)  #: why a callback is owed
    waited: list[int] = field(default_factory=list)  #: completions since it is owed
    full: bool = False  #: moderation's waiting is over
    running: bool = False
    event: bool = False
    ended: bool = False

    def clone(self) -> Witness:
        """An independent copy."""
        other = object.__new__(Witness)
        other.__dict__.update(self.__dict__)
        for name in ("placed", "acked", "polled", "arms", "owed", "waited"):
            other.__dict__[name] = list(self.__dict__[name])
        return other

    def key(self) -> tuple[object, ...]:
        """What the properties can still depend on."""
        done = len(self.polled)
        return (
            tuple(c for c, _ in self.placed[done:]),
            len(self.acked) - done,
            max(self.seen - done, 0),
            max((STRENGTH.index(a) for a in self.arms), default=-1),
            bool(self.owed),
            min(sum(self.waited), self.count),
            (self.failed, self.broken, self.full, self.running, self.event, self.ended),
        )

    # -- what happens; each says whether a callback is owed now ------------------------------

    def acknowledge(self, count: int) -> None:
        """``count`` more entries were acknowledged and published."""
        if self.failed:
            raise ViolationError("hole", "published behind an entry that was never acknowledged")
        fresh = 0
        for _ in range(count):
            number = len(self.acked)
            solicited = self.placed[number][0]
            self.acked.append(solicited)
            if number < len(self.polled):
                continue
            fresh += 1
            strongest = max(self.arms, key=STRENGTH.index, default=ArmType.ERRORS)
            if strongest is ArmType.ANY or (strongest is ArmType.SOLICITED and solicited):
                self._owe("completion")
        if self.owed:
            self.waited.append(fresh)

    def arm(self, arm: ArmType) -> None:
        """The consumer armed."""
        self.arms.append(arm)
        present = self.acked[len(self.polled) :]
        new = self.acked[max(len(self.polled), self.seen) :]
        strongest = max(self.arms, key=STRENGTH.index)
        matching = new
        if self.typed and strongest is ArmType.SOLICITED:
            matching = [c for c in new if c]
        if self.typed and strongest is ArmType.ERRORS:
            matching = []
        if matching or (self.rearm and present and not new):
            self._owe("present", len(new))

    def error(self) -> None:
        """The queue went to its error state, or failed again."""
        self.broken = True
        if self.arms:
            self._owe("error")

    def _owe(self, why: str, already: int = 0) -> None:
        if not self.owed:
            self.waited = [already]
        self.owed.append(why)

    def _released(self) -> bool:
        present = len(self.acked) - len(self.polled)
        if self.broken or max(sum(self.waited), present) >= self.count:
            self.full = True
        return self.full

    # -- the properties ----------------------------------------------------------------------

    def after(self, calls: list[Callback], was_owed: bool) -> None:
        """After each step: the callbacks it called, and whether one was owed before it."""
        if self.owed:
            self._released()
        for call in calls:
            self._called(call, was_owed)
        if self.owed and self._released() and not self.running and not self.event:
            raise ViolationError("lost", f"{self.owed} and no callback")

    def _called(self, call: Callback, was_owed: bool) -> None:
        if self.ended:
            raise ViolationError("ended", "callback of a destroyed queue")
        if self.running or self.event:
            raise ViolationError("overlap", "two callbacks at a time")
        if not self.arms:
            raise ViolationError("unarmed", "callback without an arm since the last one")
        if call.snap != len(self.acked):
            raise ViolationError(
                "early", f"stands for {call.snap} entries, {len(self.acked)} visible"
            )
        empty = len(self.polled) >= len(self.acked)
        if empty and not was_owed and "error" not in self.owed:
            raise ViolationError("empty", "callback on an empty queue")
        if not self.owed:
            raise ViolationError("spurious", "callback without a reason")
        if not self.full:
            raise ViolationError("hasty", "callback before moderation let it pass")
        self.arms, self.owed, self.waited, self.full = [], [], [], False
        self.seen = len(self.acked)
        self.running = self.event = True


@dataclass
class Setup:
    """One configuration to walk: settings, mutated model class, what may happen."""

    typed: bool = False
    rearm: bool = False
    mod_count: int = 0
    model: Callable[[], CqModel] = lambda: CqModel(INDEX_BITS)
    sizes: tuple[int, ...] = (1,)  #: log2 of the rings used by resize
    flight: int = 2  #: most entries written and not acknowledged
    depth: int = 99
    skip: frozenset[str] = frozenset()


class World:
    """The model, its memory and reader, and the witness."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.cq = setup.model()
        self.producer = CqProducer()
        self.memory: dict[int, bytes] = {}
        self.next_base = 0
        self.reader = RingReader(self.read, 0, 1)
        self.wit = Witness()
        self.log2 = setup.sizes[0]
        self.create()

    def read(self, addr: int, nbytes: int) -> bytes:
        """Host memory; zero where nothing was written."""
        return self.memory.get(addr, bytes(nbytes))

    def clone(self) -> World:
        """An independent copy."""
        other = object.__new__(World)
        other.__dict__.update(self.__dict__)
        other.memory = dict(self.memory)
        for name in ("cq", "producer", "reader"):
            old = self.__dict__[name]
            new = object.__new__(type(old))
            new.__dict__.update(old.__dict__)
            other.__dict__[name] = new
        other.cq.entries = self.cq.entries.copy()
        other.producer.placed = dict(self.producer.placed)
        other.reader._rings = list(self.reader._rings)
        other.reader.read = other.read
        other.wit = self.wit.clone()
        return other

    def key(self) -> tuple[object, ...]:
        """Canonical state: indices relative to the consumer, ring positions within two passes."""
        cq, reader, producer = self.cq, self.reader, self.producer
        origin = reader.index
        if cq.life is not Life.READY and type(cq) is CqModel:
            # What a queue of the unbroken model does after destruction depends on no more.
            return (cq.life, cq.running, cq.event_open, len(producer.placed), self.log2)
        mutant = getattr(cq, "extra", ())
        enough = self.setup.mod_count
        return (
            (cq.life, cq.status, cq.frozen, cq.arm, cq.running, cq.event_open, cq.due),
            (cq.released, min(cq.due_count, enough), min(cq.most, enough), mutant),
            tuple((e.index - cq.cons, e.solicited) for e in cq.entries),
            (cq.prod - cq.cons, cq.written - cq.cons, max(cq.snap - cq.cons, 0)),
            (producer.alloc - cq.cons, producer.refuses, producer.exists, self.log2),
            tuple(
                (r.log2, (origin - r.origin) % (2 << r.log2) if i == 0 else r.origin - origin)
                for i, r in enumerate((reader.ring, *reader._rings[1:]))
            ),
            self.wit.key(),
        )

    # -- moves -------------------------------------------------------------------------------

    def create(self) -> None:
        """The same queue number is created (again)."""
        s = self.setup
        ring = Ring(self._base(), self.log2)
        self.producer.start(ring, reservation=False)
        entries = 1 << self.log2
        interval = 0xFFFF if s.mod_count else 0
        self.cq.create(CqConfig(entries, s.typed, s.rearm, s.mod_count, interval))
        self.memory = {}
        self.reader = RingReader(self.read, ring.base, ring.log2)
        self.wit = Witness(s.typed, s.rearm, s.mod_count)

    def _base(self) -> int:
        self.next_base += 0x1000
        return self.next_base

    def place(self, cqe: Cqe) -> Step:
        """A completion arrives and is written (the host can see it); or it overflows."""
        if self.producer.alloc - self.cq.cons >= self.producer.ring.entries:
            self.producer.overflow()
            return self.error(CqStatus.BUFFER_OVERFLOW)
        cqe = Cqe(self.producer.alloc, type=cqe.type, status=cqe.status, flags=cqe.flags)
        entry = self.producer.place(cqe.pack(), self.cq.cons)
        self.memory[entry.address] = entry.data
        self.cq.wrote(1)
        self.wit.placed.append((entry.solicited, entry.data))
        return Step()

    def acknowledge(self, count: int) -> Step:
        """The oldest ``count`` writes are answered OKAY."""
        first = min(self.producer.placed)
        entries = self.producer.acknowledge(first, count)
        if not self.cq.publishing:
            return Step()
        step = self.cq.publish([e.solicited for e in entries])
        self.wit.acknowledge(count)
        return step

    def fail(self) -> Step:
        """The oldest write is answered with an error."""
        self.producer.acknowledge(min(self.producer.placed), 1)
        if not self.cq.publishing:
            return Step()
        self.wit.failed = True
        return self.error(CqStatus.INTERNAL_ERROR)

    def error(self, status: CqStatus) -> Step:
        """The queue goes to its error state."""
        step = self.cq.cq_error(status)
        self.wit.error()
        return step

    def bell(self, polls: int, arm: ArmType | None) -> Step:
        """The consumer polls, and arms, in one doorbell."""
        for entry in self.reader.poll(polls):
            number = len(self.wit.polled)
            if entry != self.wit.placed[number][1]:
                raise ViolationError("order", f"entry {number} is not what was placed")
            self.wit.polled.append(entry)
        if polls > len(self.wit.placed) and len(self.wit.polled) < len(self.wit.acked):
            raise ViolationError("unread", "an acknowledged entry is not found by polling")
        step = self.cq.doorbell(self.reader.index % (1 << INDEX_BITS), arm)
        if step.cause is not Cause.OK:
            raise ViolationError("refused", "a legal doorbell was refused")
        if arm is not None:
            self.wit.arm(arm)
        return step

    def bad_bell(self) -> Step:
        """An index past the last entry written is refused and changes nothing."""
        before = self.key()
        step = self.cq.doorbell((self.cq.written + 1) % (1 << INDEX_BITS), ArmType.ANY)
        if step.cause is not Cause.BAD_INDEX or self.key() != before:
            raise ViolationError(
                "refused", "an illegal doorbell was not refused, or changed something"
            )
        return step

    def returns(self) -> Step:
        """The callback returns."""
        self.wit.running = False
        return self.cq.callback_return()

    def event_done(self) -> Step:
        """The event entry is acknowledged."""
        self.wit.event = False
        return self.cq.event_done()

    def event_failed(self, final: bool) -> Step:
        """The event entry's write failed."""
        if final:
            self.wit.event = False
        if not self.wit.ended:
            self.wit.failed = True
            self.wit.error()
        return self.cq.event_failed(final)

    def resize(self) -> Step:
        """To the other ring size."""
        sizes = self.setup.sizes
        log2 = sizes[(sizes.index(self.log2) + 1) % len(sizes)]
        base = self._base()
        switch = self.producer.resize(Ring(base, log2), self.cq.cons)
        self.reader.switch(base, log2, switch % (1 << INDEX_BITS), INDEX_BITS)
        self.log2 = log2
        return self.cq.resize(1 << log2)

    def destroy(self) -> Step:
        """One destroy command."""
        self.producer.stop()
        step = self.cq.destroy(not self.producer.placed)
        self.wit.ended = True
        self.wit.owed = []
        if self.cq.life is Life.FREE:
            self.producer.free()
        return step

    def moves(self) -> Iterator[tuple[str, Callable[[World], object]]]:
        """Everything that can happen now."""
        cq, wit = self.cq, self.wit
        placed = len(self.producer.placed)
        ready = cq.life is Life.READY
        if cq.life is Life.FREE:
            yield "create", lambda w: w.create()
            return
        takes = ready and not self.producer.refuses and cq.status is CqStatus.OK
        if takes and placed < self.setup.flight:
            yield "plain", lambda w: w.place(PLAIN_SEND)
            yield "solicited", lambda w: w.place(SOLICITED_RECEIVE)
            yield "failure", lambda w: w.place(FAILED_SEND)
        if placed:
            yield "ack", lambda w: w.acknowledge(1)
            yield "fail", lambda w: w.fail()
        if placed > 1:
            yield "ack 2", lambda w: w.acknowledge(2)
        if ready:
            for arm in ArmType:
                yield f"arm {arm.name}", lambda w, a=arm: w.bell(0, a)  # type: ignore[misc]
            if self.reader.peek() is not None or len(wit.polled) < len(wit.acked):
                yield "poll 1", lambda w: w.bell(1, None)
                yield "poll all", lambda w: w.bell(99, None)
                yield "poll all, arm ANY", lambda w: w.bell(99, ArmType.ANY)
            yield "bad index", lambda w: w.bad_bell()
            if len(self.setup.sizes) > 1 and cq.status is CqStatus.OK and self._may_resize():
                yield "resize", lambda w: w.resize()
        if wit.running:
            yield "return", lambda w: w.returns()
        if wit.event:
            yield "event done", lambda w: w.event_done()
            yield "event failed", lambda w: w.event_failed(False)
            yield "event given up", lambda w: w.event_failed(True)
        yield "destroy", lambda w: w.destroy()

    def _may_resize(self) -> bool:
        sizes = self.setup.sizes
        log2 = sizes[(sizes.index(self.log2) + 1) % len(sizes)]
        _ = self.reader.ring  # forgets rings that are read to their end
        return len(self.reader._rings) < 2 and not self.producer.too_small(log2, self.cq.cons)


PLAIN_SEND = Cqe()
SOLICITED_RECEIVE = Cqe(type=1, flags=1)
FAILED_SEND = Cqe(status=5)


@dataclass
class Result:
    """Counts of a walk; ``closed``: every reachable state was continued."""

    states: int = 0
    transitions: int = 0
    depth: int = 0
    closed: bool = False


def walk(setup: Setup) -> Result:
    """Walk every state up to ``setup.depth`` moves; raises :class:`ViolationError`."""
    start = World(setup)
    paths: dict[tuple[object, ...], str] = {start.key(): ""}
    todo: deque[tuple[World, int, tuple[str, ...]]] = deque([(start, 0, ())])
    result = Result()
    while todo:
        world, depth, path = todo.popleft()
        if depth >= setup.depth:
            continue
        for name, move in world.moves():
            if name in setup.skip:
                continue
            after = world.clone()
            try:
                owed = bool(after.wit.owed)
                step = move(after)
                calls = step.calls if isinstance(step, Step) else []
                calls = calls + after.cq.moderation().calls  # the look that releases
                after.wit.after(calls, owed)
                if after.cq.prod != len(after.wit.acked) and after.cq.life is Life.READY:
                    raise ViolationError(
                        "hole", "published count differs from acknowledged entries"
                    )
            except ViolationError as violation:
                violation.add_note(" > ".join((*path, name)))
                raise
            result.transitions += 1
            key = after.key()
            if key not in paths:
                paths[key] = name
                todo.append((after, depth + 1, (*path, name)))
                result.depth = depth + 1
    result.states = len(paths)
    result.closed = result.depth < setup.depth
    return result
