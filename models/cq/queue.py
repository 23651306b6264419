# SPDX-License-Identifier: Apache-2.0
"""Rings in host memory: the producer's side of a completion queue, and readers of both ring kinds.

Sources: ``docs/interfaces.md`` ("CQE", "Credits", "RESIZE_CQ"), rules CQ-02, CQ-04, CQ-17, CQ-19,
CQ-20. Entries are numbered from 0 at creation and the numbers never wrap here; where an index
crosses a pin it is this number modulo 2^IDX_W.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

from models.codes import CqStatus, ModelError
from models.cq.entries import Cqe, Eqe, phase_of, with_phase
from models.layouts import CQE_BYTES, EQE_BYTES, LINE_BYTES

#: Reads ``nbytes`` bytes of host memory at a byte address.
ReadMemory = Callable[[int, int], bytes]
WriteMemory = Callable[[int, bytes], object]


@dataclass(frozen=True)
class Ring:
    """A ring of 2^``log2`` entries at byte address ``base``, in use from entry ``origin`` on."""

    base: int
    log2: int
    origin: int = 0
    entry_bytes: int = CQE_BYTES

    @cached_property
    def entries(self) -> int:
        """Number of entries."""
        return 1 << self.log2

    @property
    def aligned(self) -> bool:
        """The base is a multiple of the ring's size, and of 64 bytes."""
        return self.base % max(LINE_BYTES, self.entries * self.entry_bytes) == 0

    def slot(self, index: int) -> int:
        """Slot of entry ``index``."""
        return (index - self.origin) % self.entries

    def phase(self, index: int) -> int:
        """Phase bit of entry ``index``: 1 in the first pass, 0 in the second, and so on."""
        return 1 - ((index - self.origin) >> self.log2 & 1)

    def address(self, index: int) -> int:
        """Byte address of entry ``index``."""
        return self.base + self.slot(index) * self.entry_bytes


class Placement(Enum):
    """What becomes of a completion that arrives."""

    PLACED = auto()  #: an entry is allocated
    SILENT = auto()  #: no entry; its credit, if any, is given back
    NO_CQ = auto()  #: refused, CPL_NO_CQ
    NO_CREDIT = auto()  #: refused, CPL_NO_CREDIT
    IN_ERROR = auto()  #: dropped, CPL_CQ_ERROR
    OVERFLOW = auto()  #: dropped, the queue goes to its error state


@dataclass(slots=True)
class PlacedEntry:
    """An entry that was allocated: where it goes, and its 32 bytes with phase."""

    index: int
    address: int
    data: bytes
    solicited: bool
    unsignalled: bool = False


