# SPDX-License-Identifier: Apache-2.0
"""Reachable graphs of small models, and tours through them.

A *world* is a small configuration of the reference model at rest. An *action* is one thing that a
host, a peer or a transport does, also one that is refused, with everything that follows from it
until rest. A *state* is the world's key: what its future can depend on, without counters. A
*transition* is a state, an action that it allows, its answer, and the state after it. Nothing here
knows of a simulation.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import deque
from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Protocol


class World(Protocol):
    """A configuration of the model; it is copied by pickling."""

    def key(self) -> Hashable:
        """The state."""

    def actions(self) -> Iterable[str]:
        """What can happen now."""

    def act(self, action: str) -> str:
        """Does one of them, until rest; returns what answers it: a cause, a result, a code."""


class TourError(Exception):
    """A graph or a report of a tour contradicts itself."""


@dataclass(frozen=True)
class Transition:
    """``source``, ``target``: numbers of states."""

    source: int
    action: str
    answer: str
    target: int


@dataclass
class Graph:
    """The reachable graph of a world; state 0 is where it starts."""

    name: str
    states: list[Hashable] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    index: dict[Hashable, int] = field(default_factory=dict)

    def number(self, state: Hashable) -> int:
        """The number of a state, a new one if it is not known."""
        found = self.index.get(state)
        if found is None:
            found = self.index[state] = len(self.states)
            self.states.append(state)
        return found

    @cached_property
    def outs(self) -> list[list[int]]:
        """Numbers of the transitions that leave each state, of a graph that is complete."""
        found: list[list[int]] = [[] for _ in self.states]
        for number, transition in enumerate(self.transitions):
            found[transition.source].append(number)
        return found

    @property
    def digest(self) -> str:
        """Tells this graph from every other one."""
        text = repr((self.name, self.states, self.transitions))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def explore(name: str, world: World) -> Graph:
    """The reachable graph of a world, breadth first."""
    graph = Graph(name)
    graph.number(world.key())
    todo = deque([pickle.dumps(world)])
    while todo:
        image = todo.popleft()
        here: World = pickle.loads(image)
        source = graph.index[here.key()]
        for action in here.actions():
            after: World = pickle.loads(image)
            answer, known = after.act(action), len(graph.states)
            target = graph.number(after.key())
            graph.transitions.append(Transition(source, action, answer, target))
            if target == known:
                todo.append(pickle.dumps(after))
    return graph


def tour(graph: Graph) -> list[list[int]]:
    """Walks that take every transition: lists of transitions by number, the same ones each time.

    Each walk begins in state 0. A walk takes a transition of its state that is left, or goes to the
    nearest state that has one; where none can be reached the next walk begins.
    """
    left = set(range(len(graph.transitions)))
    walks: list[list[int]] = []
    while left:
        walk: list[int] = []
        state = 0
        while path := _nearest(graph, state, left):
            walk += path
            left.difference_update(path)
            state = graph.transitions[path[-1]].target
        if not walk:
            raise TourError(f"{graph.name}: {len(left)} transitions cannot be reached")
        walks.append(walk)
    return walks


def way(graph: Graph, state: int, goals: Container[int]) -> list[int] | None:
    """The shortest way from a state to one of the goals; None: there is none."""
    if state in goals:
        return []
    last = {n for n, transition in enumerate(graph.transitions) if transition.target in goals}
    return _nearest(graph, state, last) or None


def pair_graph(graph: Graph, patterns: Sequence[str]) -> Graph:
    """Pairs of actions that meet in a state: both match a pattern and are possible there, and the
    second one is possible after the first, too. Where a pair ends depends on how its actions meet:
    target -1.
    """
    found = Graph(f"pairs: {graph.name}", graph.states, [], graph.index)
    for source, outs in enumerate(graph.outs):
        here = [graph.transitions[n] for n in outs]
        fast = [step for step in here if any(fnmatchcase(step.action, p) for p in patterns)]
        for first in fast:
            behind = {graph.transitions[n].action for n in graph.outs[first.target]}
            for second in fast:
                if second.action in behind:
                    action = f"{first.action} + {second.action}"
                    found.transitions.append(Transition(source, action, "", -1))
    return found


def _nearest(graph: Graph, state: int, left: set[int]) -> list[int]:
    """The shortest way from a state that ends with a transition that is left; empty: none."""
    before: dict[int, int] = {}
    todo = deque([state])
    reached = {state}
    while todo:
        here = todo.popleft()
        for number in graph.outs[here]:
            if number in left:
                path = [number]
                while here != state:
                    path.append(before[here])
                    here = graph.transitions[before[here]].source
                return path[::-1]
            target = graph.transitions[number].target
            if target not in reached:
                reached.add(target)
                before[target] = number
                todo.append(target)
    return []


def replay(graph: Graph, world: World, walk: Sequence[int]) -> None:
    """Takes a walk in the world; raises :class:`TourError` where it behaves differently."""
    for number in walk:
        step = graph.transitions[number]
        answer = world.act(step.action)
        if (answer, world.key()) != (step.answer, graph.states[step.target]):
            raise TourError(f"{graph.name}: {step}: {answer}, {world.key()}")
