# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of the host's side: commands, doorbells, memory writes, interrupts."""

from __future__ import annotations

from collections import Counter, defaultdict, deque

from models import codes
from models.codes import DOORBELL_CAUSES, Cause
from models.host.control import Args
from models.layouts import CB_RETURN, EQE_BYTES
from tb.env.coverage.group import Group
from tb.env.defs import EQE
from tb.env.harness.records import Command, DoorbellResponse, Interrupt, MemResponse, MemWrite
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.env.scoreboard.table import EngineChecks

_ERRORS = ("OKAY", "EXOKAY", "SLVERR", "DECERR")
_EVENTS = ("", "one event", "two events", "three events", "four events")


class HostCoverage(Group):
    """Situations at the host's ports."""

    def __init__(self, counts: Counter[str], board: Scoreboard) -> None:
        super().__init__(counts, board)
        #: Of each unanswered memory write the event entries, by AXI ID; acknowledged event writes
        #: without an interrupt, by EQ.
        self._open: defaultdict[int, deque[int]] = defaultdict(deque)
        self._acked: Counter[int] = Counter()
        #: The EQ of each vector.
        self._vectors: dict[int, int] = {}
        self.pins = {
            MemWrite: self.mem_write,
            MemResponse: self.mem_response,
            Interrupt: self.interrupt,
        }
        self.commands = {
            codes.Command.CREATE_EQ: self.vector,
            codes.Command.MODIFY_EQ: self.vector,
            codes.Command.RESIZE_EQ: lambda _: self.hit("eq ring/resized"),
        }

    def response(self, record: DoorbellResponse, offset: int) -> None:
        """An answer to a write to a doorbell, or to an offset that nothing is at."""
        if record.cause not in DOORBELL_CAUSES:
            return
        cause = Cause(record.cause)
        self.hit(f"cause/{cause.name}")
        if cause is Cause.NOT_OWNER:
            self.hit(f"foreign page/{'CB_RETURN' if offset == CB_RETURN else 'CQ_DB'}")

    def mem_write(self, record: MemWrite) -> None:
        events = 0
        if record.axi_id < self.params.num_cq:
            low, high = record.strb & 0xFFFF_FFFF, record.strb >> 32
            self.hit(f"beat/{'pair' if low and high else 'lower half' if low else 'upper half'}")
        elif record.strb:
            lane = (record.strb & -record.strb).bit_length() - 1
            events = record.strb.bit_count() // EQE_BYTES
            self.hit(f"beat/{_EVENTS[events]}")
            self.hit_if(not EQE["phase"].get(record.data >> 8 * lane), "eq ring/second pass")
        self._open[record.axi_id].append(events)

    def mem_response(self, record: MemResponse) -> None:
        if self._open[record.axi_id]:
            events = self._open[record.axi_id].popleft()
            self.hit_if(record.resp, f"write error/{_ERRORS[record.resp]}")
            self.hit_if(record.resp and events > 1, "write error/several events")
        if record.axi_id >= self.params.num_cq and record.resp == 0:
            self._acked[record.axi_id - self.params.num_cq] += 1

    def vector(self, record: Command) -> None:
        """CREATE_EQ, MODIFY_EQ."""
        args = Args(record.args)
        self._vectors[args.vector] = args.number

    def interrupt(self, record: Interrupt) -> None:
        checks, eq = self.board.checks, self._vectors.get(record.vector)
        if isinstance(checks, EngineChecks) and checks.takes.rung is not None:
            self.hit_if(eq is not None, "watermark/vector of an EQ")
        elif eq is not None and (acked := self._acked.pop(eq, 0)):
            self.hit("interrupt/one for one" if acked == 1 else "interrupt/merged")