class CqProducer:
    """The producer's side of one completion queue: slots, credits, overflow, resize.

    ``cons`` arguments are the queue's current consumer count (:attr:`CqModel.cons`).
    """

    def __init__(self) -> None:
        self.exists = False
        self._reset(Ring(0, 1), True)

    def _reset(self, ring: Ring, reservation: bool) -> None:
        self.ring = ring
        self.reservation = reservation
        self.alloc = 0  #: entries allocated since creation
        self.granted = 0  #: credits granted since creation
        self.used = 0  #: credits used by completions since creation
        self.stopped = False  #: being destroyed
        self.overflowed = False
        self.placed: dict[int, PlacedEntry] = {}  #: entries not yet acknowledged, by number

    def start(self, ring: Ring, reservation: bool = True) -> None:
        """Creation, from reset values (CQ-20)."""
        if self.exists:
            raise ModelError("start of a queue that exists")
        self._reset(Ring(ring.base, ring.log2, 0, CQE_BYTES), reservation)
        self.exists = True

    def stop(self) -> None:
        """Destruction begins: no completion is taken any more (CQ-20)."""
        self._must_exist()
        self.stopped = True

    @property
    def refuses(self) -> bool:
        """Takes no completion: overflow, destruction."""
        return self.stopped or self.overflowed

    def free(self) -> None:
        """Destruction ends."""
        self._must_exist()
        self.exists = False

    # -- credits (CQ-17) ---------------------------------------------------------------------

    @property
    def credits_held(self) -> int:
        """Credits granted and not yet used."""
        return self.granted - self.used

    def reserve(self, wanted: int, cons: int, status: CqStatus = CqStatus.OK) -> bool:
        """A credit request for 1 or 2 credits, all or nothing; True if granted."""
        if not self.exists or self.stopped or wanted not in (1, 2):
            return False
        if self.refuses or status is not CqStatus.OK:
            return False
        if not self.reservation:
            return True  # holds nothing
        if not self._has_room(wanted, cons):
            return False
        self.granted += wanted
        return True

    def _has_room(self, wanted: int, cons: int) -> bool:
        """CQ-17: a slot for each entry present or in flight, each credit held and those wanted."""
        return self.alloc - cons + self.credits_held + wanted <= self.ring.entries

    # -- completions -------------------------------------------------------------------------

    def judge(self, cons: int, *, silent: bool, status: CqStatus = CqStatus.OK) -> Placement:
        """What becomes of the next completion; changes nothing."""
        if not self.exists or self.stopped:
            return Placement.NO_CQ
        if self.refuses or status is not CqStatus.OK:
            return Placement.IN_ERROR
        if self.reservation and self.credits_held == 0:
            return Placement.NO_CREDIT
        if silent:
            return Placement.SILENT
        if not self.reservation and self.alloc - cons >= self.ring.entries:
            return Placement.OVERFLOW
        return Placement.PLACED

    def place(self, cqe: bytes, cons: int) -> PlacedEntry:
        """Allocate the next slot for a completion (32 bytes, its phase bit is ignored)."""
        self._must_take(cons)
        entry = self.expected(self.alloc, cqe)
        self.placed[self.alloc] = entry
        self.alloc += 1
        self._use_credit()
        return entry

    def silent(self) -> None:
        """A silent completion: its credit is given back."""
        self._must_exist()
        self._use_credit()

    def overflow(self) -> None:
        """CQ-17: a completion without a free entry; from now on every completion is dropped."""
        self._must_exist()
        if self.reservation:
            raise ModelError("overflow of a queue with credit reservation")
        self.overflowed = True

    def acknowledge(self, first: int, count: int = 1) -> list[PlacedEntry]:
        """The writes of ``count`` entries from ``first`` on were answered; in order only."""
        entries = []
        for index in range(first, first + count):
            # Entries are placed in order, so the first one is the oldest.
            if index != next(iter(self.placed), None):
                raise ModelError(f"answer to the write of entry {index} out of order")
            entries.append(self.placed.pop(index))
        return entries

    def expected(self, index: int, cqe: bytes) -> PlacedEntry:
        """Address and bytes of entry ``index`` if it lies in the present ring."""
        ring, entry = self.ring, Cqe.unpack(cqe)
        data = with_phase(cqe, ring.phase(index))
        address = ring.address(index)
        return PlacedEntry(index, address, data, entry.solicited_class, entry.unsignalled)

    def too_small(self, log2: int, cons: int) -> bool:
        """CQ-19: more entries present, in flight and reserved than 2^log2."""
        return self.alloc - cons + self.credits_held > 1 << log2

    def resize(self, ring: Ring, cons: int) -> int:
        """CQ-19: entries from the returned switch number on are in the new ring."""
        self._must_exist()
        if self.too_small(ring.log2, cons):
            raise ModelError("resize to fewer entries than are present")
        self.ring = Ring(ring.base, ring.log2, self.alloc, CQE_BYTES)
        return self.alloc

    def _use_credit(self) -> None:
        if not self.reservation:
            return
        if self.credits_held == 0:
            raise ModelError("a completion without a credit was taken")
        self.used += 1

    def _must_take(self, cons: int) -> None:
        self._must_exist()
        if self.refuses:
            raise ModelError("a queue that refuses completions placed one")
        if self.alloc - cons >= self.ring.entries:
            raise ModelError("an unpolled completion was overwritten")

    def _must_exist(self) -> None:
        if not self.exists:
            raise ModelError("the queue does not exist")


