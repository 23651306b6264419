# SPDX-License-Identifier: Apache-2.0
"""Which completions of one CQ were placed, while that is not certain yet.

A completion that may have been refused may as well have been placed, by a credit that came just in
time. A PLACE step does not tell which one was placed; the entry that is written does. Until then
all alternatives are kept: each step is one layer for every completion it takes, each layer holds
the lanes that can be that completion, in the order of their arrival.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass


@dataclass(eq=False)
class Lane:
    """A completion that arrived. ``number`` grows from lane to lane."""

    cycle: int
    data: int
    silent: bool
    number: int
    refusable: bool = False


#: Number of the newest lane decided, silent ones that the step has yet to take.
_Key = tuple[int, int]


class _Node:
    """A lane as the one that a layer took."""

    __slots__ = ("before", "entry", "lane", "refusable")

    def __init__(self, lane: Lane, entry: int | None) -> None:
        self.lane = lane
        self.entry = entry
        # A lane that becomes refusable later was not when it was its turn.
        self.refusable = lane.refusable
        self.before: set[_Key] = set()


_Layer = dict[_Key, _Node]

#: The lane of each entry.
_Path = dict[int, Lane]


class Order:
    """The alternatives for one CQ. Lanes up to a frontier are decided, in that alternative."""

    def __init__(self) -> None:
        self._base: set[_Key] = {(0, 0)}
        self._layers: deque[_Layer] = deque()

    @property
    def open(self) -> bool:
        """More than one alternative for an entry that is not written yet."""
        return bool(self._layers)

    def frontiers(self) -> list[int]:
        """Number of the newest lane decided, in each alternative; the lowest first."""
        keys: Collection[_Key] = self._layers[-1] if self._layers else self._base
        return sorted({number for number, _ in keys}) if len(keys) > 1 else [next(iter(keys))[0]]

    @property
    def oldest(self) -> int:
        """Lanes up to this number are of no use any more."""
        return min(self._base)[0]

    def take(self, waiting: Iterable[Lane], first: int, placed: int, silent: int) -> _Path:
        """A step takes lanes, for entries from ``first`` on. Returns the likely lane of each open
        entry; raises ValueError if no alternative allows the step.
        """
        if (path := self._certain(waiting, first, placed, silent)) is not None:
            return path
        lanes = list(waiting)
        layers: list[_Layer] = []
        keys: set[_Key] = {(number, silent) for number in self.frontiers()}
        for count in range(placed + silent):
            layer: _Layer = {}
            for key in keys:
                entry = first + count - (silent - key[1])
                self._extend(layer, lanes, key, entry if entry < first + placed else None)
            layers.append(layer)
            keys = set(layer)
        # The first layer of a step begins where the one before it ended.
        for node in layers[0].values() if layers else ():
            node.before = {(number, 0) for number, _ in node.before}
        found = self._pruned([*self._layers, *layers])
        if found is None:
            raise ValueError("no such completions")
        self._layers = deque(found)
        path = self._likely()
        self._strip(lambda _: False)
        return path

    def _certain(
        self, waiting: Iterable[Lane], first: int, placed: int, silent: int
    ) -> _Path | None:
        """The lanes of a step, if none of them can have been refused; else None."""
        if self.open or len(self._base) != 1:
            return None
        ((number, _),) = self._base
        lanes: list[Lane] = []
        for lane in waiting:
            if lane.number > number:
                if lane.refusable:
                    return None
                lanes.append(lane)
                if len(lanes) == placed + silent:
                    break
        entries = [lane for lane in lanes if not lane.silent]
        if not lanes or len(lanes) != placed + silent or len(entries) != placed:
            return None
        self._base = {(lanes[-1].number, 0)}
        return dict(enumerate(entries, first))

    @staticmethod
    def _extend(layer: _Layer, lanes: list[Lane], key: _Key, entry: int | None) -> None:
        """Every lane that can follow ``key``: those in front of it must have been refusable."""
        number, left = key
        for lane in lanes:
            if lane.number <= number:
                continue
            if left if lane.silent else entry is not None:
                to = (lane.number, left - lane.silent)
                node = layer.get(to)
                if node is None:
                    node = layer[to] = _Node(lane, None if lane.silent else entry)
                node.before.add(key)
            if not lane.refusable:
                break

    def written(self, fits: Callable[[int, Lane], bool], entries: range) -> _Path:
        """Entries are written: alternatives with other lanes in them are out. If that leaves none,
        nothing changes: the write is wrong. Returns the likely lane of each open entry.
        """
        layers = [
            {
                key: node
                for key, node in layer.items()
                if node.entry is None or node.entry not in entries or fits(node.entry, node.lane)
            }
            for layer in self._layers
        ]
        found = self._pruned(layers)
        if found is not None:
            self._layers = deque(found)
        return self._likely()

    def close(self, end: int) -> None:
        """All entries in front of ``end`` are written, and were compared."""
        self._strip(lambda node: node.entry is None or node.entry < end)

    def _likely(self) -> _Path:
        """One of the alternatives."""
        keys: set[_Key] = self._base
        path: _Path = {}
        for layer in self._layers:
            steps = [(n.refusable, key) for key, n in layer.items() if n.before & keys]
            key = min(steps)[1]
            node, keys = layer[key], {key}
            if node.entry is not None:
                path[node.entry] = node.lane
        return path

    def _pruned(self, layers: list[_Layer]) -> list[_Layer] | None:
        """Only what lies on a way through all layers; None if there is no way."""
        keys = self._base
        forward: list[_Layer] = []
        for layer in layers:
            reached = {key: node for key, node in layer.items() if node.before & keys}
            if not reached:
                return None
            forward.append(reached)
            keys = set(reached)
        for i in range(len(forward) - 1, 0, -1):
            used = set().union(*(node.before for node in forward[i].values()))
            forward[i - 1] = {key: n for key, n in forward[i - 1].items() if key in used}
        return forward

    def _strip(self, decided: Callable[[_Node], bool]) -> None:
        """Layers in front that no write will tell more about."""
        while self._layers:
            layer = self._layers[0]
            nodes = layer.values()
            if len(nodes) > 1 and not all(n.lane.silent or decided(n) for n in nodes):
                break
            self._base = set(layer)
            self._layers.popleft()
