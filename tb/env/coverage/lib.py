# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of wrong bits in memories (ISO-05), from the accesses to the control
registers: what was injected or refused, and what the error log and the counters tell. Bits that are
inverted in counters are no upset.

A name is ``group/case``. Which memory is whose: docs/architecture.md, "Wrong bits in memories".
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from tb.env.defs import CAP7, LOG0, LOG1, MEM_INJECT, Cause, Kind, Reg
from tb.env.harness.records import Access

#: Groups of memories in the order of the maintenance bus, and the memory after each one's last.
GROUPS: Final = {"completion core": 23, "posting": 48, "receive": 68, "windows": 77}

#: A bit number that no word has.
NO_BIT: Final = 1023

_OKAY = 0

#: The number of the counters, where MEM_INJECT has that of a memory.
COUNTERS: Final = 255

#: Requirements of each bin.
UPSET_BINS: Final[dict[str, tuple[str, ...]]] = dict.fromkeys(
    (
        *(f"upset/corrected, {group}" for group in GROUPS),
        "upset/lost",
        "upset/lost again, nothing injected meanwhile",
        "upset/corrected, lost before",
        "upset/reports of two memories in a row",
        "upset/corrected words counted",
        "upset/lost words counted",
        "injection/one bit",
        "injection/two bits",
        "injection/beyond the word, nothing reported",
        "injection/another memory before a report",
        "injection/refused, no such memory",
        "injection/refused, reserved bits",
        "injection/refused, no code",
    ),
    ("ISO-05",),
)


def group_of(memory: int) -> str | None:
    """Which group a memory belongs to; None: there is no such memory."""
    return next((group for group, end in GROUPS.items() if memory < end), None)


class UpsetCoverage:
    """Gets the accesses in order. ``counts``: hits of each bin. A cycle before the latest one tells
    of a reset, after which nothing is known.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._begin(0)

    def _begin(self, cycle: int) -> None:
        self._cycle = cycle
        self._memories: int | None = None
        self._code = False
        #: The latest injection: its memory, whether no word has its bits; None: reported since.
        self._injected: int | None = None
        self._beyond = False
        #: Memories that reported a lost word, and had no injection since; that ever did.
        self._lost: set[int] = set()
        self._lost_once: set[int] = set()
        #: The oldest entry, as LOG1 and LOG0 tell it: a memory's number, or another one's.
        self._valid = False
        self._entry: tuple[int, int] | None = None
        self._popped: int | None = None

    def __call__(self, access: Access) -> None:
        """One more access."""
        if access.cycle < self._cycle:
            self._begin(access.cycle)
        self._cycle = access.cycle
        if access.write:
            if access.offset == Reg.MEM_INJECT:
                self._inject(access.data, access.resp == _OKAY)
            elif access.offset == Reg.LOG_POP and access.resp == _OKAY:
                self._pop()
        elif access.resp == _OKAY:
            self._read(access.offset, access.data)

    def _hit(self, name: str) -> None:
        self.counts[name] += 1

    def _inject(self, data: int, accepted: bool) -> None:
        memory, first, second = MEM_INJECT.unpack(data).values()
        if memory == COUNTERS:
            if accepted:
                self._injected = None  # replaced
            return
        if not accepted:
            self._refused(memory, bool(data & MEM_INJECT.reserved))
            return
        if self._injected is not None and self._injected != memory:
            self._hit("injection/another memory before a report")
        self._injected, self._beyond = memory, first == second == NO_BIT
        self._lost.discard(memory)
        if NO_BIT not in (first, second):
            self._hit("injection/one bit" if first == second else "injection/two bits")

    def _refused(self, memory: int, reserved: bool) -> None:
        if self._memories is None:
            return  # the test has not looked how many there are
        if memory >= self._memories:
            self._hit("injection/refused, no such memory")
        elif reserved:
            self._hit("injection/refused, reserved bits")
        elif not self._code:
            self._hit("injection/refused, no code")

    def _read(self, offset: int, data: int) -> None:
        if offset == Reg.CAP7:
            cap7 = CAP7.unpack(data)
            self._memories, self._code = cap7["memories"], bool(cap7["ecc"])
        elif offset == Reg.LOG1:
            self._valid, self._entry = bool(LOG1.unpack(data)["valid"]), None
            if not self._valid:
                self._popped = None
                if self._injected is not None and self._beyond:
                    self._hit("injection/beyond the word, nothing reported")
        elif offset == Reg.LOG0 and self._valid:
            entry = LOG0.unpack(data)
            memory = entry["kind"] == Kind.MEMORY
            self._entry = (entry["cause"], entry["object"]) if memory else None
        elif offset == Reg.CNT_MEM_CORRECTED and data:
            self._hit("upset/corrected words counted")
        elif offset == Reg.CNT_MEM_LOST and data:
            self._hit("upset/lost words counted")

    def _pop(self) -> None:
        """The entry that was read leaves the log: it counts now, and once."""
        entry, self._entry = self._entry, None
        earlier, self._popped = self._popped, None
        if entry is None:
            return
        cause, memory = entry
        self._popped = memory
        if earlier is not None and earlier != memory:
            self._hit("upset/reports of two memories in a row")
        if self._injected == memory:
            self._injected = None
        if cause == Cause.MEM_CORRECTED:
            group = group_of(memory)
            if group is not None:
                self._hit(f"upset/corrected, {group}")
            if memory in self._lost_once:
                self._hit("upset/corrected, lost before")
        elif cause == Cause.MEM_LOST:
            self._hit("upset/lost")
            if memory in self._lost:
                self._hit("upset/lost again, nothing injected meanwhile")
            self._lost.add(memory)
            self._lost_once.add(memory)
