# SPDX-License-Identifier: Apache-2.0
"""One event queue: the order of its entries, their bytes, retries, and interrupts.

Source: ``docs/interfaces.md`` ("EQE", "One EQE at a time", causes 0x26 and 0x27), rules CQ-16 and
CQ-18. The order in which callbacks of different completion queues reach the ring is free (CQ-01
orders nothing across queues); everything else about the entries is exact.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

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

    def data(self, params: Params, status: CqStatus) -> bytes:
        """The 16 bytes expected in memory."""
        snap = params.index(self.callback.snap)
        return Eqe(self.cq, status, snap).pack(self.ring.phase(self.index))


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
        self.writing: deque[EventWrite] = deque()  #: written, not yet answered, in order
        self.retries: list[EventWrite] = []  #: answered with an error, to be written again
        self.outcomes: dict[int, EventWrite | None] = {}  #: answered, step to come; None: OKAY
        self.answered = 0  #: entries acknowledged
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
        if cq in self.waiting or any(e.cq == cq for e in (*self.writing, *self.retries)):
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
    def leaving(self) -> list[int]:
        """The queues whose entries in the ring before the last resize are under way: it must not be
        answered.
        """
        return [e.cq for e in (*self.writing, *self.retries) if e.index < self._left]

    def passed(self, event: EventWrite) -> bool:
        """The slot may be another entry's by now: a repetition must not write it."""
        if event.index < self._left:
            return self._left - event.index > self._entries_left
        return self.prod - event.index > self.ring.entries

    def expected(self, cq: int, status: StatusOf) -> tuple[int, bytes]:
        """Address and bytes of queue ``cq``'s entry, were it the next one to be written."""
        for retry in self.retries:
            if retry.cq == cq:
                return retry.address, retry.data(self.params, status(cq))
        if cq not in self.waiting:
            raise ModelError(f"event entry of queue {cq} without a call")
        call = self.waiting[cq]
        event = EventWrite(self.prod, self.ring, cq, call)
        return event.address, event.data(self.params, call.status)

    def write(self, cq: int, status: StatusOf) -> EventWrite:
        """Queue ``cq``'s entry was written (again)."""
        self.expected(cq, status)
        for retry in self.retries:
            if retry.cq == cq:
                self.retries.remove(retry)
                break
        else:
            retry = EventWrite(self.prod, self.ring, cq, self.waiting.pop(cq))
            self._slots[cq] = self.prod
            self.prod += 1
        retry.attempt += 1
        self.writing.append(retry)
        return retry

    def check_beat(self, address: int, data: bytes, strb: int, status: StatusOf) -> EventWrite:
        """A memory beat of this queue's AXI ID: 64-byte address, 64 bytes, 64 strobes.

        Raises :class:`ModelError` unless it is exactly one entry that is expected now; without
        strobes if, and only if, it is a repetition of one that was :meth:`passed`.
        """
        if not strb:
            return self._check_void(address, status)
        lane = (strb & -strb).bit_length() - 1
        entry = data[lane : lane + EQE_BYTES]
        cq = int.from_bytes(entry[:2], "little")
        passed = any(event.cq == cq and self.passed(event) for event in self.retries)
        if passed or address % LINE_BYTES or lane % EQE_BYTES or strb != 0xFFFF << lane:
            raise ModelError(f"event beat {address:#x} of queue {cq} with strobes {strb:#x}")
        expected = self.expected(cq, status)
        if (address + lane, entry) != expected:
            raise ModelError(
                f"event entry {address + lane:#x} {entry.hex()}, "
                f"expected {expected[0]:#x} {expected[1].hex()}"
            )
        return self.write(cq, status)

    def _check_void(self, address: int, status: StatusOf) -> EventWrite:
        """A beat without strobes: its bytes say nothing; it is the oldest of its line's
        repetitions that were :meth:`passed`.
        """
        for event in self.retries:
            if self.passed(event) and event.address & -LINE_BYTES == address:
                return self.write(event.cq, status)
        raise ModelError(f"event beat {address:#x} with strobes 0x0")

    def respond(self, okay: bool) -> EventWrite:
        """The oldest unanswered write was answered. Not OKAY: to be written again, or given up.

        Given up: ``attempt`` of the returned write is :data:`MAX_ATTEMPTS` and it failed.
        """
        if not self.writing:
            raise ModelError("answer to an event entry that was not written")
        event = self.writing.popleft()
        self.outcomes[event.cq] = None if okay else event
        self.answered += okay
        if okay or event.attempt == MAX_ATTEMPTS:
            self.interrupts_allowed += 1
        else:
            self.retries.append(event)
        return event

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
        """The vector was raised: after an acknowledged entry; several may merge into one."""
        if not self.interrupts_allowed:
            raise ModelError("interrupt without an event entry")
        self.interrupts += 1
        self.interrupts_allowed -= 1
