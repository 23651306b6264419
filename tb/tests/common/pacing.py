# SPDX-License-Identifier: Apache-2.0
"""What the tests of pace share: clock cycles between handshakes at the pins, of an idle engine and
of one that gets something in every cycle. Memory answers in the next cycle, sinks are ready.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tb.env.harness.records import Record
from tb.tests.common.recording import Recording

R = TypeVar("R", bound=Record)
#: Cycles from setting a stream up to its first item.
LEAD = 100


class Pacing(Recording):
    """Ways through an idle engine (:meth:`note`, :meth:`demand_ways`), and streams
    (:meth:`in_a_row`).
    """

    def connect_checkers(self) -> None:
        super().connect_checkers()
        #: Cycles of each sample of each way.
        self.ways: dict[str, set[int]] = {}

    def one(self, kind: type[R], since: int, axi_id: int | None = None) -> R:
        """The only record of its kind; of a memory write or response: with this AXI ID."""
        found = [r for r in self.of(kind, since) if axi_id in (None, getattr(r, "axi_id", None))]
        assert len(found) == 1, f"{len(found)} {kind.__name__} instead of one"
        return found[0]

    def note(self, way: str, first: Record, second: Record) -> None:
        """One sample of a way: from the one handshake to the other."""
        self.ways.setdefault(way, set()).add(second.cycle - first.cycle)

    def demand_ways(self, **ways: int) -> None:
        """Every sample of each way took exactly so many cycles."""
        found = {way: sorted(cycles) for way, cycles in self.ways.items()}
        assert found == {way: [cycles] for way, cycles in ways.items()}, f"cycles: {found}"

    @staticmethod
    def in_a_row(records: Sequence[Record], count: int, within: int | None = None) -> None:
        """So many records, one in each cycle, or within so many cycles."""
        cycles = [record.cycle for record in records]
        assert len(cycles) == count, f"{len(cycles)} instead of {count}"
        took, most = cycles[-1] - cycles[0] + 1, count if within is None else within
        name = type(records[0]).__name__
        assert took <= most, f"{count} {name} in {took} cycles instead of {most}"
