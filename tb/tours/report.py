# SPDX-License-Identifier: Apache-2.0
"""What a tour has driven and seen, and the report over all tours of a regression."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tb.tours.graph import Graph, TourError, Transition

#: Tells a job where to write what it has driven.
VARIABLE = "CARILLON_TOUR_OUT"


class Driven:
    """The transitions of one job, each noted when it was seen to happen as the graph says."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._numbers = {(t.source, t.action): n for n, t in enumerate(graph.transitions)}
        #: Transitions that were seen: (source, action, answer, target).
        self.seen: set[Transition] = set()

    def starts(self, state: Hashable) -> int:
        """A walk begins: the state that is seen then."""
        if self.graph.index.get(state) != 0:
            raise TourError(f"{self.graph.name}: begins in {state}, not in {self.graph.states[0]}")
        return 0

    def ahead(self, number: int, state: Hashable) -> None:
        """The state that is seen ahead of an action; raises :class:`TourError` if it is not that of
        this number: then it has changed by itself.
        """
        if state != self.graph.states[number]:
            where = f"{self.graph.name}: {self.graph.states[number]}"
            raise TourError(f"{where} has become {state} by itself")

    def note(self, source: int, action: str, answer: str, state: Hashable) -> int:
        """What was seen of an action, and the state after it; returns the number of that state.
        Raises :class:`TourError` if the graph says something else.
        """
        graph = self.graph
        number = self._numbers.get((source, action))
        if number is None:
            raise TourError(f"{graph.name}: {graph.states[source]} has no action {action!r}")
        wanted = graph.transitions[number]
        where = f"{graph.name}: {graph.states[source]}, {action!r}"
        if answer != wanted.answer:
            raise TourError(f"{where}: answer {answer!r}, expected {wanted.answer!r}")
        if state != graph.states[wanted.target]:
            raise TourError(f"{where}: state {state}, expected {graph.states[wanted.target]}")
        target = graph.index[state]
        self.seen.add(Transition(source, action, answer, target))
        return target

    def meet(self, source: int, action: str, state: Hashable) -> int | None:
        """Two actions of a graph of pairs met, and ended in a state; returns its number, None if no
        action by itself leads there.
        """
        self.seen.add(self.graph.transitions[self._numbers[source, action]])
        return self.graph.index.get(state)

    def finish(self) -> None:
        """Raises :class:`TourError` if a transition was not seen."""
        every = self.graph.transitions
        left = [transition for transition in every if transition not in self.seen]
        if left:
            first = left[0]
            raise TourError(
                f"{self.graph.name}: {len(left)} of {len(every)} transitions not driven: "
                f"{self.graph.states[first.source]}, {first.action!r}"
            )


def write(path: Path, reports: Iterable[Driven]) -> None:
    """What a job has driven, for the report."""
    data = [
        {
            "graph": driven.graph.name,
            "digest": driven.graph.digest,
            "seen": sorted([t.source, t.action, t.answer, t.target] for t in driven.seen),
        }
        for driven in reports
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data) + "\n")


@dataclass(frozen=True)
class Row:
    """One graph of the report."""

    graph: str
    states: int
    reachable: int
    driven: int
    #: A transition that was not driven, in words.
    missing: str = ""

    @property
    def percent(self) -> float:
        """Of the reachable transitions."""
        return 100 * self.driven / self.reachable if self.reachable else 0.0


def rows(files: Iterable[Path], graphs: Mapping[str, Graph]) -> list[Row]:
    """The report: one row for each graph; ``files``: those that the jobs have written."""
    seen: dict[str, set[Transition]] = {name: set() for name in graphs}
    written = [(path.name, data) for path in files for data in json.loads(path.read_text())]
    for file, data in written:
        graph = graphs.get(data["graph"])
        if graph is None or data["digest"] != graph.digest:
            raise TourError(f"{file}: drove another graph than the present {data['graph']}")
        found = {Transition(*step) for step in data["seen"]}
        if wrong := found - set(graph.transitions):
            raise TourError(f"{file}: {graph.name} has no {sorted(wrong, key=str)[0]}")
        seen[graph.name] |= found
    result = []
    for name, graph in graphs.items():
        left = [t for t in graph.transitions if t not in seen[name]]
        missing = f"{graph.states[left[0].source]}, {left[0].action!r}" if left else ""
        count = len(graph.transitions)
        result.append(Row(name, len(graph.states), count, count - len(left), missing))
    return result
