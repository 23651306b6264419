# SPDX-License-Identifier: Apache-2.0
"""The world of arms: one completion queue of two entries, its consumer, memory that answers when it
is told to, and one queue pair that completes on it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from models.arm.arm import CqConfig, CqModel
from models.codes import ArmType, CqStatus, Life
from models.cq.entries import Cqe
from models.cq.queue import CqProducer, Ring

LOG2 = 1  #: of the entries
UNSIGNALLED = 2  #: flags of an entry, from bit 240 on
SOLICITED = 1
RECEIVE = 1
SEND = 2
ERROR = 2

#: What completes: an entry of each class.
KINDS = {
    "plain": Cqe(type=SEND),
    "solicited": Cqe(type=RECEIVE, flags=SOLICITED),
    "unsignalled": Cqe(type=RECEIVE, flags=UNSIGNALLED),
    "failed": Cqe(type=SEND, status=ERROR),
}


@dataclass(frozen=True)
class Setup:
    """``kinds``: what completes; ``typed``, ``rearm``: the two bits of the queue; ``arms``: the
    types of arms; ``wide``: also what is refused, two entries taken at once, and arms that come
    with an index; ``errors``: writes can fail; ``lives``: the queue can be destroyed in every
    state, not only in error.
    """

    kinds: tuple[str, ...] = ("plain", "solicited")
    typed: bool = False
    rearm: bool = False
    arms: tuple[str, ...] = ("ERRORS", "SOLICITED", "ANY")
    wide: bool = False
    errors: bool = False
    lives: bool = False


def key_of(cq: CqModel, producer: CqProducer, answered: int) -> Hashable:
    """The state of a queue at rest, without its counters; ``answered``: entries whose write memory
    has answered.
    """
    if cq.life is Life.FREE:
        return ("FREE",)
    arm = "-" if cq.arm is None else cq.arm.name
    flags = [
        name
        for name, on in (
            ("running", cq.running),
            ("event", cq.event_open),
            ("due", cq.due),
            ("frozen", cq.frozen),
            # An entry whose write failed, and which the consumer has not passed.
            ("lost", cq.frozen and cq.written > cq.cons + len(cq.entries)),
        )
        if on
    ]
    # What is old is old; the class of new entries matters to the typed reading only.
    typed = cq.config.typed
    there = tuple(
        "old" if e.index < cq.snap else "solicited" if e.solicited and typed else "new"
        for e in cq.entries
    )
    flight = tuple(
        "gone"
        if number < cq.cons
        else "solicited"
        if entry.solicited
        else "unsignalled"
        if entry.unsignalled
        else "plain"
        for number, entry in sorted(producer.placed.items())
        if number >= answered
    )
    return (cq.life.name, cq.status.name, arm, *flags, there, flight)


class ArmWorld:
    """The models of the queue and of its ring."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.cq = CqModel()
        self.producer = CqProducer()
        self.answered = 0
        self._create()

    def key(self) -> Hashable:
        """See :func:`key_of`."""
        return key_of(self.cq, self.producer, self.answered)

    def _create(self) -> str:
        self.producer.start(Ring(0, LOG2))
        self.answered = 0
        self.cq.create(CqConfig(1 << LOG2, self.setup.typed, self.setup.rearm))
        return "OK"

    # -- what can happen ---------------------------------------------------------------------------

    def actions(self) -> Iterator[str]:
        """Everything that host, transport and memory can do."""
        cq, setup = self.cq, self.setup
        yield "return"
        if cq.life is Life.FREE or setup.lives or cq.status is not CqStatus.OK:
            yield "destroy"
        if self.producer.placed:
            yield "acknowledge"
        if cq.event_open:
            yield "acknowledge event"
        if cq.life is not Life.READY:
            yield "arm ANY"
            if cq.life is Life.FREE:
                yield "create"
            return
        for arm in setup.arms:
            yield f"arm {arm}"
        if setup.wide:
            yield "arm beyond"
            yield "arm foreign"
        if setup.lives:
            yield "arm code 3"
            yield "destroy used"
        if cq.written > cq.cons:
            yield "take 1"
            for arm in setup.arms if setup.wide else ():
                yield f"take 1 arm {arm}"
        if setup.wide and cq.written > cq.cons + 1:
            yield "take 2"
        if not self.producer.placed:
            yield from setup.kinds
            if setup.errors:
                yield "lost"

    # -- doing it ----------------------------------------------------------------------------------

    def act(self, action: str) -> str:
        """Does it; returns the answer."""
        if action in KINDS:
            return self._place(action)
        word, *rest = action.split()
        answer: str = getattr(self, f"_{word}")(*rest)
        return answer

    def _arm(self, what: str, code: str = "") -> str:
        cq = self.cq
        if code:
            return "BAD_ARM_TYPE"
        if what == "foreign":
            return "NOT_OWNER"
        index, arm = (cq.written + 1, ArmType.ANY) if what == "beyond" else (cq.cons, ArmType[what])
        return cq.doorbell(index % (1 << cq.index_bits), arm).cause.name

    def _take(self, count: str, arm: str = "", kind: str = "") -> str:
        cq = self.cq
        index = (cq.cons + int(count)) % (1 << cq.index_bits)
        return cq.doorbell(index, ArmType[kind] if arm else None).cause.name

    def _return(self) -> str:
        return self.cq.callback_return().cause.name

    def _place(self, kind: str) -> str:
        cq, producer = self.cq, self.producer
        if cq.status is not CqStatus.OK:
            return "CQ_ERROR"
        if not producer.reserve(1, cq.cons, cq.status):
            return "NO_CREDIT"
        producer.place(KINDS[kind].pack(), cq.cons)
        cq.wrote(1)
        return "OK"

    def _acknowledge(self, event: str = "") -> str:
        if event:
            self.cq.event_done()
            return "OK"
        self.answered = self.producer.alloc
        for number in sorted(self.producer.placed):
            entries = self.producer.acknowledge(number)
            if self.cq.publishing:
                classes = [e.solicited for e in entries]
                self.cq.publish(classes, [e.unsignalled for e in entries])
        return "OK"

    def _lost(self) -> str:
        """An entry whose write fails."""
        placed = self._place("plain")
        if placed == "OK":
            self.producer.acknowledge(min(self.producer.placed))
            self.answered = self.producer.alloc
            self.cq.cq_error(CqStatus.INTERNAL_ERROR)
        return placed

    def _destroy(self, used: str = "") -> str:
        """DESTROY_CQ, ``used``: while a queue pair completes there."""
        if used:
            return "IN_USE"
        if self.cq.life is Life.FREE:
            return "NO_OBJECT"
        if not self.producer.stopped:
            self.producer.stop()
        self.cq.destroy(not self.producer.placed)
        if self.cq.life is not Life.FREE:
            return "PENDING"
        self.producer.free()
        return "OK"
