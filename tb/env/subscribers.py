# SPDX-License-Identifier: Apache-2.0
"""Subscribers of the records: each is written one list of records for each block of the recorder,
in order, so that pyuvm costs nothing for a single record.
"""

from __future__ import annotations

from collections.abc import Callable

from pyuvm import uvm_component, uvm_subscriber

from tb.env.harness.records import Record

Take = Callable[[list[Record]], None]


class BlockSubscriber(uvm_subscriber):
    """Hands blocks to a callable; an exception in it fails the test at once. Derive from it and
    define ``take`` for more.
    """

    def __init__(self, name: str, parent: uvm_component, take: Take | None = None) -> None:
        super().__init__(name, parent)
        self._handed_to = take

    def take(self, records: list[Record]) -> None:
        """One block of records."""
        if self._handed_to is None:
            raise NotImplementedError
        self._handed_to(records)

    def write(self, records: list[Record]) -> None:
        """The same, from an analysis port."""
        try:
            self.take(records)
        except BaseException as error:
            first, last = records[0].cycle, records[-1].cycle
            error.add_note(f"in {self.get_name()}; cycles {first} to {last}")
            raise
