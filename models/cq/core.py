# SPDX-License-Identifier: Apache-2.0
"""The whole engine: pages, event queues, completion queues, control, and the trace's steps.

Sources: ``docs/interfaces.md``; the CQ rules, ISO-01 and ISO-02.

There are two ways in. *Steps* (``place``, ``publish``, ``doorbell``, ...) are the atomic steps of
the trace port, to be fed in trace order; *pins* (``cqe_beat``, ``cqe_response``, ``eqe_beat``,
...) are what the memory port shows, to be fed as it happens. Each raises :class:`ModelError` if
it cannot happen now. ``command``, ``write``, ``complete`` and ``acknowledge`` combine them for
use without a design. Two queues share nothing but their event queue's ring order (CQ-01).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from models.arm.arm import CqConfig, CqModel, Step
from models.arm.events import MAX_ATTEMPTS, EqModel, EventWrite
from models.codes import ArmType, Cause, Command, CommandResult, CqStatus, Life, ModelError
from models.cq.queue import CqProducer, PlacedEntry, Placement, Ring
from models.host.control import Args, check_command
from models.host.doorbell import DoorbellWord, decode_write, doorbell_cause, read_refused
from models.layouts import CQ_DB, CQE_BYTES, LINE_BYTES, PAGE_BYTES
from models.params import Params
from models.trace import encode_cq, encode_producer, queried

__all__ = ["CompletionCore", "PageStatus", "QueueInfo", "Reply", "doorbell_cause"]

#: Strobes of a beat of completions: the halves that hold one.
_LANES: Final = {(1 << 32) - 1: (0,), (1 << 64) - (1 << 32): (1,), (1 << 64) - 1: (0, 1)}


@dataclass
class PageStatus:
    """Status word of one doorbell page: cause of the latest write, number of refused writes."""

    cause: int = Cause.OK
    refused: int = 0

    @property
    def word(self) -> int:
        """The 64 bits that PAGE_STATUS reads as."""
        return self.cause | (self.refused & 0xFFFF_FFFF) << 32


@dataclass(frozen=True)
class Reply:
    """Reply to a control command: result, and OUT0 to OUT7."""

    result: CommandResult
    out: tuple[int, ...] = (0,) * 8


@dataclass
class QueueInfo:
    """What the engine knows of a queue besides the two models of it."""

    page: int = 0
    eq: int = 0
    answered: int = 0  #: entries whose write was answered
    answers: deque[bool] = field(default_factory=deque)  #: answered, no step of them seen yet
    beats: deque[int] = field(default_factory=deque)  #: entries of each unanswered beat


class CompletionCore:
    """One completion core."""

    def __init__(self, params: Params | None = None) -> None:
        self.params = p = params or Params()
        self.cqs = [CqModel(p.idx_w, p.mod_tick) for _ in range(p.num_cq)]
        self.producers = [CqProducer() for _ in range(p.num_cq)]
        self.info = [QueueInfo() for _ in range(p.num_cq)]
        self.eqs = [EqModel(p) for _ in range(p.num_eq)]
        self.pages = [PageStatus() for _ in range(p.num_pages)]
        self.causes: Counter[int] = Counter()  #: doorbell writes by cause, OK included
        self.removed = False  #: the device is removed (``docs/windows.md``)

    # -- looking -----------------------------------------------------------------------------

    def owner_page(self, cq: int) -> int:
        """Page that owns an existing queue (ISO-01)."""
        return self.info[cq].page

    def status(self, cq: int) -> CqStatus:
        """Status of a queue."""
        return self.cqs[cq].status

    def idle(self, cq: int) -> bool:
        """No entry of the queue waits for its write or for the answer."""
        return self.info[cq].answered == self.producers[cq].alloc

    def trace_state(self, cq: int, lane: int = 2) -> int:
        """The 96-bit state in the trace port's encoding; lane 0, or lanes 1 and 2."""
        if lane == 0:
            return encode_producer(self.producers[cq], self.params)
        return encode_cq(self.cqs[cq], self.params)

    def set_time(self, cq: int, now: int) -> None:
        """Time in clock cycles of the queue's next step (moderation intervals only)."""
        self.cqs[cq].now = now

    # -- steps of lane 0: producer -----------------------------------------------------------

    def start(self, cq: int, ring: Ring, reservation: bool = True) -> None:
        """START: the producer's side of a creation."""
        self.producers[cq].start(ring, reservation)
        self.info[cq] = QueueInfo()

    def reserve(self, cq: int, wanted: int) -> bool:
        """A credit request; True if granted (CQ-17). Any ``cq`` number is allowed."""
        if cq >= self.params.num_cq:
            return False
        return self.producers[cq].reserve(wanted, self.cqs[cq].cons, self.status(cq))

    def judge(self, cq: int, silent: bool = False) -> Placement:
        """What becomes of the next completion for an existing number; changes nothing."""
        q = self.cqs[cq]
        if q.life is not Life.READY:
            return Placement.NO_CQ
        return self.producers[cq].judge(q.cons, silent=silent, status=q.status)

    def place(self, cq: int, cqes: Sequence[bytes], given_back: int = 0) -> list[PlacedEntry]:
        """PLACE: completions (32 bytes each) get entries; silent ones give credits back.

        A queue in error by a failed write may still place what was on its way when the error
        was recorded; that is never published.
        """
        producer, cons = self.producers[cq], self.cqs[cq].cons
        placed = [producer.place(cqe, cons) for cqe in cqes]
        for _ in range(given_back):
            producer.silent()
        return placed

    def overflow(self, cq: int, cqes: Sequence[bytes] = ()) -> list[PlacedEntry]:
        """OVERFLOW: a completion found no free entry, after ``cqes`` were placed (CQ-17).

        The queue's error status comes by its own step, :meth:`cq_error`.
        """
        placed = self.place(cq, cqes)
        producer = self.producers[cq]
        if producer.alloc - self.cqs[cq].cons < producer.ring.entries:
            raise ModelError("overflow although an entry is free")
        producer.overflow()
        return placed

    def resize(self, cq: int, ring: Ring) -> int:
        """RESIZE: returns the switch number (CQ-19); its index is in OUT0."""
        switch = self.producers[cq].resize(ring, self.cqs[cq].cons)
        self.cqs[cq].resize(ring.entries)
        return switch

    def stop(self, cq: int) -> None:
        """STOP: no completion is taken any more."""
        self.producers[cq].stop()

    # -- steps of lane 1: publication, errors ------------------------------------------------

    def publish(self, cq: int, count: int) -> Step:
        """PUBLISH: the next ``count`` entries become visible.

        Their writes must have been answered OKAY (CQ-15).
        """
        entries = self._take_answers(cq, count, True)
        quiet = [e.unsignalled for e in entries]
        return self._called(cq, self.cqs[cq].publish([e.solicited for e in entries], quiet))

    def cq_error(self, cq: int, status: CqStatus, failed: int = 0) -> Step:
        """CQ_ERROR: overflow, or a failed write of ``failed`` entries (CQ-17, CQ-18)."""
        if status is CqStatus.INTERNAL_ERROR and self.cqs[cq].publishing:
            self._take_answers(cq, failed, False)
        step = self._called(cq, self.cqs[cq].cq_error(status))
        self._forget_answers(cq)
        return step

    def event_failed(self, cq: int, final: bool) -> Step:
        """EVENT_FAILED: the event entry's write failed; ``final``: given up."""
        self._eq(cq).take_outcome(cq, okay=False, final=final)
        step = self._called(cq, self.cqs[cq].event_failed(final))
        self._forget_answers(cq)
        return step

    # -- steps of lane 2: doorbells, control, moderation, acknowledged events ----------------

    def create(self, cq: int, config: CqConfig, page: int, eq: int) -> Step:
        """CREATE, after :meth:`start`."""
        info = self.info[cq]
        info.page, info.eq = page, eq
        self.eqs[eq].attached += 1
        return self.cqs[cq].create(config)

    def modify(self, cq: int, config: CqConfig) -> Step:
        """New settings (``config.entries`` is ignored); leaves no trace record."""
        return self.cqs[cq].modify(
            typed=config.typed,
            rearm=config.rearm,
            mod_count=config.mod_count,
            mod_interval=config.mod_interval,
        )

    def destroy(self, cq: int) -> Step:
        """DESTROY: one destroy command, after :meth:`stop`; freed if ``life`` is FREE then."""
        step = self.cqs[cq].destroy(self.idle(cq))
        self._forget_answers(cq)
        if self.cqs[cq].life is Life.FREE:
            self.producers[cq].free()
            self._eq(cq).attached -= 1
        return step

    def doorbell(self, cq: int, index: int, arm: ArmType | None = None) -> Step:
        """DOORBELL: consumer index and optional arm."""
        return self._called(cq, self.cqs[cq].doorbell(index, arm))

    def cb_return(self, cq: int) -> Step:
        """CB_RETURN: the callback has returned."""
        step = self.cqs[cq].callback_return()
        if step.cause is Cause.OK:
            self._eq(cq).returned(cq)
        return self._called(cq, step)

    def moderation(self, cq: int) -> Step:
        """MODERATION: the timer looks at the queue at its time (:meth:`set_time`)."""
        return self._called(cq, self.cqs[cq].moderation())

    def event_done(self, cq: int) -> Step:
        """EVENT_DONE: the event entry's write was acknowledged."""
        self._eq(cq).take_outcome(cq, okay=True)
        return self._called(cq, self.cqs[cq].event_done())

    # -- pins: memory and interrupts ---------------------------------------------------------

    def cqe_beat(self, cq: int, address: int, data: bytes, strb: int) -> int:
        """A memory beat with AXI ID {0, cq}: 64-byte address, 64 bytes, 64 strobes.

        Returns the number of entries (1 or 2) in it. Raises :class:`ModelError` unless they are
        the next ones in order, at their addresses, bit for bit.
        """
        lanes = _LANES.get(strb)
        if lanes is None or address % LINE_BYTES:
            raise ModelError(f"completion beat {address:#x} with strobes {strb:#x}")
        q, placed = self.cqs[cq], self.producers[cq].placed
        for lane in lanes:
            index = q.written
            entry = placed.get(index)
            if entry is None:
                raise ModelError(f"queue {cq}: entry {index} is written but was not placed")
            at = lane * CQE_BYTES
            got = data[at : at + CQE_BYTES]
            if address + at != entry.address or got != entry.data:
                raise ModelError(
                    f"queue {cq} entry {index}: {address + at:#x} {got.hex()}, "
                    f"expected {entry.address:#x} {entry.data.hex()}"
                )
            q.wrote(1)
        self.info[cq].beats.append(len(lanes))
        return len(lanes)

    def cqe_response(self, cq: int, okay: bool) -> int:
        """The oldest unanswered beat of the queue was answered; returns its number of entries."""
        info = self.info[cq]
        if not info.beats:
            raise ModelError(f"queue {cq}: answer to no beat")
        count = info.beats.popleft()
        info.answered += count
        info.answers.extend([okay] * count)
        self._forget_answers(cq)
        return count

    def eqe_beat(self, eq: int, address: int, data: bytes, strb: int) -> list[EventWrite]:
        """A memory beat with AXI ID {1, eq}; see :meth:`EqModel.check_beat`."""
        return self.eqs[eq].check_beat(address, data, strb, self.status)

    def eqe_response(self, eq: int, okay: bool) -> list[EventWrite]:
        """The oldest unanswered beat of event entries was answered; their steps come separately."""
        return self.eqs[eq].respond(okay)

    # -- combined: without a design ----------------------------------------------------------

    def complete(self, cq: int, cqe: bytes, silent: bool = False) -> tuple[Placement, Step]:
        """A completion arrives: judged, and placed or an overflow. (Number in range.)"""
        verdict = self.judge(cq, silent)
        step = Step()
        if verdict is Placement.PLACED:
            self.place(cq, [cqe])
        elif verdict is Placement.SILENT and self.producers[cq].reservation:
            self.place(cq, [], 1)
        elif verdict is Placement.OVERFLOW:
            self.overflow(cq)
            step = self.cq_error(cq, CqStatus.BUFFER_OVERFLOW)
        return verdict, step

    def memory_write(self, cq: int) -> PlacedEntry:
        """The next placed entry is written to memory, alone in its beat."""
        index = self.cqs[cq].written
        if index not in self.producers[cq].placed:
            raise ModelError(f"queue {cq}: nothing to write")
        self.cqs[cq].wrote(1)
        self.info[cq].beats.append(1)
        return self.producers[cq].placed[index]

    def acknowledge(self, cq: int, okay: bool = True) -> Step:
        """The oldest beat is answered, and what follows from it is done."""
        count = self.cqe_response(cq, okay)
        if not self.cqs[cq].publishing:
            return Step()
        if okay:
            return self.publish(cq, count)
        return self.cq_error(cq, CqStatus.INTERNAL_ERROR, count)

    def event_acknowledge(self, eq: int, okay: bool = True) -> Step:
        """The oldest beat of event entries is answered, and what follows from it is done; all
        callbacks of that.
        """
        all_steps = Step()
        for event in self.eqe_response(eq, okay):
            if okay:
                step = self.event_done(event.cq)
            else:
                step = self.event_failed(event.cq, event.attempt == MAX_ATTEMPTS)
            all_steps.calls += step.calls
        return all_steps

    def write(self, addr: int, length: int, size: int, strb: int, data: int) -> Step:
        """A write to the doorbell pages (arguments as for :func:`decode_write`)."""
        cause = doorbell_cause(addr, length, size, strb, data, self)
        self.note_write(addr, cause)
        if cause is not Cause.OK:
            return Step(cause)
        word = decode_write(addr, length, size, strb, data, self)
        assert isinstance(word, DoorbellWord)
        if word.register == CQ_DB:
            return self.doorbell(word.cq, word.index, word.arm)
        return self.cb_return(word.cq)

    def note_write(self, addr: int, cause: int) -> None:
        """Page status and counters after a write, a post too, was answered with ``cause``."""
        self.causes[cause] += 1
        page = addr // PAGE_BYTES
        if page < self.params.num_pages:
            self.pages[page].cause = cause
            self.pages[page].refused += cause != Cause.OK

    def read(self, addr: int, length: int, size: int) -> int | None:
        """A read of the doorbell pages: the 64-bit status word, or None if refused."""
        if read_refused(addr, length, size, self.params.num_pages):
            return None
        return self.pages[addr // PAGE_BYTES].word

    def command(self, code: int, args: Args) -> Reply:
        """A control command with all its steps."""
        result = check_command(code, args, self, self.removed)
        pending = result is CommandResult.CMD_PENDING
        if result is not CommandResult.OK and not pending:
            return Reply(result)
        command, number = Command(code), args.number
        out: tuple[int, ...] = (0,) * 8
        if command is Command.CREATE_EQ:
            self.eqs[number].create(args.ring(0).base, args.log2, args.vector, args.page)
        elif command is Command.MODIFY_EQ:
            self.eqs[number].vector = args.vector
        elif command is Command.RESIZE_EQ:
            switch = self.eqs[number].resize(args.ring(0).base, args.log2)
            out = (self.params.index(switch), *out[1:])
        elif command is Command.QUERY_EQ:
            out = self.query_eq(number)
        elif command is Command.DESTROY_EQ:
            self.eqs[number].destroy()
        elif command is Command.CREATE_CQ:
            self.start(number, args.ring(CQE_BYTES), args.reservation)
            self.create(number, args.config, args.page, args.eq)
        elif command is Command.MODIFY_CQ:
            self.modify(number, args.config)
        elif command is Command.RESIZE_CQ:
            out = (self.params.index(self.resize(number, args.ring(CQE_BYTES))), *out[1:])
        elif command is Command.QUERY_CQ:
            out = self.query_cq(number)
        else:
            self.stop(number)
            self.destroy(number)
        return Reply(result, out)

    def query_eq(self, eq: int) -> tuple[int, ...]:
        """OUT0 to OUT7 of QUERY_EQ."""
        q = self.eqs[eq]
        word = q.exists | q.ring.log2 << 8 | q.vector << 16
        return word, self.params.index(q.prod), q.attached, q.page, 0, 0, 0, 0

    def query_cq(self, cq: int) -> tuple[int, ...]:
        """OUT0 to OUT7 of QUERY_CQ."""
        q, producer = self.cqs[cq], self.producers[cq]
        word = queried(self.trace_state(cq)) | producer.ring.log2 << 16
        index = self.params.index
        moderation = q.config.mod_count | q.config.mod_interval << 16
        held = producer.credits_held
        return word, index(q.prod), index(q.cons), index(producer.alloc), held, moderation, 0, 0

    # -- helpers -----------------------------------------------------------------------------

    def _eq(self, cq: int) -> EqModel:
        return self.eqs[self.info[cq].eq]

    def _called(self, cq: int, step: Step) -> Step:
        for callback in step.calls:
            self._eq(cq).called(cq, callback)
        return step

    def _take_answers(self, cq: int, count: int, okay: bool) -> list[PlacedEntry]:
        """CQ-15: the entries of a step, whose writes must have been answered."""
        answers = self.info[cq].answers
        first = self.cqs[cq].prod
        for _ in range(count):
            if not answers or answers.popleft() is not okay:
                raise ModelError(f"queue {cq}: a step without the answer that it stands for")
        return self.producers[cq].acknowledge(first, count)

    def _forget_answers(self, cq: int) -> None:
        """Answers that nothing follows from: the queue publishes nothing any more."""
        if not self.cqs[cq].publishing:
            self.info[cq].answers.clear()
