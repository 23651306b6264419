# SPDX-License-Identifier: Apache-2.0
"""Wrong bits in the engine's memories (ISO-05): injection, and what is reported of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tb.env.defs import CAP7, MEM_INJECT, Cause, Kind, Reg
from tb.env.host.driver import LogEntry

if TYPE_CHECKING:
    from tb.env.env import CarillonEnv


class Upsets:
    """``memories``: their number, 0 without a code."""

    def __init__(self, env: CarillonEnv) -> None:
        self.env = env
        self.memories = 0
        #: Injections, and reports in the log, by memory.
        self.injected: Counter[int] = Counter()
        self.corrected: Counter[int] = Counter()
        self.lost: Counter[int] = Counter()
        #: Entries of the log about other things.
        self.others: list[LogEntry] = []

    async def start(self) -> None:
        """Reads the capabilities."""
        cap7 = CAP7.unpack(await self.env.control.value(Reg.CAP7))
        self.memories = cap7["memories"] if cap7["ecc"] else 0

    async def inject(self, memory: int, first: int, second: int | None = None) -> int:
        """Inverts one or two bits of the next word written into a memory, instead of what waits;
        returns the response.
        """
        second = first if second is None else second
        self.injected[memory] += 1
        data = MEM_INJECT.pack(memory=memory, first=first, second=second)
        return await self.env.control.write(Reg.MEM_INJECT, data)

    async def collect(self) -> None:
        """Empties the error log, when all reports have come through the other memories. Only
        memories in which bits were inverted report.
        """
        await self.env.harness.cycles(self.memories + 16)
        for entry in await self.env.host.read_log():
            if entry.kind != Kind.MEMORY:
                self.others.append(entry)
                continue
            assert self.injected[entry.object], f"memory {entry.object} reports by itself: {entry}"
            assert entry.detail == 0, entry
            if entry.cause == Cause.MEM_CORRECTED:
                self.corrected[entry.object] += 1
            else:
                assert entry.cause == Cause.MEM_LOST, entry
                self.lost[entry.object] += 1

    async def counted(self) -> tuple[int, int]:
        """The counters: corrected, lost."""
        host = self.env.host
        return await host.counter("MEM_CORRECTED"), await host.counter("MEM_LOST")
