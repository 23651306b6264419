# SPDX-License-Identifier: Apache-2.0
"""What holds for each catalogue of bins: every bin has a case that hits it, and another one that
does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import ClassVar

from models.params import Params
from tb.env.coverage.bins import BINS
from tb.env.coverage.coverage import Coverage
from tb.env.harness.records import Record


def count_bins(records: Sequence[Record], params: Params) -> Counter[str]:
    """Hits of each bin, all of them known ones."""
    coverage = Coverage(params)
    coverage(records)
    assert coverage.counts.keys() <= BINS.keys()
    return coverage.counts


class BinCases:
    """Tests of a catalogue; a subclass fills in the attributes."""

    params: ClassVar[Params]
    cases: ClassVar[dict[str, list[Record]]]
    bins: ClassVar[Collection[str]]
    channels: ClassVar[Sequence[str]]
    """Those that have a bin for their stalls; these are hit by other tests."""
    stallable: ClassVar[str]
    """Where the harness has the same channels."""
    apart: ClassVar[Collection[str]] = ()
    """Groups whose bins are told apart; all if empty."""
    alike: ClassVar[Collection[tuple[str, str]]] = ()
    """Cases that are examples of each other."""

    def test_each_bin_has_a_case(self) -> None:
        assert self.cases.keys() == set(self.bins) - {f"stall/{name}" for name in self.channels}

    def test_each_bin_is_hit(self) -> None:
        hits = {name: count_bins(records, self.params) for name, records in self.cases.items()}
        assert [name for name in hits if not hits[name][name]] == []

    def test_bins_of_a_group_are_told_apart(self) -> None:
        """Of two bins of a group at least one is not hit by the other's case."""
        groups: dict[str, dict[str, Counter[str]]] = {}
        for name, records in self.cases.items():
            group = name.split("/")[0]
            if not self.apart or group in self.apart:
                groups.setdefault(group, {})[name] = count_bins(records, self.params)
        assert groups.keys() >= set(self.apart)
        same = {
            (a, b)
            for hits in groups.values()
            for a in hits
            for b in hits
            if a < b and b in hits[a] and a in hits[b]
        }
        assert same - set(self.alike) == set()

    def test_channels_are_the_harness_s(self) -> None:
        from tb.env.harness import harness

        found = [channel.name for channel in getattr(harness, self.stallable)]
        assert found == list(self.channels)
