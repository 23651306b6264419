# SPDX-License-Identifier: Apache-2.0
"""Completions: each accepted lane leads to one entry, bit for bit (CQ-02, CQ-04), or to a refusal
that the rules give; and which ones of a CQ were placed, while that is not certain yet.

Lanes of one CQ are decided in order. Placed ones, overflows and credits given back have a step on
trace lane 0; refused and dropped ones have none. A lane without a step must have been refusable in
a state that its CQ had when it was the lane's turn; one that never was must get its step. Which of
several refusable lanes a step placed is open until the entry is written.

A completion that may have been refused may as well have been placed, by a credit that came just in
time. A PLACE step does not tell which one was placed; the entry that is written does. Until then
all alternatives are kept: each step is one layer for every completion it takes, each layer holds
the lanes that can be that completion, in the order of their arrival.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from models.codes import ModelError
from models.cq.entries import Cqe, phase_of, with_phase
from models.cq.queue import PlacedEntry, Placement
from models.layouts import CQE_BYTES, LINE_BYTES
from tb.env.defs import PSTATE, TRC_PLACE, Cause, Kind, Reg
from tb.env.harness.records import Completion, MemWrite, Trace
from tb.env.scoreboard.context import Check, Context, Left
from tb.env.scoreboard.cq.credits import Credits


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


#: A refusable lane this many completions back has been decided for certain: far more than an
#: engine can hold between its port and the decision.
_DECIDED = 64


def _bytes(lane: Lane) -> bytes:
    return lane.data.to_bytes(CQE_BYTES, "little")


class CompletionChecks(Check):
    """Completions at the pins against steps of lane 0."""

    rules = "CQ-01, CQ-17"

    def __init__(self, ctx: Context, credits_: Credits) -> None:
        super().__init__(ctx)
        self.credits = credits_
        self.lanes = 0
        self.placed = 0
        num_cq = ctx.params.num_cq
        self.arrived: list[deque[Lane]] = [deque() for _ in range(num_cq)]
        self.orders = [Order() for _ in range(num_cq)]
        #: Overflows whose error step has not come.
        self.overflows = [0] * num_cq
        #: CQ and index of its next entry, of each that was destroyed.
        self.stopped: set[tuple[int, int]] = set()
        #: CQs that were created but not started: they still refuse everything.
        self.not_started: set[int] = set()

    # -- pins --------------------------------------------------------------------------------------

    def completion(self, record: Completion) -> None:
        """A beat of s_axis_cpl."""
        for lane in (0, 1):
            if not record.keep >> lane & 1:
                continue
            self.lanes += 1
            cq = record.dest[lane]
            if cq >= self.ctx.params.num_cq:
                continue
            waiting = self.arrived[cq]
            waiting.append(
                Lane(record.cycle, record.data[lane], bool(record.silent >> lane & 1), self.lanes)
            )
            while waiting[0].refusable and self.lanes - waiting[0].number > _DECIDED:
                waiting.popleft()
            self.changed(cq)

    def changed(self, cq: int) -> None:
        """The state of a CQ changed: which of its lanes could be refused in it?"""
        waiting = self.arrived[cq]
        if not waiting:
            return
        engine = self.ctx.engine
        unreserved = not engine.producers[cq].reservation
        for frontier in self.orders[cq].frontiers():
            for lane in waiting:
                if lane.refusable or lane.number <= frontier:
                    continue
                if cq not in self.not_started:
                    verdict = engine.judge(cq, lane.silent)
                    if verdict is Placement.PLACED or verdict is Placement.OVERFLOW:
                        break
                    if verdict is Placement.SILENT and not unreserved:
                        break
                lane.refusable = True

    def lost(self, cq: int) -> list[Lane]:
        """Lanes that must still get their step."""
        decided = self.orders[cq].frontiers()[-1]
        return [x for x in self.arrived[cq] if x.number > decided and not x.refusable]

    # -- pins: memory ------------------------------------------------------------------------------

    def write(self, cq: int, record: MemWrite) -> None:
        """Entries are about to be compared: the lanes in them are those that were placed."""
        order = self.orders[cq]
        if not order.open:
            return
        placed = self.ctx.engine.producers[cq].placed
        data = record.data.to_bytes(LINE_BYTES, "little")
        first = self.ctx.engine.cqs[cq].written
        both = (1 << CQE_BYTES) - 1
        halves = [i for i in (0, 1) if record.strb >> i * CQE_BYTES & both]
        entries = range(first, first + len(halves))

        def fits(entry: int, lane: Lane) -> bool:
            at = halves[entry - first] * CQE_BYTES
            phase = phase_of(placed[entry].data)
            return with_phase(_bytes(lane), phase) == data[at : at + CQE_BYTES]

        self._assign(cq, order.written(fits, entries))

    def written(self, cq: int) -> None:
        """Entries were written, and compared."""
        order = self.orders[cq]
        if order.open:
            order.close(self.ctx.engine.cqs[cq].written)
            self._forget(cq)
            self.changed(cq)

    def _assign(self, cq: int, path: dict[int, Lane]) -> None:
        """What the open entries are expected to hold."""
        placed, classes = self.ctx.engine.producers[cq].placed, self.ctx.classes[cq]
        for index, lane in path.items():
            entry = placed[index]
            data = with_phase(_bytes(lane), phase_of(entry.data))
            if data == entry.data:
                continue
            known = Cqe.unpack(data)
            classes[index] = solicited = known.solicited_class
            placed[index] = replace(
                entry, data=data, solicited=solicited, unsignalled=known.unsignalled
            )

    def _forget(self, cq: int) -> None:
        waiting, oldest = self.arrived[cq], self.orders[cq].oldest
        while waiting and waiting[0].number <= oldest:
            waiting.popleft()

    # -- the end -----------------------------------------------------------------------------------

    def left(self) -> Iterator[Left]:
        """Completions that got lost, entries that were not written, overflows not told."""
        engine = self.ctx.engine
        for cq, producer in enumerate(engine.producers):
            if lanes := self.lost(cq):
                yield Left("", lanes[0].cycle, "lost: the completion of cycle", cq)
            written = engine.cqs[cq].written
            if producer.exists and written < producer.alloc:
                yield Left("memory", written, "never written: entry", cq)
            if self.overflows[cq]:
                yield Left("memory", self.overflows[cq], "overflows not told:", cq)

    def counters(self) -> dict[Reg, int]:
        """Entries, by the steps."""
        return {Reg.CNT_CPL_PLACED: self.placed}

    # -- steps -------------------------------------------------------------------------------------

    def place(self, record: Trace) -> None:
        """PLACE: entries allocated, credits given back."""
        ctx, cq = self.ctx, record.cq
        placed, returned = TRC_PLACE.unpack(record.operand).values()
        if not 1 <= placed + returned <= 2:
            self.fail(f"PLACE with operand {record.operand:#x}")
        open_, lanes = self._take(record, placed, returned)
        producer = ctx.engine.producers[cq]
        if returned and not producer.reservation:
            self.fail("credits given back by a CQ without reservation")
        while producer.reservation and producer.credits_held < placed + returned:
            if not self.credits.use_early(cq):
                break
        try:
            entries = ctx.engine.place(cq, lanes, returned)
        except ModelError as error:
            self.fail(f"{placed} placed: {error}")
        self._placed(cq, entries, open_)

    def overflow(self, record: Trace) -> None:
        """OVERFLOW: a lane found no free entry."""
        ctx, cq = self.ctx, record.cq
        placed = record.operand
        if placed > 1:
            self.fail(f"OVERFLOW with operand {record.operand:#x}")
        open_, lanes = self._take(record, placed, 0)
        decided = self.orders[cq].frontiers()[0]
        if all(lane.silent or lane.number <= decided for lane in self.arrived[cq]):
            self.fail("overflow without a completion that could overflow")
        try:
            entries = ctx.engine.overflow(cq, lanes)
        except ModelError as error:
            self.fail(f"OVERFLOW: {error}")
        self.overflows[cq] += 1
        ctx.log.append((Cause.CQ_OVERFLOW, Kind.CQ, cq, PSTATE["alloc"].get(record.new)))
        self._placed(cq, entries, open_)

    def _placed(self, cq: int, entries: Sequence[PlacedEntry], likely: dict[int, Lane]) -> None:
        """New entries; ``likely``: the lanes of open ones."""
        self.ctx.classes[cq] += [entry.solicited for entry in entries]
        if likely:
            self._assign(cq, likely)
        self.placed += len(entries)
        self.changed(cq)
        self.credits.note(cq)

    def stop(self, cq: int) -> None:
        """STOP: completions are refused from here on."""
        self.stopped.add(self._next(cq))

    def dropped(self, cq: int, index: int) -> bool:
        """Can a completion have been dropped, because its CQ was in error, with this index of the
        next entry? That stands still from the error on.
        """
        return (cq, index) in self.stopped or (cq, index) == self._next(cq)

    def _next(self, cq: int) -> tuple[int, int]:
        return cq, self.ctx.params.index(self.ctx.engine.producers[cq].alloc)

    def overflow_told(self, record: Trace) -> None:
        """CQ_ERROR with status BUFFER_OVERFLOW."""
        if not self.overflows[record.cq]:
            self.fail("overflow error without an overflow")
        self.overflows[record.cq] -= 1

    def _take(
        self, record: Trace, placed: int, returned: int
    ) -> tuple[dict[int, Lane], list[bytes]]:
        """The lanes that the step can have placed; those between them were refused. Returns the
        likely lanes of entries that were open before, and the contents of the new ones.
        """
        cq = record.cq
        waiting = self.arrived[cq]
        first = self.ctx.engine.producers[cq].alloc
        try:
            path = self.orders[cq].take(waiting, first, placed, returned)
        except ValueError:
            self.fail(
                f"{placed} placed and {returned} credits given back, but no such completions "
                f"arrived ({len(waiting)} wait)"
            )
        self._forget(cq)
        return path, [_bytes(path.pop(first + i)) for i in range(placed)]
