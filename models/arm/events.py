# SPDX-License-Identifier: Apache-2.0
"""One event queue: the order of its entries, their bytes, retries, and interrupts.

Source: ``docs/interfaces.md`` ("EQE", "One EQE at a time", causes 0x26 and 0x27), rules CQ-16 and
CQ-18. The order in which callbacks of different completion queues reach the ring is free (CQ-01
orders nothing across queues), and so is which neighbours share a write; everything else about the
entries is exact.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from models.arm.arm import Callback
from models.codes import CqStatus, ModelError
from models.cq.entries import Eqe
from models.cq.queue import Ring
from models.layouts import EQE_BYTES, LINE_BYTES
from models.params import Params

#: Writes of one event entry before its callback is given up.
MAX_ATTEMPTS = 4

StatusOf = Callable[[int], CqStatus]


@dataclass
class EventWrite:
    """One event entry under way. ``attempt`` counts its writes from 1."""

    index: int
    ring: Ring
    cq: int
    callback: Callback
    attempt: int = 0

    @property
    def address(self) -> int:
        """Byte address of the slot."""
        return self.ring.address(self.index)

    def data(self, params: Params, status: StatusOf) -> bytes:
        """The 16 bytes expected in memory: a repetition has the status of now."""
        told = status(self.cq) if self.attempt else self.callback.status
        snap = params.index(self.callback.snap)
        return Eqe(self.cq, told, snap).pack(self.ring.phase(self.index))


class EqModel:
    """One event queue. Raises :class:`ModelError` on entries that nothing called for."""

    def __init__(self, params: Params | None = None) -> None:
        self.params = params or Params()
        self.exists = False
        self._reset(Ring(0, 1, 0, EQE_BYTES), 0, 0)

    def _reset(self, ring: Ring, vector: int, page: int) -> None:
        self.ring = ring
        self.vector = vector
        self.page = page
        self.prod = 0  #: slots used since creation
        self.attached = 0  #: completion queues that use it
        self.waiting: dict[int, Callback] = {}  #: called, not yet written, by queue
        self.writing: deque[list[EventWrite]] = deque()  #: beats not yet answered, in order
        self.retries: list[EventWrite] = []  #: answered with an error, to be written again
        self.outcomes: dict[int, EventWrite | None] = {}  #: answered, step to come; None: OKAY
        self.interrupts = 0  #: vectors raised
        self.interrupts_allowed = 0
        self._slots: dict[int, int] = {}
        self._read = 0
        self._left = 0  # entries in front of this one are in the ring before
        self._entries_left = 0  # of that ring

    def create(self, base: int, log2: int, vector: int, page: int) -> None:
        """Creation, from reset values; a ring of 2^log2 entries at byte address ``base``."""
        if self.exists:
            raise ModelError("create of an event queue that exists")
        self._reset(Ring(base, log2, 0, EQE_BYTES), vector, page)
        self.exists = True

    def destroy(self) -> None:
        """Destruction; refused by the control unit while queues are attached."""
        if not self.exists or self.attached:
            raise ModelError("destroy of an event queue that is missing or in use")
        self.exists = False

    def resize(self, base: int, log2: int) -> int:
        """Entries from the returned number on are in the new ring."""
        if self.attached > 1 << log2:
            raise ModelError("resize to fewer entries than queues attached")
        if self.leaving:
            raise ModelError("resize while entries of the ring before are under way")
        self._left, self._entries_left = self.prod, self.ring.entries
        self.ring = Ring(base, log2, self.prod, EQE_BYTES)
        return self.prod

    # -- callbacks ---------------------------------------------------------------------------

    def called(self, cq: int, callback: Callback) -> None:
        """A callback of queue ``cq`` was called: an entry must follow (CQ-16)."""
        if cq in self.waiting or any(event.cq == cq for event in self.open):
            raise ModelError(f"two event entries of queue {cq} under way")
        self.waiting[cq] = callback

    def returned(self, cq: int) -> None:
        """The callback of queue ``cq`` returned: its entry and those before it were read."""
        slot = self._slots.pop(cq, None)
        if slot is not None:
            self._read = max(self._read, slot + 1)

    @property
    def unread(self) -> int:
        """Slots used that the host, if it returns only from callbacks it saw, may not have read."""
        return self.prod - self._read

    @property
    def open(self) -> Iterator[EventWrite]:
        """Entries that were written, and neither acknowledged nor given up."""
        return chain(*self.writing, self.retries)

    @property
    def leaving(self) -> list[int]:
        """The queues whose entries in the ring before the last resize are under way: it must not be
        answered.
        """
        return [event.cq for event in self.open if event.index < self._left]

    def passed(self, event: EventWrite) -> bool:
        """The slot may be another entry's by now: a repetition must not write it."""
        if event.index < self._left:
            return self._left - event.index > self._entries_left
        return self.prod - event.index > self.ring.entries

    def _beat(self, cqs: Sequence[int]) -> list[EventWrite]:
        """The entries of these queues, were they the next beat: one repetition, or calls that were
        not written before.
        """
        again = [event for event in self.retries if event.cq in cqs]
        if again and len(cqs) > 1:
            raise ModelError(f"the repetition of queue {again[0].cq} shares a beat")
        for place, cq in enumerate(cqs):
            if not again and (cq not in self.waiting or cq in cqs[:place]):
                raise ModelError(f"event entry of queue {cq} without a call")
        return again or [
            EventWrite(self.prod + place, self.ring, cq, self.waiting[cq])
            for place, cq in enumerate(cqs)
        ]

    def expected(self, cqs: Sequence[int], status: StatusOf) -> list[tuple[int, bytes]]:
        """Address and bytes of each entry, were these queues' entries the next beat."""
        return [(event.address, event.data(self.params, status)) for event in self._beat(cqs)]

    def write(self, cqs: Sequence[int]) -> list[EventWrite]:
        """The entries of these queues were written (again), by one beat."""
        beat = self._beat(cqs)
        for event in beat:
            if event.attempt:
                self.retries.remove(event)
            else:
                del self.waiting[event.cq]
                self._slots[event.cq] = self.prod
                self.prod += 1
            event.attempt += 1
        self.writing.append(beat)
        return beat

    def check_beat(
        self, address: int, data: bytes, strb: int, status: StatusOf
    ) -> list[EventWrite]:
        """A memory beat of this queue's AXI ID: 64-byte address, 64 bytes, 64 strobes.

        Raises :class:`ModelError` unless it is exactly the next one to four entries of a line, in
        the order of their slots, that are expected now, or one repetition; without strobes if,
        and only if, it is a repetition of one that was :meth:`passed`.
        """
        if not strb:
            return self._check_void(address)
        first, length = (strb & -strb).bit_length() - 1, strb.bit_count()
        whole = first % EQE_BYTES == length % EQE_BYTES == 0 and first + length <= LINE_BYTES
        if address % LINE_BYTES or not whole or strb != (1 << length) - 1 << first:
            raise ModelError(f"event beat {address:#x} with strobes {strb:#x}")
        lanes = range(first, first + length, EQE_BYTES)
        got = [(address + lane, data[lane : lane + EQE_BYTES]) for lane in lanes]
        cqs = [int.from_bytes(entry[:2], "little") for _, entry in got]
        if any(event.cq in cqs and self.passed(event) for event in self.retries):
            raise ModelError(f"event beat {address:#x} of queues {cqs} with strobes {strb:#x}")
        for (at, entry), (slot, right) in zip(got, self.expected(cqs, status), strict=True):
            if (at, entry) != (slot, right):
                raise ModelError(
                    f"event entry {at:#x} {entry.hex()}, expected {slot:#x} {right.hex()}"
                )
        return self.write(cqs)

    def _check_void(self, address: int) -> list[EventWrite]:
        """A beat without strobes: its bytes say nothing; it is the oldest of its line's
        repetitions that were :meth:`passed`.
        """
        for event in self.retries:
            if self.passed(event) and event.address & -LINE_BYTES == address:
                return self.write([event.cq])
        raise ModelError(f"event beat {address:#x} with strobes 0x0")

    def respond(self, okay: bool) -> list[EventWrite]:
        """The oldest unanswered beat was answered, and with it each of its entries. Not OKAY: each
        is to be written again, or given up.

        Given up: ``attempt`` of the returned write is :data:`MAX_ATTEMPTS` and it failed.
        """
        if not self.writing:
            raise ModelError("answer to an event entry that was not written")
        beat = self.writing.popleft()
        over = [event for event in beat if okay or event.attempt == MAX_ATTEMPTS]
        for event in beat:
            self.outcomes[event.cq] = None if okay else event
            if event not in over:
                self.retries.append(event)
        self.interrupts_allowed += bool(over)
        return beat

    def take_outcome(self, cq: int, okay: bool, final: bool = False) -> None:
        """The step of queue ``cq`` that follows from an answer; raises if it does not."""
        if cq not in self.outcomes:
            raise ModelError(f"queue {cq}: a step without an answer to its event entry")
        failed = self.outcomes.pop(cq)
        given_up = failed is not None and failed.attempt == MAX_ATTEMPTS
        if (failed is None) is not okay or given_up is not final:
            raise ModelError(f"queue {cq}: the answer to its event entry says otherwise")

    # -- interrupts --------------------------------------------------------------------------

    def interrupt(self) -> None:
        """The vector was raised: after an acknowledged beat; several may merge into one."""
        if not self.interrupts_allowed:
            raise ModelError("interrupt without an event entry")
        self.interrupts += 1
        self.interrupts_allowed -= 1
