# SPDX-License-Identifier: Apache-2.0
"""What holds for each catalogue of bins: every bin has a case that hits it, and another one that
does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import ClassVar

from models import codes
from models.codes import QpState, TraceOp
from models.params import Params
from models.receive.receive_types import RecvConfig
from tb.env.coverage.bins import BINS
from tb.env.coverage.coverage import Coverage
from tb.env.harness.records import Command, Record, Trace

Records = list[Record]
#: Names of bins, each with a case that hits it.
Cases = Iterator[tuple[str, Records]]
NONE = (0,) * 8


def command_cases(bins: Mapping[tuple[int, int], str]) -> Cases:
    """Bins of commands by their results."""
    for (code, result), name in bins.items():
        yield name, [Command(9, 5, code, NONE, result, NONE)]


def created(qp: int = 0, **receive: int | bool | None) -> Records:
    """CREATE_QP."""
    config = RecvConfig(**receive)  # type: ignore[arg-type]
    return [Command(1, 1, codes.Command.CREATE_QP, (qp, *NONE[:6], config.words[1]), 0, NONE)]


def state(old: int, new: int, by: int = 0, qp: int = 0, cycle: int = 4) -> Trace:
    """A change of state of a QP."""
    return Trace(cycle, 3, TraceOp.QP_STATE, qp, False, 0, by, old, new)


def at(now: QpState) -> Records:
    """QP 0 is in a state."""
    return [state(0, now)] if now else []


def take(tag: int, shared: bool = False, qp: int = 0) -> Trace:
    """A message takes a buffer."""
    return Trace(2, 5, TraceOp.TAKE, qp, False, 0, 0x10 * shared, tag, tag + 1 & 63)


def receives(status: int = 0) -> Trace:
    """A receive completes."""
    return Trace(9, 7, TraceOp.RECEIVE, 0, False, 0, status, 0, 1)


def count_bins(records: Sequence[Record], params: Params) -> Counter[str]:
    """Hits of each bin, all of them known ones."""
    coverage = Coverage(params)
    coverage(records)
    assert coverage.counts.keys() <= BINS.keys()
    return coverage.counts


class BinCases:
    """Tests of a catalogue; a subclass fills in the attributes."""

    params: ClassVar[Params]
    cases: ClassVar[dict[str, Records]]
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