@dataclass(frozen=True)
class NdResult:
    """What GetCqResults shows of a completion (CQ-04: neither type nor token)."""

    status: int
    nbytes: int
    qp_context: int
    request_context: int


@dataclass(frozen=True)
class NdResultEx(NdResult):
    """What GetCqResultsEx shows: the plain result, the type and the 32-bit token."""

    type: int
    token: int


class PhaseReader:
    """Reads a ring in order, entry by entry, as long as phase bits say so.

    Rings that follow by a resize are queued with :meth:`switch`; the old ring is read up to the
    switch entry first. :attr:`index` is the number of the next entry.
    """

    def __init__(self, read: ReadMemory, ring: Ring) -> None:
        self.read = read
        self.index = 0
        self._rings = [Ring(ring.base, ring.log2, 0, ring.entry_bytes)]

    @property
    def ring(self) -> Ring:
        """The ring that holds the next entry."""
        while len(self._rings) > 1 and self._rings[1].origin <= self.index:
            self._rings.pop(0)
        return self._rings[0]

    def there(self, index: int) -> bytes | None:
        """An entry from the next one on, if it is there."""
        ring = self.ring
        for later in self._rings[1:]:
            ring = later if later.origin <= index else ring
        entry = self.read(ring.address(index), ring.entry_bytes)
        return entry if phase_of(entry) == ring.phase(index) else None

    def switch(self, base: int, log2: int, index: int, index_bits: int = 16) -> None:
        """A resize: entries from ``index`` (modulo 2^index_bits) on are in the new ring."""
        last = max(self.index, self._rings[-1].origin)
        origin = last + (index - last) % (1 << index_bits)
        self._rings.append(Ring(base, log2, origin, self._rings[0].entry_bytes))

    def poll(self, limit: int) -> list[bytes]:
        """Up to ``limit`` entries that are there, in order; they count as read."""
        found: list[bytes] = []
        while len(found) < limit:
            entry = self.peek()
            if entry is None:
                break
            found.append(entry)
            self.index += 1
        return found

    def peek(self) -> bytes | None:
        """The next entry if it is there."""
        return self.there(self.index)


class RingReader(PhaseReader):
    """The consumer's side of a completion ring.

    ``read(addr, nbytes)`` returns bytes of host memory. What was polled is to be told to the
    engine by a doorbell with :attr:`index` modulo 2^IDX_W.
    """

    def __init__(self, read: ReadMemory, base: int, log2: int) -> None:
        super().__init__(read, Ring(base, log2))

    def again(self) -> RingReader:
        """Another reader at the same place."""
        other = RingReader(self.read, 0, 1)
        other.index, other._rings = self.index, list(self._rings)
        return other

    def get_results(self, limit: int) -> list[NdResult]:
        """GetCqResults: a ReceiveAndInvalidate completion is one like any other (CQ-02)."""
        results = [Cqe.unpack(entry) for entry in self.poll(limit)]
        return [NdResult(c.status, c.nbytes, c.qp_context, c.request_context) for c in results]

    def get_results_ex(self, limit: int) -> list[NdResultEx]:
        """GetCqResultsEx: with type and token (CQ-04)."""
        return [
            NdResultEx(
                c.status,
                c.nbytes,
                c.qp_context,
                c.request_context,
                type=c.type,
                token=c.token,
            )
            for c in map(Cqe.unpack, self.poll(limit))
        ]


class EventReader(PhaseReader):
    """The host's side of an event ring."""

    def __init__(self, read: ReadMemory, base: int, log2: int) -> None:
        super().__init__(read, Ring(base, log2, 0, EQE_BYTES))

    def get_events(self, limit: int) -> list[Eqe]:
        """Up to ``limit`` events that are there, in order."""
        return [Eqe.unpack(entry) for entry in self.poll(limit)]

    def pass_over(self, write: WriteMemory) -> None:
        """The next entry was given up (CQ-18): its slot gets the phase bit of this pass, so that
        the next pass does not take it for an entry.
        """
        ring = self.ring
        last = ring.address(self.index) + EQE_BYTES - 1
        write(last, bytes([ring.phase(self.index) << 7]))
        self.index += 1
